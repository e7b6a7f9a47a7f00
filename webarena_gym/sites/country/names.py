"""The people of a world, and invented words for its names.

All sites of a world draw their users from the same people; the first person is the current user of all tasks ("my orders").
"""

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import product, starmap
from pathlib import Path
from typing import Any, Literal, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, share

POPULATION = 242
LARGE_POPULATION = 2_400


@cache
def words() -> dict[str, Any]:
    """Return the names of people, streets, teams and landmarks. Lists whose key starts with "more" are for large worlds only."""
    content: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    return content


class Person(NamedTuple):
    """A person's name; no two people of a world have the same full name."""

    first: str
    last: str

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.first} {self.last}"


@lru_cache(maxsize=4)
def population(seed: int, scale: Scale = "standard") -> tuple[Person, ...]:
    """Return the people of a world. First and last names repeat; training and held-out worlds share no full name.

    >>> set(population(7)).isdisjoint(population(1000))
    True
    """
    dice = Dice(f"people/{seed}")
    firsts, lasts = (dice.some(names, len(names) * 3 // 4) for names in _names(scale))
    pairs = [pair for pair in people(seed, scale) if pair.first in firsts and pair.last in lasts]
    return tuple(dice.some(pairs, LARGE_POPULATION if scale == "large" else POPULATION))


def people(seed: int, scale: Scale = "standard") -> list[Person]:
    """Return all people that a world may have. Training and held-out worlds of either scale share no full name.

    >>> set(people(7, "large")).isdisjoint(people(1000))
    True
    """
    usual = [Person(first, last) for first in words()["first names"] for last in words()["last names"]]
    standard = set(usual)
    more = [pair for pair in starmap(Person, product(*_names(scale))) if pair not in standard]
    return share(usual, seed) + share(more, seed)


def _names(scale: Scale) -> list[list[str]]:
    """Return all first names and all last names of a scale."""
    more = scale == "large"
    return [words()[kind] + (words()[f"more {kind}"] if more else []) for kind in ("first names", "last names")]


Stream = Literal["brand", "place", "work", "title"]

WORDS_PER_WORLD = 128
"""Number of words of each stream in a standard world."""
WORDS: Mapping[Scale, int] = {"standard": WORDS_PER_WORLD, "large": 1024}
"""Number of words of each stream in a world."""

ONSETS = ("b", "d", "h", "j", "k", "l", "m", "n", "r", "s", "t", "v", "w", "y", "br", "dr", "gl", "kl", "st", "tr")
VOWELS = ("a", "e", "i", "o", "u")
_SYLLABLES = len(ONSETS) * len(VOWELS)
_ENDINGS: dict[Stream, tuple[str, ...]] = {
    "brand": ("",),
    "place": ("m", "n", "r", "th"),
    "work": ("k", "p", "x", "z"),
    "title": ("nd", "l", "s", "t"),
}
"""Endings of the words of a stream; no two streams share an ending, so none shares a word."""
_LARGE_ENDINGS: dict[Stream, tuple[str, ...]] = {
    "brand": ("c", "ll", "ss", "ff"),
    "place": ("ck", "rd", "rn", "lm"),
    "work": ("b", "g", "ft", "sk"),
    "title": ("lt", "st", "rt", "mp"),
}
"""Endings in large worlds, which share none with standard worlds. Each stem is used with all four endings, which keeps words short."""
_SHIFTS: dict[Stream, int] = {"brand": 271828, "place": 314159, "work": 141421, "title": 173205}


def invented_word(seed: int, index: int, stream: Stream, scale: Scale = "standard") -> str:
    """Return a word of a stream of a world; no other seed, index, stream or scale has the same word.

    (seed, index) is encoded as one number, which a fixed bijection maps to a word with the fewest syllables that have room for it.

    Args:
        seed: World seed.
        index: Index of the word, from 0 to WORDS[scale] - 1; other values raise ValueError.
        stream: Use of the word, which determines its ending.
        scale: Scale of the world.

    >>> len({invented_word(seed, index, "place") for seed in range(-5, 5) for index in range(10)})
    100
    >>> invented_word(0, WORDS_PER_WORLD, "brand")
    Traceback (most recent call last):
    ValueError: a standard world has 128 words per stream; expected an index from 0 to 127, got 128

    """
    count = WORDS[scale]
    if not 0 <= index < count:
        raise ValueError(f"a {scale} world has {count} words per stream; expected an index from 0 to {count - 1}, got {index}")
    endings, turn = _ENDINGS[stream], 0
    if scale == "large":
        endings = _LARGE_ENDINGS[stream]
        count //= len(endings)
        turn, index = divmod(index, count)
    number = (2 * seed if seed >= 0 else -2 * seed - 1) * count + index
    length = 3
    while number >= _SYLLABLES**length:
        number -= _SYLLABLES**length
        length += 1
    for multiplier in (7919, 104729, 1299709):
        # Multiplying by a number coprime to the size is a bijection, but the last syllable of the product depends only on the last
        # syllable of the number. Reversing the syllables between multiplications mixes all of them.
        rest, number = (number * multiplier + _SHIFTS[stream]) % _SYLLABLES**length, 0
        for _ in range(length):
            rest, digit = divmod(rest, _SYLLABLES)
            number = number * _SYLLABLES + digit
    ending = endings[(number % 97 + turn) % len(endings)]
    word = ""
    for _ in range(length):
        number, digit = divmod(number, _SYLLABLES)
        word += ONSETS[digit // len(VOWELS)] + VOWELS[digit % len(VOWELS)]
    return (word + ending).capitalize()
