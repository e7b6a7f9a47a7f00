"""Tasks agree with the oracles, which were written from the goals and the databases alone; `python -m tests.oracles` draws more."""

from dataclasses import replace

import pytest

from tests.oracles.framework import MOST_STEPS, Outcome, UnclearError, added, changed, disagreements, read_goal, wordings
from tests.oracles.truths import ORACLES
from webarena_gym import suite
from webarena_gym.env import WebArenaLite
from webarena_gym.suite import draw

HARD = [name for name, template in suite.templates().items() if template.difficulty]
ANSWER, STATE = "map.place_phone", "gitlab.star_one"


def compare(task, oracle):
    with WebArenaLite(tasks=[task], max_steps=MOST_STEPS) as env:
        return disagreements(env, task, oracle)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ORACLES)
def test_a_drawn_task_agrees_with_its_oracle(name):
    (task,) = draw([name], world_seed=1002, count=1)
    assert compare(task, ORACLES[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
def test_further_drawn_tasks_agree_with_their_oracle(name):
    count = 5 if name in HARD else 10  # of ten standard tasks at least one cannot be done, if the template has such tasks
    for task in draw([name], world_seed=1003, count=count):
        assert compare(task, ORACLES[name]) == []


def test_each_hard_template_and_73_standard_ones_have_an_oracle():
    assert set(HARD) <= ORACLES.keys()
    assert len(ORACLES) == len(HARD) + 73


def test_the_oracles_have_read_each_wording():
    for name in ORACLES:
        assert wordings()[name] == list(dict.fromkeys(suite.templates()[name].phrasings)), name


def test_each_goal_of_the_hard_split_has_one_reading():
    for task in suite.load("hard"):
        assert read_goal(task.template, task.intent)


def test_a_goal_that_was_not_read_is_no_agreement():
    with pytest.raises(UnclearError, match="no wording of map"):
        read_goal(ANSWER, "I do not want to call anybody.")
    (task,) = draw([ANSWER], world_seed=1002, count=1)
    (point,) = compare(replace(task, intent="I do not want to call anybody."), ORACLES[ANSWER])
    assert point.startswith("unclear: no wording")


def test_other_answers_are_no_agreement():
    (task,) = draw([ANSWER], world_seed=1002, count=1)
    for other in ("555-0100", "N/A", 5, ["555-0100"], None):
        assert compare(task, lambda _, other=other: Outcome(other))


def test_numbers_in_another_order_are_no_agreement():
    name = "hard.content_but_for"
    (task,) = draw([name], world_seed=1002, count=1)

    def swapped(case):
        first, second = ORACLES[name](case).answer
        assert first != second
        return Outcome((second, first))

    assert compare(task, ORACLES[name]) == []
    assert compare(task, swapped)


def test_missing_and_further_changes_are_no_agreement():
    (task,) = draw([STATE], world_seed=1002, count=1)

    def demanding(*more):
        return lambda case: Outcome(changes=[*ORACLES[STATE](case).changes, *more])

    assert compare(task, demanding()) == []
    (missing,) = compare(task, demanding(added("gitlab", "follow", follower_id=1, followed_id=2)))
    assert missing.startswith("the oracle demands, and the solution does not")
    further = compare(task, lambda _: Outcome(changes=[changed("gitlab", "user", 1, bio="")]))
    assert [point.split(":")[0] for point in further] == [
        "the oracle demands, and the solution does not",
        "the solution changes, and the oracle does not demand",
    ]


def test_another_last_page_is_no_agreement():
    (task,) = draw(["gitlab.todos_place"], world_seed=1002, count=1)
    (point,) = compare(task, lambda _: Outcome(pages=[("/dashboard/groups", {})]))
    assert point.startswith("the solution ends on")
