"""Posts and comments of a forum. Facts hold all that a text says; `compose_post` and `compose_comment` say it."""

from dataclasses import dataclass
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import capitalized, counted
from webarena_gym.sites.prose.pools import Speaker, paragraphs
from webarena_gym.sites.prose.registers import Register, written
from webarena_gym.sites.prose.reviews import Titled
from webarena_gym.sites.prose.things import Thing, names
from webarena_gym.sites.prose.topics import Claim, Problem, Remedy

_TITLES = 12  # are tried for a short one
_LONG = 25  # percent of the posts that digress
Duration = tuple[int, str]  # (3, "week")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A post that asks for help. `asked_for` is whose problem it is, "" for the writer's own; `tried` did not help."""

    problem: Problem
    tried: tuple[Remedy, ...] = ()
    lasting: Duration | None = None
    asked_for: str = ""
    place: str = ""  # where the writer lives
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A post that takes a side. It is first-hand with `experience`, hearsay with `heard_from`, and a mere view with neither."""

    side: Claim
    reasons: tuple[str, ...]
    has_turned: bool = False  # the writer used to hold the opposite
    experience: Duration | None = None
    heard_from: str = ""
    place: str = ""
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Report:
    """A post about a work or a thing by name: what is said of its aspects, first-hand, or as `heard_from` somebody."""

    name: str
    thing: Thing
    opinions: tuple[tuple[str, bool], ...]  # aspect and whether what is said of it is good
    experience: Duration | None = None
    heard_from: str = ""
    place: str = ""
    register: Register = "plain"


Post = Question | Opening | Report
AnswerKind = Literal["worked", "failed", "heard", "idea"]
StandKind = Literal["side", "agree", "disagree", "changed"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A comment on a remedy: it worked or failed for the writer, was heard from `heard_from`, or is a mere idea."""

    remedy: Remedy
    kind: AnswerKind
    heard_from: str = ""
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Thanks:
    """The asker's comment on what came of the remedy that `user` proposed."""

    remedy: Remedy
    user: str
    has_helped: bool = True
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Stand:
    """A comment that takes a side: for itself, with or against `user`, or having been turned round by `user`'s reason."""

    side: Claim
    kind: StandKind
    reason: str = ""
    user: str = ""
    experience: Duration | None = None
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Impression:
    """A comment on an aspect of what a report is about, first-hand or as `heard_from` somebody."""

    thing: Thing
    aspect: str
    is_good: bool
    heard_from: str = ""
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Detail:
    """A question for details, or with `lasting` the asker's reply how long it has lasted."""

    lasting: Duration | None = None
    register: Register = "plain"


@dataclass(frozen=True, kw_only=True)
class Chatter:
    """A comment that says nothing."""

    register: Register = "plain"


Comment = Answer | Thanks | Stand | Impression | Detail | Chatter


def compose_post(facts: Post, dice: Dice, *, is_held_out: bool, longest_title: int = 100) -> Titled:
    """Return the post that says these facts, with a title of at most so many characters if one is found."""
    speaker = Speaker("threads", dice, {"place": facts.place}, is_held_out=is_held_out)
    if isinstance(facts, Question):
        title, parts = _question(speaker, facts, longest_title)
    elif isinstance(facts, Opening):
        title, parts = _opening(speaker, facts, longest_title)
    else:
        title, parts = _report(speaker, facts, is_held_out, longest_title)
    if facts.place:
        parts[-1].append(speaker.say("from"))
    if dice.chance(_LONG):
        parts.insert(-1, [speaker.say("digression") for _ in range(dice.between(2, 5))])
    register = facts.register
    return Titled(
        written(title, register, dice).rstrip("."),
        written(paragraphs(*parts), register, dice),
    )


def _title(speaker: Speaker, section: str, longest: int, **slots: str) -> str:
    """Return the first of some titles that is short enough, or the shortest of them."""
    titles = [speaker.phrase(section, **slots)]
    while len(titles[-1]) > longest and len(titles) < _TITLES:
        titles.append(speaker.phrase(section, **slots))
    return min(titles, key=len)


def _question(speaker: Speaker, facts: Question, longest: int) -> tuple[str, list[list[str]]]:
    problem, dice = facts.problem, speaker.dice
    title = _title(
        speaker,
        "question title",
        longest,
        topic=problem.name,
        span=counted(*facts.lasting) if facts.lasting else "",
        tried=facts.tried[0].name if facts.tried else "",
    )
    start = [speaker.say("question open")] if dice.chance(55) else []
    if facts.asked_for:
        told = speaker.say("question for", who=facts.asked_for, Problem=capitalized(problem.clause))
    else:
        told = speaker.say("question problem", problem=problem.clause)
    more = [speaker.say("lasting", span=counted(*facts.lasting))] if facts.lasting else []
    tried = [speaker.say("tried", done=remedy.doing) for remedy in facts.tried]
    ask = [speaker.say("ask")]
    if dice.chance(50):
        return title, [[*start, told, *more, *tried, *ask]]
    return title, [[*start, told, *more], [*tried, *ask]]


