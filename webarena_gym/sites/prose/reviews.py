"""Reviews of things. `ReviewFacts` holds all that a review says; `compose_review` says it; `draw_review` draws such facts."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import REGISTERS, Facts, Speaker, capitalized, counted, paragraphs, sections, written
from webarena_gym.sites.prose.things import Thing, names

Strength = Literal["mild", "plain", "strong"]
Voice = Literal["own", "ironic", "quoted", "heard"]
Outcome = Literal["", "kept", "returned", "exchanged", "given away"]
Length = Literal["line", "short", "medium", "long"]
OUTCOMES: tuple[Outcome, ...] = ("", "kept", "returned", "exchanged", "given away")
LENGTHS: tuple[Length, ...] = ("line", "short", "medium", "long")
"""One line; a paragraph; two or three paragraphs; up to five."""


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """Opinion of a review on one aspect.

    `is_good` is what is said of it: by the writer, or by `who` where the voice is quoted or heard. An ironic opinion is bad, and
    is told in words of praise. With a quoted one the writer agrees, or says the opposite; with a heard one the writer has
    no opinion. `is_retracted` says that the review first said the opposite, and took it back in an edit.
    """

    aspect: str
    is_good: bool
    strength: Strength = "plain"
    voice: Voice = "own"
    who: str = ""
    agrees: bool = True
    compared_with: str = ""
    is_retracted: bool = False

    def __post_init__(self) -> None:
        if self.voice == "ironic" and self.is_good:
            raise ValueError(f"an ironic opinion of {self.aspect!r} is a bad one, is_good=True was given")
        if (self.voice in {"quoted", "heard"}) != bool(self.who):
            raise ValueError(f"`who` is for quoted and heard opinions, and needed there: {self.voice!r} with {self.who!r}")
        if self.is_retracted and (self.voice != "own" or self.compared_with or self.strength != "plain"):
            raise ValueError(f"only a plain opinion of one's own can be retracted, not {self}")

    @property
    def verdict(self) -> bool | None:
        """The writer's own final opinion: good, bad, or none."""
        if self.voice == "heard":
            return None
        return self.is_good == self.agrees if self.voice == "quoted" else self.is_good


@dataclass(frozen=True, kw_only=True)
class ReviewFacts(Facts):
    """All that a review says. What is "" or 0 is not said.

    `user` uses the thing, and the review is second-hand, unless it is "": then the writer does. `used_for` is how long, and
    `edited_after` how long after that the review was edited, each as a count and a unit: (3, "week"). `because` is the aspect for
    which the thing was returned or kept. `is_verified` is for the page to show; the text does not say it.
    """

    thing: Thing
    rating: int
    opinions: tuple[Opinion, ...]
    user: str = ""
    use: str = ""
    used_for: tuple[int, str] | None = None
    outcome: Outcome = ""
    because: str = ""
    edited_after: tuple[int, str] | None = None
    is_verified: bool = True
    length: Length = "short"

    def __post_init__(self) -> None:
        unknown = {opinion.aspect for opinion in self.opinions} - self.thing.families.keys()
        if unknown:
            raise ValueError(
                f"{sorted(unknown)} are no aspects of {self.thing.noun!r}, which has {sorted(self.thing.families)}"
            )
        if len({opinion.aspect for opinion in self.opinions}) < len(self.opinions):
            raise ValueError(f"a review has one opinion of an aspect: {[opinion.aspect for opinion in self.opinions]}")

    @property
    def is_first_hand(self) -> bool:
        """True if the writer uses the thing."""
        return not self.user

    def verdict(self, aspect: str) -> bool | None:
        """Return the writer's own final opinion of an aspect: good, bad, or none."""
        return next((opinion.verdict for opinion in self.opinions if opinion.aspect == aspect), None)

    @property
    def complaints(self) -> tuple[str, ...]:
        """The aspects of which the writer's own final opinion is bad."""
        return tuple(opinion.aspect for opinion in self.opinions if opinion.verdict is False)


