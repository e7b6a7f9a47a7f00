"""The engine behind vLLM's protocol, against a server of our own with a real model: right, slow, busy, broken, restarted."""

import json
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from agents.models.parameters import add_adapters
from agents.rollouts.constraints import Constraint, TokenVocabulary
from agents.rollouts.engines import RequestPool, vllm
from agents.rollouts.engines.vllm import VLLMEngine
from agents.rollouts.languages import action_language
from tests.clocks import tick, until
from tests.engine_contract import MAX_NEW_TOKENS, STOP_IDS, EngineContract, logprob_gap
from tests.errors import expect_error
from tests.model_server import serving_model
from tests.tiny import tiny_model
from webarena_gym.clients import rest
from webarena_gym.errors import RefusedError, ServerError

PROMPTS = [(5, 6, 7), (8, 9, 10, 11, 12), (5, 6, 7), (20,)]


@contextmanager
def serving_engine(folder, **options):
    """A server and an engine that asks it."""
    server_options = {name: options.pop(name) for name in ("max_model_len",) if name in options}
    with serving_model(**server_options) as (server, address):
        engine = VLLMEngine(address, STOP_IDS, folder, **{"max_new_tokens": MAX_NEW_TOKENS, "deadline_s": 20, **options})
        try:
            yield server, engine
        finally:
            server.may_answer.set()
            engine.close()


def take_all(engine):
    """All answers, by request_id."""
    answers = []
    while not engine.is_idle:
        answers += engine.take()
    return dict(sorted((answer.request_id, answer) for answer in answers))


def sample(engine, prompts=PROMPTS, seed=0):
    for request_id, prompt in enumerate(prompts):
        engine.submit(request_id, prompt, seed + request_id)
    answers = take_all(engine)
    assert len(answers) == len(prompts)
    return answers


def generations(engine, prompts=PROMPTS, seed=0):
    answers = sample(engine, prompts, seed)
    assert not any(answer.failure for answer in answers.values()), answers
    return [answer.generation for answer in answers.values()]


def failure(engine, prompt=(5, 6, 7)):
    (answer,) = sample(engine, [prompt]).values()
    assert answer.generation is None
    return answer.failure


class TestContract(EngineContract):
    def make_model(self):
        """The model that the server begins with."""
        return tiny_model()[0]

    @contextmanager
    def engine(self, model, **options):
        with TemporaryDirectory() as folder, serving_engine(Path(folder), **options) as (_, engine):
            yield engine


def test_the_server_is_asked_for_the_plain_distribution(tmp_path):
    with serving_engine(tmp_path, temperature=0.5, api_key="") as (server, engine):
        generations(engine, [(5, 6)])
        (order,) = server.posts("/v1/completions")
        assert (order["prompt"], order["seed"], order["temperature"], order["max_tokens"]) == ([5, 6], 0, 0.5, 12)
        assert order["stop_token_ids"] == sorted(STOP_IDS)
        assert (order["top_p"], order["top_k"], order["repetition_penalty"]) == (1.0, 0, 1.0)


def test_a_constraint_is_sent_as_a_regular_expression(tmp_path):
    page = '<a>Add to Cart (2)</a>\n<input label="City">'
    constraint = Constraint(action_language("Open the bag", page), TokenVocabulary({}, frozenset(), "", False, False), STOP_IDS)
    with serving_engine(tmp_path) as (server, engine):
        engine.submit(0, (5, 6), 0, constraint)
        engine.submit(1, (5, 6), 0)
        assert all(item.generation for item in take_all(engine).values())
        constrained, free = sorted(server.posts("/v1/completions"), key=lambda order: "structured_outputs" not in order)
    assert "structured_outputs" not in free
    (pattern,) = constrained["structured_outputs"].values()
    assert list(constrained["structured_outputs"]) == ["regex"]
    assert re.fullmatch(pattern, 'do(action="Click", element="Add to Cart (2)")')
    assert re.fullmatch(pattern, 'do(action="Type", argument="the bag", element="City")')
    assert not re.fullmatch(pattern, 'do(action="Type", argument="the bug", element="City")')
    assert not re.fullmatch(pattern, 'do(action="Type", argument="the bag", element="Add to Cart (2)")')


