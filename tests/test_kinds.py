import importlib
import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.errors import expect_error
from tests.evaluators.kinds.blocks import outcome, passes, rows, string
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import RULES, check, evaluate, kinds
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds
from webarena_gym.evaluators.kinds.file import file_holds
from webarena_gym.evaluators.kinds.http import answers_json
from webarena_gym.evaluators.kinds.verified import verified_check
from webarena_gym.evaluators.kinds.verifier import accepted_by
from webarena_gym.evaluators.outcome import answer_outcome
from webarena_gym.suite.census import CHECKS, count
from webarena_gym.tasks.task import parse_task
from webarena_gym.tasks.template import all_of, answer, at_url, page_shows, state, with_form

TASK = {"task_id": 1, "sites": ["shopping"], "start_url": "__SHOPPING__", "intent": "Look"}
BUILT = {
    "string_match": with_form(answer(fuzzy_match="3"), about=["Oak Shelf"]),
    "url_match": at_url("__SHOPPING__/cart/"),
    "program_html": page_shows("last", ".name", exact_match="Oak Shelf"),
    "state": state("SELECT 1", expected=[[1]], site="shopping"),
    "file": file_holds("notes/a.txt", "tea"),
    "http": answers_json("__SHOPPING__/api", "items.0.name", "Oak Shelf"),
    "verified": verified_check(1, 2),
    "verifier": accepted_by("apps/mail/verify.py"),
}


@pytest.fixture
def add_kind(tmp_path, monkeypatch):
    """Write a module of a new kind, which is then there because its file is."""

    def add(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
        eval_kinds.cache_clear()
        eval_keys.cache_clear()
        return importlib.import_module(f"webarena_gym.evaluators.kinds.{name}")

    yield add
    monkeypatch.undo()
    eval_kinds.cache_clear()
    eval_keys.cache_clear()


@pytest.mark.parametrize("name", eval_kinds())
def test_a_kind_is_one_module_with_its_schema_its_builder_and_its_readers(name):
    kind, module = eval_kinds()[name], importlib.import_module(f"webarena_gym.evaluators.kinds.{name}")
    assert (kind, kind.name) == (module.KIND, name)
    assert kind.readers.keys() <= set(RULES)
    assert (kind.looks_at,) in CHECKS
    assert BUILT[name].keys() - {"eval_types"} <= kind.keys.keys()
    assert not any(kind.keys.keys() & other.keys.keys() for other in eval_kinds().values() if other is not kind)
    functions = [value for value in vars(module).values() if inspect.isfunction(value) and value.__module__ == module.__name__]
    assert not all(function.__name__.startswith("_") for function in functions), "nothing writes it"
    if "native" in kind.readers:
        assert parse_task(TASK | {"eval": BUILT[name]}).eval_types == (name,)
        check(BUILT[name])


@pytest.mark.parametrize("name", eval_kinds())
@pytest.mark.parametrize("value", [None, "", [], {}, 7, True, "text", ["text"], {"text": 1}])
def test_a_block_is_refused_by_type_and_without_content(name, value):
    kind = eval_kinds()[name]
    record = TASK | {"eval": {"eval_types": [name], kind.key: value}}
    has_objects = name in ("state", "file", "http", "verifier")
    if type(value) in kind.keys[kind.key] and value and not has_objects:
        assert parse_task(record).eval[kind.key] == value
    else:
        with pytest.raises(TaskError, match="expected an object" if has_objects and value == ["text"] else kind.key):
            parse_task(record)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", ["guess", 7, None, ["state"], {}])
def test_unknown_kinds_are_rejected_with_the_known_ones(rules, name):
    with expect_error(EvaluationError, repr(name), f"'{rules}'") as told_of:
        check({"eval_types": [name]}, rules)
    known = [kind.name for kind in eval_kinds().values() if rules in kind.readers]
    assert str(told_of.value).endswith(", ".join(known))


def test_a_new_kind_needs_only_the_file_of_the_guide(add_kind):
    guide = (Path(__file__).parents[1] / "docs" / "guides" / "add-an-eval-kind.md").read_text(encoding="utf-8")
    has_title = add_kind("title_match", re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1]).has_title
    task = parse_task(TASK | {"eval": all_of(answer(fuzzy_match="2"), has_title("Cart"))})
    assert count([task]).checks == {"answer and place": 1}
    assert [evaluate(has_title(title), "", answer_outcome(""))[0].passed for title in ("", "Cart")] == [True, False]
    with expect_error(EvaluationError, "'title_match'"):
        check(has_title("Cart"), "webarena")
    with expect_error(TaskError, "reference_title", 7):
        parse_task(TASK | {"eval": has_title(7)})


