"""Invented words that belong to one seed alone, so that nothing learned by heart in one world helps in another."""

from collections.abc import Mapping
from typing import Literal

from webarena_gym.sites.country.scales import Scale

Stream = Literal["brand", "place", "work", "title"]

WORDS_PER_WORLD = 128
"""How many words of each stream a standard world has."""
WORDS: Mapping[Scale, int] = {"standard": WORDS_PER_WORLD, "large": 1024}
"""How many words of each stream a world has."""

ONSETS = ("b", "d", "h", "j", "k", "l", "m", "n", "r", "s", "t", "v", "w", "y", "br", "dr", "gl", "kl", "st", "tr")
VOWELS = ("a", "e", "i", "o", "u")
_SYLLABLES = len(ONSETS) * len(VOWELS)
_ENDINGS: dict[Stream, tuple[str, ...]] = {
    "brand": ("",),
    "place": ("m", "n", "r", "th"),
    "work": ("k", "p", "x", "z"),
    "title": ("nd", "l", "s", "t"),
}
"""What the words of a stream end in; no two streams share an ending, so none shares a word."""
_LARGE_ENDINGS: dict[Stream, tuple[str, ...]] = {
    "brand": ("c", "ll", "ss", "ff"),
    "place": ("ck", "rd", "rn", "lm"),
    "work": ("b", "g", "ft", "sk"),
    "title": ("lt", "st", "rt", "mp"),
}
"""The same for large worlds, which share no ending with standard ones. There, a quarter of the words have stems of
their own, and the others the same stems with other endings, so that words stay short."""
_SHIFTS: dict[Stream, int] = {"brand": 271828, "place": 314159, "work": 141421, "title": 173205}


def invented(seed: int, index: int, stream: Stream, scale: Scale = "standard") -> str:
    """Return word `index` (below WORDS of the scale) of a world; no other seed, index, stream or scale has the same one.

    (seed, index) is counted as one number, which a fixed bijection scatters over the words of as many syllables as it needs.

    >>> len({invented(seed, index, "place") for seed in range(-5, 5) for index in range(10)})
    100
    >>> invented(0, WORDS_PER_WORLD, "brand")
    Traceback (most recent call last):
    ValueError: a world has 128 words of a stream, there is no number 128
    """
    count = WORDS[scale]
    if not 0 <= index < count:
        raise ValueError(f"a world has {count} words of a stream, there is no number {index}")
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
        number = _turned((number * multiplier + _SHIFTS[stream]) % _SYLLABLES**length, length)
    ending = endings[(number % 97 + turn) % len(endings)]
    word = ""
    for _ in range(length):
        number, digit = divmod(number, _SYLLABLES)
        word += ONSETS[digit // len(VOWELS)] + VOWELS[digit % len(VOWELS)]
    return (word + ending).capitalize()


def _turned(number: int, length: int) -> int:
    """Return the number with its syllables in reverse order.

    A multiplication coprime to the size is a bijection but lets the last syllable depend on the last alone; turning the
    number round between multiplications mixes them all.
    """
    turned = 0
    for _ in range(length):
        number, digit = divmod(number, _SYLLABLES)
        turned = turned * _SYLLABLES + digit
    return turned
