"""Registers: how somebody writes. They change letters, never what is said: no negation, name or number is touched."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.pools import sections

Register = Literal["formal", "plain", "chatty", "careless"]
REGISTERS: tuple[Register, ...] = ("formal", "plain", "chatty", "careless")
"""Formal writes in full, plain and chatty contract, chatty exclaims, and careless misspells and knows no capitals."""

_SLIPS = 60  # percent of the words that a careless writer may get wrong


@cache
def _table(section: str) -> tuple[re.Pattern[str], Mapping[str, str]]:
    pairs = dict(line.split(": ", 1) for line in sections("misspellings")[section])
    return re.compile(r"\b(" + "|".join(map(re.escape, pairs)) + r")\b"), pairs


def written(text: str, register: Register, dice: Dice) -> str:
    """Return a text, which has capitals and no contractions, as a writer of that register leaves it.

    >>> written("It does not leak. I definitely like it.", "chatty", Dice("a"))
    "It doesn't leak. I definitely like it!"
    >>> written("It does not leak. I definitely like it.", "careless", Dice("c"))
    'it doesnt leak. i definately like it'
    """
    if register == "formal":
        return text
    text = _replaced(text, "contracted", dice, 100 if register != "plain" else 70)
    if register == "chatty" and text.endswith(".") and not text.endswith("..") and '"' not in text[-3:]:
        text = f"{text[:-1]}!"
    if register == "careless":
        text = _uncapitalized(_replaced(_replaced(text, "dropped", dice, 80), "words", dice, _SLIPS)).removesuffix(".")
    return text


def _replaced(text: str, section: str, dice: Dice, percent: int) -> str:
    pattern, pairs = _table(section)
    return pattern.sub(lambda match: pairs[match[1]] if dice.chance(percent) else match[1], text)


_SENTENCE_START = re.compile(r"(?:^|(?<=[.!?:] )|(?<=\n)|(?<=\"))([A-Z][a-z']*)\b")
_SELF = re.compile(r"\bI(?='|\b)")


def _uncapitalized(text: str) -> str:
    """Return the text without capitals where sentences begin with ordinary words, and with a small "i"."""
    return _SELF.sub("i", _SENTENCE_START.sub(lambda match: _small(match[1]), text))


@cache
def _small(word: str) -> str:
    return word.lower() if word in _opening_words() else word


@cache
def _opening_words() -> frozenset[str]:
    """Return the words that sentences begin with, so that names keep their capitals."""
    return frozenset(sections("openings")["words"][0].split())