def test_kinds_validate_values_and_notes_become_part_of_the_block():
    task = parse_task(TASK | {"eval": BUILT["url_match"], "annotation_note": "1 + 1", "string_note": "why"})
    assert task.eval == {"annotation_note": "1 + 1", "string_note": "why"} | BUILT["url_match"]
    with expect_error(TaskError, "unit", "'furlong'"):
        parse_task(TASK | {"eval": with_form(answer(fuzzy_match="3"), unit="furlong")})


@pytest.mark.parametrize(("content", "message"), [
    (b"a short text", "a short text"),
    (b"long " * 50_000, "long " * 40 + "... (250,000 bytes)"),
    (b"\x89PNG\r\n\0\0IHDR\0\1" + bytes(range(256)) * 400 + b"Made by Ann", "IHDR  !\"#$%&'()*+,-./0123"),
    (bytes(5000), "... (5,000 bytes)"),
])  # fmt: skip
def test_failed_file_checks_show_a_readable_excerpt_and_the_length(tmp_path, content, message):
    (tmp_path / "a").write_bytes(content)
    (verdict,) = evaluate(file_holds("a", "tea" * 1000), "", replace(answer_outcome(""), files=tmp_path))
    assert not verdict.passed
    assert verdict.found.startswith(message)
    assert verdict.expected == "teatea" * 33 + "te... (3,000 bytes)"
    assert len(verdict.reason) < 500
    assert verdict.reason.isprintable()


@pytest.mark.parametrize(("conditions", "content", "passed", "reason"), [
    ({"equals": "tea\nmilk"}, "tea\nmilk", True, ""),
    ({"equals": "tea\r\nmilk"}, "tea\nmilk\n", True, ""),
    ({"equals": "tea\nmilk\n"}, "tea\r\nmilk\r\n", True, ""),
    ({"equals": "tea\nmilk"}, "tea\nmilk\n\n", False, "line 2: 'tea\\nmilk' and 'tea\\nmilk\\n'"),
    ({"equals": "tea\nmilk"}, "tea\nMilk", False, "line 2: 'tea\\nmilk' and 'tea\\nMilk'"),
    ({"equals": "a" * 500 + "b"}, "a" * 500 + "c", False, f"line 1: '{'a' * 30}b' and '{'a' * 30}c'"),
    ({"equals": ""}, "", True, ""),
    ({"equals": ""}, None, False, "found None"),
    ({"equals": ""}, "tea", False, "expected '', found 'tea'"),
    ({"excludes": "tea"}, "milk", True, ""),
    ({"excludes": "tea"}, "green tea", False, "expected a text without 'tea', found 'green tea'"),
    ({"excludes": "tea"}, None, False, "found None"),
    ({"contains": "milk\r\nsalt"}, "tea\r\nmilk\r\nsalt", True, ""),
    ({"contains": "milk", "excludes": "tea"}, "milk", True, ""),
    ({"contains": "milk", "excludes": "tea"}, "milk, tea", False, "without 'tea'"),
    ({"json_path": "notes.1.title", "equals": "Milk"}, '{"notes": [{}, {"title": "Milk"}]}', True, ""),
    ({"json_path": "notes.1", "equals": {"n": 2.0}}, '{"notes": [{}, {"n": 2}]}', True, ""),
    ({"json_path": "", "equals": [1, None]}, "[1, null]", True, ""),
    ({"json_path": "notes.1.title", "equals": "Milk"}, '{"notes": [{}, {"title": "Tea"}]}', False, "a, notes.1.title: expected 'Milk', found 'Tea'"),
    ({"json_path": "notes.2", "equals": None}, '{"notes": []}', False, "there is no '2' of the path 'notes.2'"),
    ({"json_path": "a", "equals": 1}, "a = 1", False, "the file is not JSON"),
    ({"json_path": "a", "equals": 1}, "[" * 100_000, False, "the file is not JSON"),
    ({"json_path": "a", "equals": 1}, None, False, "found None"),
])  # fmt: skip
def test_file_checks_of_content_missing_text_and_json_values(tmp_path, conditions, content, passed, reason):
    if content is not None:
        (tmp_path / "a").write_bytes(content.encode())
    verdicts = evaluate(file_holds("a", **conditions), "", replace(answer_outcome(""), files=tmp_path))
    assert all(verdict.passed for verdict in verdicts) == passed
    assert reason in "".join(verdict.reason for verdict in verdicts if not verdict.passed)


