"""The map, seen by a visitor: search, pages, routes, saved places, notes, and what odd input does."""

import itertools
import re
import sqlite3
from contextlib import closing
from functools import cache

import pytest
from werkzeug.test import Client

from tests.visitors import Visitor
from webarena_gym.sites.country.seeding import sign_in
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.geometry import Point, distance, duration, metres_between
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Spot, directions, line
from webarena_gym.sites.world import build, load_site

HOST = "http://map.test"
ODD = ("", " ", "x" * 5000, "\x00", "'; DROP TABLE place; --", "<script>alert(1)</script>", "%", "_", "\u00c4\u00d6 \u00df \u4e2d\u6587", "-1", "1e9", "12 ",
       "near", "cafes near", "\U0001f642")  # fmt: skip


@cache
def content() -> bytes:
    return build("map", 1)


class MapVisitor(Visitor):
    """Somebody at the map of world 1."""

    def __init__(self) -> None:
        super().__init__("map.test", "map", content())

    def sign_in(self, user_id: int = 1) -> "MapVisitor":
        return super().sign_in(user_id=user_id)

    def search(self, text: str) -> "MapVisitor":
        return self.type(Search_the_map=text).click("Search")

    def directions(self, start: str, goal: str, mode: str = "Car") -> "MapVisitor":
        self.open("/directions").type(From=start, To=goal)
        return self.choose("Travel by", mode).click("Get directions")

    @property
    def names(self) -> list[str]:
        """The names in a list of results, in order."""
        return [link.text for link in self.browser.page().root.cssselect(".found a, table a")]

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        return queries.fetch(self.db, query, *values)

    def place(self, condition: str, *values: object) -> sqlite3.Row:
        return self.rows(f"SELECT * FROM places WHERE {condition} LIMIT 1", *values)[0]


@pytest.fixture
def visitor(opened):
    return opened(MapVisitor())


@pytest.fixture
def me(visitor):
    return visitor.sign_in()


@pytest.fixture
def roads(visitor):
    return queries.roads(visitor.db)


@pytest.fixture
def client():
    """A browser's connection of user 2, who is signed in."""
    client = Client(load_site("map").app(Database(content())))
    with closing(client.application.database.connection) as db:
        client.set_cookie("sid", sign_in(db, user_id=2), domain="localhost")
        client.key = client.get("/note/new").text.partition('name="form_key" value="')[2].partition('"')[0]
        yield client


def spot(row):
    return Spot(row["edge_id"], row["metres"])


def test_the_front_page_shows_the_country_and_moves_the_map(visitor):
    assert visitor.browser.page().title.startswith("Map of ")
    visitor.click("Zoom in", "Move north")
    assert visitor.path.startswith("/?zoom=9&lat=42.")
    visitor.sees("at zoom 9").click("What is here?")
    assert visitor.path.startswith("/query?lat=42.")


def test_pictures_are_drawings_that_show_more_from_nearby_and_have_the_size_that_is_asked_for(visitor, client):
    def drawn(**query):
        answer = client.get("/export/map.svg", query_string=query)
        assert answer.mimetype == "image/svg+xml"
        return answer.text

    (town,) = visitor.rows("SELECT * FROM towns ORDER BY population DESC LIMIT 1")
    assert town["name"] in drawn(zoom=8)
    assert drawn(zoom=14, lat=town["latitude"], lon=town["longitude"]).count("<path") > 40
    a, b = visitor.rows("SELECT * FROM places WHERE town_id = 1 LIMIT 2")
    ends = {"from": a["name"], "to": b["name"], "mode": "foot"}
    assert "#2b62c9" in drawn(**ends)
    assert 'data-window="' in drawn(**ends)
    assert 'data-window="41.50000 -29.50000 12"' in drawn(**ends, lat="41.5", lon="-29.5", zoom="12")
    for asked, size, zoom in (
        ({}, "720 560", 8), ({"width": 300, "height": 1200}, "300 1200", 8), ({"width": 99, "height": 1201}, "720 560", 8),
        ({"small": 1}, "360 400", 7),
    ):  # fmt: skip
        assert re.search(rf'viewBox="0 0 {size}" .* data-window="\S+ \S+ {zoom}"', drawn(zoom=8, **asked))
    for marker, lon, is_in_the_middle in (("1", "-29.5", True), ("41.5,-29.5", "-29.5", True), ("41.5,-29.5", "-29.49", False)):
        picture = drawn(zoom=12, lat="41.5", lon=lon, marker=marker)
        assert ('d="M360.0 280.0l-9-15' in picture) == is_in_the_middle


