"""The harness: what it plays, whom with, what it makes of what breaks, and that its figures are right."""

import importlib.util
import json
import re
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.chat_server import WEBRL, call_of, expert, serving_chat
from tests.documents import ROOT, blocks
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.actions.dialect import TOOL_PROMPT
from webarena_gym.clients.chat import (
    Completion,
    ToolCall,
    Usage,
)
from webarena_gym.errors import AbortedRunError, AgentError, ResultError
from webarena_gym.evaluation import leaderboard
from webarena_gym.evaluation.agents import load_agent, with_tool_calls
from webarena_gym.evaluation.programs import ProgramWorker
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    EpisodesFile,
    EvaluationPlan,
    Record,
    episodes_digest,
    make_record,
    parse_record,
    read_episodes,
    read_result,
    suite_digest,
    summarise,
    table,
)
from webarena_gym.evaluation.runner import run_trials
from webarena_gym.suite import load as load_tasks
from webarena_gym.tools.cli import main
from webarena_gym.vector import ResetMonitor

TASKS = load_tasks("test")[:4]
FEW = ("--limit", "6", "--elements", "label", "--json")


@pytest.fixture
def evaluate(capsys, tmp_path):
    """Run the command; return its status, its figures and what it said on both outputs."""

    def run_command(*arguments, folder="."):
        status = main(["evaluate", "--out", str(tmp_path / folder / "run"), *FEW, *map(str, arguments)])
        said = capsys.readouterr()
        last = said.out.splitlines()[-1] if said.out else ""
        return status, json.loads(last) if last.startswith("{") else None, said.out + said.err

    return run_command


def chat(address, *arguments):
    return "--agent", "chat:good", "--base-url", address, *arguments


@pytest.fixture
def chatted(evaluate):
    """Run the command with a model of that endpoint; return what `evaluate` does, and what the endpoint was asked."""

    def run_command(*arguments, folder=".", **endpoint):
        with serving_chat(**endpoint) as (server, address):
            return *evaluate(*chat(address, *arguments), folder=folder), server.asked

    return run_command


# Statistics.


# What is played.


def test_plans_say_what_is_played_and_give_each_part_of_a_trial_a_seed_of_its_own():
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


# Agents in this process.


def test_the_expert_succeeds_and_random_does_not_and_jobs_change_nothing(evaluate, tmp_path):
    status, result, said = evaluate("--agent", "expert", "--jobs", 3)
    assert (status, result["success"]["success"], result["judged"], result["failed"]) == (0, 1.0, 6, 0), said
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
    status, result, said = evaluate("--agent", "expert", "--template", name, "--fresh-worlds", 1, "--repeats", 3, "--limit", 9)
    assert (status, result["planned"], result["success"]["n"]) == (0, 6, 6), said
    assert result["pass@k"] == result["pass^k"] == {"1": 1.0, "2": 1.0, "3": 1.0}
    assert result["suite"]["worlds"] == [None, 900_000]
    assert "pass^3" in said


def test_templates_that_the_split_has_not_are_played_in_a_world(evaluate):
    name = next(name for name in task_suite.templates() if name not in {task.template for task in task_suite.load("test")})
    status, _, said = evaluate("--agent", "expert", "--template", name)
    assert (status, "pass --world-seed" in said) == (2, True)
    status, result, said = evaluate("--agent", "expert", "--template", name, "--world-seed", 3, "--fresh-worlds", 1)
    assert (status, result["judged"], result["success"]["success"]) == (0, 2, 1.0), said


AGENT = """
from webarena_gym.evaluation.agents import Reply

def leave(observation, info):
    assert info["goal"] in observation
    return 'exit(message="")'

def broken(observation, info):
    raise RuntimeError("out of ideas")

def silent(observation, info):
    return None

def narrow(observation):
    return ""

def paid(observation, info):
    return Reply("", cost=-1e9)

def vague(observation, info):
    return "hello"

class Counting:
    made = 0
    def __init__(self):
        type(self).made += 1
        self.episodes = 0
    def reset(self):
        self.episodes += 1
    def __call__(self, observation, info):
        if info["step"] == 0:
            return Reply('go_backward()', 7, 2, 0.5)
        return Reply('exit(message="%d of %d")' % (self.episodes, self.made), 9)

class Unmakeable:
    def __init__(self):
        raise OSError("no model here")

class Uncallable:
    pass

number = 3
"""


@pytest.fixture
def agent(tmp_path):
    path = tmp_path / "my_agent.py"
    path.write_text(AGENT)
    yield f"{path}:"
    sys.modules.pop("my_agent", None)


def test_an_agent_that_was_edited_is_another_one(evaluate, agent):
    evaluate("--agent", agent + "leave", "--limit", 1)
    file = Path(agent[:-1])
    file.write_text(file.read_text().replace('message=""', 'message="x"'))
    status, _, said = evaluate("--agent", agent + "leave", "--limit", 1)
    assert status == 2
    assert "the agent's file has changed since; pass another --out, or --fresh to overwrite it" in said
    status, result, _ = evaluate("--agent", agent + "leave", "--limit", 1, "--fresh")
    assert (status, result["judged"]) == (0, 1)


