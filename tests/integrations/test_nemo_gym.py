"""NeMo Gym's own agent against our server, with a model that says what the reference solutions do; and its check of the written folder."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

pytest.importorskip("nemo_gym", reason="make test-integrations")

from fastapi.testclient import TestClient
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentConfig, GymnasiumAgentRunRequest

from tests.chat_server import call_of
from tests.errands import ERRANDS, SOLVED
from webarena_gym.actions import DIALECTS
from webarena_gym.errors import BrowserError
from webarena_gym.integrations.nemo_gym import WebArenaGymConfig, WebArenaGymServer, rows
from webarena_gym.integrations.session import Session
from webarena_gym.suite import find, load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
ROWS = rows("test", templates=["shopping.wish_list_add", "shopping.order_total", "gitlab.star_top"])


@pytest.fixture
def play():
    """Give a function that plays a row with NeMo Gym's agent: its server is called without a socket, and its model is a function."""
    client = Mock(spec=ServerClient, global_config_dict=OmegaConf.create({}))
    common = {"host": "", "port": 0, "entrypoint": "app.py"}
    config = WebArenaGymConfig(name="webarena_gym", domain="agent", env={"elements": "label"}, **common)
    server = WebArenaGymServer(config=config, server_client=client)
    web = TestClient(server.setup_webserver(), raise_server_exceptions=False)
    references = {"resources_server": {"type": "resources_servers", "name": "webarena_gym"},
                  "model_server": {"type": "responses_api_models", "name": "model"}}  # fmt: skip
    agent = GymnasiumAgent(
        config=GymnasiumAgentConfig(name="agent", max_steps=60, **references, **common), server_client=client
    )

    def run(row, say, **env):
        config.env.update(env)

        async def post(server_name, url_path, json, cookies=None):
            if server_name == "model":
                return answer_of(200, say(json).model_dump_json().encode())
            answer = web.post(url_path, json=json)
            return answer_of(answer.status_code, answer.content)

        client.post = post
        done = asyncio.run(agent.run(SimpleNamespace(cookies={}), GymnasiumAgentRunRequest.model_validate(row)))
        assert not server.session_state  # each was closed
        return done

    return run


def answer_of(status, content):
    """Return an answer of aiohttp's client as the agent uses it."""

    async def read():
        return content

    def refuse():
        raise ConnectionError(f"status {status}")

    return SimpleNamespace(ok=status == 200, read=read, content=SimpleNamespace(read=read), cookies={}, raise_for_status=refuse)


def response(**item):
    settings = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    return NeMoGymResponse(id="r", created_at=0.0, model="m", object="response", output=[item], **settings)


def text_reply(text):
    part = {"type": "output_text", "text": text, "annotations": []}
    return response(id="m", type="message", role="assistant", status="completed", content=[part])


def expert(task, request, by_tools):
    turns = turn_of(request)
    action = task.solution[turns].action
    if not by_tools:
        return text_reply(DIALECTS["webrl"].naming_by("label").format(action))
    (call,) = call_of(action)["tool_calls"]
    return response(id="f", type="function_call", call_id=f"c{turns}", **call["function"])


@pytest.mark.parametrize("by_tools", [True, False])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["task"])
def test_the_expert_is_rewarded(play, row, by_tools):
    task = find(row["task"])
    done = play(row, lambda request: expert(task, request, by_tools))
    assert (done.reward, done.terminated, done.info["success"]) == (1.0, True, True), done.info
    assert any(task.intent in str(item.content) for item in done.responses_create_params.input)


def turn_of(request):
    return sum(
        getattr(item, "type", None) == "function_call" or getattr(item, "role", None) == "assistant" for item in request.input
    )


def test_a_task_of_a_suite_is_played(play):
    suite = {"suite": str(ERRANDS / "suite.toml")}
    (row,) = rows("served", suite)
    done = play(row, lambda request: text_reply(SOLVED[turn_of(request)]), **suite)
    assert (row["task"], done.reward, done.terminated) == ("shelf.jam", 1.0, True), done.info


def test_tools_are_offered_and_their_budget_is_kept(play):
    tools = {"tools": ["lookup"], "tool_budget": 1}
    row = next(row for row in rows("test", tools) if row["task"] == ROWS[0]["task"])
    assert row["responses_create_params"]["tools"][-1]["name"] == "lookup"
    calls = [("lookup", '{"query": "town", "k": 1}')] * 2 + [("exit", '{"message": "x"}')]

    def say(request):
        name, arguments = calls[turn_of(request)]
        return response(id="f", type="function_call", call_id=f"c{turn_of(request)}", name=name, arguments=arguments)

    done = play(row, say, **tools)
    first, second = [item.output for item in done.response.output if item.type == "function_call_output"]
    assert ("<information>" in first, "Action error" in second, done.reward) == (True, True, 0.0)


def test_nonsense_is_not_rewarded_and_steps_run_out(play):
    done = play(ROWS[0], lambda _: text_reply("Hm."))
    assert (done.reward, done.terminated, done.truncated, done.info["success"]) == (0.0, False, True, False)


def test_a_broken_episode_has_no_reward(play, monkeypatch):
    monkeypatch.setattr(Session, "step", Mock(side_effect=BrowserError("gone")))
    with pytest.raises(ConnectionError, match="500"):
        play(ROWS[0], lambda _: text_reply("Hm."))


def test_its_own_check_finds_the_written_folder_valid(tmp_path):
    def do(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    do(sys.executable, "-m", "webarena_gym.integrations.nemo_gym", ".")
    gym = str(Path(sys.executable).with_name("gym"))
    assert "Config is valid" in do(gym, "env", "validate", "--resources-server", "webarena_gym", "--model-type", "vllm_model")
    written = (tmp_path / "resources_servers" / "webarena_gym" / "data" / "train.jsonl").read_text().splitlines()
    assert [json.loads(line)["task"] for line in written] == [task.task_id for task in load("train")]
