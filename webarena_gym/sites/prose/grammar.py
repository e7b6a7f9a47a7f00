"""A small grammar of phrasings: alternatives, slots, agreement, articles, capitals and the joining of sentences.

A phrasing is a line of text in which

- `[a|b|c]` stands for one of its alternatives, which may hold others;
- `{name}` stands for the value of a slot, and `{a name}` for it with "a" or "an" before it;
- `{?name}` says that the slot must be given, `{!name}` that it must not be; both stand for no text.

A phrasing can be used where all of its slots are given. A slot whose value is "" is not given.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from webarena_gym.sites.country.dice import Dice

Slots = Mapping[str, str]
Part: TypeAlias = "str | tuple[tuple[Part, ...], ...]"
"""A text, a slot in its braces, or alternatives, each a sequence of parts."""


_SYMBOL = re.compile(r"[\[\]|]|\{[^{}]*\}|[^\[\]|{}]+")
_LOWER_START = re.compile(r"(?:^|(?<=[.!?] )|(?<=[.!?]\) )|(?<=[.!?]\" )|(?<=\n))(\"?\(?)([a-z])")
_ENDS = (".", "!", "?", '."', '!"', '?"', ".)", "!)", "?)", ":", "/s")

ONE = {
    "one": "one", "it": "it", "them": "it", "its": "its", "is": "is", "was": "was", "has": "has", "does": "does", "s": "s",
    "es": "es", "ies": "ies",
}  # fmt: skip
MANY = {
    "many": "many", "it": "they", "them": "them", "its": "their", "is": "are", "was": "were", "has": "have", "does": "do",
    "s": "", "es": "", "ies": "y",
}  # fmt: skip
MASS = {**ONE, "one": "", "mass": "mass"}
_ENDINGS = {"s", "es"}  # are "" with many
NUMBERS: Mapping[str, Slots] = {"one": ONE, "many": MANY, "mass": MASS}
"""The slots that make words agree with a thing: `{it} work{s}`, `{it} {is} new`."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A phrasing that was read: its parts, the slots that it needs, and those that must not be given."""

    text: str
    parts: tuple[Part, ...]
    needs: frozenset[str]
    bans: frozenset[str]

    @property
    def is_bare(self) -> bool:
        """True if it has no words of its own."""
        return len(self.parts) == 1 and isinstance(self.parts[0], str) and self.parts[0].startswith("{")

    def suits(self, slots: Slots) -> bool:
        """Tell whether it can be used with these slots."""
        return all(slots.get(name) for name in self.needs) and not any(slots.get(name) for name in self.bans)

    def fill(self, dice: Dice, slots: Slots) -> str:
        """Return the text with one alternative of each choice and the values of its slots."""
        return "".join(_filled(self.parts, dice, slots))


def read(text: str) -> Phrasing:
    """Read a phrasing.

    >>> read("{?lid}the lid [leaks|drips]").needs
    frozenset({'lid'})
    >>> read("an [open|shut").parts
    Traceback (most recent call last):
    ValueError: a bracket of the phrasing is not closed: 'an [open|shut'
    """
    symbols = _SYMBOL.findall(text)[::-1]
    needs: set[str] = set()
    bans: set[str] = set()
    if "".join(symbols[::-1]) != text:
        raise ValueError(f"braces of the phrasing do not match: {text!r}")

    def alternatives(*, is_inside: bool) -> tuple[tuple[Part, ...], ...]:
        options: list[list[Part]] = [[]]
        while symbols:
            symbol = symbols.pop()
            if symbol == "[":
                options[-1].append(alternatives(is_inside=True))
            elif symbol in "|]":
                if not is_inside:
                    raise ValueError(f"a bracket of the phrasing was never opened: {text!r}")
                if symbol == "]":
                    return tuple(map(tuple, options))
                options.append([])
            elif symbol.startswith(("{?", "{!")):
                (needs if symbol[1] == "?" else bans).add(symbol[2:-1])
            else:
                if symbol.startswith("{"):
                    needs.update({symbol[1:-1].removeprefix("a ")} - _ENDINGS)
                options[-1].append(symbol)
        if is_inside:
            raise ValueError(f"a bracket of the phrasing is not closed: {text!r}")
        return tuple(map(tuple, options))

    (parts,) = alternatives(is_inside=False)
    return Phrasing(text, parts, frozenset(needs), frozenset(bans))


def _filled(parts: Sequence[Part], dice: Dice, slots: Slots) -> Iterator[str]:
    for part in parts:
        if isinstance(part, tuple):
            yield from _filled(dice.pick(part), dice, slots)
        elif part.startswith("{a "):
            yield with_article(slots[part[3:-1]])
        else:
            yield slots[part[1:-1]] if part.startswith("{") else part


def with_article(text: str) -> str:
    """Return a noun phrase with its indefinite article.

    >>> [with_article(text) for text in ("hour", "union", "8 oz mug", "11 inch pan", "USB cable", "LED lamp", "honest man")]
    ['an hour', 'a union', 'an 8 oz mug', 'an 11 inch pan', 'a USB cable', 'an LED lamp', 'an honest man']
    """
    word = text.split(None, 1)[0].lower() if text else ""
    if word.startswith(("8", "11", "18", "hour", "honest", "heir")):
        return f"an {text}"
    if word.startswith(("uni", "use", "usa", "usb", "usu", "eu", "one", "once", "uti")):
        return f"a {text}"
    spelled = text[:2].isupper() and text[:1] in "FHLMNRSX"
    return f"an {text}" if spelled or word[:1] in {"a", "e", "i", "o", "u"} else f"a {text}"