def _opening(speaker: Speaker, facts: Opening, longest: int) -> tuple[str, list[list[str]]]:
    side, dice = facts.side, speaker.dice
    title = _title(
        speaker,
        "debate title",
        longest,
        claim=side.text,
        reason=dice.pick(facts.reasons) if facts.reasons else "",
        span=counted(*facts.experience) if facts.experience else "",
        who=facts.heard_from,
    )
    stand = speaker.say("turned" if facts.has_turned else "stand", claim=side.text, opposite=side.opposite)
    reasons = [
        speaker.say("reason" if place == 0 else "reason more", reason=reason) for place, reason in enumerate(facts.reasons)
    ]
    ground = _ground(speaker, facts.experience, facts.heard_from)
    return title, ([[stand, *reasons], ground] if len(reasons) > 1 else [[stand, *reasons, *ground]])


def _ground(speaker: Speaker, experience: Duration | None, heard_from: str) -> list[str]:
    """Say where an opinion comes from."""
    if experience:
        return [speaker.say("seen", span=counted(*experience))]
    return [speaker.say("told", who=heard_from)] if heard_from else []


def _report(speaker: Speaker, facts: Report, is_held_out: bool, longest: int) -> tuple[str, list[list[str]]]:
    voice = "heard" if facts.heard_from else "own"
    span = counted(*(facts.experience or (2, "week")))
    kind = "hearsay" if facts.heard_from else "experience"
    about = names()[facts.thing.families[facts.opinions[0][0]]] if facts.opinions else ""
    title = _title(speaker, f"{kind} title", longest, work=facts.name, who=facts.heard_from, span=span, name=about)
    start = speaker.say(f"{kind} open", work=facts.name, who=facts.heard_from, span=span)
    said = [
        _impression(speaker, facts.thing, aspect, is_good, voice, facts.heard_from, is_held_out)
        for aspect, is_good in facts.opinions
    ]
    end = [speaker.say("experience end")] if speaker.dice.chance(60) else []
    return title, ([[start, *said, *end]] if len(said) < 3 else [[start], said, end])


def _impression(speaker: Speaker, thing: Thing, aspect: str, is_good: bool, voice: str, who: str, is_held_out: bool) -> str:
    family = thing.families[aspect]
    clauses = Speaker("aspects", speaker.dice, thing.slots, is_held_out=is_held_out)
    clause = clauses.phrase(f"{family} {'good' if is_good else 'bad'}")
    name = names()[family]
    return speaker.say(f"said {voice}", clause=clause, who=who, name="" if name.rsplit(" ", 1)[-1] in clause else name)


def compose_comment(facts: Comment, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment that says these facts."""
    speaker = Speaker("threads", dice, {}, is_held_out=is_held_out)
    said = _comment(speaker, facts, is_held_out)
    if not isinstance(facts, Chatter | Detail) and dice.chance(25):
        said.append(speaker.say("tail"))
    return written(" ".join(said), facts.register, dice)


def _comment(speaker: Speaker, facts: Comment, is_held_out: bool) -> list[str]:
    match facts:
        case Answer():
            doing, name = facts.remedy.doing, facts.remedy.name
            return [speaker.say(f"answer {facts.kind}", done=doing, remedy=name, who=facts.heard_from)]
        case Thanks():
            section = "thanks helped" if facts.has_helped else "thanks failed"
            return [speaker.say(section, done=facts.remedy.doing, remedy=facts.remedy.name, user=facts.user)]
        case Stand():
            said = [
                speaker.say(
                    facts.kind, claim=facts.side.text, opposite=facts.side.opposite, user=facts.user, reason=facts.reason
                )
            ]
            if facts.reason and facts.kind in {"agree", "disagree"}:
                said.append(speaker.say("reason", reason=facts.reason))
            return [*said, *_ground(speaker, facts.experience, "")]
        case Impression():
            voice = "heard" if facts.heard_from else "own"
            return [_impression(speaker, facts.thing, facts.aspect, facts.is_good, voice, facts.heard_from, is_held_out)]
        case Detail(lasting=None):
            return [speaker.say("detail")]
        case Detail(lasting=lasting):
            assert lasting is not None
            return [speaker.say("detail reply", span=counted(*lasting))]
        case Chatter():
            return [speaker.say("chatter")]