def test_replies_that_cannot_be_read_are_counted(evaluate, agent):
    status, result, said = evaluate("--agent", agent + "vague", "--limit", 2, "--max-steps", 3)
    assert (status, result["action_errors"]["mean"], result["action_errors"]["n"]) == (0, 1.0, 6)
    assert "6 of 6 actions were rejected" in said


def test_a_class_is_made_once_for_each_job_and_told_of_episodes_and_what_it_used_is_counted(evaluate, tmp_path, agent):
    status, result, _ = evaluate("--agent", agent + "Counting")
    assert (status, result["judged"]) == (0, 6)
    said = {record.steps[-1]["reply"] for record in read_episodes(tmp_path / "run" / EPISODES)[1]}
    assert said == {f'exit(message="{number} of 1")' for number in range(1, 7)}
    assert (result["prompt_tokens"]["mean"], result["completion_tokens"]["total"], result["cost"]["total"]) == (16, 12, 3.0)


@pytest.mark.parametrize(("name", "said"), [
    ("broken", "raised RuntimeError: out of ideas (my_agent.py, line 9)"),
    ("silent", "returned None"),
    ("paid", "returned a Reply with cost -1000000000.0; expected a number from 0"),
    ("narrow", "cannot be called as agent(observation, info): TypeError: narrow() takes 1 positional argument but 2 were given"),
])  # fmt: skip
def test_an_agent_that_breaks_is_a_failure_and_never_a_zero(evaluate, tmp_path, agent, name, said):
    status, result, output = evaluate("--agent", agent + name)
    assert (status, result["success"], result["judged"]) == (1, None, 0)
    assert result["failed"] >= 5
    assert said in output
    assert "no episode was judged" in output
    assert all(record.reward is None for record in read_episodes(tmp_path / "run" / EPISODES)[1])


@pytest.mark.parametrize(("name", "said"), [
    ("{agent}Unmakeable", "no model here"),
    ("{agent}Uncallable", "__call__"),
    ("{agent}number", "is a int"),
    ("{agent}nobody", "has no 'nobody'"),
    *((name, "") for name in ("nothing", ":x", "no.such.module:agent", "command:", "command:'")),
])  # fmt: skip
def test_what_is_no_agent_is_bad_input(evaluate, agent, name, said):
    status, _, output = evaluate("--agent", name.format(agent=agent))
    assert (status, said in output) == (2, True)


