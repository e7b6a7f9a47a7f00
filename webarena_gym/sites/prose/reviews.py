"""Reviews of products. `draw_review` draws the facts of a review, `compose_review` writes its text."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import (
    REGISTERS,
    Facts,
    Speaker,
    apply_register,
    capitalize_sentences,
    count_phrase,
    paragraphs,
    sections,
)
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

    Args:
        aspect: Aspect of the product, such as "leak".
        is_good: True if the opinion is good.
        strength: Strength of the wording.
        voice: "own" and "ironic" are opinions of the reviewer; an ironic opinion is bad and worded as praise. "quoted" and "heard" are
            opinions of `who`: the reviewer agrees or disagrees with a quoted one, and has no opinion on a heard one.
        who: The person who is quoted or was heard.
        agrees: True if the reviewer agrees with a quoted opinion.
        compared_with: Another product that is worse, or better if the opinion is bad.
        is_retracted: The review first states the opposite, and an edit at its end retracts it.

    Raises ValueError for combinations that no review has.

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
            raise ValueError(f"an ironic opinion on {self.aspect!r} must be bad, got is_good=True")
        if (self.voice in {"quoted", "heard"}) != bool(self.who):
            raise ValueError(f"quoted and heard opinions, and no others, need `who`; got {self.voice!r} with {self.who!r}")
        if self.is_retracted and (self.voice != "own" or self.compared_with or self.strength != "plain"):
            raise ValueError(f"only a plain opinion of the reviewer without a comparison can be retracted, got {self}")

    @property
    def verdict(self) -> bool | None:
        """The reviewer's final opinion: True if it is good, False if it is bad, None without one."""
        if self.voice == "heard":
            return None
        return self.is_good == self.agrees if self.voice == "quoted" else self.is_good


@dataclass(frozen=True, kw_only=True)
class ReviewFacts(Facts):
    """Facts of a review. The text does not mention fields that are "" or None.

    Args:
        thing: The product.
        rating: Stars, from 1 to 5.
        opinions: Opinions, at most one for each aspect.
        user: The person who uses the product; "" for the reviewer.
        use: Use of the product, such as "at the gym".
        used_for: Duration of the use, as a count and a unit: (3, "week").
        outcome: What the user did with the product in the end.
        because: Aspect that is the reason for the outcome.
        edited_after: Time from the review to its edit, as a count and a unit.
        is_verified: The page marks the purchase as verified; the text does not mention it.
        length: Length of the text.

    Raises ValueError for an aspect that the product does not have, or that has two opinions.

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
                f"{self.thing.noun!r} has no aspects {sorted(unknown)}; expected some of {sorted(self.thing.families)}"
            )
        if len({opinion.aspect for opinion in self.opinions}) < len(self.opinions):
            raise ValueError(f"a review has one opinion on an aspect, got {[opinion.aspect for opinion in self.opinions]}")

    @property
    def is_first_hand(self) -> bool:
        """True if the reviewer uses the product."""
        return not self.user

    def verdict(self, aspect: str) -> bool | None:
        """Return the reviewer's final opinion on an aspect: True if it is good, False if it is bad, None without one."""
        return next((opinion.verdict for opinion in self.opinions if opinion.aspect == aspect), None)

    @property
    def complaints(self) -> tuple[str, ...]:
        """The aspects on which the reviewer's final opinion is bad."""
        return tuple(opinion.aspect for opinion in self.opinions if opinion.verdict is False)


class TitledText(NamedTuple):
    """A text with a title."""

    title: str
    body: str


def compose_review(facts: ReviewFacts, dice: Dice, *, is_held_out: bool) -> TitledText:
    """Return the review that states these facts and no others."""
    return _Writer(facts, dice, is_held_out).write()


