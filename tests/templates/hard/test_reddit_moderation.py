"""Moderation: tasks agree with independent oracles, and those who are appointed meet the conditions that the others miss."""

import re

import pytest

from tests.templates.hard.solutions import expect_agreement, expect_solved, names_of, opened
from webarena_gym.templates.hard import reddit_moderation


@pytest.mark.parametrize("name", names_of(reddit_moderation))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)


def test_the_solution_solves_a_task_whose_oracle_needs_the_facts_of_texts():
    expect_solved("moderate_forum")


def test_appointed_moderators_meet_the_conditions():
    env, task = opened("appoint_moderators")
    with env:
        db = env.database("reddit")
        forum, people = task.instantiation_dict["forum"], re.split(", and |, | and ", task.instantiation_dict["people"])
        ((sidebar, number),) = db.execute("SELECT sidebar, forum_id FROM forum WHERE name = ?", (forum,))
        years, posts = (int(re.search(pattern, sidebar)[1]) for pattern in (r"for (\d+) years", r"at least (\d+) submissions"))
        chosen = {step.action.argument for step in task.solution if step.action.element == "Username"}
        now = db.execute("SELECT value FROM world WHERE key = 'now'").fetchone()[0]
        for name in people:
            ((user, since, biography),) = db.execute(
                "SELECT user_id, created_at, biography FROM user WHERE username = ?", (name,)
            )
            is_old = since <= db.execute("SELECT datetime(?, ?)", (now, f"-{years} years")).fetchone()[0]
            own = "SELECT count(*) FROM submission WHERE user_id = ? AND forum_id = ? AND state = 'visible'"
            wrote = db.execute(own, (user, number)).fetchone()[0] >= posts
            moderates = db.execute("SELECT count(*) FROM moderator WHERE user_id = ?", (user,)).fetchone()[0]
            sells = "order them" in biography
            assert (name in chosen) == (is_old and wrote and not moderates and not sells), (name, since, biography)
        assert 0 < len(chosen) < len(people)
