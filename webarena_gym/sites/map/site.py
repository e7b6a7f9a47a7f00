"""The map's `Site`: the map itself, places and streets, the search and directions, notes and suggestions, accounts and saved places."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.geography import EAST, NORTH, SOUTH, WEST
from webarena_gym.sites.country.texts import capitalize, fold_case
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.accounts import members_of, return_url, sign_in_page, visitor, welcome
from webarena_gym.sites.kit.database import first, insert, row_or_404, shows_aggregates, update, value
from webarena_gym.sites.kit.forms import Field, Pager, read_and_check, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.map import drawing, queries
from webarena_gym.sites.map.drawing import HEIGHT, LEAST_ZOOM, LOOKS, MOST_ZOOM, WIDTH, Window, draw, window_around
from webarena_gym.sites.map.geometry import NUMBERS, Point, coordinates, distance, duration, read_coordinates
from webarena_gym.sites.map.queries import CATEGORIES, PLACES, PLURALS, SearchHit, category_of
from webarena_gym.sites.map.routing import CAR, FOOT, MODES, MOST, directions, line

BRAND = "Trailmark"

site = Site("map", __file__, sign_in="/login")
current_user = visitor()
members_only = members_of(current_user, site.sign_in, "Please sign in first.")


def argument(request: Request, name: str) -> str:
    """Return an argument of the URL as a line of text."""
    return forms.line(request.args.get(name), 200)


def url(path: str, **values: object) -> str:
    """Return a URL with arguments.

    >>> url("/search", query="cafes in Town")
    '/search?query=cafes+in+Town'
    """
    return f"{path}?{urlencode(values, quote_via=quote).replace('%20', '+')}"


site.templates.filters.update(clean=forms.clean, distance=distance, duration=duration, capital=capitalize)
site.templates.globals.update(
    brand=BRAND,
    coordinates=coordinates,
    current_user=current_user,
    country_name=lambda request: queries.country(request.db),
    plural=PLURALS.__getitem__,
    url=url,
)


WHOLE = Window(Point((SOUTH + NORTH) / 2, (WEST + EAST) / 2), 8)
"""The window that shows all of the country."""


def point_of(values: Mapping[str, str]) -> Point | None:
    """Return the point of `lat` and `lon`, or None if they are missing or invalid."""
    location = read_coordinates(f"{values.get('lat', '')[:20]}, {values.get('lon', '')[:20]}")
    return Point(*location) if location else None


def window_of(values: Mapping[str, str]) -> Window:
    """Return the window of `lat`, `lon` and `zoom`; missing and invalid values are those of the front page."""
    point, zoom = point_of(values), whole_number(values.get("zoom"), LEAST_ZOOM, MOST_ZOOM)
    if point is None:
        return Window(WHOLE.centre, zoom or WHOLE.zoom)
    return Window(point, zoom or 15)


def layer_of(values: Mapping[str, str]) -> str:
    """Return the requested layer."""
    layer = values.get("layer", "")
    return layer if layer in LOOKS else "standard"


def arguments(window: Window) -> dict[str, object]:
    """Return a window as the arguments of a URL."""
    return {"zoom": window.zoom, "lat": f"{window.centre.latitude:.5f}", "lon": f"{window.centre.longitude:.5f}"}


def picture(window: Window, **more: object) -> str:
    """Return the URL of the picture of a window."""
    return url("/export/map.svg", **arguments(window), **more)


def marker_picture(point: Point, zoom: int = 15) -> str:
    """Return the URL of a picture around a point, with a marker on it."""
    return picture(Window(point, zoom), marker=1)


@site.get("/")
def home(request: Request) -> str:
    """Show a window of the map, with links that move it."""
    window, layer = window_of(request.args), layer_of(request.args)
    request.shows({} if window == WHOLE else arguments(window))
    request.arranges({"layer": layer})
    (latitude, longitude), zoom = window.centre, window.zoom
    high, wide = (degrees * pixels / 2 for degrees, pixels in zip(window.degrees, (HEIGHT, WIDTH), strict=True))
    moves = {"Zoom in": Window(window.centre, zoom + 1), "Zoom out": Window(window.centre, zoom - 1)}
    steps = {"Move north": (high, 0.0), "Move south": (-high, 0.0), "Move west": (0.0, -wide), "Move east": (0.0, wide)}
    for label, (north, east) in steps.items():
        moves[label] = Window(Point(max(-90, min(90, latitude + north)), max(-180, min(180, longitude + east))), zoom)
    parameters = {} if layer == "standard" else {"layer": layer}
    shown = {label: move for label, move in moves.items() if LEAST_ZOOM <= move.zoom <= MOST_ZOOM}
    return request.render(
        "home.html",
        window=window,
        layer=layer,
        layers=list(LOOKS),
        picture=picture(window, layer=layer),
        moves={label: url("/", **arguments(move), **parameters) for label, move in shown.items()},
        here=arguments(window),
        towns=queries.fetch(request.db, "SELECT * FROM towns ORDER BY population DESC LIMIT 10"),
        states=request.db.execute("SELECT * FROM state ORDER BY name").fetchall(),
    )


@site.get("/export/map.svg")
def export(request: Request) -> Response:
    """Draw a window, or a route, by default in the smallest window that contains it."""
    roads = queries.roads(request.db)
    width, height = (whole_number(request.args.get(name), drawing.SMALLEST, drawing.LARGEST) for name in ("width", "height"))
    window, route = window_of(request.args)._replace(width=width or WIDTH, height=height or HEIGHT), []
    if argument(request, "small"):  # a phone's window shows about as much: it is half as wide, and one looks from twice as far
        window = Window(window.centre, max(LEAST_ZOOM, window.zoom - 1), *drawing.SMALL)
    mode = MODES.get(argument(request, "mode"))
    if mode is not None:
        ends = [queries.find(request.db, argument(request, name))[:1] for name in ("from", "to")]
        spots = [one.spot for hits in ends for one in hits if one.spot is not None]
        if len(spots) == 2:
            route = line(roads, roads.route(mode, *spots))
            window = window if point_of(request.args) else window_around(route, window.width, window.height)
    at = read_coordinates(argument(request, "marker"))
    marker = Point(*at) if at else window.centre if argument(request, "marker") else None
    names = [(row["name"], Point(row["latitude"], row["longitude"]), kind) for kind, row in _labels_in(request, window)]
    svg = draw(roads, window, names, route=route, marker=marker, layer=layer_of(request.args))
    return Response(svg, content_type="image/svg+xml")


def _labels_in(request: Request, window: Window) -> list[tuple[str, sqlite3.Row]]:
    """Return the labels at a zoom level: towns, largest first, then landmarks, and at high levels all places."""
    least = 10**9 if window.zoom > 14 else {6: 100_000, 7: 20_000}.get(window.zoom, 0)
    towns = queries.fetch(request.db, "SELECT * FROM towns WHERE population >= ? ORDER BY population DESC", least)
    opened = "EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Opened')"
    query = f"""SELECT * FROM places p WHERE latitude BETWEEN ? AND ? AND longitude BETWEEN ? AND ?
        AND {"TRUE" if window.zoom >= 16 else opened} ORDER BY place_id LIMIT 30"""
    (latitude, longitude), (high, wide) = window.centre, window.degrees
    north, east = high * window.height / 2, wide * window.width / 2
    sides = (latitude - north, latitude + north, longitude - east, longitude + east)
    places = queries.fetch(request.db, query, *sides) if window.zoom >= 12 else []
    return [*(("town", row) for row in towns), *(("place", row) for row in places)]


site.get("/layers")(lambda request: request.render("layers.html", layers=list(LOOKS)))
site.get("/help")(lambda request: request.render("help.html", categories=CATEGORIES))


@site.get("/about")
def about(request: Request) -> str:
    """Show the numbers of towns, streets and places."""
    tables = {"towns": "town", "streets": "street WHERE kind != 'path'", "places": "place", "notes": "map_note"}
    counts = {name: value(request.db, f"SELECT count(*) FROM {table}") for name, table in tables.items()}
    return request.render("about.html", counts=counts)


@site.get("/state/<int:state_id>")
def state(request: Request, state_id: int) -> str:
    """Show a state with its towns, capital and neighbours. Raises NotFound."""
    row = row_or_404(request.db, "SELECT * FROM state WHERE state_id = ?", (state_id,))
    query = "SELECT n.* FROM state_border b JOIN state n ON n.state_id = b.neighbour_id WHERE b.state_id = ? ORDER BY n.name"
    towns = queries.fetch(request.db, "SELECT * FROM towns WHERE state_id = ? ORDER BY population DESC", state_id)
    return request.render(
        "state.html",
        state=row,
        neighbours=request.db.execute(query, (state_id,)).fetchall(),
        towns=towns,
        capital=next(town for town in towns if town["name"] == row["capital"]),
        population=sum(town["population"] for town in towns),
        picture=picture(Window(Point(row["latitude"], row["longitude"]), 9)),
    )


@site.get("/town/<int:town_id>")
def town(request: Request, town_id: int) -> str:
    """Show a town with its population, numbers of places and streets. Raises NotFound."""
    row = row_or_404(request.db, f"{PLACES} SELECT * FROM towns WHERE town_id = ?", (town_id,))
    streets = queries.fetch(request.db, "SELECT * FROM streets WHERE town_id = ? ORDER BY name", town_id)
    query = "SELECT category, count(*) AS found FROM places WHERE town_id = ? GROUP BY category ORDER BY category"
    pager = Pager.of(request, len(streets), 20)
    return request.render(
        "town.html",
        town=row,
        counts=queries.fetch(request.db, query, town_id),
        is_capital=first(request.db, "SELECT 1 FROM state WHERE capital = ?", (row["name"],)) is not None,
        streets=pager.cut(streets),
        pager=pager,
        picture=marker_picture(Point(row["latitude"], row["longitude"]), {"city": 13, "town": 14}.get(row["kind"], 15)),
    )


@site.get("/street/<int:street_id>")
def street(request: Request, street_id: int) -> str:
    """Show a street with its length and its places. Raises NotFound."""
    row = row_or_404(request.db, f"{PLACES} SELECT * FROM streets WHERE street_id = ?", (street_id,))
    places = queries.fetch(request.db, "SELECT * FROM places WHERE street_id = ? ORDER BY number", street_id)
    middle = queries.of_street(request.db, row, NUMBERS // 2).point
    pager, picture = Pager.of(request, len(places), 20), marker_picture(middle, 14)
    return request.render("street.html", street=row, middle=middle, picture=picture, places=pager.cut(places), pager=pager)


NEARBY = (
    "cafe", "restaurant", "hotel", "supermarket", "pharmacy", "bakery", "bookshop", "bank", "post office", "police station",
    "petrol station", "school", "library", "museum", "park", "cinema", "gym", "bus station", "hospital", "airport",
)  # fmt: skip
"""The kinds of places that a place's page leads to."""


