"""The people, groups, projects and repositories of a world's code host, and how much of them there is at each scale."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from webarena_gym.sites.country.dice import Dice, Scale, share
from webarena_gym.sites.country.names import Person, invented, population

Range = tuple[int, int]
"""At least, and at most."""


@dataclass(frozen=True)
class Sizes:
    """The numbers that the code host's generator goes by."""

    users: int
    strangers: int
    groups: int
    first_project_word: int  # the words before it name groups
    first_token_word: int  # those behind it name access tokens
    others: int  # projects that are neither mine nor a group's
    forks: int  # that are not mine
    popular: int
    giants: int  # of the popular projects
    busy_issues: Range  # of popular projects and of mine
    busy_requests: Range
    giant_issues: Range
    giant_requests: Range
    giant_commits: Range
    giant_branches: Range
    most_notes: int  # of an issue
    is_composed: bool  # whether texts are composed of facts, and titles told apart in a project only


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        users=60, strangers=8, groups=9, first_project_word=16, first_token_word=120, others=40, forks=6, popular=24, giants=0,
        busy_issues=(8, 13), busy_requests=(1, 4), giant_issues=(0, 0), giant_requests=(0, 0), giant_commits=(0, 0),
        giant_branches=(0, 0), most_notes=4, is_composed=False,
    ),
    "large": Sizes(
        users=400, strangers=40, groups=36, first_project_word=64, first_token_word=1_000, others=215, forks=40, popular=84,
        giants=14, busy_issues=(18, 60), busy_requests=(4, 16), giant_issues=(180, 420), giant_requests=(40, 110),
        giant_commits=(180, 420), giant_branches=(6, 16), most_notes=7, is_composed=True,
    ),
}  # fmt: skip


ROLES = ("Guest", "Reporter", "Developer", "Maintainer", "Owner")
"""The roles, each of which may do all that the ones before it may."""


def rank(role: str) -> int:
    """Return how much a role may do, from 1 for a guest to 5 for an owner; 0 for somebody without a role.

    >>> rank("Developer") > rank("Reporter"), rank("")
    (True, 0)
    """
    return ROLES.index(role) + 1 if role in ROLES else 0


_SLOT = re.compile(r"@(\w+)@")


@cache
def pools() -> dict[str, Any]:
    """Return pools.json: lists of texts by name. Slots stand between @ signs."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "pools.json").read_text(encoding="utf-8"))
    return content


@cache
def licenses() -> dict[str, str]:
    """Return the texts of licenses by their names; @y@ is the year, @a@ the author."""
    content: dict[str, str] = json.loads((Path(__file__).parent / "licenses.json").read_text(encoding="utf-8"))
    return content


def fill(dice: Dice, text: str, **fixed: str) -> str:
    """Return a text with its slots filled: those in `fixed` as given, the general ones drawn, each once.

    General are @v@ and @V@ (a verb), @o@ (plural noun), @f@ (name of a function), @C@ (name of a class), @T@ (a heading), @n@.
    """
    pool = pools()
    verb, thing = dice.pick(pool["verbs"]), dice.pick(pool["objects"])
    values = {
        "v": verb,
        "V": verb.capitalize(),
        "o": thing,
        "f": f"{verb}_{thing}",
        "C": f"{verb}{thing}".title(),
        "T": f"{verb.capitalize()} the {thing}",
        "n": str(dice.between(12, 480)),
    } | fixed
    return _SLOT.sub(lambda match: values[match[1]], text)


PASSWORD = "Password.123"  # noqa: S105  # the one password of every made-up person
ME = 1


@dataclass(frozen=True)
class User:
    """An account. `user_id` 0 stands for somebody without one, who is only known as an author of commits."""

    user_id: int
    username: str
    name: str
    email: str
    created_at: datetime


@dataclass(frozen=True)
class Membership:
    """Somebody's place in a project or group."""

    role: str
    expires_on: str | None
    created_at: datetime


@dataclass
class Group:
    """A group, with its members by user id."""

    group_id: int
    path: str
    name: str
    description: str
    visibility: str
    created_at: datetime
    members: dict[int, Membership] = field(default_factory=dict)


def draw_users(seed: int, now: datetime, scale: Scale = "standard") -> list[User]:
    """Return the accounts of a world, ordered by id, from 1."""
    dice = Dice(f"code/users/{seed}")
    users: list[User] = []
    taken: dict[str, int] = {}
    for number, person in enumerate(population(seed, scale)[: SIZES[scale].users], 1):
        username = _username(dice, person, taken)
        taken[username] = number
        born = now - timedelta(days=dice.between(760, 1500), seconds=dice.below(86400))
        users.append(User(number, username, person.name, f"{person.first}.{person.last}@example.com".lower(), born))
    return users


