"""Layout of the sites of a world: page sizes, wording, order, markup, looks.

Every site is written once, in the plain layout. Any other layout is drawn from a seed and re-shapes the finished pages, for
all sites alike, so that a world can be met in a form in which no agent has seen it. Whatever it changes, forms send what they
sent before, and the second of two elements of one name stays the second: a way through the plain sites, with its labels
translated, is a way through these.
"""

import json
import re
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from webarena_gym.sites.country.dice import Dice, is_held_out, share
from webarena_gym.sites.layout.shapes import Shape

_TABLE = Path(__file__).parent / "wording.json"
_DEEPEST = 4  # labels in each other; ours go two deep, what people write may go on and on
_BLANKS = {"{}": "(.+)", "{#}": "([0-9]+)"}  # and what may stand in their place


@cache
def table() -> dict[str, list[str]]:
    """Return every plain label with the other wordings that it has."""
    content: dict[str, list[str]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return content


class Wording:
    """The labels of one layout."""

    def __init__(self, seed: int) -> None:
        self._exact: dict[str, str] = {}
        self._patterns: list[tuple[re.Pattern[str], list[str]]] = []
        for plain, others in table().items():
            choices = share(others, seed) if is_held_out(seed) else [plain, *share(others, seed)]
            wording = Dice(f"layout/{seed}/{plain}").pick(choices)
            blank = next((blank for blank in _BLANKS if blank in plain), "")
            if blank:
                before, after = map(re.escape, plain.split(blank))
                self._patterns.append((re.compile(before + _BLANKS[blank] + after), wording.split(blank)))
            else:
                self._exact[plain] = wording

    def label(self, text: str, deep: int = _DEEPEST) -> str:
        """Return what a plain label is called here; whatever is none stays as it is, and so do labels in more than `deep` others.

        >>> Wording(1).label("a product's name")
        "a product's name"
        """
        if text in self._exact:
            return self._exact[text]
        for pattern, wording in self._patterns if deep else ():
            if found := pattern.fullmatch(text):
                return self.label(found.group(1), deep - 1).join(wording)
        return text


Variation = Literal["content", "layout"]
"""Differences between worlds: the content of the sites, or their layout as well."""

_SIZES = (0.8, 1.2, 0.6, 1.3, 0.7, 1.4)  # of a page, as parts of the usual one


class Layout:
    """One way of building the sites, drawn from a seed; None stands for the plain one."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    @cached_property
    def _size(self) -> float:
        return 1.0 if self.seed is None else Dice(f"layout/{self.seed}/size").pick(share(_SIZES, self.seed))

    @cached_property
    def _wording(self) -> Wording | None:
        return None if self.seed is None else Wording(self.seed)

    @cached_property
    def _shape(self) -> Shape | None:
        return None if self.seed is None else Shape(self.seed, self.label)

    def page_size(self, usual: int) -> int:
        """Return how many rows a list shows on one page where the plain layout shows `usual`."""
        return max(1, round(usual * self._size))

    def label(self, text: str) -> str:
        """Return what stands where the plain layout has the label `text`; content stays as it is."""
        return text if self._wording is None else self._wording.label(text)

    def rebuild(self, html: str) -> str:
        """Return a plain page in this layout; a page that is in it already comes back as it is."""
        return html if self._shape is None else self._shape.rebuild(html)


def page_sizes(usual: int) -> tuple[int, int]:
    """Return the fewest and the most rows that a list shows on one page in any layout, where the plain one shows `usual`.

    What a task asks must not depend on the layout, so templates that turn on pages have to hold in all of them.
    """
    return round(usual * min(_SIZES)), round(usual * max(_SIZES))


PLAIN = Layout()


def layout_of(world_seed: int, variation: Variation) -> Layout:
    """Return the layout of a world's sites: the plain one when worlds vary in content alone."""
    return _drawn(world_seed) if variation == "layout" else PLAIN


@cache
def _drawn(seed: int) -> Layout:
    return Layout(seed)
