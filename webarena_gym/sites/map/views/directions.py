"""Directions: the form, the choice between several places of a name, and the route."""

from collections.abc import Sequence
from typing import NamedTuple

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.map import finding, queries
from webarena_gym.sites.map.base import argument, site, url
from webarena_gym.sites.map.finding import Found
from webarena_gym.sites.map.routing import CAR, MODES
from webarena_gym.sites.map.steps import MOST, directions

MOST_CHOICES = 10
LABELS = {"from": "From", "to": "To"}


class End(NamedTuple):
    """One end of a route as it was typed: the place it is, or those to choose from, or what is wrong with it."""

    label: str
    place: Found | None = None
    choices: Sequence[tuple[Found, str]] = ()  # with the address of the page that has chosen it
    complaint: str = ""


@site.get("/directions")
def show(request: Request) -> str | Response:
    """Show the form, and below it the route when both ends are clear."""
    values = {name: argument(request, name) for name in ("from", "to", "mode")}
    values["mode"] = values["mode"] if values["mode"] in MODES else CAR.key
    if "reverse" in request.args:
        return redirect(url("/directions", **{"from": values["to"], "to": values["from"], "mode": values["mode"]}))
    ends = [_end(request, name, values) for name in LABELS] if values["from"] or values["to"] else []
    start, goal = (ends[0].place, ends[1].place) if ends else (None, None)
    understood = {name: folded(end.place.label if end.place else values[name]) for name, end in zip(LABELS, ends, strict=False)}
    request.shows({**understood, "mode": values["mode"] if ends else None})
    if start is None or goal is None or start.spot is None or goal.spot is None:
        return request.render("directions.html", values=values, modes=MODES, ends=ends, route=None)
    roads = queries.roads(request.db)
    route = roads.route(MODES[values["mode"]], start.spot, goal.spot)
    steps = directions(roads, route)
    return request.render(
        "directions.html",
        values=values,
        modes=MODES,
        ends=ends,
        route=route,
        steps=steps[:MOST],
        left_out=len(steps) - MOST,
        picture=url("/export/map.svg", **{"from": start.label, "to": goal.label, "mode": values["mode"]}),
    )


def _end(request: Request, name: str, values: dict[str, str]) -> End:
    """Return what one end of the route is."""
    label, text = LABELS[name], values[name]
    if not text:
        return End(label, complaint=f"{label}: please enter a place, an address or coordinates.")
    found = finding.find(request.db, text)
    exact = [one for one in found if one.is_exact] or found
    if not found:
        return End(label, complaint=f"{label}: nothing is called {text}. Check the spelling, or search for it.")
    if len(exact) > 1:
        choices = [(one, url("/directions", **(values | {name: one.label}))) for one in exact[:MOST_CHOICES]]
        return End(label, choices=choices)
    if exact[0].spot is None:
        return End(label, complaint=f"{label}: {exact[0].label} is a whole state. Please enter a town or a place in it.")
    return End(label, exact[0])
