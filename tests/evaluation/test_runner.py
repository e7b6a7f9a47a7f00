"""The command evaluate: plans, agents in this process, runs that are resumed, and its figures."""

import hashlib
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import webarena_gym
from tests.errors import expect_error
from tests.evaluations import TASKS
from tests.evaluations import agent as agent
from tests.evaluations import evaluate as evaluate
from webarena_gym import suite as task_suite
from webarena_gym.errors import AbortedRunError, AgentError, TaskError
from webarena_gym.evaluation.agents import load_agent
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    EpisodesFile,
    EvaluationPlan,
    ResultError,
    episodes_digest,
    make_record,
    read_episodes,
    read_result,
    suite_digest,
)
from webarena_gym.evaluation.runner import run_trials
from webarena_gym.tools.cli import main


def test_plans_describe_tasks_and_derive_distinct_seeds():
    header = EvaluationPlan(tasks=TASKS, env={"max_steps": 3}).header({"name": "a"})
    assert header == EvaluationPlan(tasks=list(TASKS), env={"max_steps": 3}).header({"name": "a"})
    assert header["suite"]["digest"] == suite_digest(TASKS) == suite_digest(TASKS[::-1]) != suite_digest(TASKS[1:])
    easier = replace(TASKS[0], eval={**TASKS[0].eval, "string_note": "x"})
    assert suite_digest([easier, *TASKS[1:]]) != suite_digest(TASKS)
    trials = EvaluationPlan(tasks=TASKS, repeats=3).trials
    assert len({trial.derive_seed(what) for trial in trials for what in ("env", 0, 1)}) == len(trials) * 3 == 36
    for wrong in ({"tasks": []}, {"tasks": [TASKS[0], TASKS[0]]}, {"tasks": TASKS, "repeats": 0}):
        with pytest.raises(ValueError):
            EvaluationPlan(**wrong)


def test_the_expert_succeeds_and_random_does_not_and_jobs_change_nothing(evaluate, tmp_path):
    status, result, output = evaluate("--agent", "expert", "--jobs", 3)
    assert (status, result["success"]["success"], result["judged"], result["failed"]) == (0, 1.0, 6, 0), output
    assert 0.6 < result["success"]["low"] < result["success"]["high"] == 1.0
    digests = set()
    for jobs in (1, 3):
        _, drawn, _ = evaluate("--agent", "random", "--jobs", jobs, folder=str(jobs))
        header, records = read_episodes(tmp_path / str(jobs) / "run" / EPISODES)
        for record in records:
            assert len(record.step_seconds) == len(record.steps)
            assert sum(map(sum, record.step_seconds)) <= record.seconds
        assert drawn["success"]["success"] < 0.5
        assert sum(len(record.steps) for record in records) > 6
        digests.add(episodes_digest([replace(record, seconds=0.0, agent_seconds=0.0) for record in records]))
        assert header["suite"]["digest"] == result["suite"]["digest"]
    assert len(digests) == 1


def test_worlds_repeats_and_templates_are_played(evaluate):
    name = TASKS[0].template
    status, result, output = evaluate(
        "--agent", "expert", "--template", name, "--fresh-worlds", 1, "--repeats", 3, "--limit", 9
    )
    assert (status, result["planned"], result["success"]["n"]) == (0, 6, 6), output
    assert result["pass@k"] == result["pass^k"] == {"1": 1.0, "2": 1.0, "3": 1.0}
    assert result["suite"]["worlds"] == [None, 900_000]
    assert "pass^3" in output


def test_templates_that_the_split_has_not_are_played_in_a_world(evaluate):
    name = next(name for name in task_suite.templates() if name not in {task.template for task in task_suite.load("test")})
    status, _, output = evaluate("--agent", "expert", "--template", name)
    assert (status, "pass --world-seed" in output) == (2, True)
    status, result, output = evaluate("--agent", "expert", "--template", name, "--world-seed", 3, "--fresh-worlds", 1)
    assert (status, result["judged"], result["success"]["success"]) == (0, 2, 1.0), output


def test_an_agent_that_was_edited_is_another_one(evaluate, agent):
    evaluate("--agent", agent + "leave", "--limit", 1)
    file = Path(agent[:-1])
    file.write_text(file.read_text().replace('message=""', 'message="x"'))
    status, _, output = evaluate("--agent", agent + "leave", "--limit", 1)
    assert status == 2
    assert "the agent's file has changed since; pass another --out, or --fresh to overwrite it" in output
    status, result, _ = evaluate("--agent", agent + "leave", "--limit", 1, "--fresh")
    assert (status, result["judged"]) == (0, 1)