def draw_review(dice: Dice, thing: Thing, rating: int, *, friends: tuple[str, ...] = ()) -> ReviewFacts:
    """Draw the facts of a review. `friends` are people who may be quoted in addition to relatives, such as "the reviewer Ada"."""
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
        _simplify(_opinion(dice, thing, aspect, index < good, people, is_main=index == 0), user, is_gone or length == "line")
        for index, aspect in enumerate(aspects[:count])
    )
    if length == "line":
        register = dice.weigh(REGISTERS, (15, 45, 20, 20))
        return ReviewFacts(thing=thing, rating=rating, opinions=opinions, register=register, length=length)
    bad = [opinion.aspect for opinion in opinions if opinion.verdict is False]
    fine = [item.aspect for item in opinions if item.verdict and not item.is_retracted and item.aspect not in _ONCE]
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
"""Weights of OUTCOMES by rating, in percent."""
SPANS = ((3, "day"), (5, "day"), (10, "day"), (2, "week"), (3, "week"), (5, "week"), (2, "month"), (4, "month"), (8, "month"),
          (14, "month"), (2, "year"))  # fmt: skip


_ONCE = (
    "delivery",
    "packaging",
)  # aspects that are not compared with other products, and on which no reviewer changes the opinion


def span(dice: Dice, shortest: int = len(SPANS)) -> tuple[int, str]:
    """Draw a duration from the first `shortest` of `SPANS`."""
    return dice.pick(SPANS[:shortest])


def _opinion(dice: Dice, thing: Thing, aspect: str, is_good: bool, people: list[str], *, is_main: bool) -> Opinion:
    """Draw the opinion on one aspect. `is_good` is the reviewer's final opinion; a main opinion always expresses one."""
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
        is_eaten = "taste" in thing.families or "food" in thing.families.get("pet", "")  # food is compared with other brands
        others = sections("people")["others mass" if is_eaten else f"others {thing.kind.number}"]
        return replace(opinion, compared_with=dice.pick(others))
    return replace(opinion, strength=dice.weigh(("mild", "plain", "strong"), (22, 55, 23)))


def _simplify(opinion: Opinion, user: str, has_no_edit: bool) -> Opinion:
    """Return an opinion that suits the review: second-hand reviews quote nobody, and reviews without an edit retract nothing."""
    if user and opinion.who:
        return Opinion(aspect=opinion.aspect, is_good=opinion.is_good if opinion.verdict is None else opinion.verdict)
    return replace(opinion, is_retracted=False) if has_no_edit else opinion


