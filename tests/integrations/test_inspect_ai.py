"""Inspect AI on our tasks, with its model for tests in the place of one."""

import json
from itertools import chain, count
from unittest.mock import Mock

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="make test-integrations")

from inspect_ai.model import ModelOutput, ModelUsage, get_model

from tests.chat_server import call_of
from tests.errands import ERRANDS, SOLVED
from webarena_gym.actions import DIALECTS, Action, Kind, tools
from webarena_gym.errors import TaskError
from webarena_gym.integrations.inspect_ai import webarena_gym
from webarena_gym.suite import load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
NAMES = ("shopping.wish_list_add", "shopping.order_total", "gitlab.star_top", "map.save_place")
TASKS = [next(task for task in load("test") if task.template == name) for name in NAMES]
LABELS = {"elements": "label"}
WEBRL = DIALECTS["webrl"]


def called(action):
    (call,) = call_of(action)["tool_calls"]
    return ModelOutput.for_tool_call("mockllm/model", call["function"]["name"], json.loads(call["function"]["arguments"]))


def text_reply(text):
    return ModelOutput.from_content("mockllm/model", text)


def play(tmp_path, outputs, tasks=TASKS, limits=None, **options):
    def counted():
        for output in outputs:
            output.usage = ModelUsage(total_tokens=100)  # else it loads a tokenizer to count
            yield output

    (log,) = inspect_ai.eval(
        webarena_gym(**options), model=get_model("mockllm/model", custom_outputs=counted()), sample_id=[task.task_id for task in tasks],
        max_samples=1, log_dir=str(tmp_path), display="none", **(limits or {}),
    )  # fmt: skip
    assert log.status == "success", log.error
    return log


def in_order(log):
    return [sample.id for sample in log.samples]


@pytest.mark.parametrize("mode", ["tools", "text"])
def test_the_expert_is_right(tmp_path, mode):
    ordered = [task for task in load("test") if task in TASKS]
    actions = [step.action for task in ordered for step in task.solution]
    outputs = [called(action) if mode == "tools" else text_reply(WEBRL.format(action)) for action in actions]
    log = play(tmp_path, outputs, mode=mode, env=LABELS)
    assert [sample.scores["judged"].value for sample in log.samples] == [1.0] * 4
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert {tool.name for event in log.samples[0].events if event.event == "model" for tool in event.tools} == (
        {tool["function"]["name"] for tool in tools(WEBRL)} if mode == "tools" else set()
    )


def test_useless_replies_are_scored_zero_without_an_error(tmp_path):
    log = play(tmp_path, [text_reply("Hm.")] * 3, TASKS[:1], max_steps=3)
    (sample,) = log.samples
    assert sample.scores["judged"].value == 0.0
    assert "failed" in sample.scores["judged"].explanation


@pytest.mark.parametrize("mode", ["tools", "text"])
@pytest.mark.parametrize("limit", [{"message_limit": 6}, {"token_limit": 250}, {"turn_limit": 3}, {"time_limit": 1}])
def test_samples_ended_by_a_limit_are_judged(tmp_path, mode, limit):
    """A task of which all but the exit was done is won, and one of which nothing was done is lost."""
    task = next(task for task in load("test") if task.template == "shopping.newsletter_subscribe")
    for moves, reward in (([step.action for step in task.solution[:-1]], 1.0), ([], 0.0)):
        outputs = [called(move) if mode == "tools" else text_reply(WEBRL.format(move)) for move in moves]
        endless = chain(outputs, (text_reply("Hm.") for _ in count()))
        (sample,) = play(tmp_path, endless, [task], limit, mode=mode, env=LABELS, max_steps=100_000).samples
        assert f"{sample.limit.type}_limit" in limit
        assert sample.scores["judged"].value == reward, sample.scores["judged"].explanation


def test_tasks_are_chosen_by_site_and_template():
    assert set(webarena_gym(sites="map").dataset.samples[0].metadata["sites"]) == {"map"}
    chosen = webarena_gym(sites=["shopping", "map"], templates=["map.save_place", "shopping.order_total"]).dataset
    assert {sample.id.partition("/")[0] for sample in chosen} == {"map.save_place", "shopping.order_total"}
    for wrong in ({"sites": "shoping"}, {"templates": "map.nothing"}, {"sites": "map", "templates": "shopping.order_total"}):
        with pytest.raises(TaskError):
            webarena_gym(**wrong)


def test_invalid_calls_are_reported_to_the_model(tmp_path):
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "click", {"element": "999"}),
        ModelOutput.for_tool_call("mockllm/model", "no_such_tool", {}),
        ModelOutput.for_tool_call("mockllm/model", "exit", {"message": "x"}),
    ]
    (sample,) = play(tmp_path, outputs, TASKS[:1]).samples
    results = [message.text for message in sample.messages if message.role == "tool"]
    assert "Action error" in results[0]
    assert sample.scores["judged"].value == 0.0


@pytest.mark.parametrize("mode", ["tools", "text"])
def test_a_task_of_a_suite_is_played(tmp_path, mode):
    arguments = {"type": {"element": "Thing", "argument": "jam"}, "click": {"element": "Put"}, "exit": {"message": ""}}
    calls = [ModelOutput.for_tool_call("mockllm/model", name, values) for name, values in arguments.items()]
    outputs = calls if mode == "tools" else list(map(text_reply, SOLVED))
    suite = {"suite": str(ERRANDS / "suite.toml"), **LABELS}
    (sample,) = play(tmp_path, outputs, [Mock(task_id="shelf.jam")], split="served", mode=mode, env=suite).samples
    assert (sample.input, sample.scores["judged"].value) == ("Put jam on the shelf.", 1.0)


@pytest.mark.parametrize("mode", ["tools", "text"])
def test_tools_are_offered_and_their_budget_is_kept(tmp_path, mode):
    call = ModelOutput.for_tool_call("mockllm/model", "lookup", {"query": "town", "k": 1})
    outputs = [call, call, called(Action(Kind.EXIT, None, "x"))]
    if mode == "text":
        outputs = [
            text_reply('lookup(query="town", k=1)'),
            text_reply('lookup(query="town", k=1)'),
            text_reply('exit(message="x")'),
        ]
    tools = {"tools": ["lookup"], "tool_budget": 1, **LABELS}
    (sample,) = play(tmp_path, outputs, TASKS[:1], mode=mode, env=tools).samples
    first, second = [message.text for message in sample.messages if message.role == ("tool" if mode == "tools" else "user")][
        -3:-1
    ]
    assert "<information>" in first
    assert "Action error" in second
    assert sample.scores["judged"].value == 0.0
