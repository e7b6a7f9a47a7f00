"""An eval kind is one module of `evaluators.kinds`: its schema, its builder and its readers; nothing else lists the kinds."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import RULES, check, evaluate, kinds
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds
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
    "verified": judged_by_package(1, 2),
}

NEW_KIND = """
from webarena_gym.evaluators.outcome import EvalKind
from webarena_gym.evaluators.outcome import Verdict

def has_length(length):
    return {"eval_types": ["length_match"], "reference_length": length}

def read(evaluation):
    wanted = evaluation["reference_length"]
    return [lambda intent, outcome, judge: [Verdict("length_match", len(outcome.answer) == wanted, "", "equal numbers")]]

def validate(evaluation):
    if evaluation.get("reference_length", 1) < 0:
        raise ValueError("reference_length is negative")

KIND = EvalKind(
    name="length_match", key="reference_length", keys={"reference_length": (int,)}, readers={"native": read},
    looks_at="answer", validate=validate,
)
"""


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
def test_a_kind_declares_all_of_its_block(name):
    kind = eval_kinds()[name]
    assert kind.name == name
    assert kind.readers.keys() <= set(RULES)
    assert (kind.looks_at,) in CHECKS
    assert BUILT[name].keys() - {"eval_types"} <= kind.keys.keys()
    others = [other for other in eval_kinds().values() if other is not kind]
    assert not any(kind.keys.keys() & other.keys.keys() for other in others)


@pytest.mark.parametrize("name", [name for name, kind in eval_kinds().items() if "native" in kind.readers])
def test_what_a_builder_writes_is_read(name):
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


def test_a_file_is_all_that_a_new_kind_needs(add_kind):
    new_kind = add_kind("length_match", NEW_KIND)
    block = all_of(new_kind.has_length(2), at_url("__SHOPPING__/cart/"))
    task = parse_task(TASK | {"eval": block})
    assert count([task]).checks == {"answer and place": 1}
    block = new_kind.has_length(2)
    assert [evaluate(block, "", answer_alone(text))[0].passed for text in ("ab", "abc")] == [True, False]
    with pytest.raises(EvaluationError, match="there is no evaluator 'length_match'"):
        check(block, "webarena")
    with pytest.raises(TaskError, match="reference_length is '2'; expected a whole number"):
        parse_task(TASK | {"eval": block | {"reference_length": "2"}})
    with pytest.raises(TaskError, match="reference_length is negative"):
        parse_task(TASK | {"eval": block | {"reference_length": -1}})


def test_a_kind_has_its_builder_and_its_schema_in_one_file():
    for name, kind in eval_kinds().items():
        module = importlib.import_module(f"webarena_gym.evaluators.kinds.{name}")
        builders = [
            each for each, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        public = [each for each in builders if not each.startswith("_")]
        assert module.KIND is kind
        assert public, f"{name} has no function that writes it"


def test_the_kind_of_the_guide_works(add_kind):
    guide = (Path(__file__).parent.parent / "docs" / "guides" / "add-an-eval-kind.md").read_text(encoding="utf-8")
    made = add_kind("title_match", re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1])
    titles = [evaluate(made.has_title(title), "", answer_alone("")) for title in ("", "Cart")]
    assert [verdict.passed for verdicts in titles for verdict in verdicts] == [True, False]
