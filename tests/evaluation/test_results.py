"""Files and figures of results: records, invalid files, failures, success weighted by path length."""

import pytest

from tests.evaluations import RECORD, TASKS
from webarena_gym.errors import ResultError
from webarena_gym.evaluation.results import (
    EPISODES,
    EvaluationPlan,
    parse_record,
    read_episodes,
    summarise,
    table,
)


def played(task_id, reward, steps, reference):
    said = [{"reply": "x"}] * steps
    return parse_record(RECORD | {"task_id": task_id, "reward": reward, "steps": said, "reference_steps": reference}, "")


def test_success_is_weighted_by_the_length_of_the_path():
    header = {"suite": {"tasks": 5}, "repeats": 1}
    lengths = [(1.0, 10, 10), (1.0, 5, 10), (1.0, 20, 10), (0.0, 3, 10), (1.0, 4, None)]
    records = [played(f"a/1/{place}", *own) for place, own in enumerate(lengths)]
    result = summarise(header, records)
    assert result["spl"]["success"] == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert {times: score["success"] for times, score in result["within_reference"].items()} == {
        "1.0": 2 / 4, "1.5": 2 / 4, "3.0": 3 / 4
    }  # fmt: skip
    assert result["spl"]["n"] == 4
    lines = table(result).splitlines()
    assert [line.partition(" ")[0] for line in lines[:2]] == ["all", "success"]
    assert "SPL                   62.5 %   success weighted by path length" in lines
    assert [line.strip()[:5] for line in lines[lines.index("within the steps of the reference solution") + 1 :][:3]] == [
        "1.0 x",
        "1.5 x",
        "3.0 x",
    ]
    unknown = summarise(header, records[-1:])
    assert unknown["spl"] is None
    assert unknown["within_reference"] is None
    assert "weighted" not in table(unknown)
    assert "within" not in table(unknown)


@pytest.mark.parametrize(
    "wrong",
    [*({"reward": value} for value in (None, True, 0.5)), {"ending": "won"}, {"ending": "failed"}, {"repeat": "0"}, {"task_id": 1}, {"x": 1}],
)  # fmt: skip
def test_records_that_make_no_sense_are_refused(wrong):
    assert parse_record(RECORD, "here").is_judged
    with pytest.raises(ResultError, match="here"):
        parse_record({**RECORD, **wrong}, "here")


@pytest.mark.parametrize(
    "content", ["", "[]\n", "{}\n", '{"format": 1}\n[]\n', '{"format": 1}\n{"a": 1}\n', '{"format": 1}\nx\n{}\n', "\xff"]
)
def test_files_that_are_none_are_refused(tmp_path, content):
    path = tmp_path / EPISODES
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ResultError, match=EPISODES):
        read_episodes(path)


def test_failures_are_counted_and_in_no_figure():
    header = EvaluationPlan(tasks=TASKS[:3]).header({"name": "x"})
    judged = [parse_record({**RECORD, "task_id": name, "steps": [{}] * 3}, "") for name in ("a", "b")]
    failed = parse_record({**RECORD, "task_id": "c", "ending": "failed", "reward": None, "failure": "the browser is gone"}, "")
    result = summarise(header, [*judged, failed])
    assert (result["success"]["success"], result["success"]["n"], result["failed"], result["steps"]["mean"]) == (1.0, 2, 1, 3.0)
    assert "1 x the browser is gone" in table(result)
    assert summarise(header, [failed])["success"] is None
