"""What a run tells while it goes on: a bar on a terminal, a line now and then in a log."""

import json

import pytest

from agents.training.metrics import Metrics, read_metrics


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_log_gets_a_line_now_and_then_and_a_terminal_a_bar(is_terminal, tmp_path, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("webarena_gym.console.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    with Metrics(tmp_path, 0, "M-GRPO") as metrics:
        for update in range(1, 9):
            metrics.log(update, {"success": 0.5})
            metrics.show(update / 8, f"success {update}")
            now[0] += 7.5
    told = capsys.readouterr().err
    if is_terminal:
        assert "] 100/100 % of M-GRPO" in told
    else:
        parts = [line.split(", ") for line in told.splitlines()]
        assert [(head, tail) for head, _, tail in parts] == [
            ("37/100 % of M-GRPO", "success 3"), ("62/100 % of M-GRPO", "success 5"), ("87/100 % of M-GRPO", "success 7")
        ]  # fmt: skip
    assert [record["update"] for record in read_metrics(tmp_path)] == list(range(1, 9))
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0]) == {"update": 1, "success": 0.5}
