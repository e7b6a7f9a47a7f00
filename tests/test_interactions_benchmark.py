"""The benchmark of interactions: a score for each limit, of episodes that are played once."""

import json

import pytest

from benchmarks import interactions, playing
from benchmarks.playing import some


@pytest.fixture
def arguments(tmp_path):
    return ["--policy", "expert", "--out", str(tmp_path), "--limits", "2", "30", "--limit", "6", "--json"]


def test_more_interactions_solve_more(arguments, capsys, monkeypatch):
    interactions.main(arguments)
    scores = json.loads(capsys.readouterr().out.splitlines()[-1])["scores"]
    assert scores["2"]["success"] < scores["30"]["success"] == 1.0
    assert scores["2"]["steps"] <= 2 < scores["30"]["steps"]
    monkeypatch.setattr(playing, "evaluate", None)
    interactions.main(arguments)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["scores"] == scores


def test_jobs_change_nothing(arguments, tmp_path, capsys):
    interactions.main(arguments)
    alone = json.loads(capsys.readouterr().out.splitlines()[-1])["scores"]
    interactions.main([*arguments, "--out", str(tmp_path / "again"), "--jobs", "2"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["scores"] == alone


@pytest.mark.parametrize(("count", "limit"), [(168, 100), (10, 3), (3, 10), (5, 5)])
def test_some_of_the_tasks_are_spread_over_them_all(count, limit):
    chosen = some(list(range(count)), limit)
    assert len(chosen) == min(count, limit)
    steps = [later - earlier for earlier, later in zip(chosen, [*chosen[1:], count], strict=True)]
    assert chosen[0] == 0
    assert max(steps) - min(steps) <= 1
