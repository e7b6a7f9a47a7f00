"""The form of an answer is read from a record with checked values, and described in one sentence."""

import pytest

from webarena_gym.answers.form import TYPES, UNITS, Form, read_form


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (Form(), "Answer with the value alone."),
        (Form("yes or no"), 'Answer with "yes" or "no".'),
        (Form("distance", unit="km"), "Answer with a distance, like 1.2 km, in km unless it has its unit."),
        (Form("list of number"), "Answer with a list, separated as the goal says or by semicolons; each item is a number."),
        (Form("record"), "Answer in the form that the goal states, or with the values alone, separated by semicolons."),
    ],
)
def test_a_form_is_described(form, sentence):
    assert form.in_words() == sentence


def test_a_record_is_read():
    record = {
        "type": "list of money",
        "ordered": True,
        "labels": [["a"], ["b", "c"]],
        "about": ["Ann"],
        "unit": "",
        "yes": [],
        "no": ("N",),
    }
    assert read_form(record) == Form("list of money", True, "", (("a",), ("b", "c")), ("Ann",), (), ("N",))
    assert all(read_form({"type": kind}).type == kind for kind in (*TYPES, "record", ""))
    assert all(read_form({"unit": unit}).unit == unit for unit in UNITS)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([], "an object"), ({"kind": "money"}, "no 'kind'"), ({"about": "Ann"}, "about"), ({"yes": [1]}, "yes"), ({"no": 0}, "no"),
        ({"labels": ["a"]}, "labels"), ({"labels": "a"}, "labels"), ({"ordered": 1}, "ordered"), ({"unit": "league"}, "unit"), ({"unit": 1}, "unit"),
        ({"type": "list of record"}, "type"), ({"type": "sum"}, "type"), ({"type": 3}, "type"),
    ],
)  # fmt: skip
def test_other_records_are_rejected(record, problem):
    with pytest.raises(ValueError, match=problem):
        read_form(record)
