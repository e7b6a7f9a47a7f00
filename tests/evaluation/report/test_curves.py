"""Curves of a report: long runs are averaged."""

from agents.evaluation.report.curves import MAX_POINTS, thin


def test_long_runs_are_averaged_and_missing_values_leave_a_gap():
    records = [{"update": 1, "kl": float("nan"), "phase": "first"}, {"update": 2, "kl": 0.5}, {"update": 3}]
    assert thin(records)["values"] == {"update": [1, 2, 3], "kl": [None, 0.5, None]}
    lines = thin([{"update": number, "loss": float(number)} for number in range(1, 3 * MAX_POINTS)])
    assert (lines["updates"], lines["stretch"]) == (3 * MAX_POINTS - 1, 3)
    assert (lines["values"]["update"][:2], lines["values"]["loss"][:2]) == ([3, 6], [2.0, 5.0])
    assert len(lines["values"]["loss"]) == MAX_POINTS
