"""Prompted agents that reason: their thoughts stay in the conversation, and a scripted endpoint acts on what it thought before."""

import json
import re

import pytest

from agents import evaluate as command
from agents.data.prompts import REMEMBERED, system_prompt
from agents.evaluation.settings import policy_defaults
from tests.chat_server import WEBRL, goal_of, serving_chat
from webarena_gym.suite import load

WORDS = {"think": "first reason", "react": "thought", "plan": "Reflection:"}


@pytest.mark.parametrize("style", WORDS)
def test_every_prompt_style_describes_element_names_and_replies(style):
    for naming, words in (("id", "the id that stands in its tag"), ("label", "the text that it shows")):
        prompt = system_prompt(style, elements=naming)
        assert words in prompt
        assert WORDS[style].lower() in prompt.lower()
        assert re.search(r"<think>.*</think>\n<answer>action</answer>$", prompt)


@pytest.mark.parametrize("style", ["none", "env", "act", "think", "react", "plan"])
def test_thoughts_stay_where_the_style_builds_on_them(style):
    assert policy_defaults("chat:good", style)["thoughts"] is (style in ("env", *REMEMBERED))
    assert "thoughts" not in policy_defaults("expert", style)


def reflecting(payload):
    """Plan the task in the first thought, go wrong, see in the own thoughts how far it is, and act on that; count only what was thought."""
    replies = [message["content"] for message in payload["messages"] if message["role"] == "assistant"]
    done = sum("done: " in reply for reply in replies)
    if len(replies) == 0:
        plan = "<think>Plan: take the solution. Oops: this is wrong.</think>"
        return {"content": f'{plan}<answer>do(action="Scroll Down")</answer>'}
    if not any("Oops" in reply for reply in replies):
        return {"content": '<answer>exit(message="lost")</answer>'}  # it does not remember its plan
    solution = next(task for task in load("test") if task.intent == goal_of(payload)).solution
    action = solution[min(done, len(solution) - 1)].action
    return {"content": f"<think>Reflection: done: {done}.</think><answer>{WEBRL.format(action)}</answer>"}


def play(style, address, monkeypatch, capsys, *options):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    limits = ["--limit", "2", "--templates", "shopping.order_place", "--elements", "label", "--json"]
    command.main(["--policy", "chat:good", "--system", style, *limits, *options])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("style", REMEMBERED)
def test_an_endpoint_recovers_by_what_it_thought_where_thoughts_are_not_left_out(style, monkeypatch, capsys):
    with serving_chat(reflecting) as (server, address):
        assert play(style, address, monkeypatch, capsys)["success"] == 1.0
        assert server.requests[0]["messages"][0]["content"] == system_prompt(style, elements="label")
        assert play(style, address, monkeypatch, capsys, "--no-thoughts")["success"] == 0.0
        assert play("think", address, monkeypatch, capsys)["success"] == 0.0