class _Writer:
    """Writes one review."""

    def __init__(self, facts: ReviewFacts, dice: Dice, is_held_out: bool) -> None:
        self.facts, self.dice = facts, dice
        slots = {
            **facts.thing.slots, "user": facts.user, "use": facts.use, "span": count_phrase(*facts.used_for) if facts.used_for else "",
            "noun_one": facts.thing.slots["noun"] if facts.thing.kind.number == "one" else "",
        }  # fmt: skip
        pets = facts.thing.kind.pets
        self.pet = dice.pick(pets) if pets else "the cat"
        self.frames = Speaker("reviews", dice, slots, is_held_out=is_held_out)
        self.clauses = Speaker("aspects", dice, {**slots, "pet": self.pet}, is_held_out=is_held_out)

    def write(self) -> TitledText:
        facts, dice = self.facts, self.dice
        title = self._title()
        if facts.length == "line":
            sentences = self._opinions(list(facts.opinions))
            if dice.chance(45) or not facts.opinions:
                sentences.append(self.frames.sentence(f"short {facts.rating}"))
            text = " ".join(sentences)
            return TitledText(
                apply_register(title, facts.register, dice).rstrip("."), apply_register(text, facts.register, dice)
            )
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
        return TitledText(apply_register(title, facts.register, dice).rstrip("."), apply_register(text, facts.register, dice))

    def _title(self) -> str:
        facts, dice = self.facts, self.dice
        fitting = [item for item in facts.opinions if item.verdict is (facts.rating >= 3) and not item.is_retracted]
        if fitting and dice.chance(40) and facts.rating != 3:
            side = "good" if facts.rating > 3 else "bad"
            return self.frames.phrase(f"title aspect {side}", name=self._name(dice.pick(fitting).aspect))
        return self.frames.phrase(f"title {facts.rating}")

    def _opening(self) -> list[str]:
        """Return sentences about the user, the use and its duration, and the background."""
        facts, dice, frames = self.facts, self.dice, self.frames
        role = "other" if facts.user else "own"
        sentences: list[str] = []
        if facts.use:
            sentences.append(frames.sentence(f"use {role}"))
        elif facts.user:
            sentences.append(frames.sentence("other"))
        if facts.used_for:
            sentences.append(frames.sentence(f"span {role}"))
        if facts.user and dice.chance(45):
            sentences.append(frames.sentence("report"))
        spare = {"short": 30, "medium": 65, "long": 100}[facts.length]
        if dice.chance(spare):
            sentences.insert(0, frames.sentence("background"))
        if facts.length != "short" and dice.chance(50):
            sentences.insert(0, frames.sentence("buying"))
        return sentences

    def _opinions(self, opinions: list[Opinion]) -> list[str]:
        """Return the opinions as sentences, some with a word such as "but" or "also" before them."""
        sentences: list[str] = []
        before: bool | None = None
        for opinion in opinions:
            now = _first_verdict(opinion)
            is_plain = (opinion.voice, opinion.strength, opinion.compared_with) == ("own", "plain", "")
            if before is not None and now is not None and is_plain and self.dice.chance(60):
                kind = ("link good" if now else "link bad") if now is before else ("link up" if now else "link but")
                text = f"{self.frames.phrase(kind)} {self._clause(opinion, is_good=now)}."
            else:
                text = self._opinion_sentence(opinion)
            sentences.append(text)
            before = now if now is not None else before
        return sentences

    def _opinion_sentence(self, opinion: Opinion) -> str:
        """Return the sentence of one opinion, before any edit."""
        is_good = opinion.is_good is not opinion.is_retracted
        side = "good" if is_good else "bad"
        frame = "plain" if opinion.strength == "plain" else f"{opinion.strength} {side}"
        if opinion.voice != "own":
            frame = f"quoted {'agree' if opinion.agrees else 'deny'}" if opinion.voice == "quoted" else opinion.voice
        elif opinion.compared_with:
            frame = f"compared {side}"
        return self._frame_clause(frame, opinion, is_good=is_good or opinion.voice == "ironic")

    def _frame_clause(self, section: str, opinion: Opinion, *, is_good: bool) -> str:
        clause, name = self._clause(opinion, is_good=is_good), self._name(opinion.aspect)
        if section not in {"retract", "heard"} and name.rsplit(" ", 1)[-1] in clause:
            name = ""  # avoids "as for the price, the price is a joke"
        return self.frames.sentence(
            section, clause=clause, Clause=capitalize_sentences(clause), name=name, who=opinion.who, other=opinion.compared_with
        )

    def _clause(self, opinion: Opinion, *, is_good: bool) -> str:
        return self.clauses.phrase(f"{self.facts.thing.families[opinion.aspect]} {'good' if is_good else 'bad'}")

    def _name(self, aspect: str) -> str:
        return names()[self.facts.thing.families[aspect]]

    def _ending(self) -> list[str]:
        """Return sentences about the outcome and its reason, advice, and an ending that fits the rating."""
        facts, dice, frames = self.facts, self.dice, self.frames
        sentences: list[str] = []
        if facts.outcome:
            text = frames.phrase(f"outcome {facts.outcome}")
            if facts.because:
                is_bad = "" if facts.outcome == "kept" else "yes"
                text = f"{text}; {frames.phrase('because', name=self._name(facts.because), bad=is_bad)}"
            sentences.append(f"{text}.")
        if facts.length in {"medium", "long"} and dice.chance(50):
            sentences.append(
                frames.sentence(f"advice {'good' if facts.rating > 3 else 'mixed' if facts.rating == 3 else 'bad'}")
            )
        if dice.chance(60):
            sentences.append(frames.sentence(f"close {facts.rating}"))
        return sentences

    def _edit(self) -> list[list[str]]:
        """Return a paragraph with the retractions, if there are any."""
        retractions = [
            self._frame_clause("retract", opinion, is_good=opinion.is_good)
            for opinion in self.facts.opinions
            if opinion.is_retracted
        ]
        if not retractions:
            return []
        time = count_phrase(*self.facts.edited_after) if self.facts.edited_after else ""
        return [[f"{self.frames.phrase('edit head', span=time)} {retractions[0]}", *retractions[1:]]]


def _first_verdict(opinion: Opinion) -> bool | None:
    """Return the reviewer's opinion before any edit: True if it is good, False if it is bad, None without one."""
    return not opinion.verdict if opinion.is_retracted else opinion.verdict