def test_replies_that_cannot_be_read_are_counted(evaluate, agent):
    status, result, output = evaluate("--agent", agent + "vague", "--limit", 2, "--max-steps", 3)
    assert (status, result["action_errors"]["mean"], result["action_errors"]["n"]) == (0, 1.0, 6)
    assert "6 of 6 actions were rejected" in output


def test_agent_classes_are_created_once_per_job_and_their_usage_is_counted(evaluate, tmp_path, agent):
    status, result, _ = evaluate("--agent", agent + "Counting")
    assert (status, result["judged"]) == (0, 6)
    replies = {record.steps[-1]["reply"] for record in read_episodes(tmp_path / "run" / EPISODES)[1]}
    assert replies == {f'exit(message="{number} of 1")' for number in range(1, 7)}
    assert (result["prompt_tokens"]["mean"], result["completion_tokens"]["total"], result["cost"]["total"]) == (16, 12, 3.0)


@pytest.mark.parametrize(("name", "replies"), [
    ("broken", "raised RuntimeError: out of ideas (my_agent.py, line 9)"),
    ("silent", "returned None"),
    ("paid", "returned a Reply with cost -1000000000.0; expected a number from 0"),
    ("narrow", "cannot be called as agent(observation, info): TypeError: narrow() takes 1 positional argument but 2 were given"),
])  # fmt: skip
def test_an_agent_that_breaks_is_a_failure_and_never_a_zero(evaluate, tmp_path, agent, name, replies):
    status, result, output = evaluate("--agent", agent + name)
    assert (status, result["success"], result["judged"]) == (1, None, 0)
    assert result["failed"] >= 5
    assert replies in output
    assert "no episode was judged" in output
    assert all(record.reward is None for record in read_episodes(tmp_path / "run" / EPISODES)[1])


@pytest.mark.parametrize(("name", "message"), [
    ("{agent}Unmakeable", "no model here"),
    ("{agent}Uncallable", "__call__"),
    ("{agent}number", "is a int"),
    ("{agent}nobody", "has no 'nobody'"),
    *((name, "") for name in ("nothing", ":x", "no.such.module:agent", "command:", "command:'")),
])  # fmt: skip
def test_invalid_agents_are_bad_input(evaluate, agent, name, message):
    status, _, output = evaluate("--agent", name.format(agent=agent))
    assert (status, message in output) == (2, True)


