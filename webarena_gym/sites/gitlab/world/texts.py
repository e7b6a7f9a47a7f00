"""What issues and merge requests say: combined of pools in standard worlds, composed of facts in large ones."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from webarena_gym.sites import prose
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import is_held_out, share
from webarena_gym.sites.gitlab.world.pools import fill, pools

KIND_LABELS = {"bugs": "bug", "features_wanted": "enhancement", "docs_wanted": "documentation", "questions": "question"}
"""The kinds of issues, and the label that each may have."""

_CONTRACTIONS = ((" not", "nt"), (" is", "s"), (" have", "ve"), (" has", "s"), (" will", "ll"), (" am", "m"))
_TRIES = 60  # of a text that has to differ from others
_REVIEWS: dict[prose.ReviewKind, int] = {"asks change": 4, "suggests change": 2, "approves": 3, "objects": 1}


class Said(NamedTuple):
    """A comment, and what it says where that is composed."""

    text: str
    facts: prose.Note | None = None


class Subject(Protocol):
    """What an issue or a merge request is about, and all that is said of it."""

    title: str

    @property
    def facts(self) -> prose.Issue | None:
        """What an issue says, where that is composed."""
        ...

    def described(self) -> str:
        """Return the description."""
        ...

    def remarks(self, most: int) -> Sequence[str]:
        """Return what will be said, at most so many things, before it is known who says each."""
        ...

    def say(self, remark: str, by_author: bool, /) -> Said:
        """Return the comment in the words of the one who says it; only the author speaks of what he has done."""
        ...

    def ending(self, request: int | None = None, /) -> Said:
        """Return what is said when it is closed, "" for nothing; a merge request may have closed it."""
        ...


class Writer(Protocol):
    """Writes the texts of one project after the other."""

    def begin(self) -> None:
        """Begin with the next project."""
        ...

    def issue(self, kind: str) -> Subject:
        """Return an issue of one of the kinds."""
        ...

    def request(self, closes: "Closes | None", /) -> Subject:
        """Return a merge request, which may close an issue."""
        ...


class Closes:
    """An issue that a merge request closes: its number, and what it is about."""

    def __init__(self, iid: int, subject: Subject) -> None:
        self.iid, self.subject = iid, subject


class PooledTexts:
    """The writer of standard worlds: patterns with slots. No two titles of a world are equal."""

    def __init__(self, dice: Dice, seed: int) -> None:
        self.dice = dice
        self.words = {name: share(pools()[name], seed) for name in ("components", "bug_objects", "feature_objects")}
        self.taken: set[str] = set()

    def begin(self) -> None:
        """Begin with the next project, whose titles differ from those before."""

    def issue(self, kind: str) -> Subject:
        """Return an issue of one of the kinds."""
        words = self.words["feature_objects" if kind == "features_wanted" else "bug_objects"]
        title, component = self._title(pools()[kind], words)
        parts = [self.dice.pick(pools()[name]) for name in ("issue_openings", "issue_middles", "issue_ends")]
        return _Pooled(self.dice, title, component, parts, pools()["comments"])

    def request(self, _closes: Closes | None, /) -> Subject:
        """Return a merge request, which closes nothing."""
        title, component = self._title(pools()["mr_titles"], self.words["bug_objects"] + self.words["feature_objects"])
        parts = self.dice.some(pools()["mr_texts"], self.dice.between(1, 2))
        return _Pooled(self.dice, title, component, parts, pools()["mr_notes"])

    def _title(self, patterns: list[str], things: list[str]) -> tuple[str, str]:
        """Return a title that nothing else in the world has, and the component that it is about."""
        while True:
            component = self.dice.pick(self.words["components"])
            title = _filled(self.dice, self.dice.pick(patterns), component, self.dice.pick(things))
            if title.lower() not in self.taken:
                self.taken.add(title.lower())
                return title, component


class _Pooled:
    """A subject of patterns."""

    facts = None

    def __init__(self, dice: Dice, title: str, component: str, parts: list[str], pool: list[str]) -> None:
        self.dice, self.title, self.component, self.parts, self.pool = dice, title, component, parts, pool

    def described(self) -> str:
        return "\n\n".join(_filled(self.dice, part, self.component) for part in self.parts)

    def remarks(self, most: int) -> Sequence[str]:
        return self.dice.some(self.pool, self.dice.below(most + 1))

    def say(self, remark: str, _by_author: bool, /) -> Said:
        return Said(_filled(self.dice, remark, self.component))

    def ending(self, _request: int | None = None, /) -> Said:
        return Said("")


def _filled(dice: Dice, text: str, component: str, thing: str = "") -> str:
    system = dice.pick(pools()["systems"])
    filled = fill(dice, text, c=component, C=component.capitalize(), x=thing, s=system)
    return filled[0].upper() + filled[1:]


class ComposedTexts:
    """The writer of large worlds: facts, said in the words of `prose`. No two titles of a project are equal."""

    def __init__(self, dice: Dice, seed: int) -> None:
        self.dice, self.is_held_out = dice, is_held_out(seed)
        self.begin()

    def begin(self) -> None:
        """Begin with the next project, whose program has versions of its own."""
        self.taken: set[str] = set()
        self.major = self.dice.between(0, 9)
        self.platforms = self.dice.some(prose.PLATFORMS, self.dice.between(2, len(prose.PLATFORMS)))

    def issue(self, kind: str) -> Subject:
        """Return an issue of one of the kinds."""
        for _ in range(_TRIES):
            facts = self._facts(kind)
            title, body = prose.compose_issue(facts, self.dice, is_held_out=self.is_held_out)
            if title.lower() not in self.taken:
                break
        return _Issue(self, self._single(title), body, facts)

    def request(self, closes: Closes | None) -> Subject:
        """Return a merge request, which may close an issue."""
        dice = self.dice
        for _ in range(_TRIES):
            about: prose.Defect | prose.Wish
            if closes is not None and isinstance(closes.subject, _Issue):
                about, iid = closes.subject.about, str(closes.iid)
            else:
                about, iid = prose.draw_defect(dice, is_held_out=self.is_held_out), ""
            facts = prose.Request(
                about=about, issue=iid, has_tests=dice.chance(65), is_breaking=dice.chance(12), register=self.register()
            )
            title, body = prose.compose_request(facts, dice, is_held_out=self.is_held_out)
            if title.lower() not in self.taken:
                break
        return _Request(self, self._single(title), body)

    def _facts(self, kind: str) -> prose.Issue:
        dice, register = self.dice, self.register()
        if kind == "features_wanted":
            return prose.draw_wish(dice, is_held_out=self.is_held_out, register=register)
        defect = prose.draw_defect(dice, is_held_out=self.is_held_out)
        if kind == "docs_wanted":
            return prose.Gap(defect=defect, register=register)
        minor = dice.between(1, 9)
        version, platform = self.version(minor), self.platform(defect)
        if kind == "questions":
            return prose.Inquiry(defect=defect, version=version, platform=platform, register=register)
        since = f"{self.major}.{dice.below(minor)}" if dice.chance(30) else ""
        return prose.Bug(defect=defect, version=version, platform=platform, since=since, register=register)

    def platform(self, defect: prose.Defect) -> str:
        """Return a platform of the project on which the part with the defect is run."""
        own = prose.platforms_of(defect)
        return self.dice.pick([each for each in self.platforms if each in own] or own)

    def version(self, minor: int) -> str:
        """Return a version of the project's program."""
        return f"{self.major}.{minor}.{self.dice.below(6)}"

    def register(self) -> prose.Register:
        """Return how somebody writes."""
        return self.dice.weigh(prose.REGISTERS, (3, 5, 2, 2))

    def _single(self, title: str) -> str:
        """Return a title that nothing else in the project has."""
        number, single = 2, title
        while single.lower() in self.taken:
            number, single = number + 1, f"{title} ({number})"
        self.taken.add(single.lower())
        return single


