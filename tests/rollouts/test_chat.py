"""The policy of a chat model: one request for each slot, and failures."""

from contextlib import contextmanager

import pytest

from agents.rollouts.chat import ChatPolicy
from agents.rollouts.policies import Reply, Request
from tests.clocks import until
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


def reply(policy, order=None):
    policy.ask([order or request()])
    ((slot, reply),) = policy.replies()
    assert slot == (order or request()).slot
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


@pytest.mark.parametrize("options", [{"temperature": 0.5, "max_new_tokens": 3}, {}])
def test_asks_with_the_whole_conversation_and_leaves_to_the_server_what_is_not_set(options):
    with serving_policy(system="Be brief.", **options) as (server, policy):
        reply(policy, request(2, "Open lamp", seed=9))
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Open lamp"}]
        sampling = {"temperature": 0.5, "max_completion_tokens": 3} if options else {}
        assert server.posts("/v1/chat/completions") == [{"model": "small", "messages": messages, "seed": 9, **sampling}]
        assert policy.name.startswith("small at 127.0.0.1:")


def test_empty_replies_failures_and_too_long_conversations_are_distinguished():
    with serving_policy() as (server, policy):
        server.faults += [lambda _: {"choices": [{"message": {"content": None}}]}, 400, lambda _: {"choices": []}]
        assert reply(policy) == Reply("")
        for fault in ("400", "without a message"):
            failed = reply(policy)
            assert (fault in failed.failure, failed.text) == (True, "")
    with serving_policy() as (server, policy):
        assert reply(policy, request(words="Open lamp " * 200)) == Reply("", too_long=True)
        server.faults += [(400, "This model's maximum context length is 9 tokens.")]
        assert reply(policy).too_long


def test_several_requests_at_once_and_no_more():
    with serving_policy(max_requests=3) as (server, policy):
        server.may_answer.clear()
        policy.ask([request(slot) for slot in range(8)])
        until(lambda: server.under_way == 3)
        assert policy.replies(0) == []
        server.may_answer.set()
        answers = []
        while len(answers) < 8:
            answers += policy.replies()
        assert server.most_under_way == 3
