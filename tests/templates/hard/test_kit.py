"""Helpers of hard templates: checks of rows, planted pages and files, and expiring sessions."""

from datetime import date, datetime, timedelta

import pytest

from tests.errors import expect_error
from webarena_gym.tasks.template import NothingToDraw, click
from webarena_gym.templates.hard import kit
from webarena_gym.templates.shopping_admin import Ledger

POSTS = Ledger("submission", "submission_id", "title, is_locked, up", "sum(up)")


def rows(sampler, *numbers):
    query = f"SELECT title, is_locked, up FROM submission WHERE submission_id IN ({', '.join('?' * len(numbers))}) ORDER BY submission_id"
    return [list(row) for row in sampler.rows(query, *numbers)]


def test_changed_rows_have_the_new_values_and_others_stay(sampler):
    check = kit.turn_into(sampler, POSTS, {5: {"is_locked": 1}, 2: {"title": "New"}})
    (changed, *others) = check["state"]
    (_, locked, up), (title, _, up_5) = rows(sampler, 2, 5)
    assert (changed["parameters"], changed["expected"]) == ([2, 5], [[2, "New", locked, up], [5, title, 1, up_5]])
    assert others
    with expect_error(ValueError, "submission", "no_column"):
        kit.turn_into(sampler, POSTS, {2: {"no_column": 1}})


def test_rows_of_a_query_become_others(sampler):
    query = "SELECT submission_id, is_locked FROM submission WHERE submission_id < ? ORDER BY 1"
    (check,) = kit.rows_become(sampler, query, 4, changes={2: {"is_locked": 1}})["state"]
    locked = dict(sampler.rows(query, 4))
    assert check["expected"] == [[number, 1 if number == 2 else locked[number]] for number in locked]


def test_a_count_needs_enough_things():
    draw = kit.counting_draw({}, ["a", "b", "c"], [click("x")], ["seen"], "Counted.", least=3)
    assert (draw.eval["reference_answers"], draw.wrong_answers, draw.evidence) == ({"fuzzy_match": "3"}, ["4", "2"], ["seen"])
    with pytest.raises(NothingToDraw):
        kit.counting_draw({}, ["a", "b"], [], [], "", least=3)


def test_findable_rows_are_in_the_text_of_no_other(sampler):
    titles = [row["title"] for row in sampler.rows("SELECT title FROM submission")]
    found = kit.findable(sampler, sampler.rows("SELECT * FROM submission"), "submission", "title")
    assert {row["title"] for row in found} == {
        title for title in titles if sum(title.lower() in other.lower() for other in titles) == 1
    }


def test_times_are_relative_to_the_time_of_the_world(sampler):
    now = datetime.fromisoformat(sampler.value("SELECT value FROM world WHERE key = 'now'"))
    assert kit.now(sampler) == now
    assert kit.ago(sampler, hours=3) == f"{now - timedelta(hours=3):%Y-%m-%d %H:%M:%S}"
    assert kit.as_written(date(2023, 3, 5)) == "March 5, 2023"


def test_the_opening_is_the_first_sentence():
    assert [kit.opening(text) for text in ("One. Two.", "One? Two", "No end", "3.5 is a number! Yes")] == [
        "One.",
        "One?",
        "No end",
        "3.5 is a number!",
    ]


def test_a_planted_page_is_reached_among_the_others(sampler):
    shop = sampler.at("shopping")
    pages = [row["page_id"] for row in shop.rows("SELECT page_id FROM cms_page ORDER BY page_id")]
    steps = kit.staff_page(shop, "Our Rules", "Be kind.")
    assert [step.action.element for step in steps] == ["Content", "Pages", f"Edit [{len(pages) + 1}]"]
    (planted,) = shop.planted
    assert dict(planted.values)["url_key"] == "our-rules"


def test_a_session_ends_after_some_requests(sampler):
    shop = sampler.at("shopping")
    kit.end_session(shop, "shopping", "/cart", 2)
    (row,) = shop.planted
    assert '"/cart", 2' in dict(row.values)["data"]


def test_sites_of_checks_and_paths_are_completed():
    block = {"state": [{"site": "", "query": "a"}, {"site": "map", "query": "b"}]}
    assert [check["site"] for check in kit.of_site("reddit", block)["state"]] == ["reddit", "map"]
    steps = [click("a"), click("b"), click("c")]
    assert kit.concatenate(steps[:1], iter(steps[1:])) == steps


def test_standard_worlds_have_no_facts(sampler):
    with expect_error(NothingToDraw, "facts"):
        kit.needs_facts(sampler, "comment_fact")
    kit.needs_facts(sampler, "comment")
