"""Faults of task files: whatever is wrong in one is a TaskError or an EvaluationError, and never a reward or another exception."""

import copy
import json
from itertools import product
from random import Random

import gymnasium
import pytest

from tests.errors import expect_error
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import RULES, check, evaluate
from webarena_gym.evaluators.kinds import state
from webarena_gym.evaluators.outcome import Outcome
from webarena_gym.suite import draw
from webarena_gym.tasks import parse_task
from webarena_gym.tasks.task import Task

WORLD = 7
TEMPLATES = ("shopping.order_report", "shopping.sorted_place", "reddit.book_review", "gitlab.branch_new", "map.route_page")
RULES_HERE = ("native", "webarena", "vab", "r1")


def deep(levels, kind=list):
    value = "x"
    for _ in range(levels):
        value = [value] if kind is list else {"x": value}
    return value


JUNK = (
    None, True, False, 0, -1, 5, 10**30, 1.5, float("nan"), float("inf"), "", " ", "x", "\0", "\ud800", "N/A", "x" * 5_000,
    "__SHOPPING__", "http://", "http://[", "http://nowhere.test/", "about:blank", "javascript:alert(1)", "file:///etc/passwd",
    "a|AND|b", " |OR| ", "div " * 3_000, "div>" * 1_000 + "div", ":not(" * 500 + "a" + ")" * 500, ":nth-child(x)", "a[", "func:",
    "func:" + "(" * 500, "func:__import__('os')", "document.querySelector('[')", "document.title", "lambda:() => 1",
    "SELECT 1", "SELECT", "DROP TABLE world", "SELECT randomblob(1000000000)", "SELECT 1; SELECT 2", "SELECT ?", "last",
    [], [None], [[]], ["x"], [1], {}, {"x": 1}, {"exact_match": 5}, {"must_include": [1]}, [{"url": "last"}], [{"site": "shopping"}],
    deep(10), deep(200), deep(200, dict),
)  # fmt: skip


