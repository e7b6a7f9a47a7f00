"""An eval kind is one module of `evaluators.kinds`: its schema, its builder and its readers; nothing else lists the kinds."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import RULES, check, evaluate, kinds
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds
from webarena_gym.evaluators.kinds.file import file_holds
from webarena_gym.evaluators.kinds.http import answers_json
from webarena_gym.evaluators.kinds.verified import judged_by_package
from webarena_gym.evaluators.outcome import answer_alone
from webarena_gym.tasks.census import CHECKS, count
from webarena_gym.tasks.task import parse_task
from webarena_gym.tasks.template import all_of, answer, at_url, page_shows, state, told

TASK = {"task_id": 1, "sites": ["shopping"], "start_url": "__SHOPPING__", "intent": "Look"}
BUILT = {
    "string_match": told(answer(fuzzy_match="3"), about=["Oak Shelf"]),
    "url_match": at_url("__SHOPPING__/cart/"),
    "program_html": page_shows("last", ".name", exact_match="Oak Shelf"),
    "state": state("SELECT 1", expected=[[1]], site="shopping"),
    "file": file_holds("notes/a.txt", "tea"),
    "http": answers_json("__SHOPPING__/api", "items.0.name", "Oak Shelf"),
    "verified": judged_by_package(1, 2),
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
    if type(value) in kind.keys[kind.key] and value:
        assert parse_task(record).eval[kind.key] == value
    else:
        with pytest.raises(TaskError, match=kind.key):
            parse_task(record)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", ["guess", 7, None, ["state"], {}])
def test_an_unknown_kind_is_told_beside_those_that_the_rules_know(rules, name):
    with pytest.raises(EvaluationError, match="there is no evaluator") as told_of:
        check({"eval_types": [name]}, rules)
    known = [kind.name for kind in eval_kinds().values() if rules in kind.readers]
    assert str(told_of.value).endswith(", ".join(known))


def test_a_file_is_all_that_a_new_kind_needs_as_the_guide_says(add_kind):
    guide = (Path(__file__).parent.parent / "docs" / "guides" / "add-an-eval-kind.md").read_text(encoding="utf-8")
    has_title = add_kind("title_match", re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1]).has_title
    task = parse_task(TASK | {"eval": all_of(answer(fuzzy_match="2"), has_title("Cart"))})
    assert count([task]).checks == {"answer and place": 1}
    assert [evaluate(has_title(title), "", answer_alone(""))[0].passed for title in ("", "Cart")] == [True, False]
    with pytest.raises(EvaluationError, match="there is no evaluator 'title_match'"):
        check(has_title("Cart"), "webarena")
    with pytest.raises(TaskError, match="reference_title is 7; expected"):
        parse_task(TASK | {"eval": has_title(7)})


def test_a_kind_may_refuse_values_of_the_right_type():
    with pytest.raises(TaskError, match="asked of eval: unit is 'furlong'"):
        parse_task(TASK | {"eval": told(answer(fuzzy_match="3"), unit="furlong")})