def wanted_place(request: Request, place_id: int) -> sqlite3.Row:
    """Return the place of a URL. Raises NotFound."""
    return row_or_404(request.db, f"{PLACES} SELECT * FROM places WHERE place_id = ?", (place_id,))


@site.get("/place/<int:place_id>")
def place_page(request: Request, place_id: int) -> str:
    """Show the details of a place. Raises NotFound."""
    place = wanted_place(request, place_id)
    user = current_user(request)
    of_user = (user["user_id"] if user else 0, place_id)
    return request.render(
        "place.html",
        place=place,
        details=request.db.execute("SELECT * FROM place_detail WHERE place_id = ? ORDER BY name", (place_id,)).fetchall(),
        saved=first(request.db, "SELECT * FROM saved_place WHERE user_id = ? AND place_id = ?", of_user),
        kinds=NEARBY,
        picture=marker_picture(Point(place["latitude"], place["longitude"])),
    )


AT_A_POINT = 5  # places that are named around a point


@site.get("/search")
def results(request: Request) -> str | Response:
    """Show the results of a search, best match or nearest first."""
    text = argument(request, "query")
    if not text:
        return request.redirect("/", "Please enter what to search for.", "notice")
    point = read_coordinates(text)
    if point is not None:
        return redirect(url("/query", lat=f"{point[0]:.5f}", lon=f"{point[1]:.5f}"))
    title, hits = queries.search(request.db, text)
    request.shows({"query": fold_case(title)})
    pager = Pager.of(request, len(hits), 10)
    return request.render("search.html", text=text, title=title, found=pager.cut(hits), pager=pager)


