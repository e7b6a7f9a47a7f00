"""What is in the repositories: files that grow by commits, and branches that are ahead of the default one."""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.gitlab.access import rank
from webarena_gym.sites.gitlab.world.people import Group, User
from webarena_gym.sites.gitlab.world.pools import fill, licenses, pools
from webarena_gym.sites.gitlab.world.projects import Project, title_of
from webarena_gym.sites.gitlab.world.sizes import SIZES, Sizes

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
