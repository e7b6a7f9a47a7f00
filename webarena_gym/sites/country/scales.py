"""How much there is in a world. Each generator has its numbers for both scales in one table, by the name of the scale."""

from typing import Literal

Scale = Literal["standard", "large"]
"""The suite's own worlds are standard; large ones have some ten times as much of everything, and ranked search."""

NO_AGGREGATES = ("aggregates", "none")
"""The row of a site's table `world` which says that sums and counts are not shown."""


def settings(scale: Scale) -> list[tuple[str, str]]:
    """Return the rows of a site's table `world` that follow from the scale."""
    return [NO_AGGREGATES] if scale == "large" else []
