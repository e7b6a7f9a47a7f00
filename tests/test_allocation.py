"""The benchmark of compute allocation: its estimates, what runs are drawn, and that what is done is not done again."""

import json
from random import Random

import pytest

from benchmarks import allocation, playing, plots
from benchmarks.allocation import AllocationSettings, Clone, Point, Run, configuration, expected_best, summary

SETTINGS = AllocationSettings(budgets=(1.0, 2.0), cloning_updates=(0, 10, 30), seeds=(0,), resamples=100, limit=1)
CLONES = [Clone(0, 0, 0.2, 0.0, 0.0), Clone(0, 10, 0.4, 0.2, 0.25), Clone(0, 30, 1.5, 0.5, 0.45)]


def drawn(number, *points):
    _, updates, options = configuration(SETTINGS, number)
    return Run(updates, options, [Point(*point) for point in points])


RUNS = [
    drawn(0, (1.0, 0.1, 0.15), (2.0, 0.2, 0.2)),  # from nothing
    drawn(1, (1.0, 0.4, 0.35), (2.0, 0.6, 0.65)),  # after 10 updates
    drawn(2, (2.0, 0.55, 0.6)),  # after 30
]


def test_the_figures_say_when_to_switch_and_without_runs_nothing():
    found = summary(SETTINGS, CLONES, [])
    assert found["mixed"] == found["rl_only"] == found["bc_only"] == found["best_switch"] == [None, None]
    found = summary(SETTINGS, CLONES, RUNS)
    assert (found["runs"], found["budgets"]) == (3, [1.0, 2.0])
    assert found["best_switch"] == [10, 10]
    assert found["rl_only"] == [0.15, 0.2]
    assert found["mixed"] == [0.35, 0.65]
    assert found["bc_only"] == [0.25, 0.45]  # only the short clone costs less than the first budget
    assert found["ci95"]["mixed"] == [[0.35, 0.35], [0.65, 0.65]]
    switches = [(row["budget"], row["updates"]) for row in found["by_switch"]]
    assert switches == [(1.0, 0), (1.0, 10), (2.0, 0), (2.0, 10), (2.0, 30)]
    assert set(found["options"]) == {*allocation.DRAWN, "tasks_per_update"}
    for rows in found["options"].values():
        assert sum(row["wins"] for row in rows) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_more_configurations_is_better_and_chosen_by_validation(seed):
    rng = Random(seed)
    points = [Point(1.0, value := rng.random(), value) for _ in range(20)]
    estimates = [expected_best(points, draws, 2000) for draws in (1, 3, 9)]
    assert estimates[0].test == pytest.approx(sum(point.test for point in points) / 20, abs=0.03)
    assert estimates[0].test < estimates[1].test < estimates[2].test <= max(point.test for point in points)
    for estimate in estimates:
        assert estimate.low <= estimate.test <= estimate.high
    unrelated = [Point(1.0, rng.random(), 0.5) for _ in range(20)]
    assert expected_best(unrelated, 9, 100).test == 0.5  # choosing by validation wins nothing that is not there
    assert expected_best([], 3, 10) is None


def test_more_runs_add_to_those_that_there_are_and_settings_without_sense_are_refused():
    for options, message in (({"budgets": (2.0, 1.0)}, "budgets are"), ({"cloning_updates": (5,)}, "expected 0")):
        with pytest.raises(ValueError, match=message):
            AllocationSettings(**options)
    first = [configuration(SETTINGS, number) for number in range(12)]
    assert first == [configuration(AllocationSettings(**{**vars(SETTINGS), "runs": 500}), number) for number in range(12)]
    assert [updates for _, updates, _ in first[:3]] == [0, 10, 30]
    assert len({json.dumps(options, sort_keys=True) for _, _, options in first}) > 9


def test_a_small_benchmark_is_run_resumed_and_drawn(tmp_path, monkeypatch, capsys):
    own = ["--budgets", "0.02", "0.05", "--cloning-updates", "0", "2", "--runs", "2", "--limit", "2", "--resamples", "50"]
    arguments = ["--quick", *own, "--groups", "1", "--out", str(tmp_path / "runs"), "--json"]
    allocation.main(arguments)
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"runs", "budgets", "best_switch", "bc_only", "rl_only", "mixed", "ci95"} <= set(found)
    assert found["runs"] == 2
    monkeypatch.setattr(playing, "evaluate", None)
    monkeypatch.setattr(allocation, "reinforce", None)
    allocation.main(arguments)
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again == found
    if plots.is_possible():
        plots.draw_allocation(summary(SETTINGS, CLONES, RUNS), tmp_path / "allocation.png")
        assert (tmp_path / "allocation.png").stat().st_size > 5_000