def test_search_puts_the_very_name_first_is_paged_and_tells_what_is_not_there(visitor):
    (town,) = visitor.rows("SELECT * FROM towns WHERE town_id = 1")
    assert visitor.search(town["name"].lower()).names[0] == town["name"]
    assert visitor.names[1].startswith(town["name"])
    for row in visitor.rows("SELECT * FROM places WHERE place_id % 97 = 0"):
        assert visitor.search(row["name"]).names[0] == row["name"]
        assert row["address"] in visitor.text
    visitor.search("   ").sees("Please enter what to search for.").search("zzzyx").sees("Nothing was found for zzzyx")
    visitor.search("restaurant")
    first = visitor.names
    visitor.click("Next").sees("Items 11-20 of ")
    assert not set(first) & set(visitor.names)
    assert visitor.click("Previous").names == first


def test_kinds_of_places_and_branches_of_a_chain_are_found_near_and_in_something(visitor):
    centre = visitor.place("category = 'stadium'")
    for words in ("cafes near", "Coffee shop around", "cafe close to"):
        visitor.search(f"{words} {centre['name']}")
        assert visitor.browser.page().root.cssselect("main h1")[0].text == f"Cafes near {centre['name']}"
        found = queries.search(visitor.db, f"{words} {centre['name']}")[1]
        assert [one.metres for one in found] == sorted(one.metres for one in found)
        assert visitor.names == [one.label for one in found[:10]]
    (town,) = visitor.rows("SELECT * FROM towns WHERE town_id = 2")
    found = queries.search(visitor.db, f"pharmacies in {town['name']}")[1]
    rows = visitor.rows("SELECT * FROM places WHERE town_id = 2 AND category = 'pharmacy'")
    assert {one.label for one in found} == {row["name"] for row in rows}
    title, of_state = queries.search(visitor.db, f"hotels in {town['state']}")
    assert title == f"hotels in {town['state']}"
    assert all(town["state"] in one.address for one in of_state)
    branch = visitor.place("category = 'supermarket' AND town_id = 1")
    visitor.search(f"{branch['brand']} near {branch['town']}")
    assert branch["name"] in visitor.names or "Next" in visitor.text
    assert all(name.startswith(branch["brand"]) for name in visitor.names)


def test_any_house_number_of_a_street_is_found_on_it_and_leads_back(visitor, roads):
    for row in visitor.rows("SELECT * FROM streets WHERE street_id % 90 = 1"):
        last = None
        for number in (1, 700, 1733, 2400):
            (found,) = [one for one in queries.find(visitor.db, f"{number} {row['name']}, {row['town']}") if one.is_exact]
            assert found.address == f"{number} {row['name']}, {row['town']}, {row['state']} {row['postcode']}"
            assert roads.edges[found.spot.edge_id].street_id == row["street_id"]
            assert last is None or metres_between(last, found.point) > 0.02 * row["length"]
            last = found.point
            back = queries.nearest_address(visitor.db, found.point)
            assert back.metres < 3
    assert not queries.find(visitor.db, f"2401 {row['name']}, {row['town']}")
    (row,) = visitor.rows("SELECT * FROM streets WHERE street_id = 9")
    found = queries.find(visitor.db, f"120 {row['name']}, Apt 12, {row['town']}, {row['state']} {row['postcode']}")
    assert [one.label for one in found if one.is_exact] == [f"120 {row['name']}, {row['town']}"]


def test_coordinates_are_looked_up_also_far_away(visitor):
    row = visitor.place("category = 'zoo'")
    visitor.search(f"{row['latitude']:.5f}, {row['longitude']:.5f}")
    visitor.at(f"/query?lat={row['latitude']:.5f}&lon={row['longitude']:.5f}").sees(row["town"], "Nearest address")
    for point in ("0,0", "90, 180", "-90 -180"):
        assert "What is at" in visitor.search(point).text
    assert queries.find(visitor.db, "91.5, 10.5") == []
    assert isinstance(queries.nearest_address(visitor.db, Point(42.0, -29.5)).metres, float)


def test_places_towns_states_and_streets_have_pages(visitor):
    row = visitor.place("category = 'hotel' AND phone != '' AND brand != ''")
    visitor.search(row["name"]).click(row["name"]).at(f"/place/{row['place_id']}")
    for column in ("name", "address", "postcode", "brand", "phone", "town", "state", "weekdays"):
        assert row[column] in visitor.text
    visitor.sees(f"{row['latitude']:.5f}, {row['longitude']:.5f}").click("Directions from here")
    assert visitor.find("From").get("value") == row["name"]
    (town,) = visitor.rows("SELECT * FROM towns WHERE town_id = 1")
    visitor.open("/town/1").sees(f"{town['population']:,}").click(town["state"])
    borders = """SELECT n.name FROM state_border b JOIN state s USING (state_id) JOIN state n ON n.state_id = neighbour_id
        WHERE s.name = ?"""
    neighbours = [row["name"] for row in visitor.rows(borders, town["state"])]
    assert all(name in visitor.text for name in neighbours)
    assert visitor.click(neighbours[0]).title.startswith(neighbours[0])
    place = visitor.place("place_id = 3")
    assert place["name"] in visitor.open("/place/3").click(place["street"]).text