@site.get("/nearby")
def nearby(request: Request) -> str:
    """Show the places of a category around a place by straight-line distance, in standard worlds with walking distances. Raises NotFound."""
    place = wanted_place(request, whole_number(request.args.get("place"), 1, 10**9 - 1) or 0)
    category = category_of(argument(request, "category"))
    if category is None:
        raise NotFound
    request.shows({"place": place["place_id"], "category": category})
    centre = queries.of_place(place)
    hits = queries.near(request.db, category, centre)
    pager = Pager.of(request, len(hits), 10)
    roads, shown, has_walks = queries.roads(request.db), pager.cut(hits), shows_aggregates(request.db)
    walks = [roads.route(FOOT, centre.spot, one.spot) if has_walks and centre.spot and one.spot else None for one in shown]
    listed = {"found": [*zip(shown, walks, strict=True)], "has_walks": has_walks, "pager": pager}
    return request.render("nearby.html", place=place, title=f"{PLURALS[category]} near {place['name']}", **listed)


@site.get("/query")
def query(request: Request) -> str | Response:
    """Show the nearest address of a point, and the places around it."""
    point = point_of(request.args)
    if point is None:
        return request.redirect("/", "A point is written as decimal degrees, such as 42.12345, -29.54321.", "error")
    request.shows({"lat": f"{point.latitude:.5f}", "lon": f"{point.longitude:.5f}"})
    address, roads = queries.nearest_address(request.db, point), queries.roads(request.db)
    places = [queries.of_place(row) for row in queries.fetch(request.db, "SELECT * FROM places")]
    places = queries.by_distance(roads, places, queries.at_point(roads, point))[:AT_A_POINT]
    return request.render("query.html", point=point, address=address, places=places, picture=marker_picture(point, 16))


