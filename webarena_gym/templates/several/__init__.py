"""Tasks over several sites: the tabs that they begin in, and checks of texts that hold what another site says."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step

MAP_AND_ENCYCLOPEDIA = ("map", "wikipedia")


def tabs(*sites: str) -> str:
    """Return the start URL that opens a tab for each of the sites.

    >>> tabs("map", "wikipedia")
    '__MAP__ |AND| __WIKIPEDIA__'
    """
    return " |AND| ".join(f"__{site.upper()}__" for site in sites)


def turn_to(index: int, thought: str = "") -> Step:
    """Return the step to another tab; the first is 0."""
    return Step(Action(Kind.SWITCH_TAB, argument=str(index)), thought)


def place_named(world: t.Sampler, name: str) -> t.Row:
    """Return the row of a place on the map. Raises NothingToDraw."""
    return world.pick(PLACES + "SELECT * FROM places WHERE name = ?", name, site="map")


def address_on_map(world: t.Sampler, name: str) -> str:
    """Return where the map's page of a place or town is. Raises NothingToDraw."""
    return str(
        world.value(
            "SELECT 'place/' || place_id FROM place WHERE name = ?1 UNION ALL SELECT 'town/' || town_id FROM town WHERE name = ?1",
            name,
            site="map",
        )
    )


def holds(column: str, wanted: Sequence[str], unwanted: Sequence[str]) -> tuple[str, list[str]]:
    """Return two SQL expressions, and their parameters: how many texts of each kind a column holds.

    >>> holds("body", ["a", "b"], [])
    ('(SELECT count(*) FROM (VALUES (?), (?)) WHERE instr(body, column1) > 0), 0', ['a', 'b'])
    """

    def amount(texts: Sequence[str]) -> str:
        values = ", ".join(["(?)"] * len(texts))
        return f"(SELECT count(*) FROM (VALUES {values}) WHERE instr({column}, column1) > 0)" if texts else "0"

    return f"{amount(wanted)}, {amount(unwanted)}", [*wanted, *unwanted]


def is_clear(wanted: Sequence[str], unwanted: Sequence[str]) -> bool:
    """Say whether no unwanted text is part of a wanted one.

    >>> is_clear(["Too loud"], ["Loud"]), is_clear(["Too loud"], ["loud"])
    (True, False)
    """
    return not any(other in text for other in unwanted for text in wanted)


def without_ties(rows: Sequence[t.Row], count: int, key: str) -> bool:
    """Say whether the first rows stand apart from the rest, which is sorted by that key."""
    values: list[Any] = [row[key] for row in rows[: count + 1]]
    return len(values) == count + 1 and values[-1] != values[-2]
