"""Tasks as data, their templates, and the shipped suite."""

import hashlib
import json

import pytest

from webarena_gym import tasks as suite
from webarena_gym.audit import audit
from webarena_gym.errors import TaskError
from webarena_gym.tasks import Task, parse_task, read_tasks
from webarena_gym.tasks.template import all_of, answer, at_url, click, leave, state

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
    assert not parse_task(
        OFFICIAL | {"eval": {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}}}
    ).is_achievable


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([], "a task is a JSON object, got list"),
        (without("intent"), "task 3: the key 'intent' is missing"),
        (without("eval"), "the key 'eval' is missing"),
        (OFFICIAL | {"difficulty": 3}, "unknown key 'difficulty'"),
        (OFFICIAL | {"sites": ["amazon"]}, "sites is ['amazon']"),
        (OFFICIAL | {"sites": "shopping"}, "expected a list"),
        (OFFICIAL | {"intent": 5}, "intent is 5; expected text"),
        (OFFICIAL | {"eval": {}}, "expected an object with a list eval_types"),
        (OFFICIAL | {"eval": {"eval_types": ["guess"]}}, "unknown eval type 'guess'"),
        (OFFICIAL | {"eval": {"eval_types": ["url_match"]}}, "url_match but no reference_url"),
        (OFFICIAL | {"eval": OFFICIAL["eval"] | {"bonus": 1}}, "unknown key 'bonus' in eval"),
        (OFFICIAL | {"solution": [{"action": "fly()"}]}, "of the solution cannot be read"),
    ],
)
def test_a_malformed_task_is_refused_with_its_place(record, said):
    with pytest.raises(TaskError) as caught:
        parse_task(record, "file.json")
    assert said in str(caught.value)
    assert "file.json" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no JSON"),
        ("{}", "must hold a list"),
        ("[]", "must hold a list"),
        (json.dumps([OFFICIAL, OFFICIAL]), "occurs twice"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, content, said):
    path = tmp_path / "tasks.json"
    path.write_text(content)
    with pytest.raises(TaskError) as caught:
        read_tasks(path)
    assert said in str(caught.value)


def test_blocks_merge():
    block = all_of(answer(exact_match="x"), at_url("u"), state("SELECT 1", expected=[[1]]), state("SELECT 2", expected=[[2]]))
    assert block["eval_types"] == ["string_match", "url_match", "state"]
    assert len(block["state"]) == 2
    with pytest.raises(ValueError, match="cannot be merged"):
        all_of(at_url("u"), at_url("v"))


def test_every_task_survives_its_own_json():
    for split in suite.SPLITS:
        for task in suite.load(split):
            assert parse_task(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize("split", suite.SPLITS)
def test_the_shipped_files_are_what_the_generator_draws(split):
    assert list(suite.load(split)) == [parse_task(json.loads(json.dumps(task.to_json()))) for task in suite.generate(split)]
    content = json.loads((suite.DATA / f"{split}.json").read_text(encoding="utf-8"))
    assert content["sha256"] == hashlib.sha256(json.dumps(content["tasks"], sort_keys=True).encode()).hexdigest()


def test_the_suite_has_the_promised_spread():
    test = suite.load("test")
    assert len({task.template for task in test}) == len(test) >= 50
    kinds = [kind for task in test for kind in task.eval_types]
    assert {"string_match", "url_match", "state"} <= set(kinds)
    assert sum(not task.is_achievable for task in test) >= 3
    assert {task.world_seed for task in test}.isdisjoint({task.world_seed for task in suite.load("train")})
    assert len({task.task_id for task in suite.load("train")}) == len(suite.load("train"))


def test_tasks_are_found_again_by_their_id():
    for task in suite.load("test")[:5]:
        assert parse_task(json.loads(json.dumps(suite.find(task.task_id).to_json()))) == task


@pytest.mark.parametrize(
    "task_id", ["", "shopping", "no.template/1/0", "shopping.product_price/one/0", "shopping.product_price/1"]
)
def test_an_unknown_id_says_how_ids_look(task_id):
    with pytest.raises(TaskError, match="expected <template>/<world seed>/<draw>"):
        suite.find(task_id)


def test_another_world_gives_other_tasks_of_the_same_templates():
    own, other = suite.load("test"), suite.load("test", world_seed=77)
    assert [task.template for task in own] == [task.template for task in other]
    assert {task.world_seed for task in other} == {77}


def test_drawing_more_is_repeatable_and_checked():
    name = next(iter(suite.templates()))
    drawn = suite.draw([name], world_seed=5, count=3)
    assert drawn == suite.draw([name], world_seed=5, count=3)
    assert len({task.intent for task in drawn}) == 3
    with pytest.raises(TaskError, match="no template 'x'"):
        suite.draw(["x"], world_seed=5, count=1)


@pytest.mark.parametrize("world_seed", [None, 31])
def test_every_solution_earns_its_reward_and_nothing_cheaper_does(world_seed):
    tasks = suite.load("test", world_seed)
    findings = audit(tasks)
    assert findings.unsolved == []
    assert (findings.noop_rewarded, findings.exit_rewarded, findings.wrong_rewarded) == ([], [], [])
    assert findings.solved == findings.tasks == len(tasks)


def test_the_audit_finds_what_is_wrong():
    def task(block, solution=None, wrong=()):
        solution = solution or (leave(),)
        return Task("t", ("shopping",), "__SHOPPING__", "x", block, world_seed=0, solution=solution, wrong_answers=wrong)

    assert audit([task(at_url("__SHOPPING__"))]).noop_rewarded == ["t"]
    assert audit([task(at_url("__SHOPPING__"))]).exit_rewarded == ["t"]
    assert audit([task(answer(must_exclude=["b"]), (leave("a"),), ("c",))]).wrong_rewarded == ["t: 'c'"]
    (unsolved,) = audit([task(answer(exact_match="a"), (click("Nothing like it"),))]).unsolved
    assert "nearest labels" in unsolved
    (unsolved,) = audit([task(answer(exact_match="a"), (leave("b"),))]).unsolved
    assert "not rewarded" in unsolved
