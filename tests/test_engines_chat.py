"""A prompted policy behind a chat endpoint, against a server of our own with a real model."""

import threading
import time
from contextlib import contextmanager

import pytest

from agents.rollouts.chat import ChatPolicy
from agents.rollouts.policies import Reply, Request
from tests.model_server import serving_model


@contextmanager
def serving_policy(**options):
    """A server and a policy that asks it."""
    with serving_model(max_model_len=200) as (server, address):
        policy = ChatPolicy("small", f"{address}/v1/", "", **{"deadline_s": 20, **options})
        try:
            yield server, policy
        finally:
            server.may_answer.set()
            policy.close()


def request(slot=0, words="Open lamp", seed=0):
    return Request(slot, None, {"messages": [{"role": "user", "content": words}]}, seed)


def reply(policy, asked=None):
    policy.ask([asked or request()])
    ((slot, reply),) = policy.replies()
    assert slot == (asked or request()).slot
    return reply


def test_every_request_is_answered_once_and_by_its_slot():
    with serving_policy(max_new_tokens=6) as (_, policy):
        policy.ask([request(slot, f"Open {word}", slot) for slot, word in enumerate(["lamp", "mug", "tent"])])
        policy.ask([request(7, "Open rug")])
        answers = []
        while len(answers) < 4:
            answers += policy.replies()
        assert sorted(slot for slot, _ in answers) == [0, 1, 2, 7]
        assert all(reply.text and not reply.failure and not reply.too_long for _, reply in answers)
        assert policy.replies() == []


def test_asks_with_the_whole_conversation():
    with serving_policy(system="Be brief.", temperature=0.5, max_new_tokens=3) as (server, policy):
        reply(policy, request(2, "Open lamp", seed=9))
        assert server.posts("/v1/chat/completions") == [
            {
                "model": "small",
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Open lamp"}],
                "seed": 9,
                "temperature": 0.5,
                "max_completion_tokens": 3,
            }
        ]
        assert policy.name.startswith("small at 127.0.0.1:")


def test_what_is_not_asked_for_is_left_to_the_server():
    with serving_policy() as (server, policy):
        reply(policy)
        (asked,) = server.posts("/v1/chat/completions")
        assert set(asked) == {"model", "messages", "seed"}


def test_settings_from_the_environment(monkeypatch):
    with serving_model(api_key="their key") as (server, address):
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "their key")
        policy = ChatPolicy("small")
        assert not reply(policy).failure
        policy.close()
        assert server.keys == ["their key"]


@pytest.mark.parametrize("fault", [429, 503, "drop"])
def test_a_busy_server_is_asked_again(fault):
    with serving_policy() as (server, policy):
        server.faults += [fault]
        assert reply(policy).text
        assert len(server.posts("/v1/chat/completions")) == 2


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (400, "400"),
        (404, "404"),
        (lambda _: "<html>", "no JSON"),
        (lambda _: {"choices": []}, "without a message"),
        (lambda _: {"choices": [{"message": {"content": ["a"]}}]}, "expected a text"),
    ],
)
def test_what_cannot_be_understood_is_a_failure(fault, said):
    with serving_policy() as (server, policy):
        server.faults += [fault]
        failed = reply(policy)
        assert said in failed.failure
        assert failed.text == ""
        assert not reply(policy).failure


def test_a_slow_server_is_a_failure():
    with serving_policy(timeout_s=0.2, deadline_s=0.3) as (server, policy):
        server.may_answer.clear()
        assert "timed out" in reply(policy).failure


def test_saying_nothing_is_the_model_s_own_reply():
    with serving_policy() as (server, policy):
        server.faults += [lambda _: {"choices": [{"message": {"content": None}}]}]
        assert reply(policy) == Reply("")


def test_a_conversation_that_does_not_fit_is_too_long():
    with serving_policy() as (server, policy):
        assert reply(policy, request(words="Open lamp " * 200)) == Reply("", too_long=True)
        server.faults += [(400, "This model's maximum context length is 9 tokens.")]
        assert reply(policy).too_long


def test_several_requests_at_once_and_no_more():
    with serving_policy(max_requests=3) as (server, policy):
        server.may_answer.clear()
        policy.ask([request(slot) for slot in range(8)])
        end = time.monotonic() + 120
        while server.under_way < 3:
            assert time.monotonic() < end
            threading.Event().wait(0.005)
        assert policy.replies(0) == []
        server.may_answer.set()
        answers = []
        while len(answers) < 8:
            answers += policy.replies()
        assert server.most_under_way == 3
