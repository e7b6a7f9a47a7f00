"""Tasks as data: the schema of WebArena, and malformed records and files."""

import json
from functools import reduce

import pytest

from webarena_gym.errors import TaskError
from webarena_gym.tasks import parse_task, read_tasks

OFFICIAL = {
    "sites": ["shopping"], "task_id": 3, "require_login": True, "storage_state": None, "start_url": "__SHOPPING__",
    "geolocation": None, "intent_template": "Find {{it}}", "instantiation_dict": {"it": "x"}, "intent": "Find x",
    "require_reset": False, "intent_template_id": 73, "old_task_id": 20,
    "eval": {
        "eval_types": ["string_match"], "reference_answers": {"must_include": ["x"]}, "reference_url": "",
        "program_html": [], "string_note": "", "reference_answer_raw_annotation": "x",
    },
}  # fmt: skip


def without(key):
    return {name: value for name, value in OFFICIAL.items() if name != key}


def test_a_task_of_webarena_s_schema_is_read():
    task = parse_task(OFFICIAL)
    assert (task.task_id, task.sites, task.intent, task.eval_types) == ("3", ("shopping",), "Find x", ("string_match",))
    assert task.is_achievable
    unachievable = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}}
    assert not parse_task(OFFICIAL | {"eval": unachievable}).is_achievable


@pytest.mark.parametrize(("record", "message"), [
    ([], "a task is a JSON object, got list"),
    (without("intent"), "task 3: the key 'intent' is missing"),
    (without("eval"), "the key 'eval' is missing"),
    (OFFICIAL | {"effort": 3}, "unknown key 'effort'"),
    (OFFICIAL | {"difficulty": 3}, "difficulty is 3; expected a list of some of names, reading"),
    (OFFICIAL | {"difficulty": ["fog"]}, "difficulty is ['fog']"),
    (OFFICIAL | {"evidence": [3]}, "evidence has 3; expected texts"),
    (OFFICIAL | {"injection": {"eval_types": ["guess"]}}, "injection: unknown eval type 'guess'"),
    (OFFICIAL | {"sites": ["Amazon!"]}, "sites is ['Amazon!']"),
    (OFFICIAL | {"sites": "shopping"}, "expected a list"),
    (OFFICIAL | {"intent": 5}, "intent is 5; expected text"),
    (OFFICIAL | {"eval": {}}, "expected an object with a list eval_types"),
    (OFFICIAL | {"eval": {"eval_types": ["guess"]}}, "unknown eval type 'guess'"),
    (OFFICIAL | {"eval": {"eval_types": ["url_match"]}}, "eval has no reference_url"),
    (OFFICIAL | {"eval": OFFICIAL["eval"] | {"bonus": 1}}, "unknown key 'bonus' in eval"),
    (OFFICIAL | {"solution": [{"action": "fly()"}]}, "of the solution cannot be read"),
    (
        OFFICIAL | {"eval": {"eval_types": ["url_match"], "reference_url": 5}},
        "eval: reference_url is 5; expected text or null",
    ),
    (OFFICIAL | {"eval": {"eval_types": ["state"], "state": "x"}}, "eval: state is 'x'; expected a list"),
    (OFFICIAL | {"world_seed": "abc"}, "world_seed is 'abc'; expected a whole number"),
    (OFFICIAL | {"world_seed": 10**9}, "world_seed is 1000000000; expected a whole number from"),
    (OFFICIAL | {"world_seed": True}, "world_seed is True; expected a whole number or null"),
    (OFFICIAL | {"scale": "huge"}, "scale is 'huge'; expected one of standard, large"),
    (OFFICIAL | {"wrong_answers": 5}, "wrong_answers is 5; expected a list"),
    (OFFICIAL | {"wrong_answers": [5]}, "wrong_answers has 5; expected texts"),
    (OFFICIAL | {"start_url": ""}, "start_url is ''"),
    (OFFICIAL | {"start_url": "__SHOPPING__ |AND| "}, "start_url"),
    (OFFICIAL | {"require_login": "no"}, "require_login is 'no'; expected true or false"),
    (OFFICIAL | {"instantiation_dict": []}, "expected an object"),
    (OFFICIAL | {"solution": {"action": "x"}}, "solution is {'action': 'x'}; expected a list"),
    (OFFICIAL | {"solution": [{"action": 5}]}, "expected an object with the texts"),
    (OFFICIAL | {"intent": reduce(lambda value, _: [value], range(100), "x")}, "deep"),
    (OFFICIAL | {"setup": {}}, "setup is {}; expected a list"),
    (OFFICIAL | {"setup": [3]}, "setup has 3"),
    (OFFICIAL | {"setup": [{"site": "shopping"}]}, "expected objects with site, table, values and key"),
    (OFFICIAL | {"setup": [{"site": "moon", "table": "review", "values": {"a": 1}, "key": {}}]}, "one of the sites"),
    (OFFICIAL | {"setup": [{"site": "shopping", "table": "review", "values": {}, "key": {}}]}, "expected values"),
    (OFFICIAL | {"setup": [{"site": "shopping", "table": "review", "values": {"a": [1]}, "key": {}}]}, "has the value [1]"),
])  # fmt: skip
def test_a_malformed_task_is_refused_with_its_place(record, message):
    with pytest.raises(TaskError) as caught:
        parse_task(record, "file.json")
    assert message in str(caught.value)
    assert "file.json" in str(caught.value)


@pytest.mark.parametrize(("content", "message"), [
    ("{", "is no JSON"), ("[1", "is no JSON"), ("", "is no JSON"), ("\ud800", "task"), ("[" * 100_000, "too deep"),
    ('{"tasks": ' * 50_000, "too deep"), ("[" + "9" * 10_000 + "]", "task"), ("null", "expected a list with at least one task"),
    ("{}", "expected a list with at least one task"), ('{"tasks": {}}', "expected a list with at least one task"), ("[]", "expected a list with at least one task"),
    (json.dumps([OFFICIAL, OFFICIAL]), "occurs twice"),
])  # fmt: skip
def test_a_malformed_file_is_refused(tmp_path, content, message):
    path = tmp_path / "tasks.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(TaskError) as caught:
        read_tasks(path)
    assert message in str(caught.value)
