"""The labels, milestones, issues and merge requests of a world's code host, and their texts.

Texts are assembled from patterns in standard worlds, and composed from facts in large worlds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice, is_held_out, share
from webarena_gym.sites.gitlab.world_projects import ME, Host, Project, Repository, fill, pools, rank
from webarena_gym.sites.prose import grammar
from webarena_gym.sites.prose import issues as issues_prose

KIND_LABELS = {"bugs": "bug", "features_wanted": "enhancement", "docs_wanted": "documentation", "questions": "question"}
"""Label of each kind of issue."""

_CONTRACTIONS = ((" not", "nt"), (" is", "s"), (" have", "ve"), (" has", "s"), (" will", "ll"), (" am", "m"))
_TRIES = 60  # draws of a text until it differs from earlier ones
_REVIEWS: dict[issues_prose.ReviewKind, int] = {"asks change": 4, "suggests change": 2, "approves": 3, "objects": 1}


Comment = tuple[str, issues_prose.Note | None]
"""Text of a comment, and its facts if it is composed from facts."""


class PooledTexts:
    """Writes the texts of standard worlds from patterns with slots. No two titles of a world are equal."""

    def __init__(self, dice: Dice, seed: int) -> None:
        self.dice = dice
        self.words = {name: share(pools()[name], seed) for name in ("components", "bug_objects", "feature_objects")}
        self.titles: set[str] = set()

    def start_project(self) -> None:
        """Start the texts of a project. Its titles differ from those of earlier projects."""

    def issue(self, kind: str) -> "Subject":
        """Return an issue of a kind of KIND_LABELS."""
        words = self.words["feature_objects" if kind == "features_wanted" else "bug_objects"]
        title, component = self._title(pools()[kind], words)
        parts = [self.dice.pick(pools()[name]) for name in ("issue_openings", "issue_middles", "issue_ends")]
        return _PatternSubject(self.dice, title, component, parts, pools()["comments"])

    def request(self, _closes: object, /) -> "Subject":
        """Return a merge request, which closes no issue."""
        title, component = self._title(pools()["mr_titles"], self.words["bug_objects"] + self.words["feature_objects"])
        parts = self.dice.some(pools()["mr_texts"], self.dice.between(1, 2))
        return _PatternSubject(self.dice, title, component, parts, pools()["mr_notes"])

    def _title(self, patterns: list[str], things: list[str]) -> tuple[str, str]:
        """Return a title that is unique in the world, and the component that it mentions."""
        while True:
            component = self.dice.pick(self.words["components"])
            title = _fill_slots(self.dice, self.dice.pick(patterns), component, self.dice.pick(things))
            if title.lower() not in self.titles:
                self.titles.add(title.lower())
                return title, component


def _fill_slots(dice: Dice, text: str, component: str, thing: str = "") -> str:
    system = dice.pick(pools()["systems"])
    sentence = fill(dice, text, c=component, C=component.capitalize(), x=thing, s=system)
    return sentence[0].upper() + sentence[1:]


class ComposedTexts:
    """Composes the texts of large worlds from facts, with `prose`. No two titles of a project are equal."""

    def __init__(self, dice: Dice, seed: int) -> None:
        self.dice, self.is_held_out = dice, is_held_out(seed)
        self.start_project()

    def start_project(self) -> None:
        """Start the texts of a project, with its own version numbers and platforms."""
        self.titles: set[str] = set()
        self.major = self.dice.between(0, 9)
        self.platforms = self.dice.some(issues_prose.PLATFORMS, self.dice.between(2, len(issues_prose.PLATFORMS)))

    def issue(self, kind: str) -> "Subject":
        """Return an issue of a kind of KIND_LABELS."""
        for _ in range(_TRIES):
            facts = self._facts(kind)
            title, body = issues_prose.compose_issue(facts, self.dice, is_held_out=self.is_held_out)
            if title.lower() not in self.titles:
                break
        return _FactualIssue(self, self._single(title), body, facts)

    def request(self, closes: tuple[int, "Subject"] | None) -> "Subject":
        """Return a merge request. `closes` is the number and subject of the issue that it closes, if any."""
        dice = self.dice
        for _ in range(_TRIES):
            about: issues_prose.Defect | issues_prose.Wish
            if closes is not None and isinstance(closes[1], _FactualIssue):
                about, iid = closes[1].about, str(closes[0])
            else:
                about, iid = issues_prose.draw_defect(dice, is_held_out=self.is_held_out), ""
            facts = issues_prose.Request(
                about=about, issue=iid, has_tests=dice.chance(65), is_breaking=dice.chance(12), register=self.register()
            )
            title, body = issues_prose.compose_request(facts, dice, is_held_out=self.is_held_out)
            if title.lower() not in self.titles:
                break
        return _FactualRequest(self, self._single(title), body)

    def _facts(self, kind: str) -> issues_prose.Issue:
        dice, register = self.dice, self.register()
        if kind == "features_wanted":
            return issues_prose.draw_wish(dice, is_held_out=self.is_held_out, register=register)
        defect = issues_prose.draw_defect(dice, is_held_out=self.is_held_out)
        if kind == "docs_wanted":
            return issues_prose.Gap(defect=defect, register=register)
        minor = dice.between(1, 9)
        version, platform = self.version(minor), self.platform(defect)
        if kind == "questions":
            return issues_prose.Inquiry(defect=defect, version=version, platform=platform, register=register)
        since = f"{self.major}.{dice.below(minor)}" if dice.chance(30) else ""
        return issues_prose.Bug(defect=defect, version=version, platform=platform, since=since, register=register)

    def platform(self, defect: issues_prose.Defect) -> str:
        """Return a platform of the project that runs the part with the defect."""
        platforms = issues_prose.platforms_of(defect)
        return self.dice.pick([name for name in self.platforms if name in platforms] or platforms)

    def version(self, minor: int) -> str:
        """Return a version of the project with a minor version number."""
        return f"{self.major}.{minor}.{self.dice.below(6)}"

    def register(self) -> grammar.Register:
        """Draw the register of an author."""
        return self.dice.weigh(grammar.REGISTERS, (3, 5, 2, 2))

    def _single(self, title: str) -> str:
        """Return the title, with a number if another item of the project has it."""
        number, single = 2, title
        while single.lower() in self.titles:
            number, single = number + 1, f"{title} ({number})"
        self.titles.add(single.lower())
        return single


class Subject:
    """Title and texts of an issue or merge request. `facts` are those of a composed issue."""

    def __init__(self, dice: Dice, title: str, body: str = "", facts: issues_prose.Issue | None = None) -> None:
        self.dice, self.title, self.body, self.facts = dice, title, body, facts
        self.texts: set[str] = set()

    def description_text(self) -> str:
        """Return the description."""
        return self.body

    def remarks(self, most: int) -> Sequence[str]:
        """Return at most `most` patterns of comments, from which `remark_text` makes the texts."""
        return [""] * self.dice.below(most + 1)

    def remark_text(self, remark: str, by_author: bool, /) -> Comment:
        """Return a comment made from a pattern. `by_author` is True if the author of the item writes it."""
        raise NotImplementedError

    def ending(self, _request: int | None = None, /) -> Comment:
        """Return the comment that closes the item; `request` is the number of the merge request that closes it, if any."""
        return "", None

    def is_fresh(self, text: str) -> bool:
        """Return True the first time that a text is passed, ignoring case, punctuation and contractions."""
        key = text.lower()
        for words, contracted in _CONTRACTIONS:
            key = key.replace(words, contracted)
        key = "".join(filter(str.isalnum, key))
        is_fresh = key not in self.texts
        self.texts.add(key)
        return is_fresh


class _PatternSubject(Subject):
    """A subject whose texts are patterns with slots."""

    def __init__(self, dice: Dice, title: str, component: str, parts: list[str], pool: list[str]) -> None:
        super().__init__(dice, title)
        self.component, self.parts, self.pool = component, parts, pool

    def description_text(self) -> str:
        return "\n\n".join(_fill_slots(self.dice, part, self.component) for part in self.parts)

    def remarks(self, most: int) -> Sequence[str]:
        return self.dice.some(self.pool, self.dice.below(most + 1))

    def remark_text(self, remark: str, _by_author: bool, /) -> Comment:
        return _fill_slots(self.dice, remark, self.component), None


class _FactualIssue(Subject):
    """An issue composed from facts. The kind of a comment depends on the earlier comments."""

    def __init__(self, writer: ComposedTexts, title: str, body: str, facts: issues_prose.Issue) -> None:
        super().__init__(writer.dice, title, body, facts)
        self.writer = writer
        self.about = facts if isinstance(facts, issues_prose.Wish) else facts.defect  # purpose of a merge request
        self.minor = int(facts.version.split(".")[1]) if isinstance(facts, issues_prose.Bug) else 1
        self.kinds: set[issues_prose.NoteKind] = set()  # kinds of the comments so far

    def remark_text(self, _remark: str, by_author: bool, /) -> Comment:
        for _ in range(_TRIES):
            comment = self._note(self._kind(by_author))
            if self.is_fresh(comment[0]):
                break
        return comment

    def ending(self, request: int | None = None, /) -> Comment:
        if request is not None:
            return self._note("fixed", number=str(request))
        return self._note("declined") if self.dice.chance(35) else ("", None)

    def _kind(self, by_author: bool) -> issues_prose.NoteKind:
        if by_author or isinstance(self.facts, issues_prose.Gap):
            return "note"
        if isinstance(self.facts, issues_prose.Wish):
            return "supports" if self.dice.chance(60) else "note"
        kinds: dict[issues_prose.NoteKind, int] = {"note": 3, "workaround works": 2}
        if isinstance(self.facts, issues_prose.Bug):
            kinds |= {"confirms": 5, "cannot reproduce": 2, "workaround fails": 1}
        if "cause" not in self.kinds:
            kinds |= {"cause": 1} if "suspects" in self.kinds else {"suspects": 2, "cause": 1}
        return self.dice.weigh(list(kinds), list(kinds.values()))

    def _note(self, kind: issues_prose.NoteKind, number: str = "") -> Comment:
        writer, dice = self.writer, self.dice
        self.kinds.add(kind)
        defect = self.about if isinstance(self.about, issues_prose.Defect) else None
        facts = issues_prose.Note(
            kind=kind,
            version=writer.version(dice.between(self.minor if kind in ("confirms", "fixed") else 1, 9)),
            number=number,
            platform=writer.platform(defect) if defect else dice.pick(writer.platforms),
            cause=defect.cause if defect else "",
            workaround=defect.workaround if defect else "",
            ground=issues_prose.draw_choice(dice, "ground", is_held_out=writer.is_held_out) if kind == "declined" else "",
            register=writer.register(),
        )
        return issues_prose.compose_note(facts, dice, is_held_out=writer.is_held_out), facts


class _FactualRequest(Subject):
    """A merge request composed from facts. Reviewers request changes, and the author replies to the latest request."""

    def __init__(self, writer: ComposedTexts, title: str, body: str) -> None:
        super().__init__(writer.dice, title, body)
        self.writer = writer
        self.open_changes: list[str] = []

    def remark_text(self, _remark: str, by_author: bool, /) -> Comment:
        dice, is_held_out = self.dice, self.writer.is_held_out
        kind: issues_prose.ReviewKind
        change = why = ""
        if by_author and self.open_changes:
            change, kind = self.open_changes.pop(), "did change" if dice.chance(75) else "refuses change"
        elif by_author:
            kind = "pushed"
        else:
            kind = dice.weigh(list(_REVIEWS), list(_REVIEWS.values()))
            if kind in ("asks change", "suggests change"):
                for _ in range(_TRIES):  # until nobody has requested this change before
                    change = issues_prose.draw_choice(dice, "change", is_held_out=is_held_out)
                    if self.is_fresh(change):
                        break
                self.open_changes.append(change)
        if kind in ("refuses change", "objects"):
            why = issues_prose.draw_choice(dice, "why", is_held_out=is_held_out)
        facts = issues_prose.Remark(kind=kind, change=change, why=why, register=self.writer.register())
        for _ in range(_TRIES):
            text = issues_prose.compose_remark(facts, dice, is_held_out=is_held_out)
            if self.is_fresh(text):
                break
        return text, None


def issue_row(facts: issues_prose.Issue) -> tuple[str, str, str, str, str, str]:
    """Return the columns of an issue's row in `issue_fact` after its id."""
    match facts:
        case issues_prose.Wish():
            return ("wish", facts.wish, facts.reason, "", "", "")
        case issues_prose.Gap():
            return ("gap", facts.defect.symptom, facts.defect.trigger, "", "", "")
        case issues_prose.Inquiry():
            return ("question", facts.defect.symptom, facts.defect.trigger, facts.version, facts.platform, "")
        case issues_prose.Bug():
            return ("bug", facts.defect.symptom, facts.defect.trigger, facts.version, facts.platform, facts.since)


