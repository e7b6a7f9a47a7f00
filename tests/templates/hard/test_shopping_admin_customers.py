"""Customers: tasks agree with independent oracles, and the customer who has spent most is found by sums over the orders."""

import re
from datetime import datetime

import pytest

from tests.templates.hard.solutions import expect_agreement, names_of, opened
from webarena_gym.templates.hard import shopping_admin_customers


@pytest.mark.parametrize("name", names_of(shopping_admin_customers))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)


def test_the_best_customer_since_a_day_has_the_largest_sum_of_completed_orders():
    env, task = opened("best_customer_since")
    names = re.split(", and |, | and ", task.instantiation_dict["names"])
    with env:
        day = str(datetime.strptime(task.instantiation_dict["day"], "%B %d, %Y").date())
        query = """SELECT coalesce(sum(grand_total_cents), 0) FROM sales_order JOIN customer USING (customer_id)
            WHERE firstname || ' ' || lastname = ? AND status = 'complete' AND sales_order.created_at >= ?"""
        spent = {name: env.database("shopping").execute(query, (name, day)).fetchone()[0] for name in names}
    assert len(spent) == 6
    best = max(spent, key=spent.get)
    assert best in task.solution[-1].thought
