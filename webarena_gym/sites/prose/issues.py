"""Issues, merge requests and comments on them: facts, functions that draw them, and functions that compose the texts."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import Facts, Register, Speaker, apply_register, half, paragraphs, sections
from webarena_gym.sites.prose.reviews import TitledText

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
    """A defect of a program: the affected part, the symptom and its trigger, the cause, a workaround and the fix."""

    part: str
    symptom: str
    trigger: str
    cause: str
    workaround: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class Bug(Facts):
    """An issue that reports a defect. `since` is the first affected version, "" if the issue does not mention it."""

    defect: Defect
    version: str
    platform: str
    since: str = ""


@dataclass(frozen=True, kw_only=True)
class Wish(Facts):
    """An issue that requests a feature, with the reason."""

    part: str
    wish: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Inquiry(Facts):
    """An issue that asks if the behavior of a defect is intended."""

    defect: Defect
    version: str
    platform: str


@dataclass(frozen=True, kw_only=True)
class Gap(Facts):
    """An issue that asks for a defect or its workaround to be documented."""

    defect: Defect


Issue: TypeAlias = Bug | Wish | Inquiry | Gap


@dataclass(frozen=True, kw_only=True)
class Note(Facts):
    """A comment on an issue. Fields that its kind does not use are "".

    `cause` is a fact in comments of the kind "cause" and a guess in those of the kind "suspects". `number` is that of the other issue
    (kind "duplicate") or of the merge request ("fixed"). `ground` is the reason for declining an issue.
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
    """A merge request that fixes a defect or adds a feature."""

    about: Defect | Wish
    has_tests: bool
    issue: str = ""  # number of the issue that it closes; "": none
    is_breaking: bool = False  # it changes existing behavior


@dataclass(frozen=True, kw_only=True)
class Remark(Facts):
    """A comment on a merge request. `change` is the change that it requests, suggests, reports as done or refuses."""

    kind: ReviewKind
    change: str = ""
    why: str = ""
    number: str = ""


def platforms_of(defect: Defect) -> tuple[str, ...]:
    """Return the platforms that run the part of the program that has a defect."""
    if defect.part == "mobile app":
        return _OF_PHONES
    return tuple(name for name in PLATFORMS if defect.part not in _NOT_ON_PHONES or name not in _OF_PHONES)


def draw_defect(dice: Dice, part: str = "", *, is_held_out: bool) -> Defect:
    """Draw a defect of a part of a program; with part "", of any part that suits the defect."""
    parts, row = dice.pick(_defects(is_held_out))
    part = part or dice.pick(parts)
    symptom, trigger, cause, workaround, fix = (text.replace("{part}", part) for text in row)
    return Defect(part=part, symptom=symptom, trigger=trigger, cause=cause, workaround=workaround, fix=fix)


def draw_wish(dice: Dice, *, is_held_out: bool, register: Register = "plain") -> Wish:
    """Draw a feature request with its reason."""
    part = dice.pick(dice.pick(_defects(is_held_out))[0])
    wish, _, reason = dice.pick(half(sections("defects")["wish"], is_held_out)).partition(" = ")
    return Wish(part=part, wish=wish.replace("{part}", part), reason=reason, register=register)


def parts_of_programs() -> tuple[str, ...]:
    """Return the parts of programs with defects and feature requests, in training and held-out worlds."""
    return tuple(dict.fromkeys(part for half_of in (False, True) for parts, _ in _defects(half_of) for part in parts))


def draw_choice(dice: Dice, section: Literal["change", "why", "ground"], *, is_held_out: bool) -> str:
    """Draw a change that a reviewer may request, a reason for an objection, or a reason for declining an issue."""
    return Speaker("issues", dice, {}, is_held_out=is_held_out).phrase(section)


@cache
def _defects(is_held_out: bool) -> tuple[tuple[list[str], list[str]], ...]:
    """Return the defects of training or held-out worlds, each with the parts that may have it."""
    return tuple(
        (half(parts.split("; "), is_held_out), row.split("; "))
        for kind, (parts, *rows) in sections("defects").items()
        if kind != "wish"
        for row in half(rows, is_held_out)
    )


def compose_issue(facts: Issue, dice: Dice, *, is_held_out: bool) -> TitledText:
    """Return the issue that states these facts."""
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
            title, parts = speaker.phrase("wish title"), [[speaker.sentence("wish")]]
        case Gap():
            title, parts = speaker.phrase("docs title"), [[speaker.sentence("docs")]]
        case Inquiry():
            title, parts = speaker.phrase("question title"), [[speaker.sentence("question")], [speaker.sentence("where")]]
        case Bug():
            since = [speaker.sentence("since")] if facts.since else []
            expected = [speaker.sentence("expected")] if dice.chance(60) else []
            where, has_parts = [speaker.sentence("where"), *since], dice.chance(50)
            bug = [speaker.sentence("bug")]
            parts = [bug, where, expected] if has_parts else [[*bug, *where, *expected]]
            title = speaker.phrase("bug title")
    return TitledText(
        apply_register(title, facts.register, dice).rstrip("."), apply_register(paragraphs(*parts), facts.register, dice)
    )


def compose_note(facts: Note, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment on an issue that states these facts."""
    speaker = Speaker("issues", dice, vars(facts), is_held_out=is_held_out)
    return apply_register(speaker.sentence(facts.kind), facts.register, dice)


def compose_request(facts: Request, dice: Dice, *, is_held_out: bool) -> TitledText:
    """Return the merge request that states these facts."""
    if isinstance(facts.about, Wish):
        slots, kind = {"wish": facts.about.wish, "issue": facts.issue}, "wish request"
    else:
        about = facts.about
        slots = {"part": about.part, "fix": about.fix, "cause": about.cause, "issue": facts.issue}
        kind = "request" if facts.issue else "request alone"
    speaker = Speaker("issues", dice, slots, is_held_out=is_held_out)
    tests = [speaker.sentence("tests yes" if facts.has_tests else "tests no")]
    breaking = [speaker.sentence("breaking")] if facts.is_breaking else []
    text = paragraphs([speaker.sentence(kind)], [*tests, *breaking])
    title = speaker.phrase("wish request title" if kind == "wish request" else "request title")
    return TitledText(apply_register(title, facts.register, dice).rstrip("."), apply_register(text, facts.register, dice))


def compose_remark(facts: Remark, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment on a merge request that states these facts."""
    slots = vars(facts) | {"change_quoted": facts.change and f'"{facts.change}"'}
    return apply_register(Speaker("issues", dice, slots, is_held_out=is_held_out).sentence(facts.kind), facts.register, dice)
