"""Debates of the forum: counts and lists of users. `test_hard` plays the tasks, which need a large world."""

import pytest

from tests.errors import expect_error
from webarena_gym.tasks.template import NothingToDraw, click
from webarena_gym.templates.hard import reddit_debates as debates

STATEMENTS = [
    {"username": "ann", "kind": "stand", "subject": "yes", "body": "I say yes. It is cheap."},
    {"username": "bob", "kind": "stand", "subject": "no", "body": "No!"},
    {"username": "ann", "kind": "reason", "subject": "", "body": "Because."},
    {"username": "ann", "kind": "stand", "subject": "no", "body": "I was wrong. No."},
]
NAMES = [f"user{number:02}" for number in range(31)]
SLOTS = {"title": "Is it?"}
WAY = [click("Is it?")]


def test_the_last_statement_of_a_user_is_the_final_position():
    assert debates.sides(STATEMENTS) == {"ann": "no", "bob": "no"}
    assert debates.sides(STATEMENTS[:3]) == {"ann": "yes", "bob": "no"}


def test_a_count_is_that_of_distinct_users_and_its_evidence_are_first_sentences():
    draw = debates.tally(SLOTS, [*NAMES[:12], NAMES[0]], WAY, STATEMENTS[:2])
    assert draw.eval["reference_answers"] == {"fuzzy_match": "12"}
    assert (draw.wrong_answers, draw.evidence) == (["13", "11"], ["I say yes.", "No!"])
    assert [step.action.argument for step in draw.solution] == [None, "12"]
    with pytest.raises(NothingToDraw):
        debates.tally(SLOTS, NAMES[:11], WAY, [])


@pytest.mark.parametrize("count", [4, 31])
def test_lists_of_names_have_5_to_30_users(count):
    with pytest.raises(NothingToDraw):
        debates.roll(SLOTS, NAMES[:count], WAY, [])


def test_a_list_has_the_names_in_order_and_incomplete_ones_are_wrong():
    draw = debates.roll(SLOTS, ["e", "b", "c", "d", "a", "a"], WAY, STATEMENTS[3:])
    assert draw.eval["reference_answers"] == {"fuzzy_match": "a; b; c; d; e"}
    assert (draw.wrong_answers, draw.evidence) == (["b; c; d; e", "a; b; c; d"], ["I was wrong."])
    assert len(debates.roll(SLOTS, NAMES[:30], WAY, []).solution) == 2


def test_standard_worlds_have_no_facts_of_comments(sampler):
    with expect_error(NothingToDraw, "facts"):
        debates.a_thread(sampler, "opening")
