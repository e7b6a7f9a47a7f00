"""The judge behind a chat protocol, against a small server of our own; `test_evaluation_chat` has what such servers do wrong."""

import json

import pytest
from werkzeug.wrappers import Request, Response

from tests.errors import expect_error
from tests.evaluators.test_official import outcome, string
from tests.serving import serving
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.judges import ChatJudge


class Model:
    """Answers each question with the next reply of a list, the last one for good: a text, a status, or a whole response."""

    def __init__(self, *replies):
        self.replies, self.requests = list(replies), []

    @Request.application
    def __call__(self, request):
        self.requests.append((request.path, request.headers.get("Authorization"), json.loads(request.data)))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, int):
            return Response("busy", status=reply)
        body = json.dumps({"choices": [{"message": {"content": reply}}]}) if isinstance(reply, str) else ""
        return reply if isinstance(reply, Response) else Response(body, mimetype="application/json")


def ask(model, **options):
    with serving(model) as address:
        judge = ChatJudge("small", base_url=f"{address}/v1/", api_key="key", **options)
        return judge("How far?", "3 km", "It's 3 kilometres"), judge


@pytest.mark.parametrize(("reply", "passed"), [("right", True), ("Right.", True), ('"wrong"', False), (" **wrong** \n", False)])
def test_judges_send_all_texts_parse_the_verdict_and_retry_when_busy(reply, passed):
    model = Model(503, reply)
    request, judge = ask(model)
    assert request is passed
    (path, key, question), again = model.requests
    assert (path, key, question) == again
    assert (path, key) == ("/v1/chat/completions", "Bearer key")
    assert (question["model"], question["temperature"]) == ("small", 0)
    fields = {"task": "How far?", "reference": "3 km", "answer": "It's 3 kilometres"}
    assert json.loads(question["messages"][1]["content"]) == fields
    assert judge.name.startswith("small at 127.0.0.1:")


def test_the_verdict_names_it_and_settings_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("WEBARENA_GYM_JUDGE_MODEL", raising=False)
    with expect_error(EvaluationError, "WEBARENA_GYM_JUDGE_MODEL"):
        ChatJudge()
    model = Model("right")
    with serving(model) as address:
        for name, value in {
            "WEBARENA_GYM_JUDGE_MODEL": "other", "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "theirs",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        judge = ChatJudge()
        for rules in ("native", "vab", "webarena"):
            (verdict,) = evaluate(string(fuzzy_match=["3 km"]), "How far?", outcome("three km")[0], judge, rules)
            assert (verdict.passed, verdict.decided_by) == (True, f"judge {judge.name}")
    _, key, question = model.requests[0]
    assert (key, question["model"]) == ("Bearer theirs", "other")


@pytest.mark.parametrize(("reply", "message"), [
    ("perhaps", "expected right or wrong"),
    ("right or wrong", "expected right or wrong"),
    ("", "expected right or wrong"),
    (Response("{}"), "without a message"),
    (Response('{"choices": []}'), "without a message"),
    (Response('{"choices": [{"message": {"content": null}}]}'), "expected right or wrong"),
    (Response("[1]"), "without a message"),
    (Response("<html>"), "invalid JSON"),
    (Response("no such key", status=401), "401"),
    (Response("elsewhere", status=302, headers={"Location": "http://127.0.0.1:9/"}), "302"),
    (Response("busy", status=429, headers={"Retry-After": "3600"}), "the request to the judge .* failed: .* 429"),  # in vain
])  # fmt: skip
def test_unparseable_verdicts_raise(reply, message):
    model = Model(reply)
    with pytest.raises(EvaluationError, match=message):
        ask(model)
    assert len(model.requests) == 1


def test_nobody_there():
    for url, message in (("http://127.0.0.1:9", "did not answer"), ("file:///etc", "expected http")):
        with pytest.raises(EvaluationError, match=message):
            ChatJudge("small", base_url=url, deadline_s=0.1)("a", "b", "c")
