"""The command that makes an ensemble: weights by method, and settings that are refused."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents import ensemble as command
from agents.data.trajectories import Step, Trajectory
from agents.models.ensembles import load_ensemble
from tests.errors import expect_error
from webarena_gym.suite import HELD_OUT

MODEL = Path(command.__file__).parent / "checkpoints" / "cloned-1"
SHOP = "URL: http://shop.test/"


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """Two agents with equal records."""
    copy = tmp_path_factory.mktemp("members") / "copy"
    return str(MODEL), str(shutil.copytree(MODEL, copy))


@pytest.fixture
def played(monkeypatch):
    """Episodes of one site: the second member earns three times as much as the first one."""
    settings_of_members = []

    def evaluate_policy(settings, tasks):
        settings_of_members.append((settings.policy, settings.split, settings.limit, len(tasks)))
        reward = 0.25 if settings.policy == str(MODEL) else 0.75
        return SimpleNamespace(trajectories=[Trajectory("t/1", "", (Step(SHOP, ""),), reward, "exited")])

    monkeypatch.setattr("agents.evaluation.evaluate.evaluate_policy", evaluate_policy)
    return settings_of_members


def made(members, tmp_path, method):
    settings = command.EnsembleSettings(members=members, out=tmp_path / "out", weights=method, limit=3)
    ensemble = command.make_ensemble(settings)
    assert load_ensemble(tmp_path / "out") == ensemble
    return ensemble.weights


def test_uniform_weights_need_no_episodes(members, tmp_path, played):
    weights = made(members, tmp_path, "uniform")
    assert played == []
    assert weights.general[0] == weights.general[1]
    assert not weights.by_situation


@pytest.mark.parametrize("method", ["fitted", "switched"])
def test_other_weights_follow_from_the_episodes_of_each_member(members, tmp_path, played, method):
    weights = made(members, tmp_path, method)
    assert played == [(member, "validation", 3, 3) for member in members]
    low, high = weights.for_situation("shop.test")
    assert (low == 0) == (method == "switched")
    assert high > low


def test_an_ensemble_has_at_least_two_members_and_no_test_world(members, tmp_path):
    with expect_error(ValueError, members[:1]):
        command.make_ensemble(command.EnsembleSettings(members=members[:1], out=tmp_path / "out"))
    with expect_error(ValueError, "world_seed"):
        command.EnsembleSettings(members=members, out=tmp_path / "out", world_seed=max(HELD_OUT))


def test_the_command_prints_the_weights(members, tmp_path, capsys, played):
    command.main(["--members", *members, "--out", str(tmp_path / "out"), "--weights", "switched"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("everywhere else ")
    assert [line.split() for line in lines if line.startswith("shop.test")] == [["shop.test", "0.000", "1.000"]]