def draw_strangers(seed: int, scale: Scale = "standard") -> list[User]:
    """Return people without an account, whose commits came by mail."""
    sizes = SIZES[scale]
    people = population(seed, scale)[sizes.users : sizes.users + sizes.strangers]
    return [
        User(0, "", person.name, f"{person.last}.{person.first}@mail.example".lower(), datetime(2000, 1, 1))
        for person in people
    ]


def _username(dice: Dice, person: Person, taken: dict[str, int]) -> str:
    """Return a username in one of the usual shapes that nobody has yet."""
    first, last = person.first.lower(), person.last.lower()
    shapes = [f"{first[0]}{last}", f"{first}{last[0]}", f"{first}.{last}", f"{last}{dice.between(2, 99)}", f"{first}-{last}"]
    free = [shape for shape in shapes if shape not in taken]
    return dice.pick(free[: max(1, len(free) - 1)])


def draw_groups(seed: int, now: datetime, users: list[User], scale: Scale = "standard") -> list[Group]:
    """Return the groups: I own the first, maintain the second, develop in the third and fourth and report in the fifth."""
    dice, count = Dice(f"code/groups/{seed}"), SIZES[scale].groups
    kinds, domains = pools()["group_kinds"], dice.some(pools()["domains"], count)
    mine = ("Owner", "Maintainer", "Developer", "Developer", "Reporter")
    groups = []
    for place in range(count):
        ending, title, description = kinds[place % len(kinds)]
        word = invented(seed, place, "work", scale)
        born = now - timedelta(days=dice.between(730, 1200), seconds=dice.below(86400))
        group = Group(
            place + 1,
            f"{word.lower()}-{ending}",
            f"{word} {title}",
            fill(dice, description, w=word, d=domains[place]),
            "private" if place == 3 else "internal" if place in (2, 6) else "public",
            born,
        )
        roles = ["Owner", "Maintainer", *(dice.pick(("Developer", "Developer", "Reporter", "Guest")) for _ in range(7))]
        people = [user.user_id for user in dice.some(users[1:], dice.between(4, 8))]
        if place < len(mine):
            group.members[ME] = Membership(mine[place], None, born + timedelta(days=1))
            if mine[place] in roles[:2]:
                roles.remove(mine[place])
        for user_id, role in zip(people, roles, strict=False):
            group.members[user_id] = membership(dice, role, born, now)
        groups.append(group)
    return groups


def membership(dice: Dice, role: str, since: datetime, now: datetime) -> Membership:
    """Return a place in a project or group that was given some time after `since`; one in five ends one day."""
    joined = since + timedelta(seconds=dice.below(max(1, int((now - since).total_seconds()))))
    ends = now + timedelta(days=dice.between(15, 330))
    return Membership(role, str(ends.date()) if role != "Owner" and dice.chance(20) else None, joined)


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


class _ProjectMaker:
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
    maker, sizes = _ProjectMaker(seed, now, users, scale), SIZES[scale]
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


def _add_forks(maker: _ProjectMaker, sizes: Sizes) -> None:
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


_NUMBER = re.compile(r"(?<![\w.-])\d{2,3}(?![\w.-])")
_LONGEST = 1000  # characters of a file that still grows


@dataclass
class File:
    """A file: what stands first, the parts that come and go, and what stands last."""

    top: str
    units: list[str] = field(default_factory=list)
    bottom: str = ""
    commit: int = 0  # the place of the last commit that changed it

    @property
    def content(self) -> str:
        """The whole text."""
        return self.top + "".join(self.units) + self.bottom

    def copy(self) -> "File":
        """Return the file as it is now, to be changed apart."""
        return replace(self, units=list(self.units))


@dataclass
class Commit:
    """A commit; `parent` is the place of another in the repository's list, `changes` are rows of path, kind, before, after."""

    author: User
    title: str
    message: str
    created_at: datetime
    parent: int | None
    changes: list[tuple[str, str, str, str]]


@dataclass
class Branch:
    """A branch: the places of its commits, oldest first, and its files by path."""

    name: str
    commits: list[int]
    files: dict[str, File]
    author: User | None = None  # of the commits that only it has

    def copy(self) -> "Branch":
        """Return the branch as it is now, to be changed apart."""
        return replace(self, commits=list(self.commits), files={path: file.copy() for path, file in self.files.items()})


