"""The judge behind a chat protocol, against a small server of our own: right, wrong, slow, busy, broken."""

import json
import threading
import time

import pytest
from werkzeug.wrappers import Request, Response

from tests.clocks import tick
from tests.serving import serving
from tests.test_official_rules import outcome, string
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.judges import ChatJudge
from webarena_gym.servers import rest


class Model:
    """Answers each question with the next reply of a list: a text, a status, or a whole response."""

    def __init__(self, *replies):
        self.replies, self.asked, self.may_answer = list(replies), [], threading.Event()
        self.may_answer.set()

    @Request.application
    def __call__(self, request):
        self.asked.append((request.path, request.headers.get("Authorization"), json.loads(request.data)))
        self.may_answer.wait(10)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Response):
            return reply
        if isinstance(reply, int):
            return Response("busy", status=reply)
        return Response(json.dumps({"choices": [{"message": {"content": reply}}]}), mimetype="application/json")


def ask(model, **options):
    with serving(model) as address:
        judge = ChatJudge("small", base_url=f"{address}/v1/", api_key="key", **options)
        return judge("How far?", "3 km", "It's 3 kilometres"), judge


@pytest.mark.parametrize(("reply", "passed"), [("right", True), ("Right.", True), ('"wrong"', False), (" **wrong** \n", False)])
def test_says_right_or_wrong_when_asked_once_with_everything(reply, passed):
    model = Model(reply)
    said, judge = ask(model)
    assert said is passed
    ((path, key, question),) = model.asked
    assert (path, key) == ("/v1/chat/completions", "Bearer key")
    assert (question["model"], question["temperature"]) == ("small", 0)
    told = {"task": "How far?", "reference": "3 km", "answer": "It's 3 kilometres"}
    assert json.loads(question["messages"][1]["content"]) == told
    assert judge.name.startswith("small at 127.0.0.1:")


def test_the_verdict_names_it():
    with serving(Model("right")) as address:
        judge = ChatJudge("small", base_url=address)
        for rules in ("native", "vab", "webarena"):
            (verdict,) = evaluate(string(fuzzy_match=["3 km"]), "How far?", outcome("three km")[0], judge, rules)
            assert (verdict.passed, verdict.decided_by) == (True, f"judge {judge.name}")


def test_a_busy_server_is_asked_again_when_it_says():
    model = Model(500, 503, Response("busy", status=429, headers={"Retry-After": "1"}), "right")
    start = time.monotonic()
    assert ask(model)[0]
    assert len(model.asked) == 4
    assert time.monotonic() - start >= 1.0


def test_a_deadline_ends_all_tries(monkeypatch):
    tick(monkeypatch, rest, seconds=80)  # several times in each try
    model = Model(503)
    with pytest.raises(EvaluationError, match=r"cannot be asked: .* 503"):
        ask(model, deadline_s=600)
    assert len(model.asked) == 3
    model = Model(Response("busy", status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(EvaluationError, match="429"):
        ask(model, deadline_s=600)  # at once, as waiting that long would be in vain
    assert len(model.asked) == 1


def test_a_slow_server():
    model = Model("right")
    model.may_answer.clear()
    with serving(model) as address:
        judge = ChatJudge("small", base_url=address, timeout_s=0.2, deadline_s=0.3)
        with pytest.raises(EvaluationError, match="timed out"):
            judge("a", "b", "c")
        model.may_answer.set()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("perhaps", "neither right nor wrong"),
        ("right or wrong", "neither right nor wrong"),
        ("", "neither right nor wrong"),
        (Response("{}"), "without a message"),
        (Response('{"choices": []}'), "without a message"),
        (Response('{"choices": [{"message": {"content": null}}]}'), "neither right nor wrong"),
        (Response("[1]"), "without a message"),
        (Response("<html>"), "no JSON"),
        (Response("no such key", status=401), "401"),
        (Response("elsewhere", status=302, headers={"Location": "http://127.0.0.1:9/"}), "302"),
        (404, "404"),
    ],
)
def test_what_cannot_be_understood_raises(reply, said):
    model = Model(reply)
    with pytest.raises(EvaluationError, match=said):
        ask(model)
    assert len(model.asked) == 1


def test_nobody_there():
    with pytest.raises(EvaluationError, match="did not answer"):
        ChatJudge("small", base_url="http://127.0.0.1:9", deadline_s=0.1)("a", "b", "c")
    with pytest.raises(EvaluationError, match="expected http"):
        ChatJudge("small", base_url="file:///etc")("a", "b", "c")


def test_settings_from_the_environment(monkeypatch):
    monkeypatch.delenv("WEBARENA_GYM_JUDGE_MODEL", raising=False)
    with pytest.raises(EvaluationError, match="WEBARENA_GYM_JUDGE_MODEL"):
        ChatJudge()
    model = Model("right")
    with serving(model) as address:
        for name, value in {
            "WEBARENA_GYM_JUDGE_MODEL": "other",
            "OPENAI_BASE_URL": address,
            "OPENAI_API_KEY": "theirs",
        }.items():
            monkeypatch.setenv(name, value)
        assert ChatJudge()("a", "b", "c")
    ((_, key, question),) = model.asked
    assert (key, question["model"]) == ("Bearer theirs", "other")
