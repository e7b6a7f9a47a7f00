"""The users, groups, projects and repositories of a world's code host, and their numbers at each scale."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, share
from webarena_gym.sites.country.names import invented_word, population
from webarena_gym.sites.country.texts import read_sizes

Range = tuple[int, int]
"""Smallest and largest number."""


class Sizes(NamedTuple):
    """Sizes of the code host at one scale. A range is the number per project."""

    users: int
    strangers: int  # authors of commits without an account
    groups: int
    first_project_word: int  # index of the first invented word for projects; smaller ones name groups
    first_token_word: int  # index before the first invented word for access tokens
    others: int  # projects of users other than the current one
    forks: int  # forks of users other than the current one
    popular: int  # popular projects
    giants: int  # number of popular projects with many issues, requests, commits and branches
    busy_issues: Range  # in popular projects and those of the current user
    busy_requests: Range  # in popular projects
    giant_issues: Range
    giant_requests: Range
    giant_commits: Range
    giant_branches: Range
    most_notes: int  # largest number of comments on an issue
    is_composed: bool  # True if texts are composed from facts, and titles are unique in a project instead of in the world


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")


ROLES = ("Guest", "Reporter", "Developer", "Maintainer", "Owner")
"""The roles of members; each role has all permissions of the roles before it."""


def rank(role: str) -> int:
    """Return the rank of a role, from 1 for guests to 5 for owners; 0 for "" or an unknown role.

    >>> rank("Developer") > rank("Reporter"), rank("")
    (True, 0)
    """
    return ROLES.index(role) + 1 if role in ROLES else 0


_SLOT = re.compile(r"@(\w+)@")


@cache
def pools() -> Any:
    """Return the lists of texts in pools.json by name. Slots are enclosed in @ signs."""
    return json.loads(Path(__file__).with_name("pools.json").read_text(encoding="utf-8"))


@cache
def licenses() -> Any:
    """Return the texts of licenses by name; @y@ is the slot of the year, @a@ that of the author."""
    return json.loads(Path(__file__).with_name("licenses.json").read_text(encoding="utf-8"))


def fill(dice: Dice, text: str, **fixed: str) -> str:
    """Return a text with the values of its slots. `fixed` are values by slot; the values of general slots are drawn once per text.

    General slots are @v@ and @V@ (verb), @o@ (plural noun), @f@ (function name), @C@ (class name), @T@ (heading) and @n@ (number).
    """
    verb, thing = dice.pick(pools()["verbs"]), dice.pick(pools()["objects"])
    values = {
        "v": verb, "V": verb.capitalize(), "o": thing, "f": f"{verb}_{thing}", "C": f"{verb}{thing}".title(),
        "T": f"{verb.capitalize()} the {thing}", "n": str(dice.between(12, 480)),
    } | fixed  # fmt: skip
    return _SLOT.sub(lambda match: values[match[1]], text)


PASSWORD = "Password.123"  # noqa: S105  # the password of all users
ME = 1
"""Id of the current user of tasks."""


class User(NamedTuple):
    """A user, or, with `user_id` 0, an author of commits without an account."""

    user_id: int
    username: str
    name: str
    email: str
    created_at: datetime


class Membership(NamedTuple):
    """Membership of a user in a project or group."""

    role: str
    expires_on: str | None
    created_at: datetime


class Group(NamedTuple):
    """A group, with its members by user id."""

    group_id: int
    path: str
    name: str
    description: str
    visibility: str
    created_at: datetime
    members: dict[int, Membership]


class Host(NamedTuple):
    """The users and groups of a code host. A user's id is the index in `users` plus one; the first is the current user."""

    seed: int
    scale: Scale
    now: datetime
    users: list[User]
    strangers: list[User]  # authors of commits without an account
    groups: list[Group]

    @property
    def sizes(self) -> Sizes:
        """Sizes of the host's scale."""
        return SIZES[self.scale]

    def members(self, project: "Project") -> dict[int, Membership]:
        """Return the members of a project, including those of its group, by user id."""
        return project.members | (self.groups[project.group_id - 1].members if project.group_id else {})


