"""Pictures of the map: what they show by zoom, and their sizes."""

import re


def test_the_front_page_shows_the_country_and_moves_the_map(visitor):
    assert visitor.browser.page().title.startswith("Map of ")
    visitor.click("Zoom in", "Move north")
    assert visitor.path.startswith("/?zoom=9&lat=42.")
    visitor.sees("at zoom 9").click("What is here?")
    assert visitor.path.startswith("/query?lat=42.")


def test_map_images_depend_on_zoom_and_size(visitor, client):
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
    for requests, size, zoom in (
        ({}, "720 560", 8), ({"width": 300, "height": 1200}, "300 1200", 8), ({"width": 99, "height": 1201}, "720 560", 8),
        ({"small": 1}, "360 400", 7),
    ):  # fmt: skip
        assert re.search(rf'viewBox="0 0 {size}" .* data-window="\S+ \S+ {zoom}"', drawn(zoom=8, **requests))
    for marker, lon, is_in_the_middle in (("1", "-29.5", True), ("41.5,-29.5", "-29.5", True), ("41.5,-29.5", "-29.49", False)):
        picture = drawn(zoom=12, lat="41.5", lon=lon, marker=marker)
        assert ('d="M360.0 280.0l-9-15' in picture) == is_in_the_middle