def sentence(text: str) -> str:
    """Return the text as a sentence: it ends with a full stop where it ends with nothing else.

    >>> sentence("it leaks"), sentence("does it leak?")
    ('it leaks.', 'does it leak?')
    """
    return text if text.endswith(_ENDS) else f"{text}."


def capitalized(text: str) -> str:
    """Return the text with a capital at the start of each sentence.

    >>> capitalized('it leaks. "never," he said. (really?) yes')
    'It leaks. "Never," he said. (Really?) Yes'
    """
    return _LOWER_START.sub(lambda match: match[1] + match[2].upper(), text)


def listed(items: Sequence[str], word: str = "and") -> str:
    """Return the items as they are listed in prose.

    >>> listed(["salt"]), listed(["salt", "oil"]), listed(["salt", "oil", "rye"], "or")
    ('salt', 'salt and oil', 'salt, oil or rye')
    """
    return f"{', '.join(items[:-1])} {word} {items[-1]}" if len(items) > 1 else "".join(items)


_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(count: int) -> str:
    """Return a number as prose writes it: in words up to twelve.

    >>> number(3), number(1200)
    ('three', '1,200')
    """
    return _SMALL[count] if 0 < count < len(_SMALL) else f"{count:,}"


def counted(count: int, noun: str) -> str:
    """Return a number in words with its noun.

    >>> counted(1, "week"), counted(14, "day")
    ('one week', '14 days')
    """
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


DATA = Path(__file__).parent / "data"
_TRIES = 12


@cache
def sections(name: str) -> Mapping[str, list[str]]:
    """Return the lines of each section of a file, all of them."""
    read_so_far: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for number, raw in enumerate((DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]") and "|" not in line:
            if line[1:-1] in read_so_far:
                raise ValueError(f"{name}.txt, line {number}: the section {line} stands there twice")
            lines = read_so_far.setdefault(line[1:-1], [])
        elif lines is None:
            raise ValueError(f"{name}.txt, line {number}: expected a section in square brackets, got {line!r}")
        else:
            lines.append(line)
    return read_so_far


def half(lines: list[str], is_held_out: bool) -> list[str]:
    """Return the lines that one half of the worlds uses: every other one, as the smaller share has to be varied as well.

    >>> half(["a", "b", "c"], False), half(["a", "b", "c"], True)
    (['a', 'c'], ['b'])
    """
    return lines[int(is_held_out) :: 2]


@cache
def pool(name: str, is_held_out: bool) -> Mapping[str, tuple[Phrasing, ...]]:
    """Return the phrasings of a file that one half of the worlds uses, by section."""
    return {title: tuple(read(line) for line in half(lines, is_held_out)) for title, lines in sections(name).items()}


class Speaker:
    """Says one text: it knows the slots of the whole text, and says no phrasing twice that has words of its own."""

    def __init__(self, name: str, dice: Dice, slots: Slots, *, is_held_out: bool) -> None:
        self.dice = dice
        self.slots = dict(slots)
        self._pool = pool(name, is_held_out)
        self._said: set[str] = set()

    def phrase(self, section: str, **slots: str) -> str:
        """Return a phrasing of a section, filled. `slots` are added to those of the text."""
        known = {**self.slots, **slots} if slots else self.slots
        phrasings = self._pool[section]
        for _ in range(_TRIES):
            chosen = self.dice.pick(phrasings)
            if (chosen.text not in self._said or chosen.is_bare) and chosen.suits(known):
                break
        else:
            suiting = [phrasing for phrasing in phrasings if phrasing.suits(known)]
            fresh = [phrasing for phrasing in suiting if phrasing.text not in self._said]
            if not suiting:
                raise ValueError(f"no phrasing of [{section}] can be used with the slots {sorted(known)}")
            chosen = self.dice.pick(fresh or suiting)
        self._said.add(chosen.text)
        return chosen.fill(self.dice, known)

    def say(self, section: str, **slots: str) -> str:
        """Return a phrasing of a section as a sentence."""
        return sentence(self.phrase(section, **slots))


def paragraphs(*parts: list[str]) -> str:
    r"""Return sentences as paragraphs; empty paragraphs are left out.

    >>> paragraphs(["It works.", "Really."], [], ["Edit: no."])
    'It works. Really.\n\nEdit: no.'
    """
    return "\n\n".join(" ".join(part) for part in parts if part)


Register = Literal["formal", "plain", "chatty", "careless"]
REGISTERS: tuple[Register, ...] = ("formal", "plain", "chatty", "careless")
"""Formal writes in full, plain and chatty contract, chatty exclaims, and careless misspells and knows no capitals."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that a text says, and the register in which it is written."""

    register: Register = "plain"


def draw_register(dice: Dice) -> Register:
    """Draw the register of somebody in a forum."""
    return dice.weigh(REGISTERS, (20, 50, 15, 15))


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
