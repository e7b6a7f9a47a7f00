"""The pages of states, towns and streets."""

import sqlite3
from typing import Any

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.map import finding, queries
from webarena_gym.sites.map.addresses import NUMBERS
from webarena_gym.sites.map.base import site
from webarena_gym.sites.map.drawing import Window
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.windows import marked, picture

PER_PAGE = 20  # streets of a town, places of a street


def _found(row: sqlite3.Row | None) -> sqlite3.Row:
    if row is None:
        raise NotFound
    return row


@site.get("/state/<int:state_id>")
def state(request: Request, state_id: int) -> str:
    """Show a state: its towns, its capital and its neighbours. Raises NotFound."""
    row = _found(request.db.execute("SELECT * FROM state WHERE state_id = ?", (state_id,)).fetchone())
    neighbours = request.db.execute(
        "SELECT n.* FROM state_border b JOIN state n ON n.state_id = b.neighbour_id WHERE b.state_id = ? ORDER BY n.name",
        (state_id,),
    ).fetchall()
    towns = queries.rows(request.db, "SELECT * FROM towns WHERE state_id = ? ORDER BY population DESC", state_id)
    return request.render(
        "state.html",
        state=row,
        neighbours=neighbours,
        towns=towns,
        capital=next(town for town in towns if town["name"] == row["capital"]),
        population=sum(town["population"] for town in towns),
        picture=picture(Window(Point(row["latitude"], row["longitude"]), 9)),
    )


@site.get("/town/<int:town_id>")
def town(request: Request, town_id: int) -> str:
    """Show a town: its people, what there is, and its streets. Raises NotFound."""
    row = _found(queries.row(request.db, "SELECT * FROM towns WHERE town_id = ?", town_id))
    streets = queries.rows(request.db, "SELECT * FROM streets WHERE town_id = ? ORDER BY name", town_id)
    counts = queries.rows(
        request.db,
        "SELECT category, count(*) AS found FROM places WHERE town_id = ? GROUP BY category ORDER BY category",
        town_id,
    )
    return request.render(
        "town.html", town=row, counts=counts, is_capital=_is_capital(request, row), **_page(request, "streets", streets),
        picture=marked(Point(row["latitude"], row["longitude"]), {"city": 13, "town": 14}.get(row["kind"], 15)),
    )  # fmt: skip


@site.get("/street/<int:street_id>")
def street(request: Request, street_id: int) -> str:
    """Show a street: how long it is, and what stands there. Raises NotFound."""
    row = _found(queries.row(request.db, "SELECT * FROM streets WHERE street_id = ?", street_id))
    places = queries.rows(request.db, "SELECT * FROM places WHERE street_id = ? ORDER BY number", street_id)
    middle = finding.of_street(request.db, row, NUMBERS // 2).point
    return request.render(
        "street.html", street=row, middle=middle, picture=marked(middle, 14), **_page(request, "places", places)
    )


def _page(request: Request, name: str, rows: list[sqlite3.Row]) -> dict[str, Any]:
    """Return what a template needs to show a page of rows."""
    pager = Pager.of(request, len(rows), PER_PAGE)
    return {name: pager.cut(rows), "pager": pager}


def _is_capital(request: Request, town: sqlite3.Row) -> bool:
    return request.db.execute("SELECT 1 FROM state WHERE capital = ?", (town["name"],)).fetchone() is not None