@dataclass
class Repository:
    """A project's commits in the order in which they were made, and its branches, the default one first."""

    project: Project
    commits: list[Commit] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    authors: list[User] = field(default_factory=list)


def draw_repositories(
    seed: int,
    now: datetime,
    projects: list[Project],
    groups: list[Group],
    users: list[User],
    strangers: list[User],
    sizes: Sizes = SIZES["standard"],
) -> list[Repository]:
    """Return the repositories, one for each project in their order."""
    drawn: dict[int, Repository] = {}
    for project in projects:
        maker = _Maker(Dice(f"code/repository/{seed}/{project.project_id}"), project, now, sizes)
        members = dict(project.members)
        for group in groups:
            if group.group_id == project.group_id:
                members |= group.members
        authors = [users[user_id - 1] for user_id, place in sorted(members.items()) if rank(place.role) >= rank("Developer")]
        if project.source:
            maker.copy(drawn[project.source.project_id])
        else:
            others = [user for user in users[1:] if user not in authors] if project.visibility != "private" else []
            authors += maker.dice.some(others, maker.dice.between(1, 3)) + maker.dice.some(strangers, maker.dice.below(2))
            authors = authors or [users[0] if project.owner_id is None else users[project.owner_id - 1]]
        maker.repository.authors = authors
        maker.grow()
        drawn[project.project_id] = maker.repository
    return list(drawn.values())