LABELS = {"from": "From", "to": "To"}


@site.get("/directions")
def directions_page(request: Request) -> str | Response:
    """Show the form for directions, with the route if both ends are unambiguous."""
    values = {name: argument(request, name) for name in ("from", "to", "mode")}
    values["mode"] = values["mode"] if values["mode"] in MODES else CAR.key
    if "reverse" in request.args:
        return redirect(url("/directions", **{"from": values["to"], "to": values["from"], "mode": values["mode"]}))
    ends = [_end(request, name, values) for name in LABELS] if values["from"] or values["to"] else []
    places: list[SearchHit | None] = [end["place"] for end in ends]
    texts = [place.label if place else text for place, text in zip(places, values.values(), strict=False)]
    request.shows({**dict(zip(LABELS, map(fold_case, texts), strict=False)), "mode": values["mode"] if ends else None})
    start, goal = places or (None, None)
    page = {"values": values, "modes": MODES, "ends": ends}
    if start is None or goal is None or start.spot is None or goal.spot is None:
        return request.render("directions.html", **page, route=None)
    roads = queries.roads(request.db)
    route = roads.route(MODES[values["mode"]], start.spot, goal.spot)
    steps = directions(roads, route)
    return request.render(
        "directions.html",
        **page,
        route=route,
        steps=steps[:MOST],
        left_out=len(steps) - MOST,
        picture=url("/export/map.svg", **{"from": start.label, "to": goal.label, "mode": values["mode"]}),
    )