def test_modules_of_the_current_folder_are_found(tmp_path, agent, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert load_agent("my_agent:leave")()("x", {"goal": "x"}) == 'exit(message="")'


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


@pytest.mark.parametrize("wrong", [
    ("--repeats", 0), ("--limit", 0), ("--fresh-worlds", -1), ("--jobs", 0), ("--max-steps", 0), ("--template", "no.such"),
    *(("--env", value) for value in ("window", "window=-1", "no_such_keyword=1", "tasks=[]")),
])  # fmt: skip
def test_wrong_options_are_bad_input(evaluate, wrong):
    assert evaluate("--agent", "expert", *wrong)[0] == 2


def test_errors_begin_with_the_reason_and_options_have_no_short_forms(evaluate):
    status, _, said = evaluate("--agent", "expert", "--env", "window=-1")
    assert (status, "window is -1; expected a positive integer; cannot create an env with {" in said) == (2, True)
    status, _, said = evaluate("--agent", "expert", "--lim", 2)
    assert (status, "unknown argument '--lim'; did you mean '--limit'?" in said) == (2, True)


# Going on.


def test_a_run_that_was_cut_off_goes_on_and_failed_episodes_are_played_again(evaluate, tmp_path, agent):
    _, whole, _ = evaluate("--agent", agent + "leave", folder="whole")
    evaluate("--agent", agent + "leave")
    path = tmp_path / "run" / EPISODES
    lines = path.read_text().splitlines(keepends=True)
    failed = {**json.loads(lines[2]), "ending": "failed", "reward": None, "failure": "the power went", "verdicts": []}
    path.write_text("".join([*lines[:2], json.dumps(failed) + "\n", *lines[3:5], lines[5][:40]]))
    status, result, said = evaluate("--agent", agent + "leave")
    assert (status, result["judged"], result["failed"], result["endings"]) == (0, 6, 0, {"exited": 6})
    assert result["prompt_tokens"] is result["cost"] is None
    assert "3 of 6 episodes are already in" in said
    assert result["success"] == whole["success"]
    assert path.read_text().splitlines()[1] == lines[1].rstrip("\n")


def test_a_folder_of_another_run_is_not_touched(evaluate, tmp_path):
    evaluate("--agent", "expert")
    before = (tmp_path / "run" / EPISODES).read_bytes()
    status, _, said = evaluate("--agent", "expert", "--seed", 5)
    assert status == 2
    assert "is of another run: its seed is 0" in said or "its suite is" in said
    assert (tmp_path / "run" / EPISODES).read_bytes() == before
    assert evaluate("--agent", "expert", "--seed", 5, "--fresh")[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")
def test_a_folder_into_which_another_process_writes_is_not_touched(evaluate, tmp_path):
    import fcntl  # noqa: PLC0415 - not on Windows

    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as of another process: locks are those of an open file
        status, _, said = evaluate("--agent", "expert", "--fresh")
    assert status == 2
    assert f"{tmp_path / 'run'} is in use by another process" in said
    assert not (tmp_path / "run" / EPISODES).exists()
    assert evaluate("--agent", "expert")[0] == 0


RECORD = {"task_id": "a/1/0", "repeat": 0, "sites": ["shopping"], "checks": ["state"], "ending": "exited", "reward": 1.0}


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


# Chat models.


@pytest.mark.parametrize("with_tools", [False, True])
def test_a_good_endpoint_is_scored_rightly_and_its_tokens_and_cost_are_counted(chatted, with_tools):
    status, result, said, asked = chatted(*["--tools"] * with_tools, "--option", "temperature=0")
    assert (status, result["success"]["success"], result["success"]["n"]) == (0, 1.0, 6), said
    assert result["prompt_tokens"]["total"] == 100 * len(asked)
    assert result["completion_tokens"]["total"] == 10 * result["steps"]["total"]
    assert result["cost"]["total"] == 0.25 * len(asked)
    assert all(payload["temperature"] == 0 and payload["model"] == "good" for payload in asked)
    assert result["agent"] == {"name": "chat:good", "tools": with_tools, "options": {"temperature": 0}}


def test_fields_of_requests_are_the_user_s_to_choose(chatted):
    status, *_, asked = chatted("--limit", "1", "--option", "seed=null", "--option", "effort=low")
    assert status == 0
    assert {frozenset(payload) for payload in asked} == {frozenset(("model", "messages", "effort"))}


def test_with_tools_earlier_replies_are_calls_and_pages_their_results():
    roles, texts = ("system", *("user", "assistant") * 2, "user"), ("S", "Round 0", "a()", "Round 1", "thought", "Round 2")
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    said = [
        Completion("", (ToolCall("x", "lost", "{}"),), Usage()),
        Completion("so", (ToolCall("", "a", ""), ToolCall("z", "b", "")), Usage()),
        Completion("thought", (), Usage()),
    ]
    told = with_tool_calls(messages, said, "Buy milk")
    assert [message["content"] for message in told[:2]] == [TOOL_PROMPT, "Task: Buy milk\n\nRound 0"]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "tool", "assistant", "user"]
    (call,) = told[2]["tool_calls"]
    assert (call["function"], told[2]["content"]) == ({"name": "a", "arguments": "{}"}, "so")
    assert told[3] == {"role": "tool", "tool_call_id": call["id"], "content": "Round 1"}
    text, picture = {"type": "text", "text": "Round 1"}, {"type": "image_url", "image_url": {"url": "data:,"}}
    messages[3]["content"] = [text, picture]  # results of tools hold texts alone
    _, _, _, *told, _, _ = with_tool_calls(messages, said, "Buy milk")
    assert [(message["role"], message["content"]) for message in told] == [("tool", [text]), ("user", [picture])]


def said(action, **more):
    return {"content": WEBRL.format(action), **more}


def parts(*texts, kind="text"):
    return [{"type": kind, kind: text} for text in texts]


EXIT = Action(Kind.EXIT, argument="x")
CALL = {"id": "c", "type": "function", "function": {"name": "exit", "arguments": '{"mess'}}
THOUGHT = {"content": None, "reasoning_content": "Let me see."}


@pytest.mark.parametrize(("message", "options", "told"), [
    # what the model says, however it is written, is played
    (said(EXIT), (), "exited"),
    ({"content": parts(*WEBRL.format(EXIT))}, (), "exited"),
    ({"content": [{"type": "thinking", "thinking": parts("Hm.")}, *parts(WEBRL.format(EXIT))]}, (), "exited"),
    ({"content": None, "tool_calls": [{**CALL, "function": {"name": "exit", "arguments": {"message": "x"}}}]}, ("--tools",), "exited"),
    (said(EXIT, finish_reason="length"), (), "exited"),
    # what it chose to say, and what is no action, is told in the next observation, and loses
    ({"content": None, "refusal": "I cannot help with that."}, (), "truncated"),
    ({"content": parts("I cannot.", kind="refusal")}, (), "truncated"),
    ({**THOUGHT, "finish_reason": "stop"}, (), "truncated"),
    ({"content": "do(action=", "finish_reason": "length"}, (), "truncated"),
    ({"content": None, "tool_calls": [CALL], "finish_reason": "length"}, ("--tools",), "truncated"),
    # what it could not say is a failure
    ({**THOUGHT, "finish_reason": "length"}, (), "cut the reply off after 10 tokens, before any text outside the reasoning"),
    ({"content": "<think>Let me", "finish_reason": "length"}, (), "cut the reply off"),
    ({"content": None, "finish_reason": "content_filter"}, (), "withheld the reply (finish_reason content_filter)"),
    (said(EXIT, finish_reason="content_filter"), (), "withheld the reply"),
    ({"content": "", "finish_reason": "abort"}, (), "withheld the reply"),
    ({"content": [{"type": "image_url", "image_url": {}}]}, (), "expected a string or a list of text parts"),
    # unless that is said to be its loss
    ({**THOUGHT, "finish_reason": "length"}, ("--too-long", "lost"), "too_long"),
    ({"content": None, "finish_reason": "content_filter"}, ("--too-long", "lost"), "withheld the reply"),
])  # fmt: skip
def test_each_kind_of_answer_is_blamed_on_the_right_side(chatted, message, options, told):
    status, result, output, asked = chatted("--limit", 1, "--max-steps", 2, *options, say=lambda _: dict(message))
    if told in ("exited", "truncated", "too_long"):
        assert (status, result["endings"], result["failed"]) == (0, {told: 1}, 0), output
        assert (len(asked) == 2) is (told == "truncated")
        assert result["completion_tokens"]["total"] == 10 * len(asked)
    else:
        assert (status, result["success"], result["failed"], result["judged"]) == (1, None, 1, 0), output
        assert told in output


def test_with_tools_a_model_gets_its_reasoning_and_readable_calls_back(chatted):
    extra = {"reasoning_content": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]}
    signed = {"extra_content": {"google": {"thought_signature": "abc"}}}

    def say(payload):
        if sum(message["role"] == "assistant" for message in payload["messages"]) == 1:
            return {"content": None, "tool_calls": [CALL | signed], **extra}
        message = expert(payload)
        message["tool_calls"][0] |= signed
        return message | extra

    def fault(_, payload):
        for message in payload["messages"]:
            for call in message.get("tool_calls", ()):
                is_whole = all(item in message.items() for item in extra.items()) and all(
                    item in call.items() for item in signed.items()
                )
                if not is_whole or not isinstance(json.loads(call["function"]["arguments"]), dict):
                    return 400, {}, "reasoning_content must be passed back"
        return None

    status, result, output, _ = chatted("--tools", "--limit", 2, say=say, fault=fault)
    assert (status, result["judged"], result["failed"], result["action_errors"]["total"]) == (0, 2, 0, 2), output