def note_row(facts: issues_prose.Note) -> tuple[str, str, str, str]:
    """Return the columns of a comment's row in `note_fact` after its id."""
    where = (facts.version, facts.platform) if facts.kind in ("confirms", "cannot reproduce") else ("", "")
    return (facts.kind, *where, facts.number)


class Note(NamedTuple):
    """A comment, or an event that the site recorded (`is_system`). `facts` are those of a composed comment."""

    author_id: int
    body: str
    created_at: datetime
    is_system: bool = False
    facts: issues_prose.Note | None = None


@dataclass
class Item:
    """An issue or a merge request. The last five fields are used by merge requests only."""

    subject: Subject
    description: str
    author_id: int
    created_at: datetime
    state: str = "opened"
    closed_at: datetime | None = None
    milestone: int | None = None  # index in the project's milestones
    labels: list[str] = field(default_factory=list)
    assignees: list[int] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    due_on: str | None = None
    is_confidential: bool = False
    source: str = ""  # branch to merge
    target: str = ""  # branch to merge into
    is_draft: bool = False
    closes: tuple[int, Subject] | None = None  # number and subject of the issue that it closes
    reviewers: list[int] = field(default_factory=list)

    @property
    def updated_at(self) -> datetime:
        """Time of its last activity."""
        return max((note.created_at for note in self.notes), default=self.created_at)

    def end(self, state: str, when: datetime, user_id: int, comment: Comment) -> None:
        """Set the final state, and add the comment, if it has a text, and the event of a user."""
        self.state, self.closed_at = state, when
        if comment[0]:
            self.notes.append(Note(user_id, comment[0], when, facts=comment[1]))
        self.notes.append(Note(user_id, state, when, is_system=True))


