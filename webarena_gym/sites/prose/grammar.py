"""A grammar of phrasings: alternatives, slots, agreement, articles, capitals and the joining of sentences.

A phrasing is a line of text with this notation:

- `[a|b|c]` is replaced by one of its alternatives, which may be nested.
- `{name}` is replaced by the value of a slot, `{a name}` by the value with "a" or "an" before it.
- `{?name}` requires a value for the slot, `{!name}` forbids one; both are replaced by no text.

A phrasing can be used if all of its slots have values. A slot whose value is "" has none.
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
"""A text, a slot in braces, or alternatives, each a sequence of parts."""


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
_ENDINGS = {"s", "es"}  # slots that may be "", in the plural
NUMBERS: Mapping[str, Slots] = {"one": ONE, "many": MANY, "mass": MASS}
"""Slots by grammatical number, which make words agree with a noun: `{it} work{s}`, `{it} {is} new`."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A parsed phrasing: its parts, the slots that must have a value, and the slots that must not."""

    text: str
    parts: tuple[Part, ...]
    needs: frozenset[str]
    bans: frozenset[str]

    @property
    def is_bare(self) -> bool:
        """True if it consists of one slot."""
        return len(self.parts) == 1 and isinstance(self.parts[0], str) and self.parts[0].startswith("{")

    def suits(self, slots: Slots) -> bool:
        """Return True if it can be used with these slots."""
        return all(slots.get(name) for name in self.needs) and not any(slots.get(name) for name in self.bans)

    def fill(self, dice: Dice, slots: Slots) -> str:
        """Return its text with random alternatives and the values of the slots."""
        return "".join(_fill_parts(self.parts, dice, slots))


