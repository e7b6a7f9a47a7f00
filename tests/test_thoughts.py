import re
from functools import cache
from random import Random

import pytest

from agents.data.demonstrations import demonstrate, draw_tasks
from agents.data.derivations import derive_answer
from agents.data.readings import DURATION, MONEY, ParsedPage, Row, nearest_lines, read_date, words
from agents.data.thoughts import ThoughtContext, write_thought
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.actions.replies import answer_part

TEMPLATES = (
    "shopping.orders_sum", "shopping.month_spending", "shopping.month_count", "shopping.cheaper_of_two", "shopping.missing_product",
    "shopping.checkout", "shopping_admin.payment_difference", "shopping_admin.create_rule", "shopping_admin.latest_pieces",
    "gitlab.commits_of_two", "gitlab.issue_create", "map.walk_then_drive", "map.all_within_walk", "reddit.comment_here",
    "several.nearest_park",
)  # fmt: skip
QUOTATION = re.compile(r'"([^"]*)"')
ADDITION = re.compile(r"(\$?[\d.,]+(?: \+ \$?[\d.,]+)+) = (\$?[\d.,]*\d)")
SUBTRACTION = re.compile(r"(\$?[\d.,]+) - (\$?[\d.,]+) = (\$?[\d.,]*\d)")


@cache
def steps(thoughts, seed=0, **options):
    # With the whole history, the messages hold every page that was seen.
    tasks = draw_tasks([1001], 1, templates=TEMPLATES)
    return demonstrate(tasks, expert_thoughts=thoughts, seed=seed, history="full", max_steps=30, **options)


def thought_of(step):
    return step.reply.partition("<think>")[2].partition("</think>")[0]


def goal_of(step):
    return step.messages[0]["content"].removeprefix("Task Instruction: ").partition("\n\nRound 0")[0]


def number(text):
    return float(text.strip("$").replace(",", ""))


@pytest.mark.parametrize(
    ("thoughts", "options"),
    [("short", {}), ("long", {}), ("long", {"elements": "label", "window": 1500}), ("long", {"observation": "axtree"})],
    ids=str,
)
def test_quoted_values_occur_on_seen_pages(thoughts, options):
    quoted = 0
    for step in steps(thoughts, **options):
        actions = [answer_part(message["content"]) for message in step.messages if message["role"] == "assistant"]
        own = "\n".join([*actions, answer_part(step.reply)])
        pages = "\n".join(message["content"] for message in step.messages if message["role"] == "user")
        for text in QUOTATION.findall(thought_of(step).replace(goal_of(step), "")):
            quoted += 1
            # A label may be known under its name alone, where the page numbers its elements.
            assert text in pages or text in own or text in goal_of(step), (step.task_id, text)
    assert quoted > 100


def test_sums_and_differences_are_right():
    thoughts = "\n".join(thought_of(step) for step in steps("long"))
    sums, differences = ADDITION.findall(thoughts), SUBTRACTION.findall(thoughts)
    assert len(sums) >= 6
    assert len(differences) >= 1
    for added, total in sums:
        assert sum(map(number, added.split(" + "))) == pytest.approx(number(total))
    for high, low, rest in differences:
        assert number(high) - number(low) == pytest.approx(number(rest))
    last = {step.task_id: step for step in steps("long")}
    computed = [step for step in last.values() if ADDITION.search(thought_of(step)) or "Counted" in thought_of(step)]
    assert len(computed) >= 6


def test_thoughts_change_no_action_and_follow_from_their_seed():
    short, long = ([answer_part(step.reply) for step in steps(style)] for style in ("short", "long"))
    assert [step.reply for step in steps("none")] == short == long
    assert all(DIALECTS["webrl"].parse(step.reply) for step in steps("long"))
    # A short thought is one line, and a long one begins with the goal.
    assert all("\n" not in thought_of(step) for step in steps("short"))
    assert all(thought_of(step).partition("\n")[0].endswith(goal_of(step).split("\n")[-1]) for step in steps("long"))
    assert steps("long") == steps.__wrapped__("long")
    changed = [one.reply != other.reply for one, other in zip(steps("long"), steps("long", seed=1), strict=True)]
    assert sum(changed) > len(changed) / 2


def page(*lines, url="http://shop.test/", below=0):
    return ParsedPage(url, "\n".join(lines), lines, below)


ORDERS = page(
    "<h1>My Orders</h1>",
    "<tr><th>Order #</th><th>Date</th><th>Total</th><th>Status</th></tr>",
    "<tr><td>000000007</td><td>12/9/22</td><td>$10.50</td><td>Complete</td></tr>",
    "<tr><td>000000006</td><td>12/2/22</td><td>$4.00</td><td>Canceled</td></tr>",
    "<tr><td>000000005</td><td>11/30/22</td><td>$1,000.25</td><td>Complete</td></tr>",
)
ROUTES = page("<h2>By car</h2>", "Time", "1h 30min"), page("<h2>On foot</h2>", "Time", "45 min")
NEARBY = page(
    "<tr><th>Name</th><th>Walking time</th></tr>",
    "<tr><td><a>Inn</a></td><td>9 min</td></tr>",
    "<tr><td><a>Lodge</a></td><td>1h 2min</td></tr>",
)


