"""Inspect AI on our tasks, with its model for tests in the place of one."""

import json

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="make test-integrations")

from inspect_ai.model import ModelOutput, ModelUsage, get_model

from tests.chat_server import call_of
from webarena_gym.actions import DIALECTS, tools
from webarena_gym.integrations.inspect_ai import webarena_gym
from webarena_gym.tasks import load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
NAMES = ("shopping.wish_list_add", "shopping.order_total", "gitlab.star_top", "map.save_place")
TASKS = [next(task for task in load("test") if task.template == name) for name in NAMES]
LABELS = {"elements": "label"}
WEBRL = DIALECTS["webrl"]


def called(action):
    (call,) = call_of(action)["tool_calls"]
    return ModelOutput.for_tool_call("mockllm/model", call["function"]["name"], json.loads(call["function"]["arguments"]))


def said(text):
    return ModelOutput.from_content("mockllm/model", text)


def play(tmp_path, outputs, tasks=TASKS, **options):
    for output in outputs:
        output.usage = ModelUsage()  # else it loads a tokenizer to count
    (log,) = inspect_ai.eval(
        webarena_gym(**options), model=get_model("mockllm/model", custom_outputs=outputs), sample_id=[task.task_id for task in tasks],
        max_samples=1, log_dir=str(tmp_path), display="none",
    )  # fmt: skip
    assert log.status == "success", log.error
    return log


def in_order(log):
    return [sample.id for sample in log.samples]


@pytest.mark.parametrize("mode", ["tools", "text"])
def test_the_expert_is_right(tmp_path, mode):
    ordered = [task for task in load("test") if task in TASKS]
    actions = [step.action for task in ordered for step in task.solution]
    outputs = [called(action) if mode == "tools" else said(WEBRL.format(action)) for action in actions]
    log = play(tmp_path, outputs, mode=mode, env=LABELS)
    assert [sample.scores["judged"].value for sample in log.samples] == [1.0] * 4
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert {tool.name for event in log.samples[0].events if event.event == "model" for tool in event.tools} == (
        {tool["function"]["name"] for tool in tools(WEBRL)} if mode == "tools" else set()
    )


def test_a_model_that_says_nothing_useful_is_judged_and_not_an_error(tmp_path):
    log = play(tmp_path, [said("Hm.")] * 3, TASKS[:1], max_steps=3)
    (sample,) = log.samples
    assert sample.scores["judged"].value == 0.0
    assert "failed" in sample.scores["judged"].explanation


def test_wrong_calls_are_told_to_the_model(tmp_path):
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "click", {"element": "999"}),
        ModelOutput.for_tool_call("mockllm/model", "no_such_tool", {}),
        ModelOutput.for_tool_call("mockllm/model", "exit", {"message": "x"}),
    ]
    (sample,) = play(tmp_path, outputs, TASKS[:1]).samples
    told = [message.text for message in sample.messages if message.role == "tool"]
    assert "Action error" in told[0]
    assert sample.scores["judged"].value == 0.0
