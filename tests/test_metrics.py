"""The words of a run while it goes on; that a terminal gets a bar is held in `tests.test_cli`."""

import json

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.train_rl import make_settings
from agents.training.metrics import Metrics, read_metrics


def test_a_log_gets_a_line_now_and_then(tmp_path, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("webarena_gym.console.time.perf_counter", lambda: now[0])
    with Metrics(tmp_path, 0, "M-GRPO") as metrics:
        for update in range(1, 9):
            metrics.log(update, {"success": 0.5})
            metrics.show_progress(update / 8, f"success {update}")
            now[0] += 7.5
    parts = [line.split(", ") for line in capsys.readouterr().err.splitlines()]
    assert [(head, tail) for head, _, tail in parts] == [
        ("37 % of M-GRPO", "success 3"), ("62 % of M-GRPO", "success 5"), ("87 % of M-GRPO", "success 7")
    ]  # fmt: skip
    assert [record["update"] for record in read_metrics(tmp_path)] == list(range(1, 9))
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0]) == {"update": 1, "success": 0.5}


@pytest.mark.parametrize("updates", [1, 3, 7, 100, 997])
def test_a_run_of_so_many_updates_counts_them(tmp_path, capsys, monkeypatch, updates):
    now = [0.0]
    monkeypatch.setattr("webarena_gym.console.time.perf_counter", lambda: now[0])
    with Metrics(tmp_path, 0, "M-GRPO", updates=updates) as metrics:
        for update in range(1, updates + 1):
            now[0] += 15.0
            metrics.show_progress(update / updates, "")
    heads = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert heads == [f"{update}/{updates} updates of M-GRPO" for update in range(1, updates + 1)]


@pytest.mark.parametrize(("length", "planned"), [
    ({"updates": 7}, 7), ({"updates": 0}, 0), ({"minutes": 2.0}, 0), ({"env_steps": 9}, 0), ({"cpu_minutes": 1.0}, 0)
], ids=str)  # fmt: skip
def test_only_runs_of_a_number_of_updates_plan_updates(tmp_path, length, planned):
    assert make_settings("grpo", model="m", out=tmp_path, **length).planned_updates == planned


def test_tensorboard_reads_them_and_drops_what_a_resumed_run_does_again(tmp_path):
    for begun, done in ((0, 4), (2, 3)):
        with Metrics(tmp_path, begun, "M-GRPO") as metrics:
            for update in range(begun + 1, done + 1):
                metrics.log(update, {"success": update / 10 + begun, "loss": 1})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["loss", "success"]
    found = [(event.step, round(event.value, 6)) for event in events.Scalars("success")]
    assert found == [(1, 0.1), (2, 0.2), (3, 2.3)]
    assert found == [(int(row["update"]), row["success"]) for row in read_metrics(tmp_path)]