class Titled(NamedTuple):
    """A text with a title."""

    title: str
    body: str


def compose_review(facts: ReviewFacts, dice: Dice, *, is_held_out: bool) -> Titled:
    """Return the review that says these facts, all of them and no others."""
    return _Writer(facts, dice, is_held_out).write()


def draw_review(dice: Dice, thing: Thing, rating: int, *, friends: tuple[str, ...] = ()) -> ReviewFacts:
    """Draw the facts of a review of a thing. `friends` may be quoted besides relatives: "the reviewer Ada", say."""
    aspects = dice.some(list(thing.families), 5)
    length = dice.weigh(LENGTHS, (14, 38, 34, 14))
    count = {"line": 1, "short": dice.between(1, 2), "medium": dice.between(2, 4), "long": dice.between(3, 5)}[length]
    goods = (0, dice.below(2), dice.below(2), dice.below(2) if count > 1 else 0)
    good = (0, goods[3], max(1, (count + goods[2]) // 2), max(1, count - goods[1]), count)[rating - 1]
    user = ""
    if dice.chance(18) and length != "line":
        user = dice.pick([who for who in sections("people")["who"] if who.startswith("my ")])
    outcome = dice.weigh(OUTCOMES, _OUTCOMES[rating])
    is_gone = outcome not in {"", "kept"}
    people = [*sections("people")["who"], *friends]
    opinions = tuple(
        _plainer(_opinion(dice, thing, aspect, place < good, people, is_main=place == 0), user, is_gone or length == "line")
        for place, aspect in enumerate(aspects[:count])
    )
    if length == "line":
        register = dice.weigh(REGISTERS, (15, 45, 20, 20))
        return ReviewFacts(thing=thing, rating=rating, opinions=opinions, register=register, length=length)
    bad = [opinion.aspect for opinion in opinions if opinion.verdict is False]
    fine = [one.aspect for one in opinions if one.verdict and not one.is_retracted and one.aspect not in _ONCE]
    reasons = fine if outcome == "kept" else bad
    has_edit = any(opinion.is_retracted for opinion in opinions)
    return ReviewFacts(
        thing=thing,
        rating=rating,
        opinions=opinions,
        user=user,
        use=dice.pick(thing.kind.uses) if dice.chance(55) else "",
        used_for=span(dice, 4 if is_gone else len(SPANS)) if dice.chance(50) else None,
        outcome=outcome if outcome == "kept" or bad else "",
        because=dice.pick(reasons) if outcome and reasons and dice.chance(60) else "",
        edited_after=span(dice) if has_edit and dice.chance(70) else None,
        is_verified=dice.chance(80),
        register=dice.weigh(REGISTERS, (20, 45, 20, 15)),
        length=length,
    )


_OUTCOMES = {5: (70, 30, 0, 0, 0), 4: (70, 30, 0, 0, 0), 3: (55, 25, 8, 8, 4), 2: (35, 5, 32, 15, 13), 1: (28, 0, 50, 10, 12)}
"""Percentages of reviews that say nothing of what became of the thing, or that it was kept, returned, exchanged or given away."""
SPANS = ((3, "day"), (5, "day"), (10, "day"), (2, "week"), (3, "week"), (5, "week"), (2, "month"), (4, "month"), (8, "month"),
          (14, "month"), (2, "year"))  # fmt: skip


_ONCE = ("delivery", "packaging")  # what happens once is not compared, and nobody changes their mind about it


def span(dice: Dice, shortest: int = len(SPANS)) -> tuple[int, str]:
    """Draw a length of time, one of the first `shortest` of `SPANS`."""
    return dice.pick(SPANS[:shortest])


def _opinion(dice: Dice, thing: Thing, aspect: str, is_good: bool, people: list[str], *, is_main: bool) -> Opinion:
    """Draw how one aspect is spoken of; `is_good` is the writer's own final opinion, which the main one always has."""
    chance = dice.below(100)
    opinion = Opinion(aspect=aspect, is_good=is_good)
    if chance < 8 and not is_good:
        return replace(opinion, voice="ironic")
    if chance < 16:
        agrees = dice.chance(50)
        return replace(opinion, voice="quoted", who=dice.pick(people), agrees=agrees, is_good=is_good == agrees)
    if chance < 20 and not is_main:
        return replace(opinion, voice="heard", who=dice.pick(people))
    if chance < 28 and aspect not in _ONCE:
        return replace(opinion, is_retracted=True)
    if chance < 42 and aspect not in _ONCE:
        is_eaten = "taste" in thing.families or "food" in thing.families.get("pet", "")  # then it has brands
        others = sections("people")["others mass" if is_eaten else f"others {thing.kind.number}"]
        return replace(opinion, compared_with=dice.pick(others))
    return replace(opinion, strength=dice.weigh(("mild", "plain", "strong"), (22, 55, 23)))


def _plainer(opinion: Opinion, user: str, has_no_edit: bool) -> Opinion:
    """Return an opinion that suits the review: who reports for a user quotes nobody else, and what is gone is not edited."""
    if user and opinion.who:
        return Opinion(aspect=opinion.aspect, is_good=opinion.is_good if opinion.verdict is None else opinion.verdict)
    return replace(opinion, is_retracted=False) if has_no_edit else opinion


class _Writer:
    """Writes one review."""

    def __init__(self, facts: ReviewFacts, dice: Dice, is_held_out: bool) -> None:
        self.facts, self.dice = facts, dice
        slots = {
            **facts.thing.slots, "user": facts.user, "use": facts.use, "span": counted(*facts.used_for) if facts.used_for else "",
            "noun_one": facts.thing.slots["noun"] if facts.thing.kind.number == "one" else "",
        }  # fmt: skip
        pets = facts.thing.kind.pets
        self.pet = dice.pick(pets) if pets else "the cat"
        self.frames = Speaker("reviews", dice, slots, is_held_out=is_held_out)
        self.clauses = Speaker("aspects", dice, {**slots, "pet": self.pet}, is_held_out=is_held_out)

    def write(self) -> Titled:
        facts, dice = self.facts, self.dice
        title = self._title()
        if facts.length == "line":
            said = self._opinions(list(facts.opinions))
            if dice.chance(45) or not facts.opinions:
                said.append(self.frames.say(f"short {facts.rating}"))
            text = " ".join(said)
            return Titled(written(title, facts.register, dice).rstrip("."), written(text, facts.register, dice))
        start, end = self._opening(), self._ending()
        ranked = sorted(facts.opinions, key=lambda opinion: _first_verdict(opinion) is not (facts.rating >= 3))
        goods = self._opinions(ranked)
        body: tuple[list[str], ...]
        if facts.length == "short":
            body = ([*start, *goods, *end],)
        elif facts.length == "medium":
            body = (start, goods, end) if len(start) > 1 else ([*start, *goods], end)
        else:
            middle = max(1, len(goods) // 2)
            body = (start, goods[:middle], goods[middle:], end)
        text = paragraphs(*body, *self._edit())
        return Titled(written(title, facts.register, dice).rstrip("."), written(text, facts.register, dice))

    def _title(self) -> str:
        facts, dice = self.facts, self.dice
        own = [opinion for opinion in facts.opinions if opinion.verdict is (facts.rating >= 3) and not opinion.is_retracted]
        if own and dice.chance(40) and facts.rating != 3:
            side = "good" if facts.rating > 3 else "bad"
            return self.frames.phrase(f"title aspect {side}", name=self._name(dice.pick(own).aspect))
        return self.frames.phrase(f"title {facts.rating}")

    def _opening(self) -> list[str]:
        """Say who uses the thing, what for and since when, and what surrounds that."""
        facts, dice, frames = self.facts, self.dice, self.frames
        role = "other" if facts.user else "own"
        said: list[str] = []
        if facts.use:
            said.append(frames.say(f"use {role}"))
        elif facts.user:
            said.append(frames.say("other"))
        if facts.used_for:
            said.append(frames.say(f"span {role}"))
        if facts.user and dice.chance(45):
            said.append(frames.say("report"))
        spare = {"short": 30, "medium": 65, "long": 100}[facts.length]
        if dice.chance(spare):
            said.insert(0, frames.say("background"))
        if facts.length != "short" and dice.chance(50):
            said.insert(0, frames.say("buying"))
        return said

    def _opinions(self, opinions: list[Opinion]) -> list[str]:
        """Say the opinions; where praise turns to complaint, a word says so."""
        said: list[str] = []
        before: bool | None = None
        for opinion in opinions:
            now = _first_verdict(opinion)
            is_plain = (opinion.voice, opinion.strength, opinion.compared_with) == ("own", "plain", "")
            if before is not None and now is not None and is_plain and self.dice.chance(60):
                kind = ("link good" if now else "link bad") if now is before else ("link up" if now else "link but")
                text = f"{self.frames.phrase(kind)} {self._clause(opinion, is_good=now)}."
            else:
                text = self._said(opinion)
            said.append(text)
            before = now if now is not None else before
        return said

    def _said(self, opinion: Opinion) -> str:
        """Return one opinion, as it is before any edit."""
        is_good = opinion.is_good is not opinion.is_retracted
        side = "good" if is_good else "bad"
        frame = "plain" if opinion.strength == "plain" else f"{opinion.strength} {side}"
        if opinion.voice != "own":
            frame = f"quoted {'agree' if opinion.agrees else 'deny'}" if opinion.voice == "quoted" else opinion.voice
        elif opinion.compared_with:
            frame = f"compared {side}"
        return self._framed(frame, opinion, is_good=is_good or opinion.voice == "ironic")

    def _framed(self, section: str, opinion: Opinion, *, is_good: bool) -> str:
        clause, name = self._clause(opinion, is_good=is_good), self._name(opinion.aspect)
        if section not in {"retract", "heard"} and name.rsplit(" ", 1)[-1] in clause:
            name = ""  # "as for the price, the price is a joke"
        return self.frames.say(
            section, clause=clause, Clause=capitalized(clause), name=name, who=opinion.who, other=opinion.compared_with
        )

    def _clause(self, opinion: Opinion, *, is_good: bool) -> str:
        return self.clauses.phrase(f"{self.facts.thing.families[opinion.aspect]} {'good' if is_good else 'bad'}")

    def _name(self, aspect: str) -> str:
        return names()[self.facts.thing.families[aspect]]

    def _ending(self) -> list[str]:
        """Say what became of the thing and why, and close as the rating demands."""
        facts, dice, frames = self.facts, self.dice, self.frames
        said: list[str] = []
        if facts.outcome:
            text = frames.phrase(f"outcome {facts.outcome}")
            if facts.because:
                is_bad = "" if facts.outcome == "kept" else "yes"
                text = f"{text}; {frames.phrase('because', name=self._name(facts.because), bad=is_bad)}"
            said.append(f"{text}.")
        if facts.length in {"medium", "long"} and dice.chance(50):
            said.append(frames.say(f"advice {'good' if facts.rating > 3 else 'mixed' if facts.rating == 3 else 'bad'}"))
        if dice.chance(60):
            said.append(frames.say(f"close {facts.rating}"))
        return said

    def _edit(self) -> list[list[str]]:
        """Say what is taken back, in a paragraph of its own."""
        taken = [self._framed("retract", each, is_good=each.is_good) for each in self.facts.opinions if each.is_retracted]
        if not taken:
            return []
        span_said = counted(*self.facts.edited_after) if self.facts.edited_after else ""
        return [[f"{self.frames.phrase('edit head', span=span_said)} {taken[0]}", *taken[1:]]]


def _first_verdict(opinion: Opinion) -> bool | None:
    """Return what the writer thought before any edit."""
    return not opinion.verdict if opinion.is_retracted else opinion.verdict
