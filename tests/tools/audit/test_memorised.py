"""Memorised answers of the audit."""

from dataclasses import replace

from tests.errors import expect_error
from tests.tools.audit.tasks import task
from webarena_gym import suite
from webarena_gym.errors import TaskError
from webarena_gym.tasks.template import answer, at_url, end_task
from webarena_gym.tools.audit.memorised import BOUND, score_memorised_answers


def question_task(world, truth, wording="Which?", **changes):
    """Return a task of a world that asks for one answer."""
    return replace(
        task(answer(fuzzy_match=truth), [end_task(truth)], (), "quiz", f"quiz/{world}/{truth}"),
        intent=wording,
        world_seed=world,
        **changes,
    )


def test_the_best_constant_of_a_wording_is_learned_from_other_worlds_and_judged():
    same = [question_task(world, "blue") for world in (1, 2, 3)]
    found = score_memorised_answers(same)
    assert (found.rewarded["quiz"], found.tasks["quiz"], found.worlds, found.share) == (3, 3, 3, 1.0)
    assert "3 of 3 tasks (100.0%)" in found.lines()[0]
    # The same value in another notation is right as well, as the judge says.
    assert (
        score_memorised_answers([question_task(1, "$5.00"), question_task(2, "$5.00"), question_task(3, "5 dollars")]).rewarded[
            "quiz"
        ]
        == 3
    )
    # Its own world teaches nothing: each of these answers is the most frequent one of its own world alone.
    assert score_memorised_answers([question_task(world, f"colour {world}") for world in (1, 1, 2, 2)]).rewarded["quiz"] == 0
    # Neither does another wording.
    assert (
        score_memorised_answers([question_task(1, "blue", "Which?"), question_task(2, "blue", "What?")]).rewarded["quiz"] == 0
    )
    with expect_error(TaskError, "1 world"):
        score_memorised_answers([question_task(1, "blue"), question_task(1, "red")])


def test_a_memorised_answer_must_pass_the_other_checks_of_its_task():
    beside = [replace(one, eval=answer(fuzzy_match="blue") | {"eval_types": ["string_match", "url_match"], **place}) for one, place in zip(
        [question_task(1, "blue"), question_task(2, "blue")],
        [{key: value for key, value in at_url(url).items() if key != "eval_types"} for url in ("__SHOPPING__", "__SHOPPING__/checkout/cart/")],
        strict=True,
    )]  # fmt: skip
    assert (
        score_memorised_answers(beside).rewarded["quiz"] == 1
    )  # the page at which the first one begins is the one that it asks for


def test_memorised_answers_earn_next_to_nothing_in_the_suite():
    tasks = [task for world in (51, 52, 53, 54) for task in suite.load("test", world)]
    found = score_memorised_answers(tasks)
    assert found.tasks.total() > 600
    assert found.share <= BOUND, found.lines()
    former = score_memorised_answers(suite.load_version("train", 1))
    assert former.share > 3 * BOUND  # which says that the measure measures
