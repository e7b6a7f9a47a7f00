"""Chat models as agents of the command evaluate, and errors of their endpoints."""

import json
import re
from functools import partial

import pytest

from tests.chat_server import WEBRL, call_of, expert, serving_chat
from tests.evaluations import chat
from tests.evaluations import chatted as chatted
from tests.evaluations import evaluate as evaluate
from webarena_gym.actions import Action, Kind
from webarena_gym.actions.dialect import TOOL_PROMPT
from webarena_gym.clients.chat import (
    Completion,
    ToolCall,
    Usage,
)
from webarena_gym.evaluation.agents import with_tool_calls
from webarena_gym.evaluation.results import (
    EPISODES,
    read_episodes,
)


@pytest.mark.parametrize("with_tools", [False, True])
def test_a_good_endpoint_is_scored_rightly_and_its_tokens_and_cost_are_counted(chatted, with_tools):
    status, result, output, requests = chatted(*["--tools"] * with_tools, "--option", "temperature=0")
    assert (status, result["success"]["success"], result["success"]["n"]) == (0, 1.0, 6), output
    assert result["prompt_tokens"]["total"] == 100 * len(requests)
    assert result["completion_tokens"]["total"] == 10 * result["steps"]["total"]
    assert result["cost"]["total"] == 0.25 * len(requests)
    assert all(payload["temperature"] == 0 and payload["model"] == "good" for payload in requests)
    assert result["agent"] == {"name": "chat:good", "tools": with_tools, "options": {"temperature": 0}}


def test_fields_of_requests_are_the_user_s_to_choose(chatted):
    status, *_, requests = chatted("--limit", "1", "--option", "seed=null", "--option", "effort=low")
    assert status == 0
    assert {frozenset(payload) for payload in requests} == {frozenset(("model", "messages", "effort"))}


