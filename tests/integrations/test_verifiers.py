"""`vf-eval` on our tasks, against a server of the chat protocol that says what the reference solutions do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers.v1", reason="make test-integrations")

from tests.chat_server import serving_chat
from tests.errands import ERRANDS, SOLVED
from webarena_gym.browsers.chromium.driver import find_executable
from webarena_gym.integrations.verifiers import WebArenaGymConfig, WebArenaGymTaskset
from webarena_gym.suite import load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]


def evaluate(tmp_path, address, *options):
    """Run the command from elsewhere, with the installed taskset, and with no program on the path that a turn could begin."""
    command = [
        str(Path(sys.executable).with_name("vf-eval")), "webarena-gym-tasks", "-m", "good", "--client.base-url", address,
        "--client.api-key-var", "A_KEY", "--env.taskset.split", "test", "--env.taskset.elements", "label", "-n", "4", "--no-rich", "--no-push",
        "-o", str(tmp_path / "out"), "--run.dir", "run", *options,
    ]  # fmt: skip
    environment = {**os.environ, "A_KEY": "x", "PATH": str(tmp_path)}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (file,) = (tmp_path / "out").rglob("traces.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def rewards(episodes):
    return [reward for episode in episodes for reward in _found(episode, "rewards")]


def _found(value, key):
    if isinstance(value, dict):
        return ([value[key]] if key in value else []) + [each for item in value.values() for each in _found(item, key)]
    return [each for item in value for each in _found(item, key)] if isinstance(value, list) else []


def test_vf_eval_gives_the_expert_one(tmp_path):
    with serving_chat() as (_, address):
        found = rewards(evaluate(tmp_path, address))
    assert len(found) == 4
    assert all(reward["success"]["score"] == 1.0 for reward in found), found


def test_vf_eval_shows_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CHROMIUM", find_executable())
    (task,) = [task for task in load("test") if task.template == "shopping.product_price"]
    replies = (
        '{"type": "click", "x": 544, "y": 35}',
        json.dumps({"type": "answer", "text": task.solution[-1].action.argument}),
    )
    shown = {"observation": "pixels", "dialect": "computer", "browser": "chromium", "templates": task.template}
    options = [part for name, value in shown.items() for part in (f"--env.taskset.{name}", value)]

    def say(payload):
        *_, (text, picture) = (message["content"] for message in payload["messages"] if message["role"] == "user")
        assert (text["type"], picture["image_url"]["url"][:22]) == ("text", "data:image/jpeg;base64")
        return {"content": replies[sum(message["role"] == "assistant" for message in payload["messages"])]}

    with serving_chat(say) as (state, address):
        found = rewards(evaluate(tmp_path, address, *options, "-n", "1"))
    assert [reward["success"]["score"] for reward in found] == [1.0], found
    assert len(state.requests) == 2


def test_vf_eval_plays_a_suite(tmp_path):
    def say(payload):
        return {"content": SOLVED[sum(message["role"] == "assistant" for message in payload["messages"])]}

    options = ("--env.taskset.suite", str(ERRANDS / "suite.toml"), "--env.taskset.split", "served", "-n", "1")
    with serving_chat(say) as (_, address):
        found = rewards(evaluate(tmp_path, address, *options))
    assert [reward["success"]["score"] for reward in found] == [1.0], found


def test_vf_eval_offers_tools(tmp_path):
    def say(payload):
        (*_, newest) = [message["content"] for message in payload["messages"] if message["role"] == "user"]
        if sum(message["role"] == "assistant" for message in payload["messages"]) == 0:
            return {"content": 'lookup(query="town", k=1)'}
        assert "<information>" in str(newest)
        return {"content": 'exit(message="nonsense")'}

    options = ("--env.taskset.tools", "lookup", "--env.taskset.tool-budget", "1", "-n", "1")
    with serving_chat(say) as (state, address):
        found = rewards(evaluate(tmp_path, address, *options))
    assert [reward["success"]["score"] for reward in found] == [0.0], found
    assert len(state.requests) == 2


def test_vf_eval_gives_nonsense_zero(tmp_path):
    with serving_chat(say=lambda _: {"content": 'exit(message="nonsense")'}) as (_, address):
        found = rewards(evaluate(tmp_path, address))
    assert len(found) == 4
    assert all(reward["success"]["score"] == 0.0 for reward in found), found


def test_a_broken_endpoint_gives_no_reward_at_all(tmp_path):
    with serving_chat(fault=lambda *_: 400) as (_, address):
        episodes = evaluate(tmp_path, address)
    assert len(episodes) == 4
    assert not any("success" in reward for reward in rewards(episodes))
    assert all(_found(episode, "errors") for episode in episodes)


def test_conversations_that_exceed_the_context_are_judged(tmp_path):
    full = 400, {}, json.dumps({"error": {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}})
    with serving_chat(say=lambda _: {"content": "Hm."}, fault=lambda number, _: full if number else None) as (state, address):
        found = rewards(evaluate(tmp_path, address, "-n", "1"))
    assert [reward["success"]["score"] for reward in found] == [0.0]
    assert len(state.requests) == 2


@pytest.mark.parametrize("split", ["test", "hard"])
def test_every_task_of_a_split_is_there(split):
    tasks = list(WebArenaGymTaskset(WebArenaGymConfig(split=split)))
    assert [task.data.id for task in tasks] == [task.task_id for task in load(split)]
    assert load(split)[0].intent == tasks[0].data.description


def test_tasks_are_chosen_by_site_and_template():
    chosen = WebArenaGymTaskset(WebArenaGymConfig(split="test", sites=["map", "gitlab"], templates=["map.save_place"]))
    assert {task.data.id.partition("/")[0] for task in chosen} == {"map.save_place"}