def _end(request: Request, name: str, values: dict[str, str]) -> dict[str, Any]:
    """Return an end of a route: its label and place, or `choices` with the URLs that select one, or an error message."""
    label, text = LABELS[name], values[name]
    exact = queries.best(request.db, text) if text else []
    end: dict[str, Any] = {"label": label, "place": None, "choices": (), "complaint": ""}
    if not text:
        end["complaint"] = f"{label}: please enter a place, an address or coordinates."
    elif not exact:
        end["complaint"] = f"{label}: nothing is called {text}. Check the spelling, or search for it."
    elif len(exact) > 1:
        end["choices"] = [(one, url("/directions", **(values | {name: one.label}))) for one in exact[:10]]
    elif exact[0].spot is None:
        end["complaint"] = f"{label}: {exact[0].label} is a whole state. Please enter a town or a place in it."
    else:
        end["place"] = exact[0]
    return end


STATUSES = ("open", "resolved", "all")
WHERE = "Where is it?"
NOTE_FIELDS = {"where": Field(WHERE, limit=200), "text": Field("Note", limit=1000)}
COMMENT_FIELDS = {"text": Field("Comment", limit=1000)}


@site.get("/notes")
def notes(request: Request) -> str:
    """Show the notes with a status, newest first."""
    status = argument(request, "status")
    status = status if status in STATUSES else "open"
    request.shows({"status": None if status == "open" else status})
    query = """
        SELECT n.*, u.name AS author, (SELECT count(*) FROM note_comment c WHERE c.note_id = n.note_id) AS comments
        FROM map_note n JOIN user u USING (user_id) WHERE ? IN (n.status, 'all') ORDER BY n.created_at DESC, note_id DESC
    """
    rows = request.db.execute(query, (status,)).fetchall()
    pager = Pager.of(request, len(rows), 15)
    return request.render("notes.html", notes=pager.cut(rows), pager=pager, status=status, statuses=STATUSES)


@site.form("/note/new", members_only)
def new_note(request: Request, user: sqlite3.Row) -> str | Response:
    """Add a note to the map."""
    if request.method != "POST":
        point = point_of(request.args)
        where = argument(request, "where") or (f"{point.latitude:.5f}, {point.longitude:.5f}" if point else "")
        request.shows({"where": where})
        return request.render("note_form.html", values={"where": where, "text": ""}, errors=[])
    values, errors = read_and_check(request, NOTE_FIELDS)
    exact = [] if errors else queries.best(request.db, values["where"])
    if not errors and len(exact) != 1:
        many = "several places are called that; add the town, or enter coordinates"
        errors.append(f"{WHERE} {values['where']}: {many if exact else 'there is no such place on the map'}.")
    if errors:
        return request.render("note_form.html", values=values, errors=errors)
    latitude, longitude = (round(degrees, 5) for degrees in exact[0].point)
    place = {"user_id": user["user_id"], "latitude": latitude, "longitude": longitude}
    note_id = insert(request.db, "map_note", **place, text=values["text"], status="open", created_at=request.stamp)
    return request.redirect(f"/note/{note_id}", "Your note is on the map.")


@site.get("/note/<int:note_id>")
def note_page(request: Request, note_id: int, text: str = "", errors: Sequence[str] = ()) -> str:
    """Show a note with its comments; `text` is a comment that was rejected because of `errors`. Raises NotFound."""
    note = _note(request, note_id)
    query = "SELECT c.*, u.name AS author FROM note_comment c JOIN user u USING (user_id) WHERE note_id = ? ORDER BY comment_id"
    comments, point = request.db.execute(query, (note_id,)).fetchall(), Point(note["latitude"], note["longitude"])
    shown = {"address": queries.nearest_address(request.db, point), "picture": marker_picture(point)}
    return request.render("note.html", note=note, comments=comments, **shown, text=text, errors=errors)