def test_new_weights_sample_after_a_load(tmp_path):
    trained = tiny_model(seed=3)[0]
    with serving_engine(tmp_path) as (server, engine):
        before = generations(engine)
        assert logprob_gap(server.model, before, PROMPTS) < 1e-4
        server.refused_resets = 2
        engine.load(trained, 7)
        after = generations(engine)  # of the same prompts, whose logits the server has cached
        assert engine.policy_version == 7
        assert {result.policy_version for result in after} == {7}
        assert logprob_gap(trained, after, PROMPTS) < 1e-4
        assert logprob_gap(trained, before, PROMPTS) > 1e-2
        engine.load(trained, 8)
        assert [path.name for path in tmp_path.iterdir()] == ["weights_8"]
        server.weights = "default"  # of a server that was restarted
        assert "sampled with the weight versions ['default']; expected ['8']" in failure(engine)


def test_a_load_waits_for_responses_under_way_and_holds_the_others_back(tmp_path):
    trained = tiny_model(seed=3)[0]
    with serving_engine(tmp_path, max_requests=2) as (server, engine):
        server.may_answer.clear()
        for request_id in range(4):
            engine.submit(request_id, (5, 6, 7), request_id)
        until(lambda: server.under_way == 2)
        loading = threading.Thread(target=engine.load, args=(trained, 1))
        loading.start()
        until(lambda: engine._loading)
        assert not server.posts("/collective_rpc")
        assert engine.policy_version == 0
        server.may_answer.set()
        loading.join(20)
        assert [answer.generation.policy_version for answer in take_all(engine).values()] == [0, 0, 1, 1]


def test_the_weights_of_low_rank_adapters_are_merged(tmp_path):
    pytest.importorskip("peft")
    trained = tiny_model(seed=3)[0]
    add_adapters(trained, rank=2)
    with torch.no_grad():
        for parameter in trained.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1)
    with serving_engine(tmp_path) as (_, engine):
        engine.load(trained, 1)
        assert logprob_gap(trained, generations(engine), PROMPTS) < 1e-4


def test_a_load_that_fails_is_an_error_and_no_answer_passes_until_one_succeeds(tmp_path, monkeypatch):
    trained = tiny_model(seed=3)[0]
    with serving_engine(tmp_path) as (server, engine):
        server.faults += [404]
        with expect_error(RefusedError, 404):
            engine.load(trained, 1)
        assert "expected ['']" in failure(engine)
        assert engine.policy_version == 0
        engine.load(trained, 1)
        server.refused_resets = 100
        tick(monkeypatch, vllm, seconds=10)
        with expect_error(ServerError, engine._url, "20 s"):
            engine.load(trained, 2)
        assert failure(engine)
        server.refused_resets = 0
        engine.load(trained, 3)
        assert generations(engine)[0].policy_version == 3


def test_a_busy_server_is_asked_again(tmp_path):
    with serving_engine(tmp_path) as (server, engine):
        server.faults += [503, "drop"]
        assert generations(engine, [(5, 6, 7)])
        assert len(server.posts("/v1/completions")) == 3


def test_a_deadline_ends_all_tries_and_others_are_answered(tmp_path, monkeypatch):
    tick(monkeypatch, rest, seconds=80)
    with serving_engine(tmp_path, deadline_s=600, max_requests=1) as (server, engine):
        # The third pause would outlast the deadline: the clock is looked at several times in each try.
        server.faults += [503, 503, 503]
        answers = sample(engine, PROMPTS[:2])
        assert "503" in answers[0].failure
        assert answers[1].generation
        assert len(server.posts("/v1/completions")) == 4