class _Issue:
    """An issue of facts. Whoever speaks knows what was said before."""

    def __init__(self, writer: ComposedTexts, title: str, body: str, facts: prose.Issue) -> None:
        self.writer, self.title, self.body, self.facts = writer, title, body, facts
        self.minor = int(facts.version.split(".")[1]) if isinstance(facts, prose.Bug) else 1
        self.said: set[prose.NoteKind] = set()
        self.texts: set[str] = set()

    @property
    def about(self) -> prose.Defect | prose.Wish:
        """What a merge request would have to do."""
        return self.facts if isinstance(self.facts, prose.Wish) else self.facts.defect

    def described(self) -> str:
        return self.body

    def remarks(self, most: int) -> Sequence[str]:
        return [""] * self.writer.dice.below(most + 1)

    def say(self, _remark: str, by_author: bool, /) -> Said:
        for _ in range(_TRIES):
            said = self._note(self._kind(by_author))
            if _is_fresh(said.text, self.texts):
                break
        return said

    def ending(self, request: int | None = None, /) -> Said:
        if request is not None:
            return self._note("fixed", number=str(request))
        return self._note("declined") if self.writer.dice.chance(35) else Said("")

    def _kind(self, by_author: bool) -> prose.NoteKind:
        dice = self.writer.dice
        if by_author or isinstance(self.facts, prose.Gap):
            return "note"
        if isinstance(self.facts, prose.Wish):
            return "supports" if dice.chance(60) else "note"
        kinds: dict[prose.NoteKind, int] = {"note": 3, "workaround works": 2}
        if isinstance(self.facts, prose.Bug):
            kinds |= {"confirms": 5, "cannot reproduce": 2, "workaround fails": 1}
        if "cause" not in self.said:
            kinds |= {"cause": 1} if "suspects" in self.said else {"suspects": 2, "cause": 1}
        return dice.weigh(list(kinds), list(kinds.values()))

    def _note(self, kind: prose.NoteKind, number: str = "") -> Said:
        writer, dice = self.writer, self.writer.dice
        self.said.add(kind)
        about = self.about
        defect = about if isinstance(about, prose.Defect) else None
        facts = prose.Note(
            kind=kind,
            version=writer.version(dice.between(self.minor if kind in ("confirms", "fixed") else 1, 9)),
            number=number,
            platform=writer.platform(defect) if defect else dice.pick(writer.platforms),
            cause=defect.cause if defect else "",
            workaround=defect.workaround if defect else "",
            ground=prose.draw_choice(dice, "ground", is_held_out=writer.is_held_out) if kind == "declined" else "",
            register=writer.register(),
        )
        return Said(prose.compose_note(facts, dice, is_held_out=writer.is_held_out), facts)


