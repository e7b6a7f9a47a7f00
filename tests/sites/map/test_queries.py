"""Searches of the map: names, categories, chains, addresses and coordinates."""

from webarena_gym.sites.map import queries
from webarena_gym.sites.map.geometry import Point, metres_between


def test_search_ranks_exact_names_first_and_reports_empty_results(visitor):
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
