"""The corpus of wordings: it can be written out for every task, in any world, and the audit counts what the judge makes of it."""

import json

import pytest

from webarena_gym import tasks as suite
from webarena_gym.errors import TaskError
from webarena_gym.evaluators import is_right_answer
from webarena_gym.tasks import Task, wordings
from webarena_gym.tasks.template import all_of, answer, at_url, leave
from webarena_gym.tasks.wordings import HALVES, answer_of, read_wordings, wordings_of
from webarena_gym.tools.audit import audit

SUITE = [task for split in ("test", "validation") for task in suite.load(split) if answer_of(task) is not None]


def task(right="$12.50", wrong=("$13.50",), slots=None):
    return Task("t/0/0", ("shopping",), "__SHOPPING__", "How much?", answer(fuzzy_match=right), template="t", world_seed=0,
                instantiation_dict=slots or {}, wrong_answers=wrong, solution=(leave(right),))  # fmt: skip


@pytest.fixture
def corpus(monkeypatch):
    """Let a test say what the corpus holds, the same in both halves."""

    def hold(*sources, template="t"):
        monkeypatch.setattr(wordings, "_corpus", lambda _: {template: [(True, "bare", source) for source in sources]})

    return hold


def texts(some_task, other=None):
    return [wording.text for wording in wordings_of(some_task, "development", other)]


@pytest.mark.parametrize("half", HALVES)
def test_every_answer_task_of_the_suite_has_wordings(half):
    for some_task in SUITE:
        found = list(wordings_of(some_task, half, "another answer"))
        for is_right in (True, False):
            assert len({wording.text for wording in found if wording.is_right == is_right}) >= 12, (some_task.task_id, is_right)


@pytest.mark.parametrize("half", HALVES)
def test_no_text_is_right_and_wrong(half):
    for some_task in SUITE:
        found = list(wordings_of(some_task, half, "another answer"))
        both = {w.text for w in found if w.is_right} & {w.text for w in found if not w.is_right}
        assert not both, some_task.task_id


@pytest.mark.parametrize("text", ["$12.50", "**$12.50**", " $12.50. ", "It cost $12.50."])
def test_a_wrong_wording_that_comes_out_right_is_left_out(monkeypatch, text):
    held = [(True, "sentences", "It cost {{ answer }}."), (False, "near", text), (False, "near", "{{ wrong[0] }}")]
    monkeypatch.setattr(wordings, "_corpus", lambda _: {"t": held})
    assert texts(task()) == ["It cost $12.50.", "$13.50"]


def test_the_halves_are_different():
    one, other = (
        {source for entries in wordings._corpus(half).values() for _, _, source in entries if len(source) > 60}
        for half in HALVES
    )
    assert len(one & other) < 0.05 * min(len(one), len(other))


def test_values_are_computed(corpus):
    corpus(
        "{{ (answer | number) + 1 }}",
        "{{ ((answer | number) * 2) | money }}",
        "{{ '3' | spelled }}",
        "{{ '2h 4min' | minutes }}",
    )
    assert texts(task()) == ["13.5", "$25.00", "three", "124"]
    corpus("{{ 'March 5, 2023' | on('%e %b %Y') }}", "{{ '2023-03-05' | on }}", "{{ items | series }}|{{ items | oxford }}")
    assert texts(task("a; b; c")) == ["5 Mar 2023", "March 05, 2023", "a, b and c|a, b, and c"]


def test_what_a_task_lacks_leaves_its_wording_out(corpus):
    corpus(
        "{{ other }}",
        "{{ wrong[1] }}",
        "{{ slots.product }}",
        "{{ 'no number' | number }}",
        "{{ skip() }}",
        "{{ items[3] }}",
        "{{ answer }}",
    )
    assert texts(task()) == ["$12.50"]
    assert texts(task(slots={"product": "A Lamp"}), other="$1.00") == ["$1.00", "A Lamp", "$12.50"]


def test_a_wording_that_cannot_be_written_out_is_told(corpus):
    corpus("{{ answer + 1 }}")
    with pytest.raises(TaskError, match="t/0/0: the development wording"):
        texts(task())


def test_wordings_cannot_reach_into_the_interpreter(corpus):
    corpus("{{ answer.__class__.__mro__ }}")
    with pytest.raises(TaskError, match="unsafe"):
        texts(task())


@pytest.mark.parametrize("content", ["[]", '{"t": {"right": []}}', '{"t": {"right": ["a"], "wrong": []}}', "no JSON"])
def test_files_that_hold_no_wordings_are_refused(tmp_path, content):
    path = tmp_path / "t.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TaskError, match="holds no wordings"):
        read_wordings(path)


def test_the_audit_counts_what_is_accepted(monkeypatch):
    entries = [
        (True, "bare", "{{ answer }}"),
        (True, "bare", "about a dozen"),
        (False, "near", "{{ wrong[0] }}"),
        (False, "x", "12.5"),
    ]
    monkeypatch.setattr(wordings, "_corpus", lambda half: {"t": entries[: 4 if half == "held_out" else 1]})
    totals = audit([task()], side_effects=False).totals()
    names = ("right_wordings", "right_accepted", "wrong_wordings", "wrong_accepted")
    assert [totals[name] for name in names] == [3, 2, 2, 1]
    assert [totals[f"held_out_{name}"] for name in names] == [2, 1, 2, 1]
    assert json.dumps(totals)


def test_only_the_answer_is_judged():
    block = all_of(answer(fuzzy_match="7"), at_url("__SHOPPING__/cart"))
    assert is_right_answer(block, "How many?", "7")
    assert not is_right_answer(block, "How many?", "8")
