"""A product that is called back: which of its orders are refunded, held or left, as a page says."""

from datetime import datetime
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.orders import open_order
from webarena_gym.templates.hard.ways import listed, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import ORDERS, PRODUCTS, others_stay

TEMPLATES = t.Templates("hard")

_ORDERS = """SELECT o.*, i.item_id, i.qty_ordered, i.price_cents, (SELECT count(*) FROM order_item j WHERE j.order_id = o.order_id) AS lines
    FROM sales_order o JOIN order_item i USING (order_id) WHERE i.product_id = ? AND discount_cents = 0 AND customer_id IS NOT 1
    AND (SELECT count(DISTINCT sku) FROM order_item j WHERE j.order_id = o.order_id) = (SELECT count(*) FROM order_item j WHERE j.order_id = o.order_id)
    AND (SELECT sum(qty_refunded + qty_canceled) FROM order_item j WHERE j.order_id = o.order_id) = 0
    AND NOT EXISTS (SELECT 1 FROM creditmemo c WHERE c.order_id = o.order_id) ORDER BY created_at DESC"""


@TEMPLATES.define(
    'The {product} is being recalled. Handle the orders {numbers} as our page "{page}" (under Content) says.',
    'recall of the {product}!! orders {numbers}. do exactly what content page "{page}" says, pls be careful with the credit memos',
    "We have to recall the {product}. The lawyers have written down what is to be done on the content page \"{page}\", and these orders may be concerned: {numbers}. Please do with each what the page says, to the letter; "
    "some of them need nothing.",
    'Please work through {numbers}: all of these contain the {product}, which is recalled. What happens with them is on "{page}" among our content pages. Mind the details, the forms are filled in with something else.',
    'Regarding the recall of the {product}: read "{page}" (Content > Pages), then handle the orders {numbers} acordingly. Nothing beyond that.',
    sites=("shopping_admin",),
    difficulty=("policies", "exhaustive", "restraint"),
)  # fmt: skip
def refund_recalled(world: t.Sampler) -> t.Draw:
    """Refund the recalled pieces of orders of some days, and nothing else of them."""
    rng, title = world.rng, world.rng.choice(("Recall", "Recall: what to do", "Product recall"))
    sold = world.rows(
        "SELECT product_id FROM order_item GROUP BY product_id HAVING count(DISTINCT order_id) >= 10 ORDER BY product_id"
    )
    product = world.rows("SELECT * FROM product WHERE product_id = ?", rng.choice(sold)["product_id"])[0]
    found = world.rows(_ORDERS, product["product_id"])
    complete = [row for row in found if row["status"] == "complete" and 2 <= row["lines"] <= 4]
    open_ones = [row for row in found if row["status"] in ("processing", "pending")]
    single = [row for row in found if row["status"] == "complete" and row["lines"] == 1]
    if len(complete) < 5 or not open_ones:
        raise t.NothingToDraw("orders of every kind")
    oldest, newest = complete[len(complete) - 2], complete[1]
    within = [row for row in complete if oldest["created_at"][:10] < row["created_at"][:10] < newest["created_at"][:10]]
    late = [row for row in open_ones if row["created_at"][:10] > newest["created_at"][:10]]
    if len(within) < 3:
        raise t.NothingToDraw("orders of those days")
    chosen = rng.sample(within, 3)
    start = datetime.fromisoformat(min(row["created_at"] for row in chosen)).date()
    end = datetime.fromisoformat(max(row["created_at"] for row in chosen)).date()
    outside = [row for row in complete if not str(start) <= row["created_at"][:10] <= str(end)]
    alone = [row for row in single if str(start) <= row["created_at"][:10] <= str(end)]
    cases = [(row, "refund") for row in chosen] + [(row, "outside") for row in rng.sample(outside, 2)]
    cases += [(row, "refund") for row in alone[:1]]
    cases += [(row, "hold") for row in rng.sample(late or open_ones, 1)]
    rng.shuffle(cases)
    days = [f"{day:%B} {day.day}, {day.year}" for day in (start, end)]
    rules = (
        f"Concerned is the {product['name']} from orders that were placed from {days[0]} to {days[1]}, both days included. Nothing was wrong with what was sold before or after.\n\n"
        "Complete orders of these days: make a credit memo for all pieces of this product. Other products of the order are not refunded, and neither is the shipping. The pieces do not come back into our stock, they are destroyed.\n\n"
        "Orders that are not complete yet, of whatever day, are put on hold, without a credit memo. We will see to them later.\n\n"
        "All other orders stay as they are."
    )
    way = staff_page(world, title, rules)
    steps: list[Step] = []
    changes: dict[str, dict[str, Any]] = {}
    memos: list[list[int]] = []
    refunded: dict[int, int] = {}
    for row, fate in cases:
        steps += open_order(row)
        if fate == "hold":
            steps.append(t.click("Hold", "It is not complete."))
            changes[row["increment_id"]] = {"status": "holded"}
        elif fate == "refund":
            items = world.rows("SELECT * FROM order_item WHERE order_id = ? ORDER BY item_id", row["order_id"])
            others = [item for item in items if item["item_id"] != row["item_id"]]
            steps += [
                t.click("Credit Memo"),
                *(t.type_text(f"Qty of {item['sku']}", "0") for item in others),
                t.type_text("Refund Shipping", "0"),
                t.click("Return to Stock", "The pieces are destroyed."),
                t.click("Refund Offline"),
            ]
            changes[row["increment_id"]] = {"refunds": 1, "status": "complete" if others else "closed"}
            memos.append([row["order_id"], 0, 0, row["price_cents"] * row["qty_ordered"]])
            refunded[row["item_id"]] = row["qty_ordered"]
    last = world.value("SELECT coalesce(max(creditmemo_id), 0) FROM creditmemo")
    documents = "SELECT order_id, refund_shipping_cents, adjustment_cents, grand_total_cents FROM creditmemo WHERE creditmemo_id > ? ORDER BY order_id"
    marks = ", ".join("?" * len(cases))
    items_of = f"SELECT item_id, qty_refunded, qty_canceled, qty_invoiced, qty_shipped FROM order_item WHERE order_id IN ({marks}) ORDER BY item_id"
    numbers = [row["order_id"] for row, _ in cases]
    expected = [[item, refunded.get(item, back), *rest] for item, back, *rest in world.rows(items_of, *numbers)]
    return t.Draw(
        {"product": product["name"], "numbers": listed([row["increment_id"] for row, _ in cases]), "page": title},
        t.all_of(
            turn_into(world, ORDERS, changes),
            others_stay(world, PRODUCTS),
            t.state(documents, last, expected=sorted(memos)),
            t.state(items_of, *numbers, expected=expected),
        ),
        [*way, *steps, t.leave("", "The recall is done.")],
        evidence=["The pieces do not come back into our stock", *(row["increment_id"] for row, _ in cases)],
    )
