"""Files and figures of results: records, invalid files, failures, success weighted by path length, and runs that go on."""

import json
from dataclasses import asdict, replace

import pytest

from tests.errors import expect_error
from tests.evaluations import RECORD, TASKS
from webarena_gym.errors import ResultError, TaskError
from webarena_gym.evaluation import results
from webarena_gym.evaluation.results import (
    EPISODES,
    EpisodesFile,
    EvaluationPlan,
    Record,
    Trial,
    failed_outcome,
    make_record,
    parse_record,
    read_episodes,
    summarise,
    table,
)
from webarena_gym.tasks import Task

TASK = Task("shopping.cart_add/1000/0", ("shopping",), "", "Buy it", {"eval_types": ["state"]})
DONE = Record(
    task_id="a/1",
    repeat=0,
    sites=["shopping"],
    checks=["state"],
    ending="exited",
    reward=1.0,
    steps=[{"url": "u"}] * 2,
    verdicts=[],
    side_effects=[],
    reference_steps=4,
)
LOST = replace(DONE, ending="failed", reward=None, failure="it broke", steps=[])
HEADER = {"format": results.FORMAT, "agent": {"name": "x", "digest": "1"}, "suite": {"tasks": 2}, "repeats": 1, "seed": 0}


def played(task_id, reward, steps, reference):
    replies = [{"reply": "x"}] * steps
    return parse_record(RECORD | {"task_id": task_id, "reward": reward, "steps": replies, "reference_steps": reference}, "")


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
    with expect_error(ResultError, "here"):
        parse_record({**RECORD, **wrong}, "here")


@pytest.mark.parametrize(
    "content", ["", "[]\n", "{}\n", '{"format": 1}\n[]\n', '{"format": 1}\n{"a": 1}\n', '{"format": 1}\nx\n{}\n', "\xff"]
)
def test_files_that_are_none_are_refused(tmp_path, content):
    path = tmp_path / EPISODES
    path.write_bytes(content.encode("latin-1"))
    with expect_error(ResultError, path):
        read_episodes(path)


def test_failures_are_counted_and_in_no_figure():
    header = EvaluationPlan(tasks=TASKS[:3]).header({"name": "x"})
    judged = [parse_record({**RECORD, "task_id": name, "steps": [{}] * 3}, "") for name in ("a", "b")]
    failed = parse_record({**RECORD, "task_id": "c", "ending": "failed", "reward": None, "failure": "the browser is gone"}, "")
    result = summarise(header, [*judged, failed])
    assert (result["success"]["success"], result["success"]["n"], result["failed"], result["steps"]["mean"]) == (1.0, 2, 1, 3.0)
    assert "1 x the browser is gone" in table(result)
    assert summarise(header, [failed])["success"] is None


def test_a_plan_repeats_its_tasks_one_round_after_another():
    other = replace(TASK, task_id="other/1000/0")
    plan = EvaluationPlan(tasks=[TASK, other], repeats=2)
    assert [(trial.task.task_id, trial.repeat) for trial in plan.trials] == [
        (TASK.task_id, 0),
        ("other/1000/0", 0),
        (TASK.task_id, 1),
        ("other/1000/0", 1),
    ]
    for wrong in ({"tasks": []}, {"tasks": [TASK, TASK]}):
        with pytest.raises(TaskError):
            EvaluationPlan(**wrong)
    with expect_error(ValueError, "repeats", 0):
        EvaluationPlan(tasks=[TASK], repeats=0)


def test_equal_plans_have_equal_headers_and_other_tasks_another_digest():
    header = EvaluationPlan(tasks=[TASK]).header({"name": "a"})
    assert header == EvaluationPlan(tasks=[TASK]).header({"name": "a"})
    changed = EvaluationPlan(tasks=[replace(TASK, eval={"eval_types": ["state"], "x": 1})]).header({"name": "a"})
    assert changed["suite"]["digest"] != header["suite"]["digest"]
    assert results.suite_digest([TASK, replace(TASK, task_id="b")]) == results.suite_digest([replace(TASK, task_id="b"), TASK])


def test_a_sample_keeps_the_order_and_depends_on_the_seed():
    tasks = [replace(TASK, task_id=str(number)) for number in range(20)]
    some = results.sample(tasks, 5, seed=1)
    assert some == sorted(some, key=tasks.index)
    assert len(some) == 5
    assert some == results.sample(tasks, 5, seed=1) != results.sample(tasks, 5, seed=2)
    assert results.sample(tasks, None, 0) == results.sample(tasks, 99, 0) == tasks


