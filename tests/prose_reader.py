"""A reader of composed reviews: it knows the phrasings, sees the text alone, and tells which facts it says."""

import re
from functools import cache
from itertools import product

from webarena_gym.sites.prose.grammar import pool
from webarena_gym.sites.prose.things import Thing

MARK = "§"


def expansions(parts):
    """Yield every text of the parts of a phrasing, with its slots as `{name}`."""
    ways = []
    for part in parts:
        ways.append(
            [part.replace("{a ", "{")] if isinstance(part, str) else [text for each in part for text in expansions(each)]
        )
    return map("".join, product(*ways))


FRAMES = ("ironic", "quoted agree", "quoted deny", "heard", "retract", "compared good", "compared bad", "strong good",
          "strong bad", "mild good", "mild bad")  # fmt: skip
"""The frames that say more of a clause than the clause; the plain ones are what is left."""


@cache
def _frames(is_held_out):
    """Return, for each section, what stands before and after the clause in its frames, as one pattern."""
    patterns = {}
    for section in FRAMES:
        texts = [text for phrasing in pool("reviews", is_held_out)[section] for text in expansions(phrasing.parts)]
        patterns[section] = re.compile("|".join(map(_pattern, sorted(texts, key=len, reverse=True))), re.IGNORECASE)
    return patterns


def _pattern(text):
    """Return a pattern for a frame whose clause has been replaced by MARK."""
    parts = re.split(r"(\{[^{}]*\})", text.rstrip("."))
    return "".join(
        MARK if part in ("{clause}", "{Clause}") else r"[^.!?§]+?" if part.startswith("{") else re.escape(part)
        for part in parts
    )


def _clauses(thing, family, side, is_held_out):
    """Yield the clauses of a family for or against it, as they are said of a thing."""
    pets = thing.kind.pets or ("the cat",)
    slots = thing.slots
    for phrasing in pool("aspects", is_held_out)[f"{family} {side}"]:
        for pet in pets:
            known = {**slots, "pet": pet}
            if phrasing.suits(known):
                for text in expansions(phrasing.parts):
                    yield re.sub(r"\{([^{}]*)\}", lambda slot, known=known: known[slot[1].removeprefix("a ")], text)


def read_opinions(text: str, thing: Thing, is_held_out: bool):
    """Return {aspect: {(frame, whether its clause is good)}} of a review in formal register."""
    found = {}
    text = text.replace("\n\n", " ")
    for aspect, family in thing.families.items():
        for is_good in (True, False):
            clauses = sorted(_clauses(thing, family, "good" if is_good else "bad", is_held_out), key=len, reverse=True)
            pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, clauses)) + r")(?!\w)", re.IGNORECASE)
            for match in pattern.finditer(text):
                around = text[: match.start()] + MARK + text[match.end() :]
                sections = [name for name, frame in _frames(is_held_out).items() if frame.search(around)]
                found.setdefault(aspect, set()).add((tuple(sections), is_good))
    return found


def says(found, opinion):
    """Tell whether what `read_opinions` found is that opinion."""
    opinions = found.get(opinion.aspect, set())
    side = "good" if opinion.is_good else "bad"
    voices = {"ironic": "ironic", "heard": "heard", "quoted": "quoted agree" if opinion.agrees else "quoted deny"}
    if frame := voices.get(opinion.voice):
        return any(frame in frames and is_good is (opinion.is_good or frame == "ironic") for frames, is_good in opinions)
    if opinion.is_retracted:
        return {is_good for _, is_good in opinions} == {True, False} and any(
            "retract" in frames and is_good is opinion.is_good for frames, is_good in opinions
        )
    if opinion.compared_with or opinion.strength != "plain":
        frame = f"{'compared' if opinion.compared_with else opinion.strength} {side}"
        return any(frame in frames and is_good is opinion.is_good for frames, is_good in opinions)
    return {is_good for _, is_good in opinions} == {opinion.is_good}


@cache
def _outcomes(is_held_out):
    slots = re.compile(r"\{[^{}]*\}")
    return {
        section.removeprefix("outcome "): re.compile(
            "|".join(
                ".{0,20}?".join(map(re.escape, slots.split(text)))
                for phrasing in phrasings
                for text in expansions(phrasing.parts)
            ),
            re.IGNORECASE,
        )
        for section, phrasings in pool("reviews", is_held_out).items()
        if section.startswith("outcome ")
    }


def read_outcomes(text: str, is_held_out: bool):
    """Return which outcomes a review tells."""
    return {outcome for outcome, pattern in _outcomes(is_held_out).items() if pattern.search(text)}