def test_modules_of_the_current_folder_are_found(tmp_path, agent, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert load_agent("my_agent:leave")()("x", {"goal": "x"}) == 'exit(message="")'


@pytest.mark.parametrize("wrong", [
    ("--repeats", 0), ("--limit", 0), ("--fresh-worlds", -1), ("--jobs", 0), ("--max-steps", 0), ("--template", "no.such"),
    *(("--env", value) for value in ("window", "window=-1", "no_such_keyword=1", "tasks=[]")),
])  # fmt: skip
def test_wrong_options_are_bad_input(evaluate, wrong):
    assert evaluate("--agent", "expert", *wrong)[0] == 2


def test_errors_begin_with_the_reason_and_options_have_no_short_forms(evaluate):
    status, _, output = evaluate("--agent", "expert", "--env", "window=-1")
    assert (status, "window is -1; expected a positive integer; cannot create an env with {" in output) == (2, True)
    status, _, output = evaluate("--agent", "expert", "--lim", 2)
    assert (status, "unknown argument '--lim'; did you mean '--limit'?" in output) == (2, True)


def test_a_run_that_was_cut_off_goes_on_and_failed_episodes_are_played_again(evaluate, tmp_path, agent):
    _, whole, _ = evaluate("--agent", agent + "leave", folder="whole")
    evaluate("--agent", agent + "leave")
    path = tmp_path / "run" / EPISODES
    lines = path.read_text().splitlines(keepends=True)
    failed = {**json.loads(lines[2]), "ending": "failed", "reward": None, "failure": "the power went", "verdicts": []}
    path.write_text("".join([*lines[:2], json.dumps(failed) + "\n", *lines[3:5], lines[5][:40]]))
    status, result, output = evaluate("--agent", agent + "leave")
    assert (status, result["judged"], result["failed"], result["endings"]) == (0, 6, 0, {"exited": 6})
    assert result["prompt_tokens"] is result["cost"] is None
    assert "3 of 6 episodes are already in" in output
    assert result["success"] == whole["success"]
    assert path.read_text().splitlines()[1] == lines[1].rstrip("\n")


def test_a_folder_of_another_run_is_not_touched(evaluate, tmp_path):
    evaluate("--agent", "expert")
    before = (tmp_path / "run" / EPISODES).read_bytes()
    status, _, output = evaluate("--agent", "expert", "--seed", 5)
    assert status == 2
    assert "is of another run: its seed is 0" in output or "its suite is" in output
    assert (tmp_path / "run" / EPISODES).read_bytes() == before
    assert evaluate("--agent", "expert", "--seed", 5, "--fresh")[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")
def test_a_folder_into_which_another_process_writes_is_not_touched(evaluate, tmp_path):
    import fcntl  # noqa: PLC0415 - not on Windows

    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as of another process: locks are those of an open file
        status, _, output = evaluate("--agent", "expert", "--fresh")
    assert status == 2
    assert f"{tmp_path / 'run'} is in use by another process" in output
    assert not (tmp_path / "run" / EPISODES).exists()
    assert evaluate("--agent", "expert")[0] == 0


def test_a_run_in_which_everything_fails_is_given_up_and_a_bug_is_raised():
    class Seat:
        def __init__(self, error=None):
            self.error = error

        def play(self, trial):
            if self.error:
                raise self.error
            return make_record(trial, ending="failed", reward=None, failure="no way")

        def close(self):
            pass

    trials = EvaluationPlan(tasks=TASKS, repeats=50).trials
    with pytest.raises(AbortedRunError, match="no way"):
        list(run_trials(trials, Seat, 2))
    with pytest.raises(ZeroDivisionError):
        list(run_trials(trials, partial(Seat, ZeroDivisionError()), 2))


def test_interrupted_runs_keep_finished_episodes_and_print_how_to_resume(evaluate, tmp_path, agent, monkeypatch):
    added = EpisodesFile.add

    def add(file, record):
        added(file, record)
        if len(file.records) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(EpisodesFile, "add", add)
    status, _, output = evaluate("--agent", agent + "leave")
    assert status == 130
    assert "2 of 6 episodes are in" in output
    assert read_result(tmp_path / "run" / RESULT)["judged"] == 2
    monkeypatch.undo()
    assert evaluate("--agent", agent + "leave")[1]["judged"] == 6


FOREIGN = {
    "task_id": "mine", "sites": ["shopping"], "start_url": "__SHOPPING__", "intent": "Open my wish list.",
    "eval": {"eval_types": ["url_match"], "reference_url": "__SHOPPING__/wishlist/"},
}  # fmt: skip


def test_tasks_of_a_file_are_played_in_the_world_of_the_option(evaluate, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([FOREIGN]))
    (tmp_path / "opener.py").write_text(
        "def agent(observation, info):\n"
        "    return 'exit()' if info['step'] else 'do(action=\"Click\", element=\"My Wish List\")'\n"
    )
    agent = f"{tmp_path / 'opener.py'}:agent"
    status, _, output = evaluate("--agent", agent, "--tasks", path)
    assert (status, "the task mine names no world" in output, "--world-seed" in output) == (2, True, True)
    status, result, output = evaluate("--agent", agent, "--tasks", path, "--world-seed", 1000)
    assert (status, result["judged"], result["success"]["success"]) == (0, 1, 1.0), output
    assert result["env"]["world_seed"] == 1000


def test_a_world_of_the_task_itself_wins_over_the_option(evaluate, tmp_path):
    (tmp_path / "tasks.json").write_text(json.dumps([task.to_json() for task in TASKS]))
    status, result, output = evaluate("--agent", "expert", "--tasks", tmp_path / "tasks.json", "--world-seed", 3)
    assert (status, result["success"]["success"]) == (0, 1.0), output


def test_options_without_an_effect_on_the_tasks_of_a_file_are_bad_input(evaluate, tmp_path):
    (tmp_path / "tasks.json").write_text(json.dumps([FOREIGN]))
    for option, value in (("--split", "test"), ("--fresh-worlds", "2")):
        status, _, printed = evaluate("--agent", "expert", "--tasks", tmp_path / "tasks.json", option, value)
        assert (status, value in printed.splitlines()[-1], "no effect" in printed) == (2, True, True)


def test_the_default_folder_of_a_task_file_has_its_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.json").write_text(json.dumps([TASKS[0].to_json()]))
    assert main(["evaluate", "--agent", "expert", "--tasks", "mine.json"]) == 0
    assert (tmp_path / "runs/evaluate/expert-mine/result.json").exists()


def leave(observation, info):
    assert info["goal"] in observation
    return 'exit(message="")'


class Counter:
    """Agent that counts its episodes."""

    instances = 0

    def __init__(self):
        type(self).instances += 1
        self.episodes = 0

    def reset(self):
        self.episodes += 1

    def __call__(self, observation, info):
        return f'exit(message="{self.episodes}")'


def test_the_function_returns_what_the_command_prints(evaluate, tmp_path):
    report = webarena_gym.evaluate("expert", limit=6, env={"elements": "label"}, out=tmp_path / "own")
    _, result, printed = evaluate("--agent", "expert")
    timed = ("seconds", "agent_seconds", "episodes_digest", "command")
    assert {**report.result, **dict.fromkeys(timed)} == {**result, **dict.fromkeys(timed)}
    assert str(report).splitlines()[:-1] == printed.splitlines()[: len(str(report).splitlines()) - 1]
    assert report.success[:2] == (1.0, 6)
    assert (report.num_planned, report.num_judged, report.num_failed, report.abort_reason) == (6, 6, 0, "")
    assert {site: score.n for site, score in report.by_site.items()} == {
        site: score["n"] for site, score in result["by_site"].items()
    }
    assert list(report.episodes) == read_episodes(tmp_path / "own" / EPISODES)[1]
    assert read_result(tmp_path / "own" / RESULT) == report.result


def test_agents_of_the_function_are_callables_and_classes(tmp_path):
    report = webarena_gym.evaluate(leave, tasks=TASKS[:2], out=tmp_path)
    assert report.result["agent"] == {
        "name": f"{__name__}:leave",
        "digest": hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
    }
    assert [episode.steps[0]["reply"] for episode in report.episodes] == ['exit(message="")'] * 2
    again = webarena_gym.evaluate(leave, tasks=TASKS[:2], out=tmp_path)
    assert [episode.seconds for episode in again.episodes] == [
        episode.seconds for episode in report.episodes
    ]  # they were stored
    Counter.instances = 0
    report = webarena_gym.evaluate(Counter, tasks=TASKS, jobs=2)
    assert Counter.instances == 2
    counts = sorted(int(episode.steps[0]["reply"].split('"')[1]) for episode in report.episodes)
    assert counts in ([1, 2, 3, 1], [1, 1, 2, 3], [1, 1, 2, 2], [1, 2, 3, 4])
    report = webarena_gym.evaluate(Counter(), tasks=[task.task_id for task in TASKS[:2]], templates=[TASKS[0].template])
    assert (report.num_planned, report.result["agent"]["name"]) == (1, f"{__name__}:Counter")


def test_another_object_of_one_name_continues_no_run(tmp_path):
    def answer(text, observation, info):
        return f'exit(message="{text}")'

    agents = [partial(answer, text) for text in ("yes", "no")]
    for _ in range(2):
        webarena_gym.evaluate(agents[0], tasks=TASKS[:1], out=tmp_path)
    with expect_error(ResultError, str(tmp_path), "object"):
        webarena_gym.evaluate(agents[1], tasks=TASKS[:1], out=tmp_path)
    report = webarena_gym.evaluate(agents[1], tasks=TASKS[:1], out=tmp_path, fresh=True)
    assert report.episodes[0].steps[0]["reply"] == 'exit(message="no")'


@pytest.mark.parametrize(
    ("keywords", "kind", "values"),
    [
        ({"tasks": TASKS, "split": "test"}, TaskError, ("test",)), ({"tasks": TASKS, "fresh_worlds": 3}, TaskError, (3,)),
        ({"env": {"judge": leave}}, TaskError, ("judge",)), ({"env": {"absent": 1}}, TaskError, ("absent",)), ({"split": "absent"}, TaskError, ("absent",)),
        ({"agent": 3}, AgentError, (3,)), ({"agent": "absent_module:agent"}, AgentError, ("absent_module",)), ({"repeats": 0}, ValueError, (0,)),
    ],
)  # fmt: skip
def test_wrong_values_of_the_function_are_named(keywords, kind, values):
    with expect_error(kind, *values):
        webarena_gym.evaluate(**{"agent": leave, **keywords})
