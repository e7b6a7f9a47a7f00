"""Goods and rules in the shop's administration: tasks agree with independent oracles, and customers are moved according to the rules."""

import pytest

from tests.templates.hard.solutions import expect_agreement, names_of, opened
from webarena_gym.templates.hard import shopping_admin_goods


@pytest.mark.parametrize("name", names_of(shopping_admin_goods))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)


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
