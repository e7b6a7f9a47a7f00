"""Pools of phrasings, read from the text files in `data`.

A file holds sections. A section begins with its name in square brackets, alone in its line; each further line that is not
empty and does not start with "#" is one phrasing. Every pool is parted between worlds for training and held-out worlds.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import Phrasing, Slots, read, sentence

DATA = Path(__file__).parent / "data"
_TRIES = 12


def sections(name: str) -> dict[str, list[str]]:
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
