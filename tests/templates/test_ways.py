"""Common kinds of draws, pages of long lists, and repeated labels."""

import pytest

from webarena_gym.actions import Kind
from webarena_gym.tasks.grounds import lacks, number_of
from webarena_gym.tasks.template import all_of, answer, at_url, click, not_achievable, with_form
from webarena_gym.templates import ways

WAY = [click("Orders")]
SLOTS = {"name": "Ann"}


def labels(steps):
    return [step.action.element for step in steps]


def test_invented_words_are_those_of_the_world(sampler):
    words = {ways.word(sampler) for _ in range(5)}
    assert len(words) > 1
    assert all(word.istitle() for word in words)
    assert ways.my_name(sampler) == sampler.value("SELECT username FROM user WHERE user_id = 1")


def test_rows_of_one_value_are_all_of_it(sampler):
    rows = [{"site": "a", "n": 1}, {"site": "b", "n": 2}, {"site": "a", "n": 3}]
    drawn = {tuple(row["n"] for row in ways.of_one_value(sampler, iter(rows), "site")) for _ in range(20)}
    assert drawn == {(1, 3), (2,)}


def test_pages_of_lists_are_counted_from_zero(sampler):
    assert [ways.on_page(sampler, place, 10) for place in (0, 9, 10, 25)] == [(0, 0), (0, 9), (1, 0), (2, 5)]
    assert labels(ways.turn_pages(sampler, 9, 10)) == []
    assert labels(ways.turn_pages(sampler, 25, 10, label="Next page")) == ["Next page"] * 2
    stops = [(3, [click("a")]), (12, [click("b")]), (14, [click("c")]), (31, [click("d")])]
    assert labels(ways.along(sampler, stops, 10)) == ["a", "Next", "b", "c", "Next", "Next", "d"]


def test_amounts_have_the_format_of_pages():
    assert ways.amounts([5, 123_450]) == ["$0.05", "$1,234.50"]


@pytest.mark.parametrize(("truth", "wrong", "expected"), [(7, (), ["8"]), (7, ["6"], ["6"]), ("Ann", (), [])])
def test_a_question_has_a_check_a_reply_and_wrong_answers(truth, wrong, expected):
    draw = ways.question(SLOTS, truth, way=WAY, wrong=wrong)
    assert (draw.eval, [*draw.wrong_answers]) == (answer(fuzzy_match=str(truth)), expected)
    *way, last = draw.solution
    assert (way, last.action.kind, last.action.argument) == (WAY, Kind.EXIT, str(truth))


def test_a_question_may_need_a_page_a_form_a_wording_and_a_derivation():
    ground = number_of("a", "b")
    draw = ways.question(
        SLOTS, 2, way=WAY, page="__SHOPPING__/orders", reply="There are 2.", ground=ground, labels=("two",), start_url="x"
    )
    assert draw.eval == all_of(with_form(answer(fuzzy_match="2"), labels=("two",)), at_url("__SHOPPING__/orders"))
    assert (draw.solution[-1].action.argument, draw.grounds, draw.start_url) == ("There are 2.", {"2": ground}, "x")
    grounds = {"2": ground, "3": ground}
    assert ways.question(SLOTS, 2, way=WAY, ground=grounds).grounds == grounds


def test_instructions_end_without_an_answer_and_impossible_tasks_with_na():
    visit = ways.visit(SLOTS, "__SHOPPING__/cart", way=WAY)
    assert (visit.eval, visit.solution[-1].action.argument) == (at_url("__SHOPPING__/cart"), "")
    ground = lacks(["Orders"], ["Octarine"])
    impossible = ways.impossible(SLOTS, ground, way=WAY, wrong=["Red"])
    assert (impossible.eval, impossible.grounds, impossible.wrong_answers) == (not_achievable(), {"N/A": ground}, ["Red"])
    assert impossible.solution[-1].action.argument == "N/A"
