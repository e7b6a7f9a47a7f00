"""What people plan: labels, milestones, issues, merge requests, what they say to each other, and who has to do what."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webarena_gym.sites import prose
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.gitlab.access import rank
from webarena_gym.sites.gitlab.world.people import ME, Group, User
from webarena_gym.sites.gitlab.world.pools import fill, pools
from webarena_gym.sites.gitlab.world.projects import Project
from webarena_gym.sites.gitlab.world.repositories import Branch, Repository
from webarena_gym.sites.gitlab.world.sizes import SIZES, Sizes
from webarena_gym.sites.gitlab.world.texts import KIND_LABELS, Closes, ComposedTexts, PooledTexts, Subject, Writer


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
    facts: prose.Note | None = None  # what it says, where that is composed


@dataclass
class Item:
    """What issues and merge requests have in common."""

    project: Project
    subject: Subject
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
    def title(self) -> str:
        """What it is called."""
        return self.subject.title

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
    closes: Closes | None = None
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
    """Plans one project after the other."""

    def __init__(self, seed: int, now: datetime, groups: list[Group], users: list[User], sizes: Sizes) -> None:
        self.sizes = sizes
        self.dice = Dice(f"code/planning/{seed}")
        self.now, self.users = now, users
        self.names = {user.user_id: user.username for user in users}
        self.groups = {group.group_id: group for group in groups}
        self.writer: Writer = (ComposedTexts if sizes.is_composed else PooledTexts)(self.dice, seed)

    def plan(self, repository: Repository) -> Plan:
        """Return the planning of one project."""
        dice, project, sizes = self.dice, repository.project, self.sizes
        self.writer.begin()
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
        requests = plan.merge_requests
        for branch in open_branches:
            requests.append(self._open_request(plan, people, repository, branch))
        past = dice.between(*sizes.busy_requests) if is_busy else dice.below(3)
        for moment in self._moments(project, dice.between(*sizes.giant_requests) if project.is_giant else past):
            requests.append(self._past_request(plan, people, repository, moment))
        requests.sort(key=lambda request: request.created_at)
        for iid, request in enumerate(requests, 1):
            if request.closes and request.state == "merged":
                self._close_by(plan.issues[request.closes.iid - 1], request, iid)
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

    def _issue(self, plan: Plan, people: list[int], moment: datetime) -> Issue:
        dice = self.dice
        kind = dice.weigh(list(KIND_LABELS), (5, 4, 2, 2))
        subject = self.writer.issue(kind)
        is_near = ME in people
        is_open = plan.project.visibility != "private"
        others = [user.user_id for user in self.users[1:]] if is_open and dice.chance(50) else people
        author = ME if is_near and dice.chance(14) else dice.pick(others)
        issue = Issue(plan.project, subject, subject.described(), author, moment)
        if dice.chance(72):
            issue.labels.append(KIND_LABELS[kind])
        issue.labels += [label[0] for label in dice.some(plan.labels[4:], dice.below(2))]
        if dice.chance(65):
            workers = [ME] if is_near and dice.chance(14) else [dice.pick(people)]
            issue.assignees = sorted({*workers, *dice.some(people, int(dice.chance(15)))})
        if plan.milestones and dice.chance(40):
            issue.milestone = dice.below(len(plan.milestones))
        if dice.chance(35):
            issue.due_on = str(moment.date() + timedelta(days=dice.between(10, 200)))
        issue.is_confidential = dice.chance(3)
        self._talk(issue, [author, *people], self.sizes.most_notes)
        self._note_assignees(issue)
        if dice.chance(38):
            self._close(issue, "closed", dice.pick(people))
        return issue

    def _talk(self, item: Item, people: list[int], most: int) -> None:
        """Let people comment, one after the other."""
        dice, moment = self.dice, item.created_at
        for remark in item.subject.remarks(most):
            moment += (self.now - moment) * dice.between(2, 40) / 100
            moment = moment.replace(microsecond=0)
            speaker = dice.pick(people[:4] if dice.chance(70) else people)
            heard = people if not self.sizes.is_composed else _others(item, speaker)
            greeting = f"@{self.names[dice.pick(heard)]} " if heard and dice.chance(20) else ""
            text, facts = item.subject.say(remark, speaker == item.author_id)
            item.notes.append(Note(speaker, greeting + text, moment, facts=facts))

    def _note_assignees(self, item: Item) -> None:
        for user_id in item.assignees:
            item.notes.append(Note(item.author_id, f"assigned to @{self.names[user_id]}", item.created_at, is_system=True))

    def _close(self, item: Item, state: str, user_id: int) -> None:
        """End an item some time after the last note."""
        last = item.updated_at
        item.closed_at = (last + (self.now - last) * self.dice.between(5, 80) / 100).replace(microsecond=0)
        item.state = state
        text, facts = item.subject.ending()
        if text:
            item.notes.append(Note(user_id, text, item.closed_at, facts=facts))
        item.notes.append(Note(user_id, state, item.closed_at, is_system=True))

    def _closable(self, plan: Plan, moment: datetime) -> Closes | None:
        """Return an open issue that a merge request of that moment closes: one of which nobody spoke since."""
        if not self.sizes.is_composed or not self.dice.chance(70):
            return None
        taken = {request.closes.iid for request in plan.merge_requests if request.closes}
        numbers = [
            iid
            for iid, issue in enumerate(plan.issues, 1)
            if issue.state == "opened" and issue.updated_at < moment and iid not in taken
        ]
        return Closes(iid := self.dice.pick(numbers), plan.issues[iid - 1].subject) if numbers else None

    def _close_by(self, issue: Issue, request: MergeRequest, iid: int) -> None:
        """Close an issue by the merge request that mends it."""
        assert request.closed_at is not None
        closer = request.notes[-1].author_id
        issue.state, issue.closed_at = "closed", request.closed_at
        text, facts = issue.subject.ending(iid)
        issue.notes.append(Note(closer, text, request.closed_at, facts=facts))
        issue.notes.append(Note(closer, "closed", request.closed_at, is_system=True))

    def _request(self, plan: Plan, people: list[int], author: int, moment: datetime, source: str) -> MergeRequest:
        dice = self.dice
        closes = self._closable(plan, moment)
        subject = self.writer.request(closes)
        target = plan.project.default_branch
        request = MergeRequest(
            plan.project, subject, subject.described(), author, moment, source=source, target=target, closes=closes
        )
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
        self._talk(request, speakers, 5)
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


def _others(item: Item, speaker: int) -> list[int]:
    """Return who has said something on an item, but for one."""
    return [user_id for user_id in (item.author_id, *(note.author_id for note in item.notes)) if user_id != speaker]