def test_a_slow_server_times_out_and_one_that_is_gone_does_not_answer(tmp_path):
    with serving_engine(tmp_path, timeout_s=0.2, deadline_s=0.3) as (server, engine):
        server.may_answer.clear()
        assert "timed out" in failure(engine)
    with serving_model() as (_, address):
        pass
    engine = VLLMEngine(address, STOP_IDS, tmp_path, deadline_s=0.3)
    assert "did not answer" in failure(engine)
    engine.close()


def changed(**changes):
    """A fault that changes a choice."""

    def change(body):
        choice = {**body["choices"][0], **changes}
        return {"choices": [{name: value for name, value in choice.items() if value != "gone"}]}

    return change


@pytest.mark.parametrize(("fault", "message"), [
    (lambda body: json.dumps(body)[:20], "invalid JSON"),
    (lambda _: [], "without token ids, log-probabilities or weight versions"),
    (lambda _: {"choices": []}, "without token ids, log-probabilities or weight versions"),
    (changed(logprobs=None), "without token ids, log-probabilities or weight versions"),
    (changed(token_ids="gone"), "without token ids, log-probabilities or weight versions"),
    (changed(weight_versions=None), "without token ids, log-probabilities or weight versions"),
    (changed(logprobs={"token_logprobs": [None]}), "without token ids, log-probabilities or weight versions"),
    (changed(logprobs={"token_logprobs": [-1.0]}), " ids with the log-probabilities"),
    (changed(logprobs={"token_logprobs": [float("nan")] * 12}), "nan"),
    (changed(token_ids=[], logprobs={"token_logprobs": []}), "0 token ids"),
    (changed(finish_reason="abort"), "ended a response with 'abort'"),
    (400, "400"),
])  # fmt: skip
def test_responses_unsuitable_for_training_are_failures(tmp_path, fault, message):
    with serving_engine(tmp_path) as (server, engine):
        server.faults += [fault]
        assert message in failure(engine)
        assert len(server.posts("/v1/completions")) == 1
        assert generations(engine)


def test_too_long_prompts_are_failures_and_empty_ones_value_errors(tmp_path):
    with serving_engine(tmp_path, max_model_len=20) as (_, engine):
        assert "maximum context length" in failure(engine, tuple(range(30)))
        with expect_error(ValueError, "request 3"):
            engine.submit(3, (), 0)


def test_the_server_gets_so_many_prompts_at_once_and_no_more(tmp_path):
    with serving_engine(tmp_path, max_requests=3) as (server, engine):
        server.may_answer.clear()
        for request_id in range(10):
            engine.submit(request_id, (5, 6, 7), request_id)
        until(lambda: server.under_way == 3)
        assert engine.take(0) == []
        start = time.monotonic()
        assert engine.take(0.2) == []  # it waits as long as it is told
        assert time.monotonic() - start >= 0.2
        assert not engine.is_idle
        server.may_answer.set()
        assert list(take_all(engine)) == list(range(10))
        assert server.most_under_way == 3


def test_a_key_is_shown(tmp_path):
    with serving_model(api_key="secret") as (server, address):
        for key, message in (("secret", ""), ("", "401")):
            engine = VLLMEngine(address, STOP_IDS, tmp_path, api_key=key)
            (answer,) = sample(engine, [(5, 6)]).values()
            assert message in answer.failure
            assert bool(answer.generation) is not bool(message)
            engine.close()
        assert server.keys == ["secret", ""]


def test_a_closed_engine_has_no_threads_and_tries_no_more(tmp_path):
    threads = threading.active_count()
    with serving_engine(tmp_path, deadline_s=10_000) as (server, engine):
        server.faults += [(503, "later", [("Retry-After", "3600")])] * 3
        for request_id in range(100):
            engine.submit(request_id, (5, 6, 7), request_id)
        until(lambda: not server.faults)
        engine.close()  # or it would take an hour
        assert engine.is_idle
    until(lambda: threading.active_count() <= threads)  # those of earlier tests may have ended meanwhile


def test_a_bug_in_a_thread_is_raised_where_it_is_seen():
    pool = RequestPool(1)
    pool.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        pool.take()
    pool.close()
    with expect_error(ValueError, "size", 0):
        RequestPool(0)