@pytest.mark.parametrize(("first", "judged"), [(0, 0), (1, 1)])
def test_a_refusal_that_leaves_it_open_is_lost_if_wanted_and_where_the_server_has_replied_before(chatted, first, judged):
    wanted = partial(chatted, "--limit", 1, "--max-steps", 2, fault=lambda number, _: 400 if number >= first else None)
    assert wanted(folder="failed")[1]["failed"] == 1
    status, result, *_ = wanted("--too-long", "lost")
    assert (status, result["judged"], result["endings"]) == (1 - judged, judged, {"too_long": 1} if judged else {})


@pytest.mark.parametrize("status", [200, 400])
def test_an_error_in_the_place_of_an_answer_is_read_whatever_the_status(chatted, status):
    full = json.dumps({"error": {"code": 400, "type": "exceed_context_size_error", "message": "x" * 400}})
    _, result, output, _ = chatted("--limit", 1, fault=lambda *_: (status, {}, full))
    assert result["endings"] == {"too_long": 1}, output


def test_an_account_without_funds_is_no_rate_limit_and_a_quota_of_a_minute_is(chatted):
    unpaid = (429, {}, json.dumps({"error": {"code": "insufficient_quota", "message": "check your plan and billing details"}}))
    status, _, output, asked = chatted("--limit", 1, fault=lambda *_: unpaid)
    assert (status, len(asked), "insufficient_quota" in output, "next try" in output) == (1, 1, True, False)
    limited = (429, {}, "You exceeded your current quota, please check your plan and billing details")
    status, _, output, asked = chatted("--limit", 1, folder="limited", fault=lambda number, _: None if number else limited)
    assert status == 0
    assert re.search("webarena-gym: .*answered 429 .*current quota.*; next try in 0.25 s, last try in at most 900 s", output)


@pytest.mark.parametrize("fault", ["trickle", "trickle head", "silent"])
def test_a_time_limit_is_of_the_whole_request_however_slowly_its_answer_comes(chatted, fault):
    status, result, output, asked = chatted("--timeout", "0.3", "--deadline", "0.4", "--limit", 1, fault=lambda *_: fault)
    assert (status, result["failed"], len(asked)) == (1, 1, 1)
    assert "timed out after 0.3 s" in output


