"""An agent flow for rLLM, which no index has: with stand-ins for its types, and a server of the chat protocol for its gateway."""

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("openai", reason="make test-integrations")

import openai

from tests.chat_server import serving_chat
from webarena_gym.errors import BrowserError
from webarena_gym.integrations.rllm import WebArenaGymFlow, dataset_rows
from webarena_gym.integrations.session import Session

pytestmark = pytest.mark.integrations
ROW = dataset_rows("test", templates="shopping.wish_list_add")[0]


@dataclass
class Step:
    action: str
    done: bool


@dataclass
class Trajectory:
    name: str
    steps: list
    reward: float


@dataclass
class Episode:
    trajectories: list
    is_correct: bool
    artifacts: dict


@dataclass
class Signal:
    name: str
    value: float


@dataclass
class EvalOutput:
    reward: float
    is_correct: bool
    signals: list = field(default_factory=list)


@pytest.fixture(autouse=True)
def rllm(monkeypatch):
    for name, classes in (
        ("rllm", ()),
        ("rllm.types", (Step, Trajectory, Episode)),
        ("rllm.eval", ()),
        ("rllm.eval.types", (Signal, EvalOutput)),
    ):
        module: Any = ModuleType(name)
        vars(module).update({each.__name__: each for each in classes})
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
    assert [step.done for step in trajectory.steps] == [False] * (len(state.asked) - 1) + [True]
    assert {(asked["temperature"], asked["top_k"]) for asked in state.asked} == {(0.5, 7)}
    assert all(len(message["content"]) < 500 for message in state.asked[-1]["messages"][1:-1])  # earlier pages are compressed


def test_a_conversation_without_room_is_judged_as_it_stands():
    def say(payload):
        return {"content": "Hm."}

    with serving_chat(say) as (state, address):
        episode, output = play(address, max_steps=3)
        assert (len(state.asked), output.reward) == (3, 0.0)
        state.usage = None
        state.fault = lambda *_: (
            200,
            {},
            '{"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [], "rllm_termination_reason": "max_prompt_length_exceeded"}',
        )
        episode, output = play(address)
    assert (episode.trajectories[0].steps, output.reward, output.is_correct) == ([], 0.0, False)


def test_what_breaks_raises(monkeypatch):
    with serving_chat(fault=lambda *_: 400) as (_, address), pytest.raises(openai.BadRequestError):
        play(address)
    monkeypatch.setattr(Session, "say", lambda *_: (_ for _ in ()).throw(BrowserError("gone")))
    with serving_chat() as (_, address), pytest.raises(BrowserError):
        play(address)