def draw_host(seed: int, now: datetime, scale: Scale = "standard") -> Host:
    """Draw the users and groups of a code host."""
    dice, users, strangers = Dice(f"code/users/{seed}"), list[User](), list[User]()
    people, count = population(seed, scale), SIZES[scale].users
    for number, person in enumerate(people[:count], 1):
        first, last = person.first.lower(), person.last.lower()
        shapes = [
            f"{first[0]}{last}", f"{first}{last[0]}", f"{first}.{last}", f"{last}{dice.between(2, 99)}", f"{first}-{last}",
        ]  # fmt: skip
        usernames = {user.username for user in users}
        free = [shape for shape in shapes if shape not in usernames]
        username = dice.pick(free[: max(1, len(free) - 1)])
        born = now - timedelta(days=dice.between(760, 1500), seconds=dice.below(86400))
        users.append(User(number, username, person.name, f"{first}.{last}@example.com", born))
    for person in people[count : count + SIZES[scale].strangers]:
        address = f"{person.last}.{person.first}@mail.example".lower()
        strangers.append(User(0, "", person.name, address, datetime(2000, 1, 1)))
    return Host(seed, scale, now, users, strangers, _draw_groups(seed, now, users, scale))


def _draw_groups(seed: int, now: datetime, users: list[User], scale: Scale) -> list[Group]:
    """Draw the groups. In the first five, the current user is owner, maintainer, developer, developer and reporter."""
    dice, count = Dice(f"code/groups/{seed}"), SIZES[scale].groups
    kinds, domains = pools()["group_kinds"], dice.some(pools()["domains"], count)
    mine = ("Owner", "Maintainer", "Developer", "Developer", "Reporter")
    groups = []
    for index, domain in enumerate(domains):
        ending, title, description = kinds[index % len(kinds)]
        word = invented_word(seed, index, "work", scale)
        born = now - timedelta(days=dice.between(730, 1200), seconds=dice.below(86400))
        text = fill(dice, description, w=word, d=domain)
        visibility = {2: "internal", 3: "private", 6: "internal"}.get(index, "public")
        group = Group(index + 1, f"{word.lower()}-{ending}", f"{word} {title}", text, visibility, born, {})
        roles = ["Owner", "Maintainer", *(dice.pick(("Developer", "Developer", "Reporter", "Guest")) for _ in range(7))]
        people = dice.some(users[1:], dice.between(4, 8))
        if index < len(mine):
            group.members[ME] = Membership(mine[index], None, born + timedelta(days=1))
            if mine[index] in roles[:2]:
                roles.remove(mine[index])
        for user, role in zip(people, roles, strict=False):
            group.members[user.user_id] = _membership(dice, role, born, now)
        groups.append(group)
    return groups


def _membership(dice: Dice, role: str, since: datetime, now: datetime) -> Membership:
    """Draw a membership that began between `since` and `now`; one in five, except of owners, has an expiration date."""
    joined = since + timedelta(seconds=dice.below(max(1, int((now - since).total_seconds()))))
    ends = now + timedelta(days=dice.between(15, 330))
    return Membership(role, str(ends.date()) if role != "Owner" and dice.chance(20) else None, joined)


MINE = ("website", "dotfiles", "python", "javascript", "guide", "android")
"""Kinds of the current user's projects, in addition to two forks; the fourth is private, the sixth internal."""


@dataclass
class Project:
    """A project, with its direct members by user id and the ids of the users who starred it."""

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
    source: "Project | None" = None  # the project that it was forked from
    is_archived: bool = False
    members: dict[int, Membership] = field(default_factory=dict)
    stars: list[int] = field(default_factory=list)
    commits: int = 0  # number of commits on its default branch
    is_giant: bool = False