def test_an_evaluation_goes_on_where_the_model_stands_at_another_address(chatted):
    wanted = partial(chatted, "--limit", 2, "--jobs", 1)
    assert wanted(fault=lambda number, _: 404 if number else None)[0] == 1
    status, result, output, _ = wanted()
    assert (status, result["judged"], result["failed"]) == (0, 2, 0), output


def test_an_endpoint_that_tells_no_usage_is_scored_and_one_that_lists_other_models_is_told_of(chatted):
    status, result, said, _ = chatted(usage=None, lists=["better"])
    assert (status, result["prompt_tokens"], result["cost"]) == (0, None, None)
    assert "does not list good, but better" in said


def test_a_rate_limited_endpoint_is_left_alone_for_as_long_as_it_says_by_all_jobs(chatted, tmp_path):
    limited = (429, {"Retry-After-Ms": "300"}, "slow down")

    status, result, said, asked = chatted("--jobs", "3", fault=lambda number, _: limited if number % 3 == 2 else None)
    assert (status, result["success"]["success"], result["failed"]) == (0, 1.0, 0), said
    assert len(asked) > sum(len(record.steps) for record in read_episodes(tmp_path / "run" / EPISODES)[1])


def test_a_limit_beyond_the_deadline_is_a_failure_that_says_so(chatted):
    status, result, said, asked = chatted("--jobs", "1", fault=lambda *_: (429, {"Retry-After": "3600"}, "tomorrow"))
    assert (status, result["success"]) == (1, None)
    assert "429" in said
    assert "asks to wait" in said
    assert len(asked) == 1  # whoever came later did not even ask


@pytest.mark.parametrize(("fault", "said"), [(400, "400"), (401, "401"), ((404, {}, "no such model"), "no such model")])
def test_an_endpoint_that_refuses_ends_the_run_at_once_and_nothing_is_a_zero(chatted, fault, said):
    status, result, output, _ = chatted("--limit", "30", fault=lambda *_: fault)
    assert (status, result["success"], result["judged"]) == (1, None, 0)
    assert said in output
    assert "aborted" in output
    assert (result["failed"], result["planned"]) == (16, 30)  # of 8 jobs


def test_a_broken_endpoint_is_asked_again_and_answers_that_are_none_are_failures(chatted):
    def fault(number, payload):
        if number % 4 == 0:
            return "drop"
        return 503 if number % 4 == 1 else None

    status, result, said, _ = chatted("--jobs", "2", "--limit", "2", fault=fault)
    assert (status, result["success"]["success"]) == (0, 1.0), said
    status, result, said, _ = chatted(folder="html", fault=lambda *_: (200, {}, "<html>busy</html>"))
    assert (status, result["success"]) == (1, None)
    assert "invalid JSON" in said


def test_a_dead_or_silent_endpoint_is_noticed_before_anything_is_played(evaluate, tmp_path):
    with serving_chat() as (server, address):
        server.is_silent = True
        silent = evaluate(*chat(address, "--connect-timeout", "0.2"))
    for status, result, said in (silent, evaluate(*chat(address))):
        assert (status, result) == (2, None)
        assert "no answer from" in said
    assert "--base-url" in said
    assert not (tmp_path / "run").exists()


def test_a_conversation_that_does_not_fit_is_lost_and_not_a_failure(chatted):
    full = (400, {}, json.dumps({"error": {"code": "context_length_exceeded"}}))

    def fault(_, payload):
        return full if len(payload["messages"]) > 4 else None

    status, result, said, _ = chatted(fault=fault)
    assert (status, result["judged"], result["failed"]) == (0, 6, 0), said
    assert result["endings"]["too_long"] >= 1
    assert result["success"]["success"] == 1 - result["endings"]["too_long"] / 6


def test_calls_that_fit_no_tool_are_told_and_not_an_exception(chatted):
    odd = [
        {"content": None, "tool_calls": [{"id": "1", "function": {"name": "fly", "arguments": "{"}}]},
        {"content": None, "tool_calls": [{"id": "1", "function": {"name": "click", "arguments": "[]"}}]},
        {"content": "", "tool_calls": []},
        call_of(Action(Kind.EXIT, argument="x")),
    ]
    status, result, _, _ = chatted(
        "--tools", say=lambda payload: odd[sum(m["role"] == "assistant" for m in payload["messages"])]
    )
    assert (status, result["judged"], result["steps"]["mean"]) == (0, 6, 4)


# Programs.