def test_nearby_gives_straight_and_walking_distances_which_are_longer(visitor, roads):
    row = visitor.place("category = 'concert hall'")
    visitor.open(f"/place/{row['place_id']}").click("Restaurants nearby")
    cells = [[cell.text_content() for cell in line] for line in visitor.browser.page().root.cssselect("tbody tr")]
    assert len(cells) == 10
    for name, _, straight, walk, time in cells:
        other = visitor.place("name = ?", name)
        route = roads.route(FOOT, spot(row), spot(other))
        assert (walk, time) == (distance(route.metres), duration(route.minutes))
        assert distance(metres_between(roads.point(spot(row)), roads.point(spot(other)))) == straight
    rows = visitor.rows("SELECT * FROM places WHERE town_id = 1 AND place_id % 5 = 0")
    for a in rows[:6]:
        for b in rows:
            assert roads.route(FOOT, spot(a), spot(b)).metres >= metres_between(roads.point(spot(a)), roads.point(spot(b))) - 5


def test_directions_show_distance_time_and_steps_and_can_be_reversed(visitor, roads):
    a, b = visitor.rows("SELECT * FROM places WHERE category = 'airport' LIMIT 2")
    for mode in (CAR, BICYCLE, FOOT):
        text, route = visitor.directions(a["name"], b["name"], mode.name).text, roads.route(mode, spot(a), spot(b))
        for said in (distance(route.metres), duration(route.minutes), f"Arrive at {b['name']}"):
            assert said in text
    assert f"mode={mode.key}" in visitor.path
    assert visitor.click("Reverse directions").find("From").get("value") == b["name"]
    assert f"Arrive at {a['name']}" in visitor.text


def test_directions_offer_a_choice_lead_to_addresses_and_coordinates_and_say_what_is_wrong(visitor):
    often = "SELECT *, count(*) AS n FROM streets WHERE kind = 'street' GROUP BY name ORDER BY n DESC, name LIMIT 1"
    (row,), (town,) = visitor.rows(often), visitor.rows("SELECT * FROM towns WHERE town_id = 1")
    assert "From: which one?" in visitor.directions(row["name"], town["name"]).text
    assert f"Arrive at {town['name']}" in visitor.click(f"{row['name']}, {row['town']}").text
    row, (street,) = visitor.place("place_id = 7"), visitor.rows("SELECT * FROM streets WHERE street_id = 5")
    assert "0 m" in visitor.directions(row["name"], row["name"]).text
    visitor.directions(f"12 {street['name']}, {street['town']}", "42.0, -29.5", "Bicycle").sees("Arrive at 42.00000, -29.50000")
    visitor.directions("zzzyx", visitor.value("SELECT name FROM state"))
    visitor.sees("From: nothing is called zzzyx.", "is a whole state").directions("", "zzzyx").sees("From: please enter")


def test_routes_are_the_same_both_ways_and_pass_no_road_that_is_barred(visitor, roads):
    rows = visitor.rows("SELECT * FROM places WHERE place_id % 120 = 0")
    barred = {CAR: "path", BICYCLE: "motorway", FOOT: "motorway"}
    for mode, barrier in barred.items():
        for a, b in itertools.pairwise(rows):
            there, back = roads.route(mode, spot(a), spot(b)), roads.route(mode, spot(b), spot(a))
            assert (there.metres, there.minutes) == (back.metres, back.minutes)
            assert barrier not in {leg.edge.kind for leg in there.legs}
            assert sum(step.metres for step in directions(roads, there)) == there.metres
            walked = sum(metres_between(*pair) for pair in itertools.pairwise(line(roads, there)))
            assert walked == pytest.approx(there.metres, rel=0.02, abs=10)


