"""Settings of reinforcement learning: streams, step limits, and options that exclude each other."""

from pathlib import Path

import pytest

from agents.training.settings.learning import GRPOSettings, StreamSettings
from tests.errors import expect_error


def grpo(**options):
    return GRPOSettings(model="runs/a", out=Path("runs/b"), **options)


@pytest.mark.parametrize(
    ("options", "is_streamed"), [({}, False), ({"staleness": 1}, True), ({"gpus": True}, True), ({"learners": 2}, True)]
)
def test_a_run_is_streamed_with_any_option_of_streams(options, is_streamed):
    assert StreamSettings(**options).is_streamed == is_streamed


def test_the_cpus_of_a_cluster_are_those_of_learners_envs_and_the_engine():
    assert StreamSettings(learners=2, env_workers=3).cpus == 6


def test_step_limits_hold_for_equal_parts_of_the_training():
    settings = grpo(step_limits=(5, 10, 20), max_steps=20)
    assert [settings.limit(progress) for progress in (0.0, 0.33, 0.34, 0.66, 0.67, 1.0)] == [5, 5, 10, 10, 20, 20]
    assert grpo().limit(0.5) is None


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"average": 1.0}, 1.0), ({"average": -0.1}, -0.1), ({"step_limits": (5, 4)}, 4), ({"step_limits": (0, 4)}, 0),
        ({"step_limits": (5, 16), "max_steps": 15}, 15), ({"vllm": "http://x", "processes": 2}, 2), ({"group_size": 1}, 1), ({"group_size": 0}, 0),
        ({"distilled": 0.1, "kl_weight": 0.2}, 0.2), ({"advantages": "none"}, "none"), ({"old_logprobs": "sampled"}, 48), ({"temperature": 0.0}, 0.0),
        ({"fork_every": 0}, 0),
    ],
)  # fmt: skip
def test_contradictions_are_rejected_with_the_value(options, value):
    with expect_error(ValueError, value, "expected"):
        grpo(**options)


def test_a_group_of_one_rollout_needs_forks_or_distillation():
    assert grpo(group_size=1, advantages="forks").needs_local_envs
    assert not grpo(group_size=1, distilled=0.1).needs_local_envs
    assert grpo(old_logprobs="sampled", replayed=0).old_logprobs == "sampled"