class Plan(NamedTuple):
    """The planning of a project."""

    project: Project
    labels: list[list[str]]  # name, color and description
    milestones: list[tuple[str, str, str, str]]  # title, first and last day, and state
    issues: list[Item]
    merge_requests: list[Item]


class Planner:
    """Draws the planning of the projects of a host, one after the other."""

    def __init__(self, host: Host) -> None:
        self.host, self.sizes, self.now, self.dice = host, host.sizes, host.now, Dice(f"code/planning/{host.seed}")
        self.writer: PooledTexts | ComposedTexts = (ComposedTexts if host.sizes.is_composed else PooledTexts)(
            self.dice, host.seed
        )

    def plan(self, repository: Repository) -> Plan:
        """Return the planning of one project."""
        dice, project, sizes = self.dice, repository.project, self.sizes
        self.writer.start_project()
        labels = [*pools()["labels"][:4], *dice.some(pools()["labels"][4:], dice.between(1, 4))]
        for area in dice.some(pools()["areas"], dice.below(3)):
            labels.append([area, dice.pick(("#3d6b8f", "#6d7a2c", "#8a5a44")), f"Concerns {area}"])
        plan, today = Plan(project, labels, [], [], []), self.now.date()
        for title in dice.some(pools()["milestones"], dice.weigh((0, 1, 2, 3), (2, 3, 3, 2))):
            start = today + timedelta(days=dice.between(-240, 40))
            due = start + timedelta(days=dice.between(14, 90))
            state = "closed" if due < today and dice.chance(80) else "active"
            plan.milestones.append((f"{title} {start.year}", str(start), str(due), state))
        if project.source:
            return plan
        members = self.host.members(project)
        people = sorted(members, key=lambda user_id: (-rank(members[user_id].role), user_id))  # owners first
        is_mine, is_busy = project.owner_id == ME, len(project.stars) > 25
        count = dice.between(*sizes.busy_issues) if is_mine or is_busy else dice.weigh((0, 3, 6, 8), (2, 5, 4, 2))
        if project.is_giant:
            count = dice.between(*sizes.giant_issues)
        for moment in self._moments(project, count):
            plan.issues.append(self._issue(plan, people, moment))
        requests = plan.merge_requests
        for branch in [branch for branch in repository.branches[1:] if dice.chance(60 if is_mine else 75)]:
            assert branch.author is not None
            last = repository.commits[branch.commits[-1]].created_at
            moment = (last + (self.now - last) * dice.between(3, 50) / 100).replace(microsecond=0)
            requests.append(self._request(plan, people, branch.author.user_id, moment, branch.name))
            requests[-1].is_draft = dice.chance(12)
        present = [branch.name for branch in repository.branches]
        past = dice.between(*sizes.busy_requests) if is_busy else dice.below(3)
        for moment in self._moments(project, dice.between(*sizes.giant_requests) if project.is_giant else past):
            source = fill(dice, dice.pick(pools()["branch_words"]))  # a branch that has been deleted
            author = dice.pick([user.user_id for user in repository.authors if user.user_id])
            request = self._request(plan, people, author, moment, f"{source}-2" if source in present else source)
            requests.append(request)
            self._close(request, "merged" if dice.chance(75) else "closed", dice.pick(people))
        requests.sort(key=lambda request: request.created_at)
        for iid, request in enumerate(requests, 1):
            if request.closes and request.state == "merged" and request.closed_at:
                number, subject = request.closes
                plan.issues[number - 1].end("closed", request.closed_at, request.notes[-1].author_id, subject.ending(iid))
        return plan

    def _moments(self, project: Project, count: int) -> list[datetime]:
        """Return `count` times since a project's creation, in order, at least a day before now."""
        whole = int((self.now - project.created_at).total_seconds()) - 86400
        return sorted(project.created_at + timedelta(seconds=self.dice.below(whole)) for _ in range(count))

    def _issue(self, plan: Plan, people: list[int], moment: datetime) -> Item:
        dice = self.dice
        kind = dice.weigh(list(KIND_LABELS), (5, 4, 2, 2))
        subject = self.writer.issue(kind)
        is_near = ME in people
        is_open = plan.project.visibility != "private"
        others = [user.user_id for user in self.host.users[1:]] if is_open and dice.chance(50) else people
        author = ME if is_near and dice.chance(14) else dice.pick(others)
        issue = Item(subject, subject.description_text(), author, moment)
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
        if dice.chance(38):
            self._close(issue, "closed", dice.pick(people))
        return issue

    def _request(self, plan: Plan, people: list[int], author: int, moment: datetime, source: str) -> Item:
        dice, closes = self.dice, None
        if self.sizes.is_composed and dice.chance(70):  # close an open issue without later activity
            closed = {request.closes[0] for request in plan.merge_requests if request.closes}
            fit = [
                (iid, issue.subject)
                for iid, issue in enumerate(plan.issues, 1)
                if issue.state == "opened" and issue.updated_at < moment and iid not in closed
            ]
            closes = dice.pick(fit) if fit else None
        subject = self.writer.request(closes)
        request = Item(
            subject,
            subject.description_text(),
            author,
            moment,
            source=source,
            target=plan.project.default_branch,
            closes=closes,
        )
        others = [user_id for user_id in people if user_id != author] or people
        if dice.chance(75):
            request.reviewers = [ME] if ME in others and dice.chance(45) else [dice.pick(others)]
        if dice.chance(70):
            request.assignees = [ME] if ME in people and dice.chance(40) else [dice.pick([author, *others])]
        request.labels = [label[0] for label in dice.some(plan.labels, dice.below(3))]
        if plan.milestones and dice.chance(30):
            request.milestone = dice.below(len(plan.milestones))
        self._talk(request, [*request.reviewers, author, author] if request.reviewers else [author, *others[:2]], 5)
        return request

    def _talk(self, item: Item, people: list[int], most: int) -> None:
        """Add comments, at most `most`, and events of assignments to the notes of an item."""
        dice, moment, names = self.dice, item.created_at, self.host.users
        for remark in item.subject.remarks(most):
            moment += (self.now - moment) * dice.between(2, 40) / 100
            moment = moment.replace(microsecond=0)
            speaker = dice.pick(people[:4] if dice.chance(70) else people)
            recipients = people
            if self.sizes.is_composed:  # users who have commented
                recipients = [other for other in (item.author_id, *(note.author_id for note in item.notes)) if other != speaker]
            greeting = f"@{names[dice.pick(recipients) - 1].username} " if recipients and dice.chance(20) else ""
            text, facts = item.subject.remark_text(remark, speaker == item.author_id)
            item.notes.append(Note(speaker, greeting + text, moment, facts=facts))
        for user_id in item.assignees:
            event = f"assigned to @{names[user_id - 1].username}"
            item.notes.append(Note(item.author_id, event, item.created_at, is_system=True))

    def _close(self, item: Item, state: str, user_id: int) -> None:
        """End an item at a time between its last note and now."""
        last = item.updated_at
        when = (last + (self.now - last) * self.dice.between(5, 80) / 100).replace(microsecond=0)
        item.end(state, when, user_id, item.subject.ending())