class FakeArena:
    """An episode server that judges a file, in the place of the real one."""

    def __init__(self, folder):
        self.folder, self.ended = folder, []

    def open(self, trial):
        return {"WEBARENA_GYM_URL": str(self.folder), "WEBARENA_GYM_EPISODE": trial.task.task_id.replace("/", "-")}

    def outcome(self, episode):
        answer = self.folder / episode["WEBARENA_GYM_EPISODE"]
        return {"ending": "exited", "reward": float(answer.read_text() == "right")} if answer.exists() else None

    def submit_empty_answer(self, episode):
        (self.folder / episode["WEBARENA_GYM_EPISODE"]).write_text("")

    def delete(self, episode):
        self.ended.append(episode["WEBARENA_GYM_EPISODE"])

    def close(self):
        pass


def program(path, code):
    path.write_text(
        "import os, sys\nplace = os.path.join(os.environ['WEBARENA_GYM_URL'], os.environ['WEBARENA_GYM_EPISODE'])\n" + code
    )
    return f"{sys.executable} {path}"


@pytest.mark.parametrize(("code", "reward", "said"), [
    ("open(place, 'w').write('right')", 1.0, ""),
    ("open(place, 'w').write('wrong')", 0.0, ""),
    ("open(place, 'w').write('right'); sys.exit(3)", 1.0, ""),
    ("", 0.0, ""),
    ("sys.exit('no luck')", None, "ended with status 1, and had not answered: no luck"),
    ("import threading; threading.Event().wait()", None, "did not end within"),
])  # fmt: skip
def test_programs_are_judged_by_the_server_and_those_that_break_have_failed(tmp_path, code, reward, said):
    arena = FakeArena(tmp_path)
    seat = ProgramWorker(program(tmp_path / "agent.py", code), arena, 2.0 if "wait" in code else 60.0, ResetMonitor())
    record = seat.play(EvaluationPlan(tasks=TASKS[:1]).trials[0])
    assert record.reward == reward
    assert said in record.failure
    assert len(arena.ended) == 1


def test_a_program_that_is_not_there_is_a_failure(tmp_path):
    record = ProgramWorker("/no/such/program", FakeArena(tmp_path), 5, ResetMonitor()).play(
        EvaluationPlan(tasks=TASKS[:1]).trials[0]
    )
    assert "cannot be run" in record.failure
    with pytest.raises(AgentError):
        ProgramWorker(" ", FakeArena(tmp_path), 5, ResetMonitor())


# The leaderboard.


@pytest.fixture(scope="module")
def row(tmp_path_factory):
    """A row of the whole test split, by an agent that leaves at once."""
    folder = tmp_path_factory.mktemp("board") / "nobody"
    (folder.parent / "leaving.py").write_text("def agent(observation, info):\n    return 'exit(message=\"N/A\")'\n")
    assert main(["evaluate", "--agent", f"{folder.parent / 'leaving.py'}:agent", "--out", str(folder), "--jobs", "2"]) == 0
    (folder / leaderboard.ROW).write_text('{"name": "nobody | at all", "authors": "the tests", "link": "https://example.com"}')
    return folder


def test_a_row_is_checked_and_printed(capsys, row):
    status = main(["leaderboard", str(row.parent)])
    said = capsys.readouterr().out
    assert status == 0, said
    assert r"| 1 | [nobody \| at all](https://example.com) |" in said
    assert said.count("| yes |") == 1
    assert f"{len(load_tasks('test'))} tasks of the test split" in said
    assert leaderboard.check_row(row).result["success"]["success"] == pytest.approx(1 / 165)  # the one that cannot be done


def edit_line(number, **values):
    def edit(text):
        lines = text.splitlines()
        lines[number] = json.dumps({**json.loads(lines[number]), **values})
        return "\n".join(lines) + "\n"

    return edit


def edit_result(**values):
    return lambda text: json.dumps(json.loads(text) | values)


@pytest.mark.parametrize(("name", "edit", "fault"), [
    (RESULT, edit_result(success={"success": 1.0, "n": 165, "low": 0.9, "high": 1}), "success of the result file does not"),
    (RESULT, edit_result(command=[]), "command is []"),
    (RESULT, edit_result(format=7), "format=1"),
    (EPISODES, edit_line(3, reward=1.0), "does not follow"),
    (EPISODES, lambda text: "\n".join(text.splitlines()[:-1]) + "\n", "there are 164 episodes"),
    (EPISODES, lambda text: text + text.splitlines()[3] + "\n", "has an earlier judged record; expected one judged episode"),
    (EPISODES, edit_line(3, steps=[]), "has no steps"),
    (EPISODES, edit_line(0, version="0.0.0"), "version is '0.0.0'"),
    (EPISODES, edit_line(0, env={"max_steps": 31}), "max_steps"),
    (EPISODES, edit_line(0, env={"max_steps": 30, "side_effects": "ignored"}), "other keywords"),
    (EPISODES, edit_line(0, suite={"split": "test", "templates": None, "limit": 5}), "the test split is incomplete"),
    (EPISODES, edit_line(0, suite={}), "the test split is incomplete|malformed"),
    (leaderboard.ROW, lambda _: "{}", "has no name"),
    (leaderboard.ROW, lambda _: '{"name": 1}', "expected an object of the strings"),
])  # fmt: skip
def test_a_row_that_is_not_right_is_found(row, tmp_path, name, edit, fault):
    folder = shutil.copytree(row, tmp_path / "changed")
    (folder / name).write_text(edit((folder / name).read_text()))
    found = leaderboard.check_row(folder)
    assert re.search(fault.replace("[]", r"\[\]"), "\n".join(found.faults)), found.faults


