"""Derivations of answers from pages: each rule applies to what it states, and to nothing else."""

import pytest

from agents.data.derivations import derive_answer
from agents.data.readings import ParsedPage

ORDERS = """<h1>My Orders</h1>
<table>
<tr><th>Order</th><th>Date</th><th>Total</th><th>Status</th></tr>
<tr><td>0017</td><td>5/9/23</td><td>$20.50</td><td>Complete</td></tr>
<tr><td>0016</td><td>5/2/23</td><td>$10.00</td><td>Canceled</td></tr>
<tr><td>0015</td><td>4/2/23</td><td>$31.00</td><td>Complete</td></tr>
</table>"""
LAMPS = """<h1>Lamps</h1>
<a>Oak Lamp</a> $12.00
<a>Ash Lamp</a> $9.50"""
WALKS = """<table>
<tr><th>Place</th><th>Time</th></tr>
<tr><td>Inn</td><td>12min</td></tr>
<tr><td>Museum</td><td>1h 5min</td></tr>
</table>"""

ROUTE = "<h1>Directions</h1>\nTime\n1h 15min"
SCORES = "<p>-2 points</p>\n<p>3 points</p>\n<p>-1 point</p>"
TERMS = """<table>
<tr><th>Term</th><th>Uses of terms</th></tr>
<tr><td>tea</td><td>9</td></tr>
<tr><td>ink</td><td>4</td></tr>
<tr><td>soap</td><td>2</td></tr>
</table>"""


def derived(answer, goal, *pages):
    return derive_answer(
        answer, goal, [ParsedPage(f"http://{number}.test/", page, tuple(page.split("\n"))) for number, page in enumerate(pages)]
    )


@pytest.mark.parametrize(
    ("answer", "goal", "page", "part"),
    [
        ("Complete", "What is the status of order 0017?", ORDERS, '"Complete"'),
        ("0017", "Which is my latest complete order?", ORDERS, "2 of the lines say"),
        ("$51.50", "What is the total of the orders with the status complete?", ORDERS, "$20.50 + $31.00 = $51.50"),
        ("$30.50", "How much did I spend in May 2023?", ORDERS, "$20.50 + $10.00 = $30.50"),
        ("2", "How many orders did I place in May 2023?", ORDERS, "Counted, that is 2."),
        ("Ash Lamp", "Which is cheaper, the Oak Lamp or the Ash Lamp?", LAMPS, "$9.50 is less than $12.00"),
        ("$9.50; $12.00", "What are the lowest and the highest price of a lamp?", LAMPS, "The lowest is"),
        ("Inn", "Which places are within 20 minutes on foot?", WALKS, "The limit is 20 minutes."),
    ],
)
def test_an_answer_is_derived(answer, goal, page, part):
    text = derived(answer, goal, page)
    assert part in text
    assert bool(text) == bool(part)


@pytest.mark.parametrize(
    ("answer", "goal", "page", "part"),
    [
        ("0016", "Which is my latest complete order?", ORDERS, "The latest of them"),
        ("0017", "Which is my latest complete order?", ORDERS.replace("4/2/23", "6/2/23"), "The latest of them"),
        ("$30.51", "How much did I spend in May 2023?", ORDERS, "="),
        ("3", "How many orders did I place in May 2023?", ORDERS, "Counted"),
        ("2", "Which orders did I place in May 2023?", ORDERS, "Counted"),
        ("$9.00; $12.00", "What are the lowest and the highest price of a lamp?", LAMPS, "The lowest is"),
        ("Oak Lamp", "Which is cheaper, the Oak Lamp or the Ash Lamp?", LAMPS, "the cheaper one"),
        ("Ash Lamp", "Which costs less, the Oak Lamp or the Ash Lamp?", LAMPS, "the cheaper one"),
        ("Ash Lamp", "Is the Ash Lamp cheaper?", LAMPS, "the cheaper one"),
        ("Museum, Inn", "Which places are within 20 minutes on foot?", WALKS, "The limit is"),
        ("No", "Can I get there within 90 minutes?", ROUTE, "The limit is"),
        ("Yes", "Can I get there within 60 minutes?", ROUTE, "The limit is"),
        ("Yes; 2h 0min", "Can I get there within 90 minutes?", ROUTE, "The limit is"),
        ("1", "How many comments have a negative score?", SCORES, "Counted"),
        ("2", "How many comments have a score?", SCORES, "Counted"),
        ("$11.00", "How do the totals of complete and canceled orders of May 2023 differ?", ORDERS, " - "),
    ],
)
def test_a_rule_does_not_apply_to_another_answer_or_question(answer, goal, page, part):
    assert part not in derived(answer, goal, page)


@pytest.mark.parametrize(
    ("answer", "goal", "page", "part"),
    [
        ("Yes", "Can I get there within 90 minutes?", ROUTE, "75 is not more than 90: Yes."),
        ("Yes", "Can I get there within 75 minutes?", ROUTE, "75 is not more than 75: Yes."),
        (
            "No; 1h 15min",
            "Can I get there within one hour, that is within 60 minutes?",
            ROUTE,
            "75 is more than 60: No; 1h 15min.",
        ),
        ("2", "How many comments have a negative score?", SCORES, "Counted, that is 2."),
        (
            "$10.50",
            "How do the totals of complete and canceled orders of May 2023 differ?",
            ORDERS,
            "$20.50 - $10.00 = $10.50.",
        ),
        ("Yes", "Is the lamp in stock?", "<p>In stock</p>", 'The page says "In stock", so the answer is "Yes".'),
        ("No", "Is the lamp in stock?", "<p>Out of stock</p>", 'The page says "Out of stock", so the answer is "No".'),
        ("tea, ink", "What are the most frequent search terms?", TERMS, "from the most down"),
    ],
)
def test_comparisons_and_counts(answer, goal, page, part):
    assert part in derived(answer, goal, page)


def test_rows_that_do_not_fall_are_no_ranking():
    terms = TERMS.replace("<td>9</td>", "<td>1</td>")
    assert "from the most down" not in derived("tea, ink", "What are the most frequent search terms?", terms)


def test_a_missing_answer_has_a_reason():
    goal = "Which places are within 10 minutes on foot?"
    assert "even the fastest" in derived("N/A", goal, WALKS)
    assert '"Inn"' in derived("N/A", goal, WALKS)
    assert derived("N/A", "Which places are within 20 minutes on foot?", WALKS) == ""
    nothing = "<p>Your search returned no results.</p>"
    assert "no results" in derived("N/A", "Find a lamp", LAMPS, nothing)
    assert derived("N/A", "Find a lamp", LAMPS) == ""