@site.post("/note/<int:note_id>/comment", members_only)
def comment(request: Request, user: sqlite3.Row, note_id: int) -> str | Response:
    """Comment on a note. Raises NotFound."""
    _note(request, note_id)
    values, errors = read_and_check(request, COMMENT_FIELDS)
    if errors:
        return note_page(request, note_id, values["text"], errors)
    insert(request.db, "note_comment", note_id=note_id, user_id=user["user_id"], text=values["text"], created_at=request.stamp)
    return request.redirect(f"/note/{note_id}", "You commented on the note.")


@site.post("/note/<int:note_id>/resolve", members_only)
def resolve(request: Request, _: sqlite3.Row, note_id: int) -> Response:
    """Mark a note as resolved, which any user may do. Raises NotFound."""
    _note(request, note_id)
    update(request.db, "map_note", "note_id", note_id, status="resolved")
    return request.redirect(f"/note/{note_id}", "The note is resolved.")


@site.post("/note/<int:note_id>/delete", members_only)
def delete(request: Request, user: sqlite3.Row, note_id: int) -> Response:
    """Delete a note of the current user. Raises NotFound and Forbidden."""
    if _note(request, note_id)["user_id"] != user["user_id"]:
        raise Forbidden("Only the author of a note can delete it.")
    request.db.execute("DELETE FROM note_comment WHERE note_id = ?", (note_id,))
    request.db.execute("DELETE FROM map_note WHERE note_id = ?", (note_id,))
    return request.redirect("/notes", "Your note is deleted.")


def _note(request: Request, note_id: int) -> sqlite3.Row:
    query = "SELECT n.*, u.name AS author FROM map_note n JOIN user u USING (user_id) WHERE note_id = ?"
    return row_or_404(request.db, query, (note_id,))


PARTS = ("Name", "Category", "Address", "Phone", "Website", "Opening hours")
SUGGESTION_FIELDS = {
    "field": Field("What is wrong?"),
    "value": Field("It should read", limit=300),
    "comment": Field("How do you know?", required=False, limit=1000),
}


@site.form("/place/<int:place_id>/edit", members_only)
def suggest(request: Request, user: sqlite3.Row, place_id: int) -> str | Response:
    """Store a suggestion. Raises NotFound."""
    place = wanted_place(request, place_id)
    values, errors = forms.form_values(request, SUGGESTION_FIELDS, dict.fromkeys(SUGGESTION_FIELDS, ""))
    if errors == [] and values["field"] not in PARTS:
        errors = [f"What is wrong? Please choose one of {', '.join(PARTS)}."]
    if errors != []:
        return request.render("suggestion_form.html", place=place, parts=PARTS, values=values, errors=errors or [])
    of_user = {"user_id": user["user_id"], "place_id": place_id}
    insert(request.db, "suggestion", **of_user, **values, status="waiting", created_at=request.stamp)
    return request.redirect("/suggestions", "Thank you. The editors will look at your suggestion.")


@site.get("/suggestions", members_only)
def suggestions(request: Request, user: sqlite3.Row) -> str:
    """Show the current user's suggestions, newest first."""
    query = "SELECT s.*, p.name FROM suggestion s JOIN place p USING (place_id) WHERE user_id = ? ORDER BY suggestion_id DESC"
    mine = request.db.execute(query, (user["user_id"],)).fetchall()
    pager = Pager.of(request, len(mine), 15)
    return request.render("suggestions.html", suggestions=pager.cut(mine), pager=pager)


