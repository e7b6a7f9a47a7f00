"""Settings of runs: their budgets and progress, held-out worlds, keywords of the env, and options that a resumed run may change."""

from pathlib import Path

import pytest

from agents.settings import (
    ENV_FIELDS,
    EnvSettings,
    RunSettings,
    TaskSettings,
    TrainingWorlds,
    expect_least,
    fixed_options,
    option_defaults,
)
from tests.errors import expect_error
from webarena_gym.suite import HELD_OUT


def run(**settings):
    return RunSettings(out=Path("runs/a"), **settings)


@pytest.mark.parametrize(
    ("settings", "planned", "progress"),
    [
        ({"updates": 50}, 50, 0.2),
        ({"updates": 0}, 0, 1.0),
        ({"minutes": 4.0}, 0, 0.5),
        ({"cpu_minutes": 30.0}, 0, 0.1),
    ],
)
def test_the_length_of_a_run(settings, planned, progress):
    assert run(**settings).planned_updates == planned
    assert run(**settings).progress(10, 120.0, {"cpu_minutes": 3.0, "minutes": 99.0}) == pytest.approx(progress)


@pytest.mark.parametrize(
    "settings",
    [
        {"minutes": 1.0, "cpu_minutes": 1.0},
        {"minutes": -1.0},
        {"updates": -1},
        {"save_every": 0},
        {"per_template": 0},
        {"split": "test"},
    ],
)
def test_contradictions_are_rejected(settings):
    with pytest.raises(ValueError, match="expected"):
        run(**settings)


def test_limits_are_reached_exactly():
    expect_least(run(), updates=100, save_every=10)
    with expect_error(ValueError, "save_every", 10, 11):
        expect_least(run(), updates=100, save_every=11)


def test_held_out_worlds_are_rejected_unless_they_are_allowed():
    world, split = next(iter(HELD_OUT.items()))
    strict = TrainingWorlds()
    strict.expect_training_worlds("worlds", [11, None])
    strict.expect_training_worlds("worlds", [world], allowed_split=split)
    TrainingWorlds(allow_held_out_worlds=True).expect_training_worlds("worlds", [world])
    for worlds, allowed in (([11, world], ""), ([world], "other")):
        with expect_error(ValueError, "worlds", world):
            strict.expect_training_worlds("worlds", worlds, allowed_split=allowed)
    with expect_error(ValueError, world):
        TaskSettings(worlds=(world,))


def test_the_keywords_of_the_env():
    settings = TaskSettings(window=900, keywords=("header=false",))
    assert settings.env() == EnvSettings(window=900, keywords=("header=false",))
    assert settings.env_arguments().keys() == {*ENV_FIELDS, "header"}
    assert (settings.env_arguments()["window"], settings.env_arguments()["header"]) == (900, False)


def test_a_resumed_run_may_change_its_length_but_not_its_tasks():
    fixed = fixed_options(run(seed=5))
    assert {"seed", "worlds", "window", "templates"} <= fixed.keys()
    assert not {"out", "updates", "minutes", "threads", "keywords"} & fixed.keys()
    assert fixed["seed"] == 5
    assert option_defaults(run(seed=5))["seed"] == 0
    assert option_defaults(run()).keys() <= fixed.keys()
