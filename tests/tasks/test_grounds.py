"""Grounds are read from task files as they are written, and anything else is rejected."""

import pytest

from webarena_gym.errors import TaskError
from webarena_gym.tasks.grounds import Ground, difference_of, joined, lacks, number_of, parse_grounds, pictured, says, sum_of


def test_functions_name_their_operation():
    made = [function("a", "b").operation for function in (sum_of, number_of, joined, says, pictured)]
    assert made == ["sum", "count", "joined", "says", "pictured"]
    assert difference_of(["a"], ["b"]) == Ground("difference", ("a",), ("b",))
    assert lacks(["a"], ["b"]) == Ground("lacks", ("a",), ("b",))


def test_grounds_are_read_as_they_are_written():
    grounds = {"3": sum_of("1", "2"), "no": lacks(["a"], ["b"])}
    assert parse_grounds({piece: ground.to_json() for piece, ground in grounds.items()}, "task 1") == grounds
    assert parse_grounds({"3": {"operation": "sum", "operands": ["3"]}}, "task 1") == {"3": sum_of("3")}


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([], "expected an object"), ({"3": []}, "expected an object with"), ({"3": {"operation": "sum", "operands": [], "more": 1}}, "more"),
        ({"3": {"operation": "product", "operands": []}}, "product"), ({"3": {"operation": "sum"}}, "lists of texts"),
        ({"3": {"operation": "sum", "operands": "12"}}, "lists of texts"), ({"3": {"operation": "sum", "operands": [1]}}, "lists of texts"),
        ({"3": {"operation": "lacks", "operands": ["a"], "away": "b"}}, "lists of texts"),
    ],
)  # fmt: skip
def test_other_records_are_rejected(record, problem):
    with pytest.raises(TaskError, match=problem):
        parse_grounds(record, "task 1")
