"""Milestones and dates: tasks agree with independent oracles, both outcomes are drawn, and the found hour is within everybody's hours."""

import re

import pytest

from tests.templates.hard.solutions import draw, expect_agreement, names_of, opened
from webarena_gym.templates.hard import gitlab_milestones


@pytest.mark.parametrize("name", names_of(gitlab_milestones))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)


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


def test_three_people_speak_about_the_hour_and_one_of_them_about_both_others():
    env, task = opened("hour_for_all")
    with env:
        db = env.database("gitlab")
        title = task.instantiation_dict["title"]
        query = "SELECT name, body FROM note JOIN issue USING (issue_id) JOIN user ON user_id = note.author_id WHERE title = ? ORDER BY note_id"
        notes = [tuple(row) for row in db.execute(query, (title,))]
        (author,) = (
            row[0] for row in db.execute("SELECT name FROM issue JOIN user ON user_id = author_id WHERE title = ?", (title,))
        )
    others = {name for name, _ in notes} - {author}
    assert len(others) == 2
    spoken = " ".join(body for name, body in notes if name == author)
    assert all(name in spoken for name in others)
