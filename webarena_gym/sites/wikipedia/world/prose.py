"""Prose: sentences drawn from a pool, with the facts of an article and chance words in their gaps."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from webarena_gym.sites.country.dice import Dice

_PARAGRAPH = 4  # sentences at most


@cache
def _pool() -> dict[str, dict[str, list[str]]]:
    content: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("prose.json").read_text(encoding="utf-8"))
    return content


class _Gaps:
    """The values of the gaps of one article: a fact, one of a list of facts, or else a chance word, each but once if possible."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._used: list[str] = []
        self.facts: Mapping[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name in self.facts:
            value = self.facts[name]
            return self._dice.pick(value) if isinstance(value, list) else value
        words = _pool()["words"][name]
        word = self._dice.pick([word for word in words if word not in self._used] or words)
        self._used.append(word)
        return word


class Prose:
    """Writes the paragraphs of one article; equal dice write equal ones."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._gaps = _Gaps(dice)

    def passage(self, topic: str, most: int, **facts: object) -> str:
        """Return up to `most` sentences on a topic, in the order of the pool, a few to a paragraph.

        Sentences that need a fact which is not given are left out.
        """
        fitting = [line for line in _pool()["sentences"][topic] if _is_fitting(line, facts)]
        chosen = self._dice.some(fitting, most)
        self._gaps.facts = facts
        lines = [self._filled(line) for line in fitting if line in chosen]
        size = -(-len(lines) // (-(-len(lines) // _PARAGRAPH) or 1)) or 1
        return "\n\n".join(" ".join(lines[start : start + size]) for start in range(0, len(lines), size))

    def _filled(self, line: str) -> str:
        written = line.format_map(self._gaps)
        return written[0].upper() + written[1:]


def _is_fitting(line: str, facts: Mapping[str, object]) -> bool:
    """Whether every gap of a sentence is a fact that is given, or a chance word."""
    gaps = [part.partition("}")[0] for part in line.split("{")[1:]]
    return all(gap in facts or gap in _pool()["words"] for gap in gaps)