@site.post("/suggestion/<int:suggestion_id>/withdraw", members_only)
def withdraw(request: Request, user: sqlite3.Row, suggestion_id: int) -> Response:
    """Withdraw a suggestion of the current user. Raises NotFound and Forbidden."""
    row = row_or_404(request.db, "SELECT * FROM suggestion WHERE suggestion_id = ?", (suggestion_id,))
    if row["user_id"] != user["user_id"]:
        raise Forbidden("Only the author of a suggestion can withdraw it.")
    update(request.db, "suggestion", "suggestion_id", suggestion_id, status="withdrawn")
    return request.redirect("/suggestions", "The suggestion is withdrawn.")


SIGN_IN = forms.FormPage(
    title="Sign in",
    action="/login",
    fields={"email": Field("Email", autocomplete="email"), "password": forms.PASSWORD},
    button=f"Sign in to {BRAND}",
    aside=forms.Aside("New here?", "/signup", "Create an account"),
)
SIGN_UP = forms.FormPage(
    title="Create an account",
    action="/signup",
    fields={
        "name": Field("Name", limit=80, autocomplete="name"),
        "email": forms.EMAIL,
        "password": Field("Password", limit=128, type="password", autocomplete="new-password"),
        "password_confirmation": Field("Confirm password", limit=128, type="password", autocomplete="new-password"),
    },
    button="Sign up",
)


WRONG = "The email or the password is not correct. Please try again."
sign_in_page(site, SIGN_IN, current_user, "email = :email COLLATE NOCASE", WRONG, "/saved")


@site.post("/logout")
def logout(request: Request) -> Response:
    """Sign out."""
    request.session.clear()
    return request.redirect("/", "You are signed out.")


site.get("/signup")(SIGN_UP.render)


@site.post("/signup")
def signup(request: Request) -> str | Response:
    """Create an account and sign in."""
    values, errors = read_and_check(request, SIGN_UP.fields)
    errors = errors or forms.password_complaints(values)
    if not errors and first(request.db, "SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)):
        errors.append("There is already an account with this email address.")
    if errors:
        return SIGN_UP.render(request, values, errors)
    del values["password_confirmation"]
    user_id = insert(request.db, "user", **values, created_at=request.stamp)
    request.flash(f"Welcome to {BRAND}, {values['name']}.")
    return welcome(request, user_id, "/saved")


SAVED_NOTE = {"note": Field("Note", required=False, limit=300)}


@site.get("/saved", members_only)
def saved_places(request: Request, user: sqlite3.Row) -> str:
    """Show the current user's saved places by name."""
    query = "SELECT places.*, note, saved_at FROM saved_place JOIN places USING (place_id) WHERE user_id = ? ORDER BY name"
    places = queries.fetch(request.db, query, user["user_id"])
    pager = Pager.of(request, len(places), 20)
    return request.render("saved.html", places=pager.cut(places), pager=pager)


@site.post("/place/<int:place_id>/save", members_only)
def save(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Save a place with a note, or change the note of a saved one. Raises NotFound."""
    place = wanted_place(request, place_id)
    values, errors = read_and_check(request, SAVED_NOTE)
    if errors:
        return request.redirect(f"/place/{place_id}", errors[0], "error")
    query = "INSERT INTO saved_place VALUES (?, ?, ?, ?) ON CONFLICT (user_id, place_id) DO UPDATE SET note = excluded.note"
    request.db.execute(query, (user["user_id"], place_id, values["note"], request.stamp))
    return request.redirect(f"/place/{place_id}", f"{place['name']} is in your saved places.")


@site.post("/place/<int:place_id>/forget", members_only)
def forget(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Remove a place from the saved ones. Raises NotFound."""
    place = wanted_place(request, place_id)
    request.db.execute("DELETE FROM saved_place WHERE user_id = ? AND place_id = ?", (user["user_id"], place_id))
    return request.redirect(return_url(request, f"/place/{place_id}"), f"{place['name']} is no longer in your saved places.")
