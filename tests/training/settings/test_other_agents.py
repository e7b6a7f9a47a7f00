"""Settings of PPO and of the vision agent."""

from pathlib import Path

import pytest

from agents.training.settings.other_agents import EyesSettings, SB3Settings
from tests.errors import expect_error


def test_the_agent_record_has_the_algorithm_and_the_number_of_candidates():
    record = SB3Settings(algorithm="ppo", candidates=12, max_steps=7).agent()
    assert {name: record[name] for name in ("algorithm", "candidates", "max_steps")} == {
        "algorithm": "ppo",
        "candidates": 12,
        "max_steps": 7,
    }


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"shown": 0}, ("shown", 0)), ({"group_size": 1}, ("group_size", 1)), ({"updates": -1}, ("updates", -1)),
        ({"explore_updates": 1, "max_steps": 1}, ("max_steps is 1",)), ({"experts": 3}, ("top_experts is 4", 3)), ({"worlds": (1000,)}, (1000,)),
        ({"test_world": 11}, ("worlds includes 11",)), ({"temperature": 0.0}, ("temperature is 0.0",)),
    ],
)  # fmt: skip
def test_contradictions_are_rejected_with_the_value(options, values):
    with expect_error(ValueError, *values):
        EyesSettings(out=Path("runs/eyes"), **options)


def test_a_limit_itself_is_allowed():
    settings = EyesSettings(out=Path("runs/eyes"), experts=4, explore_updates=1, max_steps=2, clone_updates=0, updates=0)
    assert settings.top_experts == settings.experts
    assert EyesSettings(out=Path("runs/eyes"), test_world=11, allow_held_out_worlds=True).test_world == 11
