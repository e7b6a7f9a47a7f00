"""Registers: how somebody writes. They change letters, never what is said: no negation, name or number is touched."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import capitalized
from webarena_gym.sites.prose.pools import sections

Register = Literal["formal", "plain", "chatty", "careless"]
REGISTERS: tuple[Register, ...] = ("formal", "plain", "chatty", "careless")
"""Formal writes in full, plain and chatty contract, chatty exclaims, and careless misspells and knows no capitals."""

_SELF = re.compile(r"\bI\b")
_SLIPS = 60  # percent of the words that a careless writer may get wrong


@cache
def _table(section: str) -> tuple[re.Pattern[str], Mapping[str, str]]:
    names = dict(line.split(": ", 1) for line in sections("misspellings")[section])
    return re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b"), names


def written(text: str, register: Register, dice: Dice) -> str:
    """Return a text of phrasings, which has neither capitals nor contractions, as a writer of that register leaves it.

    >>> written("it does not leak. I definitely like it.", "chatty", Dice("a"))
    "It doesn't leak. I definitely like it!"
    >>> written("it does not leak. I definitely like it.", "careless", Dice("c"))
    'it doesnt leak. i definately like it'
    """
    if register != "careless":
        text = capitalized(text)
    if register == "formal":
        return text
    text = _replaced(text, "contracted", dice, 100 if register != "plain" else 70)
    if register == "chatty" and text.endswith(".") and not text.endswith("..") and '"' not in text[-3:]:
        text = f"{text[:-1]}!"
    if register == "careless":
        text = _SELF.sub("i", _replaced(_replaced(text, "dropped", dice, 80), "words", dice, _SLIPS)).removesuffix(".")
    return text


def _replaced(text: str, section: str, dice: Dice, percent: int) -> str:
    pattern, pairs = _table(section)
    return pattern.sub(lambda match: pairs[match[1]] if dice.chance(percent) else match[1], text)