@pytest.mark.parametrize(("check_of_file", "values"), [
    ({}, ("contains, excludes and equals",)),
    ({"json_path": "a"}, ("contains, excludes and equals",)),
    ({"contains": None, "excludes": "a"}, ("contains null",)),
    ({"contains": "a", "json_path": "b"}, ("json_path and contains",)),
    ({"equals": "a", "excludes": "c", "json_path": "b"}, ("json_path and excludes, equals",)),
    ({"equals": 3}, ("equals 3", "json_path")),
    ({"path": "a/", "equals": ""}, ("'a/'",)),
    ({"equal": ""}, ("'equal'", "'equals'")),
    ({"excludes": None}, ("excludes None", "str")),
])  # fmt: skip
def test_conditions_of_a_file_that_exclude_each_other_are_rejected(check_of_file, values):
    with expect_error(EvaluationError, *values):
        check({"eval_types": ["file"], "file": [{"path": "a", **check_of_file}]})


def html(locator, contents, url="last"):
    return {"eval_types": ["program_html"], "program_html": [{"url": url, "locator": locator, "required_contents": contents}]}


def test_url_match():
    references = {
        "__SHOPPING__/bag.html": True,
        "__SHOPPING__/bag.html/?size=2": True,
        "__SHOPPING__/bag.html?size=2&color=blue": False,
        "__SHOPPING__/bag": False,
        "__SHOPPING__/": False,
        "http://other.test/bag.html": False,
        "__SHOPPING__/ |OR| __SHOPPING__/bag.html": True,
    }
    assert {url: passes({"eval_types": ["url_match"], "reference_url": url}) for url in references} == references


def test_program_html_and_state():
    for locator, contents, expected in (
        ("", {"must_include": ["Red Bag"]}, True),
        (".qty", {"must_include": ["12"], "must_exclude": ["13"]}, True),
        (".qty", {"exact_match": "12"}, False),
        ("#q", {"exact_match": "typed"}, True),
        ("#t", {"exact_match": "note"}, True),
        ("#s", {"exact_match": "b"}, True),
        ("document.querySelector('#q').value", {"exact_match": "typed"}, True),
        ('document.querySelector("h1").outerText', {"exact_match": "Red Bag"}, True),
        ("document.querySelector('#c').checked", {"exact_match": "true"}, True),
        (".none", {"must_include": ["x"]}, False),
    ):
        assert passes(html(locator, contents)) is expected, locator
    assert passes(html("li", {"exact_match": "Hat"}, "__SHOPPING__/wishlist/"))
    query = "SELECT quantity FROM cart WHERE name = ?"
    for name, expected in (("Hat", [[2]]), ("Coat", [])):
        assert passes(rows(query, expected, [name]))
        assert not passes(rows(query, [[7]], [name]))


@pytest.mark.parametrize(("block", "message"), [
    ({"eval_types": []}, "no checks"), (string(nearly="x"), "unknown comparison 'nearly'"),
    (string(), "without reference_answers"), ({"eval_types": ["url_match"], "reference_url": ""}, "without reference_url"),
    (html("p >", {"exact_match": ""}), "not a CSS selector"), (html("document.title", {"exact_match": ""}), "is a script"),
    (html("p", {}), "no required_contents"), (rows("SELECT nothing", []), "failed"),
    ({"eval_types": ["state"], "state": [{"query": "SELECT 1", "expected": []}]}, "a check of the state lacks site; expected a str"),
    ({"eval_types": ["state"], "state": ["x"]}, "a check of the state is 'x'; expected an object"),
    (rows("SELECT 1", [], wrong=1), "has the unknown key 'wrong'; expected one of 'site'"),
    (rows("SELECT 1", [[1]], site="map"), "cannot be read here"),
])  # fmt: skip
def test_a_broken_check_raises_and_never_scores(block, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(block, "", outcome("x"))
