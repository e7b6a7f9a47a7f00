"""The words of a run while it goes on; that a terminal gets a bar is held in `tests.test_cli`."""

import json

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

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
        ("37/100 % of M-GRPO", "success 3"), ("62/100 % of M-GRPO", "success 5"), ("87/100 % of M-GRPO", "success 7")
    ]  # fmt: skip
    assert [record["update"] for record in read_metrics(tmp_path)] == list(range(1, 9))
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0]) == {"update": 1, "success": 0.5}


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
