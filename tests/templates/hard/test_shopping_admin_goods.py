"""Goods and rules in the shop's administration: solutions solve their tasks, and customers are moved according to the rules."""

import pytest

from tests.templates.hard.solutions import expect_solved, opened


@pytest.mark.parametrize(
    "name",
    ["restock", "cut_prices", "restore_prices", "groups_by_rules", "rules_of_campaigns", "enable_again", "book_delivery"],
)
def test_the_solution_solves_the_task(name):
    expect_solved(name)


def test_only_customers_in_the_wrong_group_are_moved():
    env, task = opened("groups_by_rules")
    with env:
        groups = dict(
            env.database("shopping").execute("SELECT firstname || ' ' || lastname, group_name FROM customer").fetchall()
        )
    name, moved = "", {}
    for step in task.solution:
        label, value = str(step.action.element), str(step.action.argument)
        name = next((name for name in groups if name in label), name)
        if label == "Group":
            moved[name] = value
    assert moved
    assert all(groups[name] != group for name, group in moved.items())
    assert len(moved) < 6