def places(value, path=()):
    """Yield the ways to every part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def spoilt(record, rng):
    """Return a record with a few things wrong in it."""
    record = copy.deepcopy(record)
    for _ in range(rng.randint(1, 2)):
        paths = [path for path in places(record) if path and (path[0] != "solution" or len(path) == 1)]
        if not paths:  # the only key was taken out
            break
        *way, key = rng.choice(paths)
        part = record
        for step in way:
            part = part[step]
        if rng.random() < 0.15 and isinstance(part, dict):
            part[rng.choice(("x", "url", "state", "notes", 7))] = part.pop(key)
        elif rng.random() < 0.1:
            del part[key]
        else:
            part[key] = copy.deepcopy(rng.choice(JUNK))
    return record


def records():
    return [task.to_json() for task in draw(TEMPLATES, world_seed=WORLD, count=1)]


def is_known(record, rules):
    try:
        check(record["eval"], rules)
    except EvaluationError:
        return False
    return True


@pytest.mark.parametrize(("seed", "rules"), list(enumerate(RULES_HERE)))
def test_a_spoilt_task_is_refused_or_played(seed, rules):
    rng, refused, played = Random(seed), 0, 0
    target = {"url": "__SHOPPING__/", "locator": "", "required_contents": {"must_include": ["x"]}}
    called = {**target, "url": "func:shopping_get_latest_order_url()", "locator": "document.title", "prep_actions": ["1"]}
    pages = [{"eval_types": ["program_html"], "program_html": [each]} for each in (target, called)]
    both = {
        "eval_types": ["string_match", "url_match"],
        "reference_answers": {"must_include": ["x"]},
        "reference_url": "__MAP__/",
    }
    known = records()
    base = [
        record for record in (*known, *({**known[0], "eval": block} for block in (*pages, both))) if is_known(record, rules)
    ]
    env = WebArenaLite(tasks=[parse_task(base[0])], max_steps=3, rules=rules)
    for _ in range(400):
        record = spoilt(rng.choice(base), rng)
        try:
            task = parse_task(record)
            for others in RULES_HERE:
                try:
                    check(task.eval, others)
                except EvaluationError:
                    refused += 1
            env.reset(options={"task": task})
            reward = env.step('exit(message="x")')[1]
        except (TaskError, EvaluationError):
            refused += 1
            continue
        played += 1
        assert reward in (0.0, 1.0)
    env.close()
    assert refused > 200
    assert played > 20


def test_corrupted_checks_of_task_objects_are_task_errors():
    rng, base = Random(9), records()
    env = WebArenaLite(tasks=[parse_task(base[0])], max_steps=3)
    faults = 0
    for _ in range(300):
        good = rng.choice(base)
        task = parse_task(good)
        block = spoilt({"eval": good["eval"]}, rng).get("eval")
        for rules in RULES:
            try:
                check(block, rules)
            except EvaluationError:
                faults += 1
        try:
            env.reset(options={"task": Task(**{**task.__dict__, "eval": block})})
            env.step('exit(message="x")')
        except EvaluationError:
            faults += 1
    env.close()
    assert faults > 500


def test_an_address_that_cannot_be_opened_is_a_fault_of_the_task():
    for url in ("http://nowhere.test/", "http://[", "javascript:alert(1)", "https://shop.test/", "file:///x"):
        task = parse_task({**records()[0], "start_url": url})
        with WebArenaLite(tasks=[task]) as env, expect_error(TaskError, task.task_id, repr(url)):
            env.reset()
    for rules, url in product(RULES_HERE, ("http://nowhere.test/", "http://[", "https://shop.test/")):
        target = {"url": url, "locator": "", "required_contents": {"must_include": ["x"]}}
        block = {"eval_types": ["program_html"], "program_html": [target]}
        task = parse_task({**records()[0], "eval": block})
        if "[" in url:
            with expect_error(EvaluationError, task.task_id, "program_html", repr(url)):
                WebArenaLite(tasks=[task], rules=rules)
            continue
        with WebArenaLite(tasks=[task], rules=rules) as env:
            env.reset()
            with pytest.raises(EvaluationError, match=r"open|reached"):
                env.step('exit(message="x")')


@pytest.fixture(scope="module")
def judged():
    """Give a function that returns the verdict on the state of the shop."""
    with WebArenaLite(tasks=[parse_task(records()[0])]) as env:

        def judge(query, expected=(), parameters=()):
            env.reset()
            check = {"site": "shopping", "query": query, "expected": [*map(list, expected)], "parameters": list(parameters)}
            block = {"eval_types": ["state"], "state": [check]}
            (verdict,) = evaluate(block, "", Outcome("", None, None, env.database, {}))
            database = env.database("shopping")
            database.execute("CREATE TABLE still_writes (x)")  # what a query was held to is over
            database.execute("SELECT zeroblob(20000000)").fetchone()
            return verdict.passed

        yield judge


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "


@pytest.mark.parametrize(("query", "parameters"), [
    (ENDLESS + "SELECT count(*) FROM n", []),
    (ENDLESS + "SELECT max(x) FROM n", []),
    ("SELECT count(*) FROM product a, product b, product c, product d, product e", []),
    ("SELECT length(zeroblob(1000000000))", []),
    ("SELECT replace(hex(zeroblob(4000000)), '00', hex(zeroblob(4000)))", []),
    *((query, []) for query in ("DELETE FROM product", "ATTACH ':memory:' AS x", "PRAGMA query_only", "SELECT 1; SELECT 2")),
    *(("SELECT ?", parameters) for parameters in ([10**30], [[]], [{}], [None, None], ["\ud800"])),
])  # fmt: skip
def test_expensive_writing_and_misparametrised_queries_are_rejected(judged, query, parameters):
    with expect_error(EvaluationError, "query", "failed"):
        judged(query, [], parameters)
    assert judged("SELECT 1", [[1]])


def test_a_query_is_read_no_further_than_it_is_wanted(judged):
    assert not judged(ENDLESS + "SELECT x FROM n", [[1], [2]])
    assert judged(ENDLESS + "SELECT x FROM n LIMIT 2", [[1], [2]])


def test_no_query_of_ours_comes_near_the_limit(opened, monkeypatch):
    monkeypatch.setattr(state, "MAX_STEPS", state.MAX_STEPS // 100)
    env = opened(WebArenaLite(tasks=[parse_task(records()[0])], max_steps=1))
    for task in draw(None, world_seed=WORLD, count=1):
        if "state" in task.eval_types:
            env.reset(options={"task": task})
            env.step("wait()")


def file_of(path, *changes):
    found = [{**records()[0], "task_id": f"t{number}", **change} for number, change in enumerate(changes)]
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


UNKNOWN = {"eval": {"eval_types": ["state"], "state": [{"site": "shopping", "query": "SELECT 1", "expected": [[1]]}]}}


def test_all_tasks_that_rules_cannot_judge_are_named_or_left_out(tmp_path):
    path = file_of(tmp_path / "tasks.json", {}, UNKNOWN, {}, UNKNOWN)
    with pytest.raises(EvaluationError) as caught:
        gymnasium.make("WebArenaLite-v0", tasks=path, rules="webarena")
    assert "2 of 4 tasks cannot be judged by the rules 'webarena'" in str(caught.value)
    assert all(name in str(caught.value) for name in ("task t1:", "task t3:", "on_unreadable='skip'"))
    with pytest.warns(UserWarning, match="left out: task t[13]: unknown evaluator 'state'") as warned:
        env = gymnasium.make("WebArenaLite-v0", tasks=path, rules="webarena", on_unreadable="skip")
    assert len(warned) == 2
    assert [task.task_id for task in env.unwrapped.tasks] == ["t0", "t2"]
    env.close()


def test_all_tasks_that_cannot_be_read_are_named_or_left_out(tmp_path):
    path = file_of(tmp_path / "tasks.json", {}, {"wrong_answers": 5}, {"intent": None})
    with expect_error(TaskError, "2 of 3", "task t1: wrong_answers", "task t2: intent"):
        gymnasium.make("WebArenaLite-v0", tasks=path)
    with pytest.warns(UserWarning, match="task t[12]"), WebArenaLite(tasks=path, on_unreadable="skip") as env:
        assert [task.task_id for task in env.tasks] == ["t0"]


def test_with_nothing_left_there_is_no_env(tmp_path):
    path = file_of(tmp_path / "tasks.json", UNKNOWN, UNKNOWN)
    with expect_error(EvaluationError, "2 of 2"):
        gymnasium.make("WebArenaLite-v0", tasks=path, rules="vab", on_unreadable="skip")
    with expect_error(ValueError, "on_unreadable", "'ignore'"):
        gymnasium.make("WebArenaLite-v0", on_unreadable="ignore")
