"""Issues, merge requests, and what is said to them. Facts hold all that a text says; the `compose` functions say it."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import Facts, Register, Speaker, half, paragraphs, sections, written
from webarena_gym.sites.prose.reviews import Titled

NoteKind = Literal[
    "confirms", "cannot reproduce", "cause", "suspects", "workaround works", "workaround fails", "duplicate", "fixed", "verified",
    "still broken", "declined", "asks", "supports", "note",
]  # fmt: skip
ReviewKind = Literal[
    "asks change", "suggests change", "did change", "refuses change", "approves", "objects", "waits", "pushed"
]  # fmt: skip
PLATFORMS = ("Linux", "Windows", "macOS", "Android", "iOS", "FreeBSD")
_OF_PHONES = ("Android", "iOS")
_NOT_ON_PHONES = ("backup job", "build script", "command line tool", "crawler", "desktop client", "plugin loader", "scheduler",
                  "server package", "update service")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A defect: the part of the program that has it, what is seen, when, why, how to get round it, and what mends it."""

    part: str
    symptom: str
    trigger: str
    cause: str
    workaround: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class Bug(Facts):
    """An issue that reports a defect: what is seen and when. `since` is the first version that had it, "" where it is not said."""

    defect: Defect
    version: str
    platform: str
    since: str = ""


@dataclass(frozen=True, kw_only=True)
class Wish(Facts):
    """An issue that asks for something new, with the reason."""

    part: str
    wish: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Inquiry(Facts):
    """An issue that asks whether a defect is meant to be so."""

    defect: Defect
    version: str
    platform: str


@dataclass(frozen=True, kw_only=True)
class Gap(Facts):
    """An issue that misses a defect, or the way round it, in the manual."""

    defect: Defect


Issue: TypeAlias = Bug | Wish | Inquiry | Gap


@dataclass(frozen=True, kw_only=True)
class Note(Facts):
    """A comment on an issue. What its kind does not need is "".

    A cause is certain, what is suspected is a guess. `number` is of the other issue (duplicate) or of the merge request (fixed).
    `ground` is why something was declined.
    """

    kind: NoteKind
    version: str = ""
    platform: str = ""
    cause: str = ""
    workaround: str = ""
    number: str = ""
    ground: str = ""


@dataclass(frozen=True, kw_only=True)
class Request(Facts):
    """A merge request: what it mends or adds, which issue it closes ("": none), whether it has tests and breaks what was."""

    about: Defect | Wish
    has_tests: bool
    issue: str = ""
    is_breaking: bool = False


@dataclass(frozen=True, kw_only=True)
class Remark(Facts):
    """A comment on a merge request. `change` is what is asked for (must be done), suggested (may be), done or refused."""

    kind: ReviewKind
    change: str = ""
    why: str = ""
    number: str = ""


def platforms_of(defect: Defect) -> tuple[str, ...]:
    """Return the platforms on which the part of a program that has a defect is run."""
    if defect.part == "mobile app":
        return _OF_PHONES
    return tuple(each for each in PLATFORMS if defect.part not in _NOT_ON_PHONES or each not in _OF_PHONES)


def draw_defect(dice: Dice, part: str = "", *, is_held_out: bool) -> Defect:
    """Draw a defect of a part of a program; without one, of a part that may well have it."""
    parts, row = dice.pick(_defects(is_held_out))
    part = part or dice.pick(parts)
    symptom, trigger, cause, workaround, fix = (text.replace("{part}", part) for text in row)
    return Defect(part=part, symptom=symptom, trigger=trigger, cause=cause, workaround=workaround, fix=fix)


def draw_wish(dice: Dice, *, is_held_out: bool, register: Register = "plain") -> Wish:
    """Draw a wish with its reason."""
    part = dice.pick(dice.pick(_defects(is_held_out))[0])
    wish, _, reason = dice.pick(half(sections("defects")["wish"], is_held_out)).partition(" = ")
    return Wish(part=part, wish=wish.replace("{part}", part), reason=reason, register=register)