def test_places_are_saved_with_a_note_and_removed_and_edits_are_suggested_and_withdrawn(me):
    me.db.execute("DELETE FROM saved_place WHERE user_id = 1")
    row = me.place("place_id = 4")
    me.open("/place/4").type(Note="Bring <cash>").click("Save place")
    assert Visitor.rows(me, "SELECT place_id, note FROM saved_place WHERE user_id = 1") == [(4, "Bring <cash>")]
    me.type(Note="No").click("Update note", "Saved places").sees("Note: No")
    me.click(f"Remove {row['name']}").at("/saved").sees("You have not saved any places.")
    me.open("/place/4").click("Suggest an edit").type(It_should_read="  ").click("Send suggestion")
    assert "It should read is a required field." in me.text
    assert me.type(It_should_read="Elsewhere").click("Send suggestion").path == "/suggestions"
    me.click(f"Withdraw the suggestion for {row['name']}").holds("withdrawn", "SELECT status FROM suggestion")


def test_notes_are_put_on_places_that_are_known_commented_resolved_and_deleted(me):
    row = me.place("place_id = 4")
    me.open("/place/4").click("Add a note here").type(Note="There is a new door.").click("Add note")
    note = me.db.execute("SELECT * FROM map_note ORDER BY note_id DESC").fetchone()
    assert (note["latitude"], note["longitude"], note["status"]) == (row["latitude"], row["longitude"], "open")
    me.type(Comment="It is red.").click("Add comment", "Resolve note").sees("It is red.")
    assert me.value("SELECT status FROM map_note ORDER BY note_id DESC") == "resolved"
    me.click("Delete note").holds(0, "SELECT count(*) FROM map_note WHERE note_id = ?", note["note_id"])
    me.open("/note/new").type(Note="Hello").click("Add note").sees("Where is it? is a required field.")
    me.open("/note/new?where=zzzyx").type(Note="Hello").click("Add note").sees("there is no such place on the map")
    assert me.find("Note").text.strip() == "Hello"


def test_writing_asks_to_sign_in_leads_back_and_signing_up_makes_an_account(visitor):
    user = visitor.db.execute("SELECT * FROM user WHERE user_id = 3").fetchone()
    visitor.open("/note/new?where=x").at("/login")
    visitor.type(Email=user["email"], Password="wrong").click("Sign in to Trailmark").sees("is not correct")
    visitor.type(Email=user["email"], Password=user["password"]).click("Sign in to Trailmark").at("/note/new?where=x")
    visitor.click("Sign out").sees("You are signed out.")
    visitor.open("/signup").type(Name="Ann", Email="ann@mail.test", Password="12345678", Confirm_password="1234567")
    visitor.click("Sign up").sees("The two passwords are not the same.")
    visitor.type(Password="12345678", Confirm_password="12345678").click("Sign up").at("/saved")
    assert "Welcome to Trailmark, Ann." in visitor.text


@pytest.mark.parametrize("odd", ODD)
def test_odd_input_is_answered_with_a_page(client, odd):
    for path, names in (
        ("/search", ("query", "p")), ("/directions", ("from", "to", "mode")), ("/query", ("lat", "lon")), ("/", ("lat", "lon", "zoom", "layer")),
        ("/nearby", ("place", "category", "p")), ("/notes", ("status", "p")), ("/note/new", ("where", "lat", "lon")),
        ("/export/map.svg", ("lat", "lon", "zoom", "from", "to", "mode", "marker", "layer", "width", "height", "small")),
    ):  # fmt: skip
        answer = client.get(path, query_string=dict.fromkeys(names, odd))
        assert answer.status_code in (200, 302, 404), path
        assert "<script>alert" not in answer.text
    for path in ("/note/new", "/place/1/edit", "/place/1/save", "/login", "/signup", "/note/1/comment"):
        form = dict.fromkeys(("where", "text", "field", "value", "comment", "note", "email", "password", "name"), odd)
        answer = client.post(path, data=form | {"form_key": client.key})
        assert answer.status_code in (200, 302), path
        assert "<script>alert" not in answer.text


def test_what_is_not_there_is_a_page_and_only_the_author_may_delete_a_note_or_withdraw_a_suggestion(client):
    for path in ("place/0", "town/99", "state/9", "street/99999", "note/999", "nearby", "place/999999999999999", "none"):
        answer = client.get(f"/{path}")
        assert (answer.status_code, "Off the map" in answer.text) == (404, True)
    db, key = client.application.database.connection, {"form_key": client.key}
    note = db.execute("SELECT note_id FROM map_note WHERE user_id != 2").fetchone()[0]
    assert client.post(f"/note/{note}/delete", data=key).status_code == 403
    db.execute("INSERT INTO suggestion VALUES (1, 1, 1, 'Name', 'x', '', 'waiting', '2023')")
    assert client.post("/suggestion/1/withdraw", data=key).status_code == 403
    assert client.post("/suggestion/2/withdraw", data=key).status_code == 404
    assert client.post(f"/note/{note}/delete").status_code == 400
