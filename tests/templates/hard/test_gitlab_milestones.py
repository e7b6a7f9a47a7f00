"""Milestones and dates: solutions solve their tasks, both outcomes are drawn, and the found hour is within everybody's hours."""

import re

import pytest

from tests.templates.hard.solutions import draw, expect_solved


@pytest.mark.parametrize(
    "name", ["postpone_overdue", "restore_due_dates", "hour_for_all", "close_milestone", "close_before_release"]
)
def test_the_solution_solves_the_task(name):
    expect_solved(name)


def test_a_milestone_may_be_closed_in_some_tasks_and_not_in_others():
    closing = [any(step.action.element == "Close milestone" for step in task.solution) for task in draw("close_milestone", 12)]
    assert {*closing} == {True, False}


def test_the_hour_is_in_the_usual_hours_of_all():
    for task in draw("hour_for_all", 4):
        hour = int(re.search(r"\b(\d\d):00 UTC", str([step.action.argument for step in task.solution]))[1])
        lines = [line for line in task.evidence if "local time, UTC" in line]
        assert len(lines) == 5
        for line in lines:
            begin, end, zone = map(int, re.search(r": (\d\d):00 to (\d\d):00 local time, UTC([+-]\d+)", line).groups())
            assert begin <= hour + zone < end, line
