"""The agent flow for rLLM, with a server of the chat protocol as its gateway. If rLLM is not installed, stubs replace its types."""

import json
import sys
from dataclasses import make_dataclass
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip("openai", reason="make test-integrations")

import openai

from tests.chat_server import serving_chat
from webarena_gym.errors import BrowserError
from webarena_gym.integrations.rllm import WebArenaGymFlow, dataset_rows
from webarena_gym.integrations.session import Session

pytestmark = pytest.mark.integrations
ROW = dataset_rows("test", templates="shopping.wish_list_add")[0]


TYPES = {
    "rllm": {},
    "rllm.types": {"Step": "action done", "Trajectory": "name steps reward", "Episode": "trajectories is_correct artifacts"},
    "rllm.eval": {},
    "rllm.eval.types": {"Signal": "name value", "EvalOutput": "reward is_correct signals"},
}


@pytest.fixture(autouse=True)
def rllm(monkeypatch):
    if find_spec("rllm"):  # the real package, installed from its repository
        return
    for name, classes in TYPES.items():
        module = ModuleType(name)
        vars(module).update({each: make_dataclass(each, fields.split()) for each, fields in classes.items()})
        monkeypatch.setitem(sys.modules, name, module)


def play(address, **env):
    task = SimpleNamespace(id="0", metadata=ROW)
    config = SimpleNamespace(base_url=address, model="m", sampling_params={"temperature": 0.5, "top_k": 7})
    flow = WebArenaGymFlow({"elements": "label", **env})
    episode = flow.run(task, config)
    return episode, flow.evaluate(task, episode)


def test_the_expert_is_rewarded_a_request_a_step():
    with serving_chat() as (state, address):
        episode, output = play(address)
    (trajectory,) = episode.trajectories
    assert (trajectory.reward, episode.is_correct, output.reward, output.is_correct) == (1.0, True, 1.0, True)
    assert [step.done for step in trajectory.steps] == [False] * (len(state.requests) - 1) + [True]
    assert {(request["temperature"], request["top_k"]) for request in state.requests} == {(0.5, 7)}
    assert all(
        len(message["content"]) < 500 for message in state.requests[-1]["messages"][1:-1]
    )  # earlier pages are compressed


def test_conversations_that_exceed_the_context_are_judged():
    with serving_chat(lambda _: {"content": "Hm."}) as (state, address):
        episode, output = play(address, max_steps=3)
        assert (len(state.requests), output.reward) == (3, 0.0)
        text = json.dumps({"error": {"message": "This model's maximum context length is 4096 tokens.", "code": 400}})
        state.fault = lambda *_: (400, {}, text)
        episode, output = play(address)
    assert (episode.trajectories[0].steps, output.reward, output.is_correct) == ([], 0.0, False)


def test_failures_of_the_model_and_the_browser_are_raised(monkeypatch):
    with serving_chat(fault=lambda *_: 400) as (_, address), pytest.raises(openai.BadRequestError):
        play(address)
    monkeypatch.setattr(Session, "step", lambda *_: (_ for _ in ()).throw(BrowserError("gone")))
    with serving_chat() as (_, address), pytest.raises(BrowserError):
        play(address)
