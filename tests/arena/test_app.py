"""Operations of an arena over HTTP: problems, documents, and the toolbar for people."""

import asyncio
import json
from dataclasses import fields
from math import inf

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena import request
from tests.arena.clients import WISH, known
from webarena_gym.arena.app import OPERATIONS, openapi, run_server
from webarena_gym.arena.schema import NewEpisode


def is_problem(value):
    return set(value) == {"error", "at", "value", "expected"} and bool(value["error"])


# What is wrong is said.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from([*(field.name for field in fields(NewEpisode)), "answer", "url", "action", "snapshot"])


@given(st.data())
@settings(max_examples=150)
def test_any_request_succeeds_or_is_rejected_with_a_reason(client, data):
    path = data.draw(st.sampled_from([operation.path for operation in OPERATIONS if operation.method == "POST"]))
    if "{id}" in path:
        mode = data.draw(st.sampled_from(["browse", "step"]))
        path = path.replace("{id}", client.create_episode(mode=mode, task=WISH)["id"])
    body = data.draw(JSON | st.dictionaries(FIELDS, JSON, max_size=3))
    status, value = client.ask("POST", path, body)
    assert status < 500
    assert status in (200, 201) or is_problem(value), value
    for summary in client.well("GET", "/episodes")["episodes"]:
        client.delete(summary)


@pytest.mark.parametrize(("body", "at", "value", "expected"), [
    ({"task": 5}, "body.task", 5, "string"),
    ({"tusk": "x"}, "body.tusk", "x", "/docs"),
    ({"task": "nothing/1/0"}, "body.task", "nothing/1/0", "id of a task"),
    ({"split": "tist"}, "body.split", "tist", "'train', 'validation', 'test', 'pool', 'hard', 'pictures' or 'tools'"),
    ({"split": "tist", "task": WISH}, "body.split", "tist", "'train', 'validation', 'test', 'pool', 'hard', 'pictures' or 'tools'"),
    ({"seed": -1}, "body.seed", "-1", "0 to"),
    ({"world_seed": 10**9}, "body.world_seed", "1000000000", "999999999"),
    ({"mode": "step", "max_steps": 0}, "body.max_steps", "0", "1 to"),
    ({"mode": "step", "step_budget": -1.5}, "body.step_budget", "-1.5", "above 0"),
    ([], "body", "[]", "object"),
    ({"seed": -inf}, "body.seed", "-inf", "integer"),  # a number that JSON does not have
])  # fmt: skip
def test_an_error_names_the_place_the_value_and_what_was_expected(client, body, at, value, expected):
    status, problem = client.ask("POST", "/episodes", body)
    assert status == 422
    assert (problem["at"], problem["value"]) == (at, value)
    assert expected in problem["expected"]


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if operation.body is not type(None)], ids=lambda each: each.path
)
def test_every_invalid_argument_of_every_operation_is_reported(client, operation):
    path = operation.path.replace("{id}", client.create_episode(task=WISH, mode="step")["id"])
    for name in (*(field.name for field in fields(operation.body)), "colour"):
        if operation.method == "GET":
            status, problem = client.ask("GET", f"{path}?{name}=%00x")
        else:
            status, problem = client.ask(operation.method, path, {name: {"x": 1}})
        assert (status, is_problem(problem)) == (422, True), (name, problem)
        assert f".{name}" in problem["error"]
    if "{id}" in operation.path:
        nowhere = operation.path.replace("{id}", "%00none")
        assert client.ask(operation.method, nowhere, {"action": "", "snapshot": ""})[0] in (404, 422)


def test_protocol_violations_are_reported(client):
    name = client.create_episode(task=WISH)["id"]
    status, problem = client.ask("POST", "/episodes", {"tusk": WISH, "mode": "walk"})
    assert (status, "body.tusk" in problem["error"], "body.mode" in problem["error"]) == (422, True, True)
    status, problem = client.ask("POST", "/episodes", raw=b"{not json")
    assert (status, problem["value"]) == (422, "{not json")
    assert client.ask("POST", "/episodes", {}, headers={"Content-Type": "text/plain"})[0] == 415
    assert client.ask("POST", "/episodes", raw=b" " * 3_000_000)[0] == 413
    assert client.ask("GET", "/nothing")[0] == 404
    assert client.ask("PATCH", "/episodes")[0] == 405
    assert client.ask("GET", "/episodes/0")[0] == 404
    assert client.ask("GET", "/tasks?world_seed=x")[0] == 422
    assert client.ask("POST", f"/episodes/{name}/restore", {"snapshot": "s9"})[0] == 404
    assert client.ask("POST", f"/episodes/{name}/answer", {"answer": "x" * 300_000})[0] == 422
    assert client.ask("POST", f"/episodes/{name}/answer", {"url": "http://["})[0] == 422
    assert client.ask("POST", f"/episodes/{name}/answer", {"answer": ""})[0] == 200
    assert client.ask("POST", f"/episodes/{name}/answer", {"answer": ""})[0] == 409
    client.well("DELETE", f"/episodes/{name}")
    assert client.ask("GET", f"/episodes/{name}")[0] == 410


def test_a_toolbar_is_above_the_pages_of_an_episode_for_people():
    task = known("shopping.product_price/1000/0")
    with run_server() as service:
        begun = asyncio.run_coroutine_threadsafe(
            service.create_episode(NewEpisode(task=task.task_id), has_toolbar=True), service.loop
        )
        start = begun.result().start_urls[0]
        page = request("GET", start).body.decode()
        assert task.intent in page
        assert "I am done" in page
        form = {"Content-Type": "application/x-www-form-urlencoded", "Referer": start}
        evil = form | {"Origin": "http://evil.example"}
        assert request("POST", f"{start}.arena/done", evil, b"answer=1").status == 403
        done = request("POST", f"{start}.arena/done", form, b"answer=%2446.50")
        assert (done.status, done.header("Location")) == (303, start)
        page = request("GET", start).body.decode()
        assert "Solved." in page
        assert "I am done" not in page
        assert request("POST", f"{start}.arena/again", form).header("Location") == start
        assert "I am done" in request("GET", start).body.decode(), "it is begun again"


# Its description.


def test_answers_are_as_they_are_described(client):
    described = openapi()

    def check(method, path, body=None, query="", name=""):
        status, value = client.ask(method, path.replace("{id}", name) + query, body)
        answers = described["paths"][path][method.lower()]["responses"]
        schema = answers.get(str(status), answers["default"])["content"]["application/json"]["schema"]
        jsonschema.validate(value, schema | {"components": described["components"]})
        return value

    check("POST", "/episodes", {"task": 5})
    name = check("POST", "/episodes", {"task": WISH, "mode": "step"})["id"]
    for what, body in (("step", {"action": "x"}), ("snapshot", {}), ("answer", {"answer": "x"})):
        check("POST", f"/episodes/{{id}}/{what}", body, name=name)
    check("GET", "/episodes/{id}", name=name)
    check("GET", "/episodes")
    check("GET", "/tasks", query="?split=test")
    check("GET", "/tools", query="?dialect=webarena")
    check("DELETE", "/episodes/{id}", name=name)
    status, page = client.ask("GET", "/docs")
    assert status == 200
    for operation in OPERATIONS:
        assert f"{operation.method} {operation.path}" in page
    for field in fields(NewEpisode):
        assert f"<td>{field.name}</td>" in page
    assert client.well("GET", "/openapi.json") == json.loads(json.dumps(described))
    schemas = described["components"]["schemas"]
    assert len(schemas) > 10
    for name, schema in schemas.items():
        assert all("description" in field for field in schema.get("properties", {}).values()), name
