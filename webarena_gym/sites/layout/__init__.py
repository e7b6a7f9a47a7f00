"""How the sites of a world are built, as opposed to what is on them: page sizes, wording, order, markup, looks.

Every site is written once, in the plain layout. Any other layout is drawn from a seed and re-shapes the finished pages, for
all sites alike, so that a world can be met in a form in which no agent has seen it. Whatever it changes, forms send what they
sent before, and the second of two elements of one name stays the second: a way through the plain sites, with its labels
translated, is a way through these.
"""

from functools import cache, cached_property
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.layout.shapes import Shape
from webarena_gym.sites.layout.wording import Wording

Variation = Literal["content", "layout"]
"""What differs from world to world: what is on the sites, or also how they are built."""

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