PASSED = {"check": "state", "passed": True, "reason": "trust me", "decided_by": "state"}


@pytest.mark.parametrize(("header", "record", "about"), [
    ({}, {"reward": 1.0, "verdicts": [PASSED]}, {}),
    ({}, {"ending": "too_long", "reward": 1.0, "verdicts": []}, {}),
    ({}, {"verdicts": [PASSED | {"passed": False}]}, {}),
    ({}, {"steps": [{"url": "http://shop.test/", "reply": 'exit(message="N/A")', "action_error": "the env's fault"}]}, {}),
    ({}, {"verdicts": ["passed"]}, {}),
    ({}, {"steps": [{"reply": 1}]}, {}),
    ({}, {"side_effects": ["none"]}, {}),
    *(({}, {name: value}, {}) for name in ("cost", "seconds", "prompt_tokens") for value in (-1e9, float("nan"), float("inf"), 10**400)),
    ({}, {"sites": ["map"]}, {}),
    ({}, {"checks": []}, {}),
    *(({}, {"reference_steps": value}, {}) for value in (None, -1, 1000)),
    ({"repeats": 10**12}, {}, {}),
    ({"seed": None, "env": {"max_steps": 30, "window": -1}}, {}, {}),
    ({"env": {"max_steps": 30, "history": "all"}}, {}, {}),
    ({"env": {"max_steps": 30, "browser": "my own"}}, {}, {}),
    *(({"suite": {name: value}}, {}, {}) for name, value in (("tasks", 9999), ("variation", "easy"), ("worlds", [10**30]), ("worlds", [*range(10**5)]))),
    *(({}, {}, {"link": link}) for link in ("javascript:alert(1)", "data:text/html,x", "https://", "https://x)<img src=x>", "https://x|y", " https://x", "//x")),
    ({}, {}, {"name": 1}),
])  # fmt: skip
def test_no_forged_row_passes(row, tmp_path, capsys, header, record, about):
    """Figures are made to follow from what is forged, as a forger would."""
    forge(row, tmp_path, header, record, about)
    assert main(["leaderboard", str(tmp_path)]) == 1
    assert "| yes |" not in capsys.readouterr().out


@pytest.mark.parametrize(("header", "record", "options", "why"), [
    ({"env": {"max_steps": 30, "browser": "chromium"}}, {}, (), "played in Chromium"),
    ({"agent": {"name": "command:x", "mode": "browse"}}, {"steps": []}, (), "played by a program with its own browser"),
    ({}, {}, ("--no-replay",), "not requested"),
])  # fmt: skip
def test_what_cannot_be_checked_is_not_ranked_beside_what_was(row, tmp_path, capsys, header, record, options, why):
    forge(row, tmp_path, header, record, {"name": "<script>[x](javascript:y)`*\x1b|", "link": ""})
    assert main(["leaderboard", str(tmp_path), *options]) == 0
    said = capsys.readouterr().out
    assert f"| no: {why} |" in said
    assert "not replayed, and not ranked" in said
    assert r"|  | &lt;script&gt;\[x\](javascript:y)\`\* \| | 0.6 %" in said


def forge(row, tmp_path, header, record, about):
    """Copy a row, with parts of its header, of one of its episodes and of its description replaced."""
    folder = tmp_path / "forged"
    folder.mkdir()
    known, *lines = map(json.loads, (row / EPISODES).read_text().splitlines())
    suite = header.get("suite", {})
    known |= {**header, "suite": known["suite"] | suite}
    lines[2] |= record
    (folder / EPISODES).write_text("\n".join(map(json.dumps, [known, *lines])) + "\n")
    try:
        result = summarise(known, [Record(**line) for line in lines], ["webarena-gym", "evaluate"])
    except (TypeError, AttributeError, OverflowError):  # what nobody can make figures of
        result = json.loads((row / RESULT).read_text())
    (folder / RESULT).write_text(json.dumps(result))
    (folder / leaderboard.ROW).write_text(json.dumps({"name": "nobody"} | about))


def test_files_are_read_whole_or_not_at_all_and_a_folder_without_rows_is_bad_input(tmp_path, capsys):
    assert main(["leaderboard", str(tmp_path)]) == 2
    with pytest.raises(ResultError):
        read_result(tmp_path / "none.json")
    file = EpisodesFile(tmp_path / "a" / EPISODES, {"format": 1})
    file.add(parse_record(RECORD, ""))
    assert main(["leaderboard", str(tmp_path)]) == 1
    assert f"{tmp_path / 'a'}: cannot read {tmp_path / 'a' / leaderboard.ROW}" in capsys.readouterr().out
    assert EpisodesFile(tmp_path / "a" / EPISODES, {"format": 1}).records.keys() == {("a/1/0", 0)}


