"""How much there is in a world. Each generator has its numbers for both scales in one table, by the name of the scale."""

from typing import Literal

Scale = Literal["standard", "large"]
"""The suite's own worlds are standard; large ones have some ten times as much of everything, and ranked search."""