def parts_of_programs() -> tuple[str, ...]:
    """Return the parts that defects and wishes are about, of both halves of the worlds."""
    return tuple(dict.fromkeys(part for half_of in (False, True) for parts, _ in _defects(half_of) for part in parts))


def draw_choice(dice: Dice, section: Literal["change", "why", "ground"], *, is_held_out: bool) -> str:
    """Draw a change that a reviewer may ask for, why somebody is against something, or the ground to decline an issue."""
    return Speaker("issues", dice, {}, is_held_out=is_held_out).phrase(section)


@cache
def _defects(is_held_out: bool) -> tuple[tuple[list[str], list[str]], ...]:
    """Return the defects of one half of the worlds, each with the parts that may have it."""
    return tuple(
        (half(parts.split("; "), is_held_out), row.split("; "))
        for kind, (parts, *rows) in sections("defects").items()
        if kind != "wish"
        for row in half(rows, is_held_out)
    )


def compose_issue(facts: Issue, dice: Dice, *, is_held_out: bool) -> Titled:
    """Return the issue that says these facts."""
    if isinstance(facts, Wish):
        slots = {"wish": facts.wish, "reason": facts.reason}
    else:
        slots = {"symptom": facts.defect.symptom, "trigger": facts.defect.trigger, "workaround": facts.defect.workaround}
    if isinstance(facts, Bug | Inquiry):
        slots |= {"version": facts.version, "platform": facts.platform}
    if isinstance(facts, Bug):
        slots["since"] = facts.since
    speaker = Speaker("issues", dice, slots, is_held_out=is_held_out)
    match facts:
        case Wish():
            title, parts = speaker.phrase("wish title"), [[speaker.say("wish")]]
        case Gap():
            title, parts = speaker.phrase("docs title"), [[speaker.say("docs")]]
        case Inquiry():
            title, parts = speaker.phrase("question title"), [[speaker.say("question")], [speaker.say("where")]]
        case Bug():
            since = [speaker.say("since")] if facts.since else []
            expected = [speaker.say("expected")] if dice.chance(60) else []
            where, has_parts = [speaker.say("where"), *since], dice.chance(50)
            bug = [speaker.say("bug")]
            parts = [bug, where, expected] if has_parts else [[*bug, *where, *expected]]
            title = speaker.phrase("bug title")
    return Titled(written(title, facts.register, dice).rstrip("."), written(paragraphs(*parts), facts.register, dice))


def compose_note(facts: Note, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment on an issue that says these facts."""
    speaker = Speaker("issues", dice, vars(facts), is_held_out=is_held_out)
    return written(speaker.say(facts.kind), facts.register, dice)


def compose_request(facts: Request, dice: Dice, *, is_held_out: bool) -> Titled:
    """Return the merge request that says these facts."""
    if isinstance(facts.about, Wish):
        slots, kind = {"wish": facts.about.wish, "issue": facts.issue}, "wish request"
    else:
        about = facts.about
        slots = {"part": about.part, "fix": about.fix, "cause": about.cause, "issue": facts.issue}
        kind = "request" if facts.issue else "request alone"
    speaker = Speaker("issues", dice, slots, is_held_out=is_held_out)
    tests = [speaker.say("tests yes" if facts.has_tests else "tests no")]
    breaking = [speaker.say("breaking")] if facts.is_breaking else []
    text = paragraphs([speaker.say(kind)], [*tests, *breaking])
    title = speaker.phrase("wish request title" if kind == "wish request" else "request title")
    return Titled(written(title, facts.register, dice).rstrip("."), written(text, facts.register, dice))


def compose_remark(facts: Remark, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment on a merge request that says these facts."""
    slots = vars(facts) | {"change_quoted": facts.change and f'"{facts.change}"'}
    return written(Speaker("issues", dice, slots, is_held_out=is_held_out).say(facts.kind), facts.register, dice)