@pytest.mark.parametrize(("answer", "goal", "pages", "expected"), [
    ("$1,010.75", "What do orders 000000007 and 000000005 come to?", [ORDERS], "$10.50 + $1,000.25 = $1,010.75"),
    ("$14.50", "What did I spend in December 2022?", [ORDERS], "$10.50 + $4.00 = $14.50"),
    ("2", "How many orders did I place in December 2022?", [ORDERS], "Counted, that is 2"),
    ("2; 000000006", "How many orders did I place in December 2022, and which is the earliest?", [ORDERS], 'that is 2. The other part of the answer is "000000006"'),
    ("Yes; 1h 30min", "Can I be there within two hours, and how long does it take?", ROUTES[:1], "90 is not more than 120"),
    ("$4.00", "What was the total of order 000000006?", [ORDERS], '"$4.00" under "Total" in the line of "000000006"'),
    ("$10.50", "How much is the latest order that is complete?", [ORDERS], 'the date "12/9/22"'),
    ("2h 15min", "How long am I on the way?", ROUTES, "90 + 45 = 135"),
    ("Yes", "Can I be there within two hours?", ROUTES[:1], "90 is not more than 120"),
    ("No", "Can I be there within 1 hours?", ROUTES[:1], "90 is more than 60"),
    ("Inn", "Name all hotels at most 20 minutes away.", [NEARBY], '"Inn" "9 min"; "Lodge" takes "1h 2min"'),
    ("N/A", "Which hotels are within 5 minutes?", [NEARBY], 'even the fastest of these, "Inn", takes "9 min"'),
    ("N/A", "How much is a Lamp?", [page("Your search returned no results.")], "returned no results"),
])  # fmt: skip
def test_an_answer_is_worked_out(answer, goal, pages, expected):
    assert expected in derive_answer(answer, goal, pages)


@pytest.mark.parametrize(("answer", "goal"), [
    ("$9.99", "What do orders 000000007 and 000000005 come to?"),
    ("3", "How many orders did I place in December 2022?"),
    ("$1,000.25", "How much is the latest order that is complete? It was in May 2021."),
    ("Yes", "Is it in stock?"),
    ("N/A", "How much is a Lamp?"),
])  # fmt: skip
def test_derivations_claim_only_what_pages_support(answer, goal):
    assert "latest of them" not in derive_answer(answer, goal, [ORDERS])
    assert answer == "$1,000.25" or derive_answer(answer, goal, [ORDERS]) == ""


def test_a_reading_has_rows_facts_and_a_title_and_amounts_are_read_and_written():
    tax = "<tr><th>Tax</th><td>$1.00</td></tr>"
    reading = page("<h1>Order <a>7</a></h1>", *ORDERS.lines[1:3], tax, "SKU: A-1", "Phone", "555")
    assert reading.title == "Order 7"
    assert reading.rows == [Row(("Order #", "Date", "Total", "Status"), ("000000007", "12/9/22", "$10.50", "Complete"))]
    assert reading.facts == (("Tax", "$1.00"), ("SKU", "A-1"), ("Phone", "555"))
    assert nearest_lines(reading.texts, words("the phone"), 1) == ["Phone"]
    assert {read_date(text) for text in ("31/13/2022", "Feb 30, 2022", "soon")} == {None}
    assert read_date("31/12/2022") == read_date("12/31/2022")
    for text in ("$0.05", "$10.50", "$1,120.94"):
        assert MONEY.write(MONEY.read(text)) == text
    for text in ("5 min", "1h 0min", "12h 10min"):
        assert DURATION.write(DURATION.read(text)) == text


def test_a_remark_with_a_value_from_nowhere_is_dropped():
    shown = page("<h1>Cart</h1>", "Subtotal", "$5.00", "<button>Pay</button>")
    moment = ThoughtContext("Buy it", [shown], [], Action(Kind.CLICK, "Pay"), remark="It is $7.77 now.")
    assert "$7.77" not in write_thought("long", moment, Random(0))
    thought = write_thought("short", moment._replace(remark="It is $5.00 now."), Random(0))
    assert thought.startswith("It is $5.00 now.")
    assert '"Pay"' in thought


@pytest.mark.parametrize(("action", "expected"), [
    (Action(Kind.SCROLL_DOWN), "7 more lines"),
    (Action(Kind.SEARCH, "Search", "red lamp"), '"red lamp"'),
    (Action(Kind.SELECT, "Color", "Red"), '"Red"'),
    (Action(Kind.HOVER, "Menu"), "hover"),
    (Action(Kind.GO_BACKWARD), "back"),
    (Action(Kind.EXIT, argument=""), "all steps are taken"),
])  # fmt: skip
def test_each_kind_of_action_has_a_reason(action, expected):
    thought = write_thought(
        "short", ThoughtContext("Find a red lamp", [page('<input label="Search">', below=7)], [], action), Random(0)
    )
    assert expected in thought.lower() or expected in thought