class _Maker:
    """Writes one repository."""

    def __init__(self, dice: Dice, project: Project, now: datetime, sizes: Sizes) -> None:
        self.dice, self.project, self.now, self.sizes = dice, project, now, sizes
        self.repository = Repository(project)
        self.shape: dict[str, Any] = pools()["kinds"][project.kind]
        self.slots = {
            "d": project.domain.capitalize(), "m": project.word, "p": project.name, "t": title_of(project, dice),
        }  # fmt: skip

    def copy(self, source: Repository) -> None:
        """Take over what a fork's source had when it was forked."""
        trunk = source.branches[0]
        self.repository.commits = [replace(source.commits[place]) for place in trunk.commits]
        places = list(range(len(trunk.commits)))
        for place, commit in enumerate(self.repository.commits):
            commit.parent = place - 1 if place else None
        new_place = {old: place for place, old in enumerate(trunk.commits)}
        files = trunk.copy().files
        for file in files.values():
            file.commit = new_place[file.commit]
        self.repository.branches = [Branch(trunk.name, places, files)]

    def grow(self) -> None:
        """Make the commits of the default branch, then the other branches."""
        authors, dice = self.repository.authors, self.dice
        if not self.repository.branches:
            self.repository.branches = [Branch(self.project.default_branch, [], {})]
            owner = next((user for user in authors if user.user_id == self.project.owner_id), authors[0])
            self._begin(owner)
        trunk = self.repository.branches[0]
        start = self.repository.commits[-1].created_at
        snapshots: list[Branch] = []
        for moment, author in self._moments(start, self.project.commits):
            snapshots = [*snapshots[-3:], trunk.copy()]
            self._commit(trunk, author, moment)
        count = dice.weigh((0, 1, 2, 3), (4, 4, 3, 1)) if self.project.commits > 3 else 0
        for _ in range(dice.between(*self.sizes.giant_branches) if self.project.is_giant else count):
            self._branch_off(dice.pick([*snapshots[1:], trunk]).copy())

    def _moments(self, start: datetime, count: int) -> list[tuple[datetime, User]]:
        """Return when and by whom commits are made: on some days the same author makes several."""
        dice, authors = self.dice, self.repository.authors
        weights = [max(1, 14 // (place + 1)) for place in range(len(authors))]
        ranked = dice.some(authors, len(authors))
        days = max(1, (self.now - start).days - 1)
        made: list[tuple[datetime, User]] = []
        while len(made) < count:
            author = dice.weigh(ranked, weights)
            moment = datetime(start.year, start.month, start.day, 8) + timedelta(
                days=1 + dice.below(days), seconds=dice.below(5 * 3600)
            )
            for _ in range(min(dice.weigh((1, 2, 3, 4), (10, 5, 3, 1)), count - len(made))):
                if moment < self.now:
                    made.append((moment, author))
                moment += timedelta(seconds=dice.between(300, 7000))
        return sorted(made, key=lambda entry: (entry[0], entry[1].name))

    def _begin(self, author: User) -> None:
        project, dice = self.project, self.dice
        features = "".join(f"- {fill(dice, text)}\n" for text in dice.some(pools()["features"], 3))
        usage = f"\n## Installation\n\n```\n{self._fill(self.shape['install'])}\n```\n\n## Usage\n\n```\n{self._fill(self.shape['usage'])}\n```\n"
        files = {"README.md": File(f"# {project.name}\n\n{project.description}.\n\n## Features\n\n", [features], usage)}
        if project.license:
            text = licenses()[project.license]
            files["LICENSE"] = File(fill(dice, text, y=str(project.created_at.year), a=author.name))
        for path in self.shape["sources"]:
            files[self._fill(path)] = self._new_file(path)
        changes = [(path, "added", "", file.content) for path, file in sorted(files.items())]
        self.repository.commits.append(Commit(author, "Initial commit", "", project.created_at, None, changes))
        trunk = self.repository.branches[0]
        trunk.commits, trunk.files = [0], files

    def _fill(self, text: str, **more: str) -> str:
        return fill(self.dice, text, **{**self.slots, **more})

    def _new_file(self, path: str) -> File:
        language = pools()["languages"][PurePosixPath(path).suffix]
        text = self._fill(language["start"])
        top, mark, bottom = text.partition("</body>")
        return File(top, [self._fill(self.dice.pick(language["units"]))], mark + bottom)

    def _commit(self, branch: Branch, author: User, moment: datetime) -> None:
        """Change one file of a branch, sometimes the README as well."""
        dice, pool = self.dice, pools()
        extra = [self._fill(path) for path in self.shape["extra"]]
        absent = [path for path in extra if path not in branch.files]
        sources = [path for path in sorted(branch.files) if path not in ("README.md", "LICENSE")]
        kind = dice.weigh(("add", "tweak", "readme", "new", "remove"), (44, 28, 12, 12, 6))
        path = "README.md" if kind == "readme" else dice.pick(absent) if kind == "new" and absent else dice.pick(sources)
        file = branch.files.get(path) or File("")
        before, kind = (file.content if path in branch.files else ""), self._possible(kind, path, file)
        if kind == "new":
            branch.files[path] = file = self._new_file(path)
        elif kind == "readme":
            file.units.append(f"- {fill(dice, dice.pick(pool['features']))}\n")
            file.units = file.units[-4:]
        elif kind == "add":
            file.units.append(self._fill(dice.pick(pool["languages"][PurePosixPath(path).suffix]["units"])))
        elif kind == "tweak":
            place = dice.pick([number for number, unit in enumerate(file.units) if _NUMBER.search(unit)])
            file.units[place] = _NUMBER.sub(str(dice.between(500, 999)), file.units[place], count=1)
        else:
            file.units.pop(0)
        file.commit = len(self.repository.commits)
        message = fill(dice, dice.pick(pool["commit_bodies"])) if dice.chance(25) else ""
        title = self._fill(dice.pick(pool[f"commit_{kind}"]), b=PurePosixPath(path).name)
        change = (path, "modified" if before else "added", before, file.content)
        self.repository.commits.append(Commit(author, title, message, moment, branch.commits[-1], [change]))
        branch.commits.append(file.commit)

    @staticmethod
    def _possible(kind: str, path: str, file: File) -> str:
        """Return the kind of change that the file allows for, the wanted one if possible."""
        if path == "README.md":
            return "readme"
        if not file.top:
            return "new"
        if kind == "tweak" and any(_NUMBER.search(unit) for unit in file.units):
            return kind
        return "remove" if len(file.units) > 1 and (kind == "remove" or len(file.content) > _LONGEST) else "add"

    def _branch_off(self, base: Branch) -> None:
        """Add a branch that starts from a late state of the default one and is a few commits ahead."""
        dice = self.dice
        names = [branch.name for branch in self.repository.branches]
        name = fill(dice, dice.pick(pools()["branch_words"]))
        if name in names:
            return
        author = dice.pick([user for user in self.repository.authors if user.user_id])
        moment = self.repository.commits[base.commits[-1]].created_at
        base.name, base.author = name, author
        for _ in range(dice.between(1, 4)):
            moment += max(timedelta(minutes=1), min(timedelta(seconds=dice.between(900, 90000)), (self.now - moment) / 3))
            moment = moment.replace(microsecond=0)
            self._commit(base, author, min(moment, self.now - timedelta(minutes=2)))
        self.repository.branches.append(base)
