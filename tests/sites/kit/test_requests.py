"""Requests of sites: their parameters, canonical addresses, sessions, form keys and messages."""

import json

import pytest

from webarena_gym.sites.country.seeding import COOKIE, ENDS
from webarena_gym.sites.kit.requests import Parameters, Response


@pytest.fixture
def routed(ask):
    """Return a request whose rule gives its path in the spelling of `word`."""

    def build(path="/items", **form):
        request = ask(path, **form)
        request.path_of = lambda spelling: f"/items/{spelling.get('word', 'all')}"
        return request

    return build


def test_control_characters_that_html_does_not_allow_are_removed_from_parameters():
    sent = Parameters([("a", "x\x00\x1fy\tz\n\x85\x9f"), ("b", 3)])
    assert (sent["a"], sent["b"]) == ("xy\tz\n\x85", 3)


def test_the_canonical_address_has_what_the_page_shows_in_the_spelling_of_its_rule(routed):
    request = routed("/items?x=1")
    assert request.canonical == "http://localhost/items/all"
    request.shows({"sort": "name", "page": None, "query": ""}, word="tea")
    request.shows({"colors": ["red", "blue"]})
    request.arranges({"order": "desc"})
    assert request.canonical == "http://localhost/items/tea?colors=red&colors=blue&sort=name"
    assert request.arranged_url == "http://localhost/items/tea?colors=red&colors=blue&order=desc&sort=name"
    request.stands_at("/other")
    assert request.canonical == "http://localhost/other?colors=red&colors=blue&sort=name"


def test_forms_and_requests_without_a_rule_have_no_canonical_address(routed, ask):
    assert routed("/items", text="x").canonical == ""
    assert ask("/items").canonical == ask("/items").arranged_url == ""


def test_the_time_is_that_of_the_world(ask):
    request = ask("/")
    assert (request.stamp, request.now.hour) == ("2023-03-05 10:00:00", 10)


def test_other_sites_of_a_world_share_its_domain(ask):
    request = ask("/")
    request.host = "shop.world7.test:80"
    assert request.sibling("map") == "http://map.world7.test:80"


def test_a_session_is_created_on_first_use_and_saved_only_if_it_has_changed(ask, database):
    def stored():
        return [tuple(row) for row in database.connection.execute("SELECT session_id, data FROM session")]

    request, response = ask("/"), Response("")
    request.give_cookie(response)
    assert (stored(), response.headers.get("Set-Cookie")) == ([], None)
    request.session["visits"] = 1
    request.save_session()
    request.give_cookie(response)
    assert stored() == [(request.session_id, '{"visits": 1}')]
    assert response.headers["Set-Cookie"].startswith(f"{COOKIE}={request.session_id}; HttpOnly")

    again = ask("/")
    again.cookies = {COOKIE: request.session_id}
    assert (again.session, again.form_key) == ({"visits": 1}, request.form_key)
    database.connection.execute("UPDATE session SET data = ?", (json.dumps({"visits": 9}),))
    again.save_session()
    assert stored() == [(request.session_id, '{"visits": 9}')], "an unchanged session is not written"
    response = Response("")
    again.give_cookie(response)
    assert "Set-Cookie" not in response.headers


def test_a_session_with_an_unknown_id_is_a_new_one(ask):
    request = ask("/")
    request.cookies = {COOKIE: "forged"}
    assert request.session == {}
    assert request.session_id != "forged"
    assert len(request.form_key) == 16


def test_messages_are_kept_until_a_page_shows_them(ask):
    request = ask("/")
    response = request.redirect("/next", "Saved.")
    request.flash("Careful.", "notice")
    assert (response.status_code, response.location) == (302, "/next")
    assert request.session["messages"] == [["success", "Saved."], ["notice", "Careful."]]


def test_undoing_a_request_forgets_its_session(ask, database):
    database.connection.execute("SAVEPOINT request")
    request = ask("/")
    request.session["visits"] = 1
    request.save_session()
    request.undo()
    assert database.connection.execute("SELECT count(*) FROM session").fetchone()[0] == 0
    assert request.session == {}


def test_a_session_ends_after_a_number_of_forms_of_one_rule(ask):
    request = ask("/")
    request.session |= {ENDS: ["/cart", 1], "user_id": 5}
    assert not request.ends_session("/other")
    assert not request.ends_session("/cart")
    assert request.session == {ENDS: ["/cart", 0], "user_id": 5}
    assert request.ends_session("/cart")
    assert request.session == {}