def draw_projects(host: Host) -> list[Project]:
    """Draw the projects of a host: those of the current user, of groups and of other users, and forks."""
    maker, sizes, users = _ProjectMaker(host), host.sizes, host.users
    dice = maker.dice
    kinds = [kind for kind in pools()["kinds"] if kind != "dotfiles"]
    for index, kind in enumerate(MINE):
        maker.make(kind, {3: "private", 5: "internal"}.get(index, "public"), users[0])
    for group in host.groups:
        for _ in range(dice.between(3, 6)):
            maker.make(dice.pick(kinds), group.visibility, group)
    for _ in range(sizes.others):
        visibility = dice.weigh(("public", "internal", "private"), (8, 1, 1))
        maker.make(dice.pick(kinds), visibility, dice.pick(users[1:]))
    maker.invite()
    popular = maker.give_stars()
    for project in maker.projects:
        project.commits = dice.between(24, 52) if project in popular else dice.between(6, 20)
        project.is_archived = project not in popular and project.owner_id != ME and dice.chance(6)
    for project in popular[:: max(1, len(popular) // sizes.giants)][: sizes.giants] if sizes.giants else []:
        project.is_giant, project.commits = True, dice.between(*sizes.giant_commits)
    maker.fork()
    return maker.projects


class _ProjectMaker:
    """Draws the projects of a host, one after the other."""

    def __init__(self, host: Host) -> None:
        self.host, self.dice = host, Dice(f"code/projects/{host.seed}")
        self.projects: list[Project] = []
        self._domains = share(pools()["domains"], host.seed)
        self._descriptions: set[str] = set()

    def make(self, kind: str, visibility: str, owner: User | Group) -> None:
        """Add a project of a user or group."""
        dice, pool, host = self.dice, pools(), self.host
        shape, number = pool["kinds"][kind], len(self.projects) + 1
        word = invented_word(host.seed, host.sizes.first_project_word + number, "work", host.scale).lower()
        domain = self._domains[number % len(self._domains)]
        user_id, group_id = (owner.user_id, None) if isinstance(owner, User) else (None, owner.group_id)
        is_site = kind == "website" and user_id == ME
        name = f"{word}.space" if is_site else f"{word}-{dice.pick(shape['nouns'])}"
        text = ""
        while not text or text in self._descriptions:
            adjective, does = dice.pick(pool["adjectives"]), dice.pick(pool["does"])
            text = f"{'An' if adjective[0] in 'aeiou' else 'A'} {adjective} {dice.pick(shape['things'])} {does} {domain}"
        self._descriptions.add(text)
        self.projects.append(
            Project(
                project_id=number,
                namespace=owner.username if isinstance(owner, User) else owner.path,
                owner_id=user_id,
                group_id=group_id,
                name=name,
                kind=kind,
                domain=domain,
                description=text,
                topics=dice.some(shape["topics"], dice.between(1, 3)),
                visibility=visibility,
                default_branch="main" if dice.chance(70) else "master",
                license="" if kind == "dotfiles" or dice.chance(15) else dice.weigh(list(licenses()), (6, 4, 3, 2, 1)),
                created_at=host.now - timedelta(days=dice.between(150, 725), seconds=dice.below(86400)),
            )
        )

    def invite(self) -> None:
        """Add members. The current user joins eight projects of other users, in six of them as a developer or maintainer."""
        dice = self.dice
        for project in self.projects:
            if project.owner_id:
                project.members[project.owner_id] = Membership("Owner", None, project.created_at)
            for user in dice.some(self.host.users[1:], dice.between(1, 5)):
                if user.user_id not in project.members:
                    role = dice.weigh(("Guest", "Reporter", "Developer", "Maintainer"), (2, 2, 5, 2))
                    project.members[user.user_id] = _membership(dice, role, project.created_at, self.host.now)
        foreign = [project for project in self.projects if project.owner_id not in (None, ME)]
        roles = ("Developer", "Developer", "Maintainer", "Developer", "Maintainer", "Developer", "Reporter", "Guest")
        for project, role in zip(dice.some(foreign, len(roles)), roles, strict=True):
            project.members[ME] = Membership(role, None, project.created_at + timedelta(days=2))

    def give_stars(self) -> list[Project]:
        """Add stars, and return the popular projects, all with different numbers of stars."""
        dice, count = self.dice, self.host.sizes.popular
        public = [project for project in self.projects if project.visibility == "public" and project.kind != "dotfiles"]
        mine = [project for project in public if ME in project.members]
        popular = dice.some([project for project in public if project not in mine], count - 6) + dice.some(mine, 6)
        popular = dice.some(popular, len(popular))
        fans = [user.user_id for user in self.host.users[1:]]
        count = len(fans) - dice.below(3)
        for index, project in enumerate(popular):
            project.stars = dice.some(fans, count)
            if index > 4 and dice.chance(30):
                project.stars[-1] = ME
            count -= dice.between(1, 2)
        for project in self.projects:
            if project not in popular:
                within = fans if project.visibility != "private" else [fan for fan in fans if fan in project.members]
                project.stars = dice.some(within, dice.below(9))
        return popular

    def fork(self) -> None:
        """Fork small public projects: twice for the current user, and once for each of several other users."""
        dice, users = self.dice, self.host.users
        public = [p for p in self.projects if p.visibility == "public" and p.owner_id != ME and not p.is_archived]
        targets = [users[0], users[0], *dice.some(users[1:], self.host.sizes.forks)]
        sources = dice.some([project for project in public if project.commits <= 20], 5)
        for index, owner in enumerate(targets):
            source = sources[index] if index < 2 else sources[2 + index % 3]
            if source.owner_id == owner.user_id:
                continue
            born = source.created_at + (self.host.now - source.created_at) * dice.between(70, 95) / 100
            born = born.replace(microsecond=0)
            fork = replace(
                source, project_id=len(self.projects) + 1, namespace=owner.username, owner_id=owner.user_id, group_id=None,
                created_at=born, source=source, members={owner.user_id: Membership("Owner", None, born)}, stars=[],
                commits=dice.between(0, 3),
            )  # fmt: skip
            self.projects.append(fork)


_NUMBER = re.compile(r"(?<![\w.-])\d{2,3}(?![\w.-])")
_LONGEST = 1000  # characters of a file above which commits remove parts of it
_TITLES = ("Home of @d@", "All about @d@", "Notes on @d@", "The world of @d@")  # titles of websites


@dataclass
class File:
    """A file: its constant beginning and end, and the units between, which commits add, change and remove."""

    top: str
    units: list[str] = field(default_factory=list)
    bottom: str = ""
    commit: int = 0  # index of the last commit that changed it

    @property
    def content(self) -> str:
        """Text of the file."""
        return self.top + "".join(self.units) + self.bottom


class Commit(NamedTuple):
    """A commit. `parent` is the index of its parent in the repository; a change is (path, kind, text before, text after)."""

    author: User
    title: str
    message: str
    created_at: datetime
    parent: int | None
    changes: list[tuple[str, str, str, str]]


@dataclass
class Branch:
    """A branch: the indices of its commits, oldest first, and its files by path."""

    name: str
    commits: list[int]
    files: dict[str, File]
    author: User | None = None  # author of the commits that no other branch has

    def copy(self) -> "Branch":
        """Return a copy with copies of the files."""
        files = {path: replace(file, units=[*file.units]) for path, file in self.files.items()}
        return replace(self, commits=[*self.commits], files=files)


def draw_repositories(host: Host, projects: list[Project]) -> list["Repository"]:
    """Draw the repositories of the projects, in their order."""
    repositories: dict[int, Repository] = {}
    for project in projects:
        repository = repositories[project.project_id] = Repository(host, project)
        dice, members = repository.dice, sorted(host.members(project).items())
        authors = [host.users[user_id - 1] for user_id, place in members if rank(place.role) >= rank("Developer")]
        if project.source:
            repository.copy(repositories[project.source.project_id])
        else:
            others = [user for user in host.users[1:] if user not in authors] if project.visibility != "private" else []
            authors += dice.some(others, dice.between(1, 3)) + dice.some(host.strangers, dice.below(2))
            authors = authors or [host.users[(project.owner_id or ME) - 1]]
        repository.grow(authors)
    return list(repositories.values())


class Repository:
    """The repository of a project: its commits in order of time within each branch, and its branches, the default branch first."""

    def __init__(self, host: Host, project: Project) -> None:
        self.project, self.now, self.sizes = project, host.now, host.sizes
        self.commits: list[Commit] = []
        self.branches: list[Branch] = []
        self.authors: list[User] = []
        self.dice = dice = Dice(f"code/repository/{host.seed}/{project.project_id}")
        self._shape: dict[str, Any] = pools()["kinds"][project.kind]
        title = fill(dice, dice.pick(_TITLES), d=project.domain)
        word = project.name.split("-")[0].split(".")[0]
        self._slots = {"d": project.domain.capitalize(), "m": word, "p": project.name, "t": title}

    def copy(self, source: "Repository") -> None:
        """Copy the default branch of the project that this one was forked from."""
        trunk = source.branches[0].copy()
        new_index = {old: index for index, old in enumerate(trunk.commits)}
        for index, old in enumerate(trunk.commits):
            self.commits.append(source.commits[old]._replace(parent=index - 1 if index else None))
        for file in trunk.files.values():
            file.commit = new_index[file.commit]
        self.branches = [Branch(trunk.name, list(new_index.values()), trunk.files)]

    def grow(self, authors: list[User]) -> None:
        """Draw the commits of the default branch, then the other branches."""
        self.authors, dice = authors, self.dice
        if not self.branches:
            self._initial_commit(next((user for user in authors if user.user_id == self.project.owner_id), authors[0]))
        trunk = self.branches[0]
        snapshots: list[Branch] = []
        for moment, author in self._moments(self.commits[-1].created_at, self.project.commits):
            snapshots = [*snapshots[-3:], trunk.copy()]
            self._commit(trunk, author, moment)
        count = dice.weigh((0, 1, 2, 3), (4, 4, 3, 1)) if self.project.commits > 3 else 0
        for _ in range(dice.between(*self.sizes.giant_branches) if self.project.is_giant else count):
            self._branch_off(dice.pick([*snapshots[1:], trunk]).copy())

    def _moments(self, start: datetime, count: int) -> list[tuple[datetime, User]]:
        """Draw the times and authors of `count` commits after `start`; an author may make several commits on a day."""
        dice, authors = self.dice, self.authors
        weights = [max(1, 14 // (index + 1)) for index in range(len(authors))]
        by_activity = dice.some(authors, len(authors))
        morning, days = start.replace(hour=8, minute=0, second=0, microsecond=0), max(1, (self.now - start).days - 1)
        moments: list[tuple[datetime, User]] = []
        while len(moments) < count:
            author = dice.weigh(by_activity, weights)
            moment = morning + timedelta(days=1 + dice.below(days), seconds=dice.below(5 * 3600))
            for _ in range(min(dice.weigh((1, 2, 3, 4), (10, 5, 3, 1)), count - len(moments))):
                if moment < self.now:
                    moments.append((moment, author))
                moment += timedelta(seconds=dice.between(300, 7000))
        return sorted(moments, key=lambda entry: (entry[0], entry[1].name))

    def _initial_commit(self, author: User) -> None:
        project, dice, shape = self.project, self.dice, self._shape
        features = "".join(f"- {fill(dice, text)}\n" for text in dice.some(pools()["features"], 3))
        usage = f"\n## Installation\n\n```\n{self._fill(shape['install'])}\n```\n\n## Usage\n\n```\n{self._fill(shape['usage'])}\n```\n"
        files = {"README.md": File(f"# {project.name}\n\n{project.description}.\n\n## Features\n\n", [features], usage)}
        if project.license:
            text = licenses()[project.license]
            files["LICENSE"] = File(fill(dice, text, y=str(project.created_at.year), a=author.name))
        for path in shape["sources"]:
            files[self._fill(path)] = self._new_file(path)
        changes = [(path, "added", "", file.content) for path, file in sorted(files.items())]
        self.commits = [Commit(author, "Initial commit", "", project.created_at, None, changes)]
        self.branches = [Branch(project.default_branch, [0], files)]

    def _fill(self, text: str, **more: str) -> str:
        return fill(self.dice, text, **{**self._slots, **more})

    def _new_file(self, path: str) -> File:
        language = pools()["languages"][PurePosixPath(path).suffix]
        top, mark, bottom = self._fill(language["start"]).partition("</body>")
        return File(top, [self._fill(self.dice.pick(language["units"]))], mark + bottom)

    def _commit(self, branch: Branch, author: User, moment: datetime) -> None:
        """Commit a change of one file to a branch: a new file, a new, changed or removed unit, or a line of the README."""
        dice, pool = self.dice, pools()
        absent = [path for path in map(self._fill, self._shape["extra"]) if path not in branch.files]
        sources = [path for path in sorted(branch.files) if path not in ("README.md", "LICENSE")]
        kind = dice.weigh(("add", "tweak", "readme", "new", "remove"), (44, 28, 12, 12, 6))
        path = "README.md" if kind == "readme" else dice.pick(absent) if kind == "new" and absent else dice.pick(sources)
        file = branch.files.get(path) or File("")
        before = file.content if path in branch.files else ""
        numbered = [number for number, unit in enumerate(file.units) if _NUMBER.search(unit)]
        if path == "README.md":
            kind = "readme"
            file.units = [*file.units, f"- {fill(dice, dice.pick(pool['features']))}\n"][-4:]
        elif not file.top:
            kind = "new"
            branch.files[path] = file = self._new_file(path)
        elif kind == "tweak" and numbered:
            index = dice.pick(numbered)
            file.units[index] = _NUMBER.sub(str(dice.between(500, 999)), file.units[index], count=1)
        elif len(file.units) > 1 and (kind == "remove" or len(file.content) > _LONGEST):
            kind = "remove"
            file.units.pop(0)
        else:
            kind = "add"
            file.units.append(self._fill(dice.pick(pool["languages"][PurePosixPath(path).suffix]["units"])))
        file.commit = len(self.commits)
        message = fill(dice, dice.pick(pool["commit_bodies"])) if dice.chance(25) else ""
        title = self._fill(dice.pick(pool[f"commit_{kind}"]), b=PurePosixPath(path).name)
        change = (path, "modified" if before else "added", before, file.content)
        self.commits.append(Commit(author, title, message, moment, branch.commits[-1], [change]))
        branch.commits.append(file.commit)

    def _branch_off(self, base: Branch) -> None:
        """Add a branch that starts at `base` and has a few commits of its own."""
        dice, name = self.dice, fill(self.dice, self.dice.pick(pools()["branch_words"]))
        if name in [branch.name for branch in self.branches]:
            return
        base.name, base.author = name, dice.pick([user for user in self.authors if user.user_id])
        moment = self.commits[base.commits[-1]].created_at
        for _ in range(dice.between(1, 4)):
            moment += max(timedelta(minutes=1), min(timedelta(seconds=dice.between(900, 90000)), (self.now - moment) / 3))
            moment = moment.replace(microsecond=0)
            self._commit(base, base.author, min(moment, self.now - timedelta(minutes=2)))
        self.branches.append(base)
