"""The projects: whose they are, what they are about, who works on them and how many like them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.gitlab.world.people import ME, Group, Membership, User, membership
from webarena_gym.sites.gitlab.world.pools import fill, licenses, pools
from webarena_gym.sites.gitlab.world.sizes import SIZES, Sizes

MINE = ("website", "dotfiles", "python", "javascript", "guide", "android")
"""The kinds of my own projects, besides two forks; the fourth is private, the sixth internal."""


@dataclass
class Project:
    """A project, with its direct members by user id and the ids of those who starred it."""

    project_id: int
    namespace: str
    owner_id: int | None
    group_id: int | None
    name: str
    kind: str
    domain: str
    description: str
    topics: list[str]
    visibility: str
    default_branch: str
    license: str
    created_at: datetime
    source: "Project | None" = None  # what it was forked from
    is_archived: bool = False
    members: dict[int, Membership] = field(default_factory=dict)
    stars: list[int] = field(default_factory=list)
    commits: int = 0  # how many its default branch is to have
    is_giant: bool = False

    @property
    def word(self) -> str:
        """The invented word in its name."""
        return self.name.split("-")[0].split(".")[0]


class _Maker:
    """Makes one project after the other."""

    def __init__(self, seed: int, now: datetime, users: list[User], scale: Scale) -> None:
        self.seed, self.now, self.users, self.scale = seed, now, users, scale
        self.dice = Dice(f"code/projects/{seed}")
        self.projects: list[Project] = []
        self._domains = share(pools()["domains"], seed)
        self._said: dict[str, int] = {}

    def make(self, kind: str, visibility: str, owner: User | None = None, group: Group | None = None) -> Project:
        """Add a project of an owner or a group."""
        dice, shape = self.dice, pools()["kinds"][kind]
        number = len(self.projects) + 1
        word = invented(self.seed, SIZES[self.scale].first_project_word + number, "work", self.scale).lower()
        domain = self._domains[number % len(self._domains)]
        own_name = kind == "website" and owner is not None and owner.user_id == ME
        project = Project(
            number,
            group.path if group else owner.username if owner else "",
            owner.user_id if owner else None,
            group.group_id if group else None,
            f"{word}.space" if own_name else f"{word}-{dice.pick(shape['nouns'])}",
            kind,
            domain,
            self._description(shape["things"], domain),
            dice.some(shape["topics"], dice.between(1, 3)),
            visibility,
            "main" if dice.chance(70) else "master",
            "" if kind == "dotfiles" or dice.chance(15) else dice.weigh(list(licenses()), (6, 4, 3, 2, 1)),
            self.now - timedelta(days=dice.between(150, 725), seconds=dice.below(86400)),
        )
        self.projects.append(project)
        return project

    def fork(self, source: Project, owner: User) -> Project:
        """Add a fork of a project."""
        born = source.created_at + (self.now - source.created_at) * self.dice.between(70, 95) / 100
        born = born.replace(microsecond=0)
        project = Project(
            len(self.projects) + 1, owner.username, owner.user_id, None, source.name, source.kind, source.domain,
            source.description, list(source.topics), "public", source.default_branch, source.license, born, source,
        )  # fmt: skip
        self.projects.append(project)
        return project

    def _description(self, things: list[str], domain: str) -> str:
        dice, pool = self.dice, pools()
        while True:
            adjective, does = dice.pick(pool["adjectives"]), dice.pick(pool["does"])
            article = "An" if adjective[0] in "aeiou" else "A"
            text = f"{article} {adjective} {dice.pick(things)} {does} {domain}"
            if text not in self._said:
                self._said[text] = 1
                return text


def draw_projects(seed: int, now: datetime, users: list[User], groups: list[Group], scale: Scale = "standard") -> list[Project]:
    """Return the projects of a world: mine first, then those of the groups, those of others, and the forks."""
    maker, sizes = _Maker(seed, now, users, scale), SIZES[scale]
    dice = maker.dice
    kinds = [kind for kind in pools()["kinds"] if kind != "dotfiles"]
    for place, kind in enumerate(MINE):
        maker.make(kind, {3: "private", 5: "internal"}.get(place, "public"), owner=users[0])
    for group in groups:
        for _ in range(dice.between(3, 6)):
            maker.make(dice.pick(kinds), "private" if group.visibility == "private" else group.visibility, group=group)
    for _ in range(sizes.others):
        visibility = dice.weigh(("public", "internal", "private"), (8, 1, 1))
        maker.make(dice.pick(kinds), visibility, owner=dice.pick(users[1:]))
    originals = list(maker.projects)
    _add_members(dice, now, originals, users)
    popular = _add_stars(dice, originals, users, sizes.popular)
    for project in originals:
        project.commits = dice.between(24, 52) if project in popular else dice.between(6, 20)
        project.is_archived = project not in popular and project.owner_id != ME and dice.chance(6)
    for project in popular[:: max(1, len(popular) // sizes.giants)][: sizes.giants] if sizes.giants else []:
        project.is_giant, project.commits = True, dice.between(*sizes.giant_commits)
    _add_forks(maker, sizes)
    return maker.projects


def _add_members(dice: Dice, now: datetime, projects: list[Project], users: list[User]) -> None:
    """Invite people; I am invited to eight projects of others, to six of them as a developer or more."""
    for project in projects:
        if project.owner_id:
            project.members[project.owner_id] = Membership("Owner", None, project.created_at)
        for user in dice.some(users[1:], dice.between(1, 5)):
            if user.user_id not in project.members:
                role = dice.weigh(("Guest", "Reporter", "Developer", "Maintainer"), (2, 2, 5, 2))
                project.members[user.user_id] = membership(dice, role, project.created_at, now)
    foreign = [project for project in projects if project.owner_id not in (None, ME)]
    roles = ("Developer", "Developer", "Maintainer", "Developer", "Maintainer", "Developer", "Reporter", "Guest")
    for project, role in zip(dice.some(foreign, len(roles)), roles, strict=True):
        project.members[ME] = Membership(role, None, project.created_at + timedelta(days=2))


def _add_stars(dice: Dice, projects: list[Project], users: list[User], count: int) -> list[Project]:
    """Give stars and return the popular projects, which all have different numbers of them."""
    public = [project for project in projects if project.visibility == "public" and project.kind != "dotfiles"]
    mine = [project for project in public if ME in project.members]
    popular = dice.some([project for project in public if project not in mine], count - 6) + dice.some(mine, 6)
    popular = [popular[place] for place in dice.some(range(len(popular)), len(popular))]
    count = len(users) - 1 - dice.below(3)
    fans = [user.user_id for user in users[1:]]
    for place, project in enumerate(popular):
        project.stars = dice.some(fans, count)
        if place > 4 and dice.chance(30):
            project.stars[-1] = ME
        count -= dice.between(1, 2)
    for project in projects:
        if project not in popular:
            within = fans if project.visibility != "private" else [fan for fan in fans if fan in project.members]
            project.stars = dice.some(within, dice.below(9))
    return popular


def _add_forks(maker: _Maker, sizes: Sizes) -> None:
    """Fork small public projects: two are mine, the others of different people."""
    dice, users = maker.dice, maker.users
    sources = [
        p for p in maker.projects if p.visibility == "public" and p.commits <= 20 and p.owner_id != ME and not p.is_archived
    ]
    targets: list[Any] = [users[0], users[0], *dice.some(users[1:], sizes.forks)]
    chosen = dice.some(sources, 5)
    for place, owner in enumerate(targets):
        source = chosen[place] if place < 2 else chosen[2 + place % 3]
        if source.owner_id != owner.user_id:
            project = maker.fork(source, owner)
            project.members[owner.user_id] = Membership("Owner", None, project.created_at)
            project.commits = dice.between(0, 3)


def title_of(project: Project, dice: Dice) -> str:
    """Return what stands above the pages of a website."""
    return fill(dice, dice.pick(("Home of @d@", "All about @d@", "Notes on @d@", "The world of @d@")), d=project.domain)