def read(text: str) -> Phrasing:
    """Parse a phrasing. Raises ValueError for brackets or braces that do not match.

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


def _fill_parts(parts: Sequence[Part], dice: Dice, slots: Slots) -> Iterator[str]:
    for part in parts:
        if isinstance(part, tuple):
            yield from _fill_parts(dice.pick(part), dice, slots)
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
    """Return the text as a sentence, with a full stop unless it ends with punctuation.

    >>> sentence("it leaks"), sentence("does it leak?")
    ('it leaks.', 'does it leak?')
    """
    return text if text.endswith(_ENDS) else f"{text}."


def capitalize_sentences(text: str) -> str:
    """Return the text with a capital at the start of each sentence.

    >>> capitalize_sentences('it leaks. "never," he thought. (really?) yes')
    'It leaks. "Never," he thought. (Really?) Yes'
    """
    return _LOWER_START.sub(lambda match: match[1] + match[2].upper(), text)


def enumerate_items(items: Sequence[str], word: str = "and") -> str:
    """Return the items as an enumeration, with a word before the last one.

    >>> enumerate_items(["salt"]), enumerate_items(["salt", "oil"]), enumerate_items(["salt", "oil", "rye"], "or")
    ('salt', 'salt and oil', 'salt, oil or rye')
    """
    return f"{', '.join(items[:-1])} {word} {items[-1]}" if len(items) > 1 else "".join(items)


_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(count: int) -> str:
    """Return a number in words if it is at most twelve, else in digits.

    >>> number(3), number(1200)
    ('three', '1,200')
    """
    return _SMALL[count] if 0 < count < len(_SMALL) else f"{count:,}"


def count_phrase(count: int, noun: str) -> str:
    """Return a number in words with its noun.

    >>> count_phrase(1, "week"), count_phrase(14, "day")
    ('one week', '14 days')
    """
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


DATA = Path(__file__).parent / "data"
_TRIES = 12  # draws of a phrasing before all that suit are listed


@cache
def sections(name: str) -> Mapping[str, list[str]]:
    """Return the lines of `data/NAME.txt` by section, without empty lines and comments. Raises ValueError for malformed files."""
    lines_by_section: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for number, raw in enumerate((DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]") and "|" not in line:
            if line[1:-1] in lines_by_section:
                raise ValueError(f"{name}.txt, line {number}: the section {line} occurs twice")
            lines = lines_by_section.setdefault(line[1:-1], [])
        elif lines is None:
            raise ValueError(f"{name}.txt, line {number}: expected a section in square brackets, got {line!r}")
        else:
            lines.append(line)
    return lines_by_section


def half(lines: list[str], is_held_out: bool) -> list[str]:
    """Return every other line: the even ones for training worlds, the odd ones for held-out worlds.

    >>> half(["a", "b", "c"], False), half(["a", "b", "c"], True)
    (['a', 'c'], ['b'])
    """
    return lines[int(is_held_out) :: 2]


@cache
def pool(name: str, is_held_out: bool) -> Mapping[str, tuple[Phrasing, ...]]:
    """Return the phrasings of a file that training or held-out worlds use, by section."""
    return {title: tuple(read(line) for line in half(lines, is_held_out)) for title, lines in sections(name).items()}


class Speaker:
    """Draws the phrasings of one text from a file, with the slots of the text. It repeats phrasings only if it has to."""

    def __init__(self, name: str, dice: Dice, slots: Slots, *, is_held_out: bool) -> None:
        self.dice = dice
        self.slots = dict(slots)
        self._pool = pool(name, is_held_out)
        self._used: set[str] = set()

    def phrase(self, section: str, **slots: str) -> str:
        """Return the text of a random phrasing of a section. `slots` are added to those of the text.

        Raises ValueError if no phrasing of the section suits the slots.
        """
        filled_slots = {**self.slots, **slots} if slots else self.slots
        phrasings = self._pool[section]
        for _ in range(_TRIES):
            chosen = self.dice.pick(phrasings)
            if (chosen.text not in self._used or chosen.is_bare) and chosen.suits(filled_slots):
                break
        else:
            usable = [phrasing for phrasing in phrasings if phrasing.suits(filled_slots)]
            unused = [phrasing for phrasing in usable if phrasing.text not in self._used]
            if not usable:
                raise ValueError(f"no phrasing of [{section}] can be used with the slots {sorted(filled_slots)}")
            chosen = self.dice.pick(unused or usable)
        self._used.add(chosen.text)
        return chosen.fill(self.dice, filled_slots)

    def sentence(self, section: str, **slots: str) -> str:
        """Return the text of a random phrasing of a section as a sentence; otherwise like `phrase`."""
        return sentence(self.phrase(section, **slots))


def paragraphs(*parts: list[str]) -> str:
    r"""Return lists of sentences as paragraphs; empty lists are left out.

    >>> paragraphs(["It works.", "Really."], [], ["Edit: no."])
    'It works. Really.\n\nEdit: no.'
    """
    return "\n\n".join(" ".join(part) for part in parts if part)


Register = Literal["formal", "plain", "chatty", "careless"]
REGISTERS: tuple[Register, ...] = ("formal", "plain", "chatty", "careless")
"""Styles of writing: "plain" and "chatty" use contractions, "chatty" exclamation marks, "careless" misspellings and no capitals."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts of a text, and the register in which it is written."""

    register: Register = "plain"


def draw_register(dice: Dice) -> Register:
    """Draw the register of a forum user."""
    return dice.weigh(REGISTERS, (20, 50, 15, 15))


_SELF = re.compile(r"\bI\b")
_SLIPS = 60  # percentage of words with a listed misspelling that a careless writer misspells


@cache
def _table(section: str) -> tuple[re.Pattern[str], Mapping[str, str]]:
    names = dict(line.split(": ", 1) for line in sections("misspellings")[section])
    return re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b"), names


def apply_register(text: str, register: Register, dice: Dice) -> str:
    """Return a text, which has neither capitals nor contractions, in a register.

    >>> apply_register("it does not leak. I definitely like it.", "chatty", Dice("a"))
    "It doesn't leak. I definitely like it!"
    >>> apply_register("it does not leak. I definitely like it.", "careless", Dice("c"))
    'it doesnt leak. i definately like it'
    """
    if register != "careless":
        text = capitalize_sentences(text)
    if register == "formal":
        return text
    text = _replace_words(text, "contracted", dice, 100 if register != "plain" else 70)
    if register == "chatty" and text.endswith(".") and not text.endswith("..") and '"' not in text[-3:]:
        text = f"{text[:-1]}!"
    if register == "careless":
        text = _SELF.sub("i", _replace_words(_replace_words(text, "dropped", dice, 80), "words", dice, _SLIPS)).removesuffix(
            "."
        )
    return text


def _replace_words(text: str, section: str, dice: Dice, percent: int) -> str:
    pattern, pairs = _table(section)
    return pattern.sub(lambda match: pairs[match[1]] if dice.chance(percent) else match[1], text)
