"""Choices of a policy, and those that are recalled from a trajectory."""

import dataclasses

import pytest

import webarena_gym  # noqa: F401 - registers the env
from agents.models.pointer.decoding import trajectory_choices
from agents.models.pointer.reader import Reader
from tests.errors import expect_error
from tests.pointing import make_policy, play, sample_tasks


def test_log_probabilities_are_those_of_the_choices_and_follow_from_the_seed():
    tasks = sample_tasks(3)
    policy = make_policy()
    trajectories = play(policy, tasks)
    reader = Reader()
    recalled = [
        (step, own) for item in trajectories for step, own in zip(item.steps, trajectory_choices(reader, item), strict=True)
    ]
    assert recalled
    for step, choices in recalled:
        for choice, logprob in zip(choices, step.logprobs, strict=True):
            (values,) = policy.network([choice.question], reader.texts, policy.vocabulary).logprobs()
            assert values.exp().sum().item() == pytest.approx(1, abs=1e-4)
            assert values[choice.candidate_index].item() == pytest.approx(logprob, abs=1e-4)
    assert [item.steps for item in play(make_policy(), tasks)] == [item.steps for item in trajectories]
    assert [item.steps for item in play(make_policy(), tasks, seed=1)] != [item.steps for item in trajectories]


def test_only_what_a_pointing_policy_replied_is_recalled():
    trajectory = next(item for item in play(make_policy(), sample_tasks(3)) if item.steps)
    first, *rest = trajectory.steps
    for places in ((), (*first.response_ids, 0), (10**6, *first.response_ids[1:])):
        steps = (dataclasses.replace(first, response_ids=places), *rest)
        with expect_error(ValueError, "step 0"):
            trajectory_choices(Reader(), dataclasses.replace(trajectory, steps=steps))