def _is_fresh(text: str, said: set[str]) -> bool:
    """Tell whether a text was not said before, whatever its capitals, its marks and what it contracts. It is said from then on."""
    key = text.lower()
    for words, contracted in _CONTRACTIONS:
        key = key.replace(words, contracted)
    key = "".join(filter(str.isalnum, key))
    is_fresh = key not in said
    said.add(key)
    return is_fresh


class _Request:
    """A merge request of facts: who reviews asks, and the author answers what was asked last."""

    facts = None

    def __init__(self, writer: ComposedTexts, title: str, body: str) -> None:
        self.writer, self.title, self.body = writer, title, body
        self.asked: list[str] = []
        self.texts: set[str] = set()

    def described(self) -> str:
        return self.body

    def remarks(self, most: int) -> Sequence[str]:
        return [""] * self.writer.dice.below(most + 1)

    def say(self, _remark: str, by_author: bool, /) -> Said:
        writer, dice = self.writer, self.writer.dice
        kind: prose.ReviewKind
        change = why = ""
        if by_author and self.asked:
            change, kind = self.asked.pop(), "did change" if dice.chance(75) else "refuses change"
        elif by_author:
            kind = "pushed"
        else:
            kind = dice.weigh(list(_REVIEWS), list(_REVIEWS.values()))
            if kind in ("asks change", "suggests change"):
                change = self._change()
                self.asked.append(change)
        if kind in ("refuses change", "objects"):
            why = prose.draw_choice(dice, "why", is_held_out=writer.is_held_out)
        facts = prose.Remark(kind=kind, change=change, why=why, register=writer.register())
        for _ in range(_TRIES):
            text = prose.compose_remark(facts, dice, is_held_out=writer.is_held_out)
            if _is_fresh(text, self.texts):
                break
        return Said(text)

    def ending(self, _request: int | None = None, /) -> Said:
        return Said("")

    def _change(self) -> str:
        """Draw a change that nobody has asked for."""
        for _ in range(_TRIES):
            change = prose.draw_choice(self.writer.dice, "change", is_held_out=self.writer.is_held_out)
            if _is_fresh(change, self.texts):
                break
        return change


def issue_row(facts: prose.Issue) -> tuple[str, str, str, str, str, str]:
    """Return what `issue_fact` holds of an issue, but its id."""
    match facts:
        case prose.Wish():
            return ("wish", facts.wish, facts.reason, "", "", "")
        case prose.Gap():
            return ("gap", facts.defect.symptom, facts.defect.trigger, "", "", "")
        case prose.Inquiry():
            return ("question", facts.defect.symptom, facts.defect.trigger, facts.version, facts.platform, "")
        case prose.Bug():
            return ("bug", facts.defect.symptom, facts.defect.trigger, facts.version, facts.platform, facts.since)


def note_row(facts: prose.Note) -> tuple[str, str, str, str]:
    """Return what `note_fact` holds of a comment, but its id."""
    where = (facts.version, facts.platform) if facts.kind in ("confirms", "cannot reproduce") else ("", "")
    return (facts.kind, *where, facts.number)
