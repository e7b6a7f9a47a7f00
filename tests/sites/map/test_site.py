"""Pages of the map: places, nearby places, directions, notes, saved places and accounts."""

import itertools

import pytest

from tests.visitors import Visitor
from webarena_gym.sites.map.geometry import distance, duration, metres_between
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Spot, directions, line

ODD = ("", " ", "x" * 5000, "\x00", "'; DROP TABLE place; --", "<script>alert(1)</script>", "%", "_", "\u00c4\u00d6 \u00df \u4e2d\u6587", "-1", "1e9", "12 ",
       "near", "cafes near", "\U0001f642")  # fmt: skip


@pytest.fixture
def me(visitor):
    return visitor.sign_in()


def spot(row):
    return Spot(row["edge_id"], row["metres"])


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
        for message in (distance(route.metres), duration(route.minutes), f"Arrive at {b['name']}"):
            assert message in text
    assert f"mode={mode.key}" in visitor.path
    assert visitor.click("Reverse directions").find("From").get("value") == b["name"]
    assert f"Arrive at {a['name']}" in visitor.text


def test_directions_resolve_ambiguous_names_addresses_and_coordinates(visitor):
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


def test_missing_objects_are_404_and_notes_and_suggestions_belong_to_their_author(client):
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
