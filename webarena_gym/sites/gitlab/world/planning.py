"""What people plan: labels, milestones, issues, merge requests, what they say to each other, and who has to do what."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.gitlab.access import rank
from webarena_gym.sites.gitlab.world.people import ME, Group, User
from webarena_gym.sites.gitlab.world.pools import fill, pools
from webarena_gym.sites.gitlab.world.projects import Project
from webarena_gym.sites.gitlab.world.repositories import Branch, Repository
from webarena_gym.sites.gitlab.world.sizes import SIZES, Sizes

_KIND_LABELS = {"bugs": "bug", "features_wanted": "enhancement", "docs_wanted": "documentation", "questions": "question"}


@dataclass
class Milestone:
    """A goal of a project with its days."""

    title: str
    starts_on: str
    due_on: str
    is_closed: bool


@dataclass
class Note:
    """A comment, or what the site itself noted."""

    author_id: int
    body: str
    created_at: datetime
    is_system: bool = False


@dataclass
class Item:
    """What issues and merge requests have in common."""

    project: Project
    title: str
    description: str
    author_id: int
    created_at: datetime
    state: str = "opened"
    closed_at: datetime | None = None
    milestone: int | None = None  # its place among the project's
    labels: list[str] = field(default_factory=list)
    assignees: list[int] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def updated_at(self) -> datetime:
        """When somebody last did something about it."""
        return max(note.created_at for note in self.notes) if self.notes else self.created_at


@dataclass
class Issue(Item):
    """Something to do."""

    due_on: str | None = None
    is_confidential: bool = False


@dataclass
class MergeRequest(Item):
    """A branch that is offered to another."""

    source: str = ""
    target: str = ""
    is_draft: bool = False
    reviewers: list[int] = field(default_factory=list)


@dataclass
class Plan:
    """A project's planning."""

    project: Project
    labels: list[list[str]]
    milestones: list[Milestone]
    issues: list[Issue] = field(default_factory=list)
    merge_requests: list[MergeRequest] = field(default_factory=list)


def draw_plans(
    seed: int,
    now: datetime,
    repositories: list[Repository],
    groups: list[Group],
    users: list[User],
    sizes: Sizes = SIZES["standard"],
) -> list[Plan]:
    """Return the planning of all projects, in their order."""
    planner = _Planner(seed, now, groups, users, sizes)
    return [planner.plan(repository) for repository in repositories]