# Programs on the episode server.

PLAYER = """
import json, os, sys
from urllib.request import Request, urlopen

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    place = f"{os.environ['WEBARENA_GYM_URL']}/episodes/{os.environ['WEBARENA_GYM_EPISODE']}{path}"
    return json.load(urlopen(Request(place, data, {"Content-Type": "application/json"})))

state = ask("")
replies, answer = json.load(open(sys.argv[1]))[state["goal"]]
if state["mode"] == "step":
    for reply in replies:
        ask("/step", {"action": reply})
elif "cost" in state["goal"]:
    ask("/answer", {"answer": answer, "url": state["start_urls"][0]})
"""

served = pytest.mark.skipif(not importlib.util.find_spec("uvicorn"), reason="no episode server here")


@served
@pytest.mark.parametrize(
    ("mode", "steps", "success", "length"), [("step", 30, 1.0, 1.0), ("step", 1, 0.0, 0.0), ("browse", 30, 0.5, None)]
)
def test_programs_play_on_the_episode_server_which_knows_their_steps(
    evaluate, tmp_path, monkeypatch, mode, steps, success, length
):
    (tmp_path / "player.py").write_text(PLAYER)
    names = ("shopping.product_price", "shopping.order_total")
    tasks = [next(task for task in load_tasks("test") if task.template == name) for name in names]
    (tmp_path / "tasks.json").write_text(json.dumps([task.to_json() for task in tasks]))
    replies = {task.intent: [DIALECTS["webrl"].format(step.action) for step in task.solution] for task in tasks}
    known = {task.intent: (replies[task.intent], task.solution[-1].action.argument) for task in tasks}
    (tmp_path / "known.json").write_text(json.dumps(known))
    program = f"{sys.executable} {tmp_path / 'player.py'} {tmp_path / 'known.json'}"
    agent = ("--agent", f"command:{program}", "--mode", mode, "--max-steps", steps)
    status, result, said = evaluate(*agent, "--tasks", tmp_path / "tasks.json", "--jobs", 2)
    assert (status, result["judged"], result["failed"], result["suite"]["file"]) == (0, 2, 0, "tasks.json"), said
    assert result["success"]["success"] == success
    assert result["endings"] == {"truncated" if steps == 1 else "exited": 2}
    assert (result["spl"] and result["spl"]["success"]) == length
    if mode == "step":  # so that a row of a leaderboard can be checked
        monkeypatch.setattr(leaderboard, "load_tasks", lambda _: tasks)
        assert leaderboard.replay(*read_episodes(tmp_path / "run" / EPISODES)) == []


@served
@pytest.mark.parametrize(("place", "agent"), [(0, "{}:Agent"), (1, "command:python {}")])
def test_the_agents_of_the_reference_play(evaluate, tmp_path, place, agent):
    program = [block.code for block in blocks(ROOT / "docs/guides/evaluating.md", "python")][place]
    task = next(task for task in load_tasks("test") if task.template == "shopping.product_price")
    price = task.solution[-1].action.argument
    (tmp_path / "program.py").write_text(program.replace("$46.50", price))
    (tmp_path / "tasks.json").write_text(json.dumps([task.to_json()]))
    name = agent.replace("python", sys.executable).format(tmp_path / "program.py")
    _, result, said = evaluate("--agent", name, "--mode", "step", "--tasks", tmp_path / "tasks.json")
    assert (result["success"]["success"], result["failed"]) == (1.0, 0), said


@served
def test_programs_are_told_of_keywords_that_the_server_does_not_know_and_of_what_to_install(evaluate, monkeypatch):
    status, _, said = evaluate("--agent", "command:true", "--browser", "chromium")
    assert (status, "does not support the keyword browser" in said) == (2, True)
    monkeypatch.setitem(sys.modules, "webarena_gym.arena.app", None)
    status, _, said = evaluate("--agent", "command:true")
    assert (status, "webarena-gym[serve]" in said) == (2, True)


def test_an_interrupted_run_keeps_what_is_over_and_says_how_it_goes_on(evaluate, tmp_path, agent, monkeypatch):
    added = EpisodesFile.add

    def add(file, record):
        added(file, record)
        if len(file.records) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(EpisodesFile, "add", add)
    status, _, said = evaluate("--agent", agent + "leave")
    assert status == 130
    assert "2 of 6 episodes are in" in said
    assert read_result(tmp_path / "run" / RESULT)["judged"] == 2
    monkeypatch.undo()
    assert evaluate("--agent", agent + "leave")[1]["judged"] == 6