def test_a_record_has_the_fields_of_its_task():
    record = make_record(Trial(replace(TASK, solution=("step",) * 4), 1, 0), **failed_outcome("it broke"))
    assert (record.key, record.sites, record.checks, record.reference_steps) == ((TASK.task_id, 1), ["shopping"], ["state"], 4)
    assert (record.ending, record.reward, record.failure, record.is_judged) == ("failed", None, "it broke", False)


@pytest.mark.parametrize(
    "change",
    [
        {"task_id": 3}, {"repeat": -1}, {"repeat": True}, {"ending": "gone"}, {"reward": 0.5}, {"reward": True}, {"reward": None}, {"ending": "failed"},
        {"ending": "too_long"}, {"seconds": -1}, {"seconds": 1e30}, {"sites": "shopping"}, {"steps": [{"url": 3}]}, {"reference_steps": 0}, {"cost": "1"},
        {"step_seconds": [1]}, {"verdicts": ["x"]}, {"unknown": 1},
    ],
)  # fmt: skip
def test_other_records_are_refused(change):
    assert parse_record(asdict(DONE), "here") == DONE
    with expect_error(ResultError, "here"):
        parse_record({**asdict(DONE), **change}, "here")


def test_a_record_needs_its_main_fields():
    for key in ("task_id", "repeat", "sites", "checks", "ending", "reward"):
        with expect_error(ResultError, "here", repr(key)):
            parse_record({name: value for name, value in asdict(DONE).items() if name != key}, "here")
    with expect_error(ResultError, "here", "list"):
        parse_record([], "here")


def test_a_run_goes_on_from_its_file(tmp_path):
    path = tmp_path / "run" / "episodes.jsonl"
    EpisodesFile(path, HEADER).add(LOST)
    with path.open("a") as file:
        file.write('{"task_id": "incompl')
    again = EpisodesFile(path, HEADER)
    assert again.records == {LOST.key: LOST}
    again.add(DONE)
    assert read_episodes(path) == (HEADER, [DONE])
    again.add(replace(DONE, reward=0.0))
    with expect_error(ResultError, path, "line 4", DONE.task_id, "repeat 0"):
        read_episodes(path)


def test_a_file_of_another_run_stays_as_it_is(tmp_path):
    path = tmp_path / "episodes.jsonl"
    EpisodesFile(path, HEADER).add(DONE)
    content = path.read_text()
    for change, part in (
        ({"seed": 1}, "seed"),
        ({"suite": {"tasks": 3}}, "suite.tasks"),
        ({"agent": {"name": "x", "digest": "2"}}, "file has changed"),
    ):
        with pytest.raises(ResultError, match=part):
            EpisodesFile(path, HEADER | change)
    assert path.read_text() == content


def test_statistics_leave_out_failed_episodes():
    records = [
        DONE,
        replace(DONE, task_id="b/1", reward=0.0, steps=[{"url": "u", "action_error": "no"}] * 8, sites=["map"]),
        replace(LOST, task_id="c/1"),
    ]
    result = summarise(HEADER, records, ["command"])
    assert (result["planned"], result["judged"], result["failed"], result["failures"]) == (2, 2, 1, {"it broke": 1})
    assert result["success"]["success"] == 0.5
    assert result["success"]["low"] <= 0.5 <= result["success"]["high"]
    assert {site: score["success"] for site, score in result["by_site"].items()} == {"shopping": 1.0, "map": 0.0}
    assert result["spl"]["success"] == 0.5  # 1.0 * 4 / max(4, 2), and 0
    assert result["steps"]["mean"] == 5
    assert result["action_errors"]["mean"] == 0.8
    assert result["endings"] == {"exited": 2}
    assert result["prompt_tokens"] is None
    assert summarise(HEADER, [LOST])["success"] is None


def test_results_are_written_and_read(tmp_path):
    result = summarise(HEADER, [DONE])
    results.write_result(tmp_path / "result.json", result)
    assert results.read_result(tmp_path / "result.json") == json.loads(json.dumps(result))
    assert "shopping" in results.table(result)
    (tmp_path / "other.json").write_text("{}")
    for name in ("other.json", "missing.json"):
        with expect_error(ResultError, tmp_path / name):
            results.read_result(tmp_path / name)


def test_the_digest_depends_on_the_episodes_and_not_on_their_order_or_times():
    other = replace(DONE, task_id="b/1")
    digest = results.episodes_digest([DONE, other])
    assert digest == results.episodes_digest([other, replace(DONE, step_seconds=((1.0, 2.0),))])
    assert digest != results.episodes_digest([DONE, replace(other, reward=0.0)])