class _Planner:
    """Plans one project after the other; titles are unique in the world, or in a project where there are many."""

    def __init__(self, seed: int, now: datetime, groups: list[Group], users: list[User], sizes: Sizes) -> None:
        self.sizes = sizes
        self.dice = Dice(f"code/planning/{seed}")
        self.now, self.users = now, users
        self.names = {user.user_id: user.username for user in users}
        self.groups = {group.group_id: group for group in groups}
        self.pool = {name: share(pools()[name], seed) for name in ("components", "bug_objects", "feature_objects")}
        if sizes.more_words:
            self.pool = {name: words + share(pools()[f"more_{name}"], seed) for name, words in self.pool.items()}
        self.taken: dict[str, int] = {}

    def plan(self, repository: Repository) -> Plan:
        """Return the planning of one project."""
        dice, project, sizes = self.dice, repository.project, self.sizes
        if sizes.more_words:
            self.taken.clear()
        labels = [*pools()["labels"][:4], *dice.some(pools()["labels"][4:], dice.between(1, 4))]
        for area in dice.some(pools()["areas"], dice.below(3)):
            labels.append([area, dice.pick(("#3d6b8f", "#6d7a2c", "#8a5a44")), f"Concerns {area}"])
        plan = Plan(project, labels, self._milestones())
        if project.source:
            return plan
        people = self._people(project)
        is_mine = project.owner_id == ME
        is_busy = len(project.stars) > 25
        count = dice.between(*sizes.busy_issues) if is_mine or is_busy else dice.weigh((0, 3, 6, 8), (2, 5, 4, 2))
        if project.is_giant:
            count = dice.between(*sizes.giant_issues)
        moments = self._moments(project, count)
        plan.issues = [self._issue(plan, people, moment) for moment in moments]
        open_branches = [branch for branch in repository.branches[1:] if dice.chance(75 if not is_mine else 60)]
        requests = [self._open_request(plan, people, repository, branch) for branch in open_branches]
        past = dice.between(*sizes.busy_requests) if is_busy else dice.below(3)
        for moment in self._moments(project, dice.between(*sizes.giant_requests) if project.is_giant else past):
            requests.append(self._past_request(plan, people, repository, moment))
        plan.merge_requests = sorted(requests, key=lambda request: request.created_at)
        return plan

    def _people(self, project: Project) -> list[int]:
        """Return who works on a project, the owners first."""
        members = dict(project.members)
        if project.group_id:
            members |= self.groups[project.group_id].members
        return sorted((user_id for user_id in members), key=lambda user_id: (-rank(members[user_id].role), user_id))

    def _milestones(self) -> list[Milestone]:
        dice, made = self.dice, []
        for title in dice.some(pools()["milestones"], dice.weigh((0, 1, 2, 3), (2, 3, 3, 2))):
            start = self.now.date() + timedelta(days=dice.between(-240, 40))
            due = start + timedelta(days=dice.between(14, 90))
            closed = due < self.now.date() and dice.chance(80)
            made.append(Milestone(f"{title} {start.year}", str(start), str(due), closed))
        return made

    def _moments(self, project: Project, count: int) -> list[datetime]:
        """Return that many moments of a project's life, in order, none of them today."""
        whole = int((self.now - project.created_at).total_seconds()) - 86400
        return sorted(project.created_at + timedelta(seconds=self.dice.below(whole)) for _ in range(count))

    def _text(self, text: str, component: str, thing: str = "") -> str:
        filled = fill(self.dice, text, c=component, C=component.capitalize(), x=thing, s=self.dice.pick(pools()["systems"]))
        return filled[0].upper() + filled[1:]

    def _described(self, parts: list[str], component: str) -> str:
        """Return the description of an issue or a merge request, a paragraph for each part: the place for another writer."""
        return "\n\n".join(self._text(part, component) for part in parts)

    def _title(self, patterns: list[str], things: list[str]) -> tuple[str, str]:
        """Return a title that nothing else in the world has, and the component that it is about."""
        while True:
            component = self.dice.pick(self.pool["components"])
            title = self._text(self.dice.pick(patterns), component, self.dice.pick(things))
            if title.lower() not in self.taken:
                self.taken[title.lower()] = 1
                return title, component

    def _issue(self, plan: Plan, people: list[int], moment: datetime) -> Issue:
        dice, pool = self.dice, pools()
        kind = dice.weigh(list(_KIND_LABELS), (5, 4, 2, 2))
        title, component = self._title(pool[kind], self.pool["feature_objects" if kind == "features_wanted" else "bug_objects"])
        parts = [dice.pick(pool[name]) for name in ("issue_openings", "issue_middles", "issue_ends")]
        is_near = ME in people
        is_open = plan.project.visibility != "private"
        others = [user.user_id for user in self.users[1:]] if is_open and dice.chance(50) else people
        author = ME if is_near and dice.chance(14) else dice.pick(others)
        issue = Issue(plan.project, title, self._described(parts, component), author, moment)
        if dice.chance(72):
            issue.labels.append(_KIND_LABELS[kind])
        issue.labels += [label[0] for label in dice.some(plan.labels[4:], dice.below(2))]
        if dice.chance(65):
            workers = [ME] if is_near and dice.chance(14) else [dice.pick(people)]
            issue.assignees = sorted({*workers, *dice.some(people, int(dice.chance(15)))})
        if plan.milestones and dice.chance(40):
            issue.milestone = dice.below(len(plan.milestones))
        if dice.chance(35):
            issue.due_on = str(moment.date() + timedelta(days=dice.between(10, 200)))
        issue.is_confidential = dice.chance(3)
        self._talk(issue, [author, *people], component, pool["comments"], self.sizes.most_notes)
        self._note_assignees(issue)
        if dice.chance(38):
            self._close(issue, "closed", dice.pick(people))
        return issue

    def _talk(self, item: Item, people: list[int], component: str, pool: list[str], most: int) -> None:
        """Let people comment, one after the other."""
        dice, moment = self.dice, item.created_at
        for text in dice.some(pool, dice.below(most + 1)):
            moment += (self.now - moment) * dice.between(2, 40) / 100
            moment = moment.replace(microsecond=0)
            speaker = dice.pick(people[:4] if dice.chance(70) else people)
            greeting = f"@{self.names[dice.pick(people)]} " if dice.chance(20) else ""
            item.notes.append(Note(speaker, greeting + self._text(text, component), moment))

    def _note_assignees(self, item: Item) -> None:
        for user_id in item.assignees:
            item.notes.append(Note(item.author_id, f"assigned to @{self.names[user_id]}", item.created_at, is_system=True))

    def _close(self, item: Item, state: str, user_id: int) -> None:
        """End an item some time after the last note."""
        last = item.updated_at
        item.closed_at = (last + (self.now - last) * self.dice.between(5, 80) / 100).replace(microsecond=0)
        item.state = state
        item.notes.append(Note(user_id, state, item.closed_at, is_system=True))

    def _request(self, plan: Plan, people: list[int], author: int, moment: datetime, source: str) -> MergeRequest:
        dice, pool = self.dice, pools()
        title, component = self._title(pool["mr_titles"], self.pool["bug_objects"] + self.pool["feature_objects"])
        text = self._described(dice.some(pool["mr_texts"], dice.between(1, 2)), component)
        request = MergeRequest(plan.project, title, text, author, moment, source=source, target=plan.project.default_branch)
        others = [user_id for user_id in people if user_id != author] or people
        is_near = ME in others
        if dice.chance(75):
            request.reviewers = [ME] if is_near and dice.chance(45) else [dice.pick(others)]
        if dice.chance(70):
            request.assignees = [ME] if ME in people and dice.chance(40) else [dice.pick([author, *others])]
        request.labels = [label[0] for label in dice.some(plan.labels, dice.below(3))]
        if plan.milestones and dice.chance(30):
            request.milestone = dice.below(len(plan.milestones))
        speakers = [*request.reviewers, author, author] if request.reviewers else [author, *others[:2]]
        self._talk(request, speakers, component, pool["mr_notes"], 5)
        self._note_assignees(request)
        return request

    def _open_request(self, plan: Plan, people: list[int], repository: Repository, branch: Branch) -> MergeRequest:
        assert branch.author is not None
        last = repository.commits[branch.commits[-1]].created_at
        moment = (last + (self.now - last) * self.dice.between(3, 50) / 100).replace(microsecond=0)
        request = self._request(plan, people, branch.author.user_id, moment, branch.name)
        request.is_draft = self.dice.chance(12)
        return request

    def _past_request(self, plan: Plan, people: list[int], repository: Repository, moment: datetime) -> MergeRequest:
        """Return a merged or closed request; its branch is gone."""
        present = [branch.name for branch in repository.branches]
        source = fill(self.dice, self.dice.pick(pools()["branch_words"]))
        source = f"{source}-2" if source in present else source
        author = self.dice.pick([user.user_id for user in repository.authors if user.user_id])
        request = self._request(plan, people, author, moment, source)
        self._close(request, "merged" if self.dice.chance(75) else "closed", self.dice.pick(people))
        return request
