"""The map's generator: the same integer gives the same bytes, and every world is consistent in itself."""

from itertools import pairwise

import networkx
import pytest

from tests.generated import assert_nothing_shared, assert_sound, column, content, none, opened, worlds
from webarena_gym.sites.country.geography import KINDS, country
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.geometry import NUMBERS, Point, metres_between, metres_of
from webarena_gym.sites.map.queries import CATEGORIES
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Spot

SEEDS = (-1, 1, 2, 7, 1000)
db = worlds("map", SEEDS[1:5])


def land(db):
    return country(int(column(db, "SELECT value FROM world WHERE key = 'seed'")[0]))


def test_size_and_foreign_keys_and_time_runs_forward_and_the_user_has_saved_places(db):
    assert len(content("map", 1)) < 2_000_000
    assert_sound(db)
    assert 880 <= column(db, "SELECT count(*) FROM place")[0] <= 960
    (now,) = column(db, "SELECT value FROM world WHERE key = 'now'")
    for text in (
        "created_at FROM map_note", "created_at FROM user", "created_at FROM note_comment", "saved_at FROM saved_place",
    ):  # fmt: skip
        assert max(column(db, f"SELECT {text}")) < now
    none(db, "SELECT 1 FROM note_comment c JOIN map_note n USING (note_id) WHERE c.created_at <= n.created_at")
    assert 6 <= column(db, "SELECT count(*) FROM saved_place WHERE user_id = 1")[0] <= 9
    assert column(db, "SELECT data FROM session") == ['{"site": "map", "user_id": 1}']


def test_towns_streets_states_and_borders_are_those_of_the_country(db):
    known = land(db)
    assert column(db, "SELECT name FROM town ORDER BY town_id") == [town.name for town in known.towns]
    assert column(db, "SELECT name FROM state ORDER BY state_id") == [state.name for state in known.states]
    for index, town in enumerate(known.towns, 1):
        streets = set(column(db, "SELECT name FROM street WHERE town_id = ?", index))
        assert streets >= set(town.streets)
    named = "FROM street WHERE kind != 'path' AND town_id IS NOT NULL"
    none(db, f"SELECT town_id {named} GROUP BY town_id, name HAVING count(*) > 1")
    none(db, "SELECT 1 FROM state s JOIN town t ON t.name = s.capital WHERE t.state_id != s.state_id")
    assert column(db, "SELECT count(*) FROM state_border GROUP BY state_id") == [2, 2, 2, 2]
    back = "SELECT 1 FROM state_border b WHERE b.state_id = a.neighbour_id AND b.neighbour_id = a.state_id"
    none(db, f"SELECT 1 FROM state_border a WHERE NOT EXISTS ({back})")


def test_landmarks_have_the_locations_of_the_country(db):
    known = land(db)
    for landmark in known.landmarks:
        (row,) = queries.fetch(db, "SELECT * FROM places WHERE name = ?", landmark.name)
        assert (row["category"], row["town"], row["state"]) == (landmark.kind, landmark.town, landmark.state)
        assert (row["latitude"], row["longitude"]) == (landmark.latitude, landmark.longitude)
        door = queries.roads(db).point(Spot(row["edge_id"], row["metres"]))
        assert metres_between(door, Point(row["latitude"], row["longitude"])) < 400


def test_kinds_of_places_are_known_and_names_and_addresses_are_different(db):
    names = [each.name for each in CATEGORIES]
    assert set(column(db, "SELECT DISTINCT category FROM place")) <= set(names)
    assert set(KINDS) <= set(names)
    none(db, "SELECT street_id, number FROM place GROUP BY 1, 2 HAVING count(*) > 1")
    none(db, "SELECT phone FROM place WHERE phone != '' GROUP BY 1 HAVING count(*) > 1")
    none(db, "SELECT name FROM place JOIN town USING (name)")
    assert column(db, "SELECT count(DISTINCT brand) FROM place WHERE category = 'hotel' AND brand != ''") == [4]
    assert column(db, "SELECT count(*) FROM place WHERE phone = ''")[0] > 30
    names = sorted(column(db, "SELECT name FROM place"))
    assert [pair for pair in pairwise(names) if pair[1].startswith(pair[0])] == [], "a name is the beginning of another"


def test_streets_are_connected_edges_and_house_numbers_follow_their_length(db):
    points = {row["node_id"]: Point(row["latitude"], row["longitude"]) for row in db.execute("SELECT * FROM node")}
    end = {}
    for row in db.execute("SELECT * FROM edge ORDER BY street_id, start"):
        assert row["length"] == pytest.approx(metres_between(points[row["node_a"]], points[row["node_b"]]), abs=1)
        node, start = end.get(row["street_id"], (row["node_a"], 0))
        assert (row["node_a"], row["start"]) == (node, start)
        end[row["street_id"]] = (row["node_b"], row["start"] + row["length"])
    lengths = dict(map(tuple, db.execute("SELECT street_id, length FROM street")))
    assert {key: metres for key, (_, metres) in end.items()} == lengths
    doors = """SELECT p.number, p.metres, e.start, e.length AS piece, s.length, e.street_id = p.street_id AS same
        FROM place p JOIN edge e USING (edge_id) JOIN street s ON s.street_id = p.street_id"""
    for row in db.execute(doors):
        assert row["same"]
        assert 1 <= row["number"] <= NUMBERS
        assert 0 <= row["metres"] <= row["piece"]
        assert row["start"] + row["metres"] == metres_of(row["number"], row["length"])


def test_the_road_network_is_connected_and_city_drives_take_half_to_four_hours(db):
    edges = [tuple(row) for row in db.execute("SELECT node_a, node_b, kind FROM edge JOIN street USING (street_id)")]
    for barred in ("path", "motorway"):
        graph = networkx.Graph((a, b) for a, b, kind in edges if kind != barred)
        doors = column(db, "SELECT DISTINCT node_a FROM edge JOIN place USING (edge_id)")
        assert set(doors) <= max(networkx.connected_components(graph), key=len)
    roads = queries.roads(db)
    cities = [roads.crossing(node) for node in column(db, "SELECT node_id FROM town WHERE kind = 'city' ORDER BY town_id")]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        drive, ride, walk = (roads.route(mode, cities[a], cities[b]).minutes for mode in (CAR, BICYCLE, FOOT))
        assert 20 <= drive <= 240
        assert drive < ride < walk


def test_worlds_share_no_chain_and_held_out_ones_no_invented_pair_of_words():
    assert_nothing_shared("map", SEEDS, "SELECT DISTINCT brand FROM place WHERE brand != ''")
    named = "SELECT name FROM place WHERE category IN ('bakery', 'bookshop', 'dentist')"
    train, held_out = ({name.rpartition(" ")[0] for name in column(opened("map", seed), named)} for seed in (1, 1000))
    assert train.isdisjoint(held_out)