def test_with_tools_earlier_replies_are_calls_and_pages_their_results():
    roles, texts = ("system", *("user", "assistant") * 2, "user"), ("S", "Round 0", "a()", "Round 1", "thought", "Round 2")
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    completions = [
        Completion("", (ToolCall("x", "lost", "{}"),), Usage()),
        Completion("so", (ToolCall("", "a", ""), ToolCall("z", "b", "")), Usage()),
        Completion("thought", (), Usage()),
    ]
    chat_messages = with_tool_calls(messages, completions, "Buy milk")
    assert [message["content"] for message in chat_messages[:2]] == [TOOL_PROMPT, "Task: Buy milk\n\nRound 0"]
    assert [message["role"] for message in chat_messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    (call,) = chat_messages[2]["tool_calls"]
    assert (call["function"], chat_messages[2]["content"]) == ({"name": "a", "arguments": "{}"}, "so")
    assert chat_messages[3] == {"role": "tool", "tool_call_id": call["id"], "content": "Round 1"}
    text, picture = {"type": "text", "text": "Round 1"}, {"type": "image_url", "image_url": {"url": "data:,"}}
    messages[3]["content"] = [text, picture]  # results of tools hold texts alone
    _, _, _, *chat_messages, _, _ = with_tool_calls(messages, completions, "Buy milk")
    assert [(message["role"], message["content"]) for message in chat_messages] == [("tool", [text]), ("user", [picture])]


def text_message(action, **more):
    return {"content": WEBRL.format(action), **more}


def parts(*texts, kind="text"):
    return [{"type": kind, kind: text} for text in texts]


EXIT = Action(Kind.EXIT, argument="x")
CALL = {"id": "c", "type": "function", "function": {"name": "exit", "arguments": '{"mess'}}
THOUGHT = {"content": None, "reasoning_content": "Let me see."}


@pytest.mark.parametrize(("message", "options", "message_part"), [
    # what the model says, however it is written, is played
    (text_message(EXIT), (), "exited"),
    ({"content": parts(*WEBRL.format(EXIT))}, (), "exited"),
    ({"content": [{"type": "thinking", "thinking": parts("Hm.")}, *parts(WEBRL.format(EXIT))]}, (), "exited"),
    ({"content": None, "tool_calls": [{**CALL, "function": {"name": "exit", "arguments": {"message": "x"}}}]}, ("--tools",), "exited"),
    (text_message(EXIT, finish_reason="length"), (), "exited"),
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
    (text_message(EXIT, finish_reason="content_filter"), (), "withheld the reply"),
    ({"content": "", "finish_reason": "abort"}, (), "withheld the reply"),
    ({"content": [{"type": "image_url", "image_url": {}}]}, (), "expected a string or a list of text parts"),
    # unless that is said to be its loss
    ({**THOUGHT, "finish_reason": "length"}, ("--too-long", "lost"), "too_long"),
    ({"content": None, "finish_reason": "content_filter"}, ("--too-long", "lost"), "withheld the reply"),
])  # fmt: skip
def test_each_kind_of_answer_is_blamed_on_the_right_side(chatted, message, options, message_part):
    status, result, output, requests = chatted("--limit", 1, "--max-steps", 2, *options, say=lambda _: dict(message))
    if message_part in ("exited", "truncated", "too_long"):
        assert (status, result["endings"], result["failed"]) == (0, {message_part: 1}, 0), output
        assert (len(requests) == 2) is (message_part == "truncated")
        assert result["completion_tokens"]["total"] == 10 * len(requests)
    else:
        assert (status, result["success"], result["failed"], result["judged"]) == (1, None, 1, 0), output
        assert message_part in output


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
def test_ambiguous_rejections_count_as_too_long_only_if_requested(chatted, first, judged):
    target = partial(chatted, "--limit", 1, "--max-steps", 2, fault=lambda number, _: 400 if number >= first else None)
    assert target(folder="failed")[1]["failed"] == 1
    status, result, *_ = target("--too-long", "lost")
    assert (status, result["judged"], result["endings"]) == (1 - judged, judged, {"too_long": 1} if judged else {})


@pytest.mark.parametrize("status", [200, 400])
def test_an_error_in_the_place_of_an_answer_is_read_whatever_the_status(chatted, status):
    full = json.dumps({"error": {"code": 400, "type": "exceed_context_size_error", "message": "x" * 400}})
    _, result, output, _ = chatted("--limit", 1, fault=lambda *_: (status, {}, full))
    assert result["endings"] == {"too_long": 1}, output


def test_missing_funds_are_failures_and_quotas_are_rate_limits(chatted):
    unpaid = (429, {}, json.dumps({"error": {"code": "insufficient_quota", "message": "check your plan and billing details"}}))
    status, _, output, requests = chatted("--limit", 1, fault=lambda *_: unpaid)
    assert (status, len(requests), "insufficient_quota" in output, "next try" in output) == (1, 1, True, False)
    limited = (429, {}, "You exceeded your current quota, please check your plan and billing details")
    status, _, output, requests = chatted("--limit", 1, folder="limited", fault=lambda number, _: None if number else limited)
    assert status == 0
    assert re.search("webarena-gym: .*answered 429 .*current quota.*; next try in 0.25 s, last try in at most 900 s", output)


@pytest.mark.parametrize("fault", ["trickle", "trickle head", "silent"])
def test_a_time_limit_is_of_the_whole_request_however_slowly_its_answer_comes(chatted, fault):
    status, result, output, requests = chatted("--timeout", "0.3", "--deadline", "0.4", "--limit", 1, fault=lambda *_: fault)
    assert (status, result["failed"], len(requests)) == (1, 1, 1)
    assert "timed out after 0.3 s" in output


def test_evaluations_resume_with_another_address_of_the_model(chatted):
    target = partial(chatted, "--limit", 2, "--jobs", 1)
    assert target(fault=lambda number, _: 404 if number else None)[0] == 1
    status, result, output, _ = target()
    assert (status, result["judged"], result["failed"]) == (0, 2, 0), output


def test_endpoints_without_usage_are_scored_and_unlisted_models_reported(chatted):
    status, result, output, _ = chatted(usage=None, lists=["better"])
    assert (status, result["prompt_tokens"], result["cost"]) == (0, None, None)
    assert "does not list good, but better" in output


def test_all_jobs_respect_the_retry_time_of_a_rate_limit(chatted, tmp_path):
    limited = (429, {"Retry-After-Ms": "300"}, "slow down")

    status, result, output, requests = chatted("--jobs", "3", fault=lambda number, _: limited if number % 3 == 2 else None)
    assert (status, result["success"]["success"], result["failed"]) == (0, 1.0, 0), output
    assert len(requests) > sum(len(record.steps) for record in read_episodes(tmp_path / "run" / EPISODES)[1])


def test_rate_limits_beyond_the_deadline_are_failures(chatted):
    status, result, output, requests = chatted("--jobs", "1", fault=lambda *_: (429, {"Retry-After": "3600"}, "tomorrow"))
    assert (status, result["success"]) == (1, None)
    assert "429" in output
    assert "asks to wait" in output
    assert len(requests) == 1  # whoever came later did not even ask


@pytest.mark.parametrize(("fault", "message"), [(400, "400"), (401, "401"), ((404, {}, "no such model"), "no such model")])
def test_an_endpoint_that_refuses_ends_the_run_at_once_and_nothing_is_a_zero(chatted, fault, message):
    status, result, output, _ = chatted("--limit", "30", fault=lambda *_: fault)
    assert (status, result["success"], result["judged"]) == (1, None, 0)
    assert message in output
    assert "aborted" in output
    assert (result["failed"], result["planned"]) == (16, 30)  # of 8 jobs


def test_a_broken_endpoint_is_asked_again_and_answers_that_are_none_are_failures(chatted):
    def fault(number, payload):
        if number % 4 == 0:
            return "drop"
        return 503 if number % 4 == 1 else None

    status, result, message, _ = chatted("--jobs", "2", "--limit", "2", fault=fault)
    assert (status, result["success"]["success"]) == (0, 1.0), message
    status, result, message, _ = chatted(folder="html", fault=lambda *_: (200, {}, "<html>busy</html>"))
    assert (status, result["success"]) == (1, None)
    assert "invalid JSON" in message


def test_a_dead_or_silent_endpoint_is_noticed_before_anything_is_played(evaluate, tmp_path):
    with serving_chat() as (server, address):
        server.is_silent = True
        silent = evaluate(*chat(address, "--connect-timeout", "0.2"))
    for status, result, output in (silent, evaluate(*chat(address))):
        assert (status, result) == (2, None)
        assert "no answer from" in output
    assert "--base-url" in output
    assert not (tmp_path / "run").exists()


def test_a_conversation_that_does_not_fit_is_lost_and_not_a_failure(chatted):
    full = (400, {}, json.dumps({"error": {"code": "context_length_exceeded"}}))

    def fault(_, payload):
        return full if len(payload["messages"]) > 4 else None

    status, result, output, _ = chatted(fault=fault)
    assert (status, result["judged"], result["failed"]) == (0, 6, 0), output
    assert result["endings"]["too_long"] >= 1
    assert result["success"]["success"] == 1 - result["endings"]["too_long"] / 6


def test_invalid_tool_calls_are_reported_without_an_exception(chatted):
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
