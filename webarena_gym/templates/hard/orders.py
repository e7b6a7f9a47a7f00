"""Orders of the shop that rules, days and doubles decide about, as the people behind the shop handle them."""

from datetime import datetime, timedelta
from typing import Any

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import ago, joined, listed, now, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import ORDERS
from webarena_gym.templates.shopping_admin.routes import PER_PAGE, filtered, open_menu
from webarena_gym.templates.shopping_admin.routes import open_order as search_order
from webarena_gym.templates.ways import on_page, turn_pages

TEMPLATES = t.Templates("hard")

_STANDING = """
WITH standing AS (
    SELECT o.*, sum(qty_invoiced) > 0 AS is_paid, sum(qty_shipped) > 0 AS is_sent, sum(qty_refunded) > 0 AS is_refunded
    FROM sales_order o JOIN order_item USING (order_id) GROUP BY order_id
) """
"""The orders, and how far each has come."""


def open_order(order: t.Row) -> list[Step]:
    """Return the steps from any page of the admin to an order's page."""
    return [t.click("Dashboard"), *search_order(order)]


def remark(text: str) -> list[Step]:
    """Return the steps that leave an internal note on the order of this page."""
    return [t.type_text("Comment", text), t.click("Submit Comment")]


def notes_are(world: t.Sampler, notes: dict[int, str]) -> dict[str, Any]:
    """The notes that were left on orders since the beginning must be these, by order, and no customer may have been told of them."""
    last = world.value("SELECT coalesce(max(comment_id), 0) FROM order_comment")
    query = """SELECT order_id, trim(comment, ' ."'''), is_customer_notified FROM order_comment
        WHERE comment_id > ? AND comment != '' ORDER BY order_id"""
    return t.state(query, last, expected=[[order, text, 0] for order, text in sorted(notes.items())])


def _shown(row: t.Row) -> list[str]:
    return [row["increment_id"], money(row["grand_total_cents"])]


@TEMPLATES.define(
    'Customers have asked us to cancel the orders {numbers}. Handle every one of them as our page "{page}" (under Content) says.',
    'pls process these cancellation requests: {numbers}. the rules are on the "{page}" page in Content, follow them to the letter!',
    'Here is today\'s pile of cancellation requests: {numbers}. I know it is tempting to just cancel everything, but Dana from accounting got '
    'upset last time, so do with each exactly what "{page}" (one of our content pages) tells you.',
    '{numbers} - people want these orders canceled. Check "{page}" among the content pages frist, then do what it says for each order.',
    'Could you take over the requests to cancel {numbers}? What is allowed depends on the case; it is all written down on the content page "{page}".',
    sites=("shopping_admin",),
    difficulty=("policies", "exhaustive", "restraint"),
)  # fmt: skip
def cancel_by_rules(world: t.Sampler) -> t.Draw:
    """Cancel, hold or refuse orders as a page of rules says."""
    days, note, title = world.rng.choice((9, 12, 16)), world.rng.choice(("Too late to cancel", "Cancellation refused", "Request declined")), "Cancellation requests"  # fmt: skip
    since, near, far = (ago(world, days=age) for age in (days, days - 2, days + 2))
    recent = world.rows(  # without the orders whose age is nearly the limit: a page shows their time, and nobody should count hours
        _STANDING
        + """SELECT * FROM standing WHERE status IN ('pending', 'processing') AND created_at NOT BETWEEN ? AND ? ORDER BY order_id""",
        far,
        near,
    )
    open_ones = [row for row in recent if row["status"] == "pending" and not row["is_paid"] and not row["is_sent"]]
    young = [row for row in open_ones if row["created_at"] > since]
    totals = sorted(row["grand_total_cents"] for row in young)
    if len(young) < 3 or len(open_ones) == len(young):
        raise t.NothingToDraw("requests of every kind")
    limit = totals[len(totals) * 2 // 3] // 1000 * 1000
    groups = (
        [row for row in young if row["grand_total_cents"] < limit],
        [row for row in young if row["grand_total_cents"] >= limit],
        [row for row in open_ones if row["created_at"] <= since],
        [row for row in recent if row["is_paid"] and row["created_at"] > since],
    )
    cases = [
        row for group, most in zip(groups, (3, 2, 2, 2), strict=True) for row in world.rng.sample(group, min(most, len(group)))
    ]
    if min(map(len, groups)) == 0:
        raise t.NothingToDraw("requests of every kind")
    world.rng.shuffle(cases)
    rules = (
        f"Nobody can undo a shipment or a payment from here. So a request is granted only for an order of which nothing was paid and nothing was sent. "
        f'For all others, leave the order as it is and write the internal note "{note}" on it, without telling the customer.\n\n'
        f"We are not a free storage either: whoever ordered more than {days} days ago is refused in the same way.\n\n"
        f"Large orders are a matter for Priya. From {money(limit)} on (grand total), put the order on hold instead of canceling it, and write nothing: "
        "she will call the customer. Small ones you just cancel."
    )
    way = staff_page(world, title, rules)
    changes: dict[str, dict[str, Any]] = {}
    notes: dict[int, str] = {}
    steps: list[Step] = []
    for row in cases:
        number = row["increment_id"]
        comments = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", row["order_id"])
        if row["is_paid"] or row["created_at"] <= since:
            changes[number], notes[row["order_id"]] = {"comments": comments + 1}, note
            steps += [*open_order(row), *remark(note)]
        elif row["grand_total_cents"] >= limit:
            changes[number] = {"status": "holded"}
            steps += [*open_order(row), t.click("Hold", f"{money(row['grand_total_cents'])} is a matter for Priya.")]
        else:
            changes[number] = {"status": "canceled"}
            steps += [*open_order(row), t.click("Cancel", "It is young, small, and nothing was done.")]
    return t.Draw(
        {"numbers": listed([row["increment_id"] for row in cases]), "page": title},
        t.all_of(turn_into(world, ORDERS, changes), notes_are(world, notes)),
        [*way, *steps, t.leave("", "All requests are handled.")],
        evidence=[f"From {money(limit)} on", *(text for row in cases for text in _shown(row))],
    )


@TEMPLATES.define(
    "Put every order on hold that is in processing, was placed before {day}, and of which nothing has been shipped yet. Leave the others alone.",
    "Stock problem: please hold all orders with status Processing from before {day} that have not had a single piece shipped.",
    "I need all the old unshipped stuff on hold. Old = placed before {day}, still 'Processing', nothing sent at all. If even one piece went out, hands off.",
    "can you go thru the processing orders placed before {day} and hold those where no item was shipped so far, thx",
    "The carrier has changed its prices, and we want to look again at orders that lie around. Any order in processing that was made earlier than {day} "
    "and has no shipped items goes on hold, please; partly shipped ones stay as they are.",
    sites=("shopping_admin",),
    difficulty=("exhaustive", "time"),
)  # fmt: skip
def hold_unsent(world: t.Sampler) -> t.Draw:
    """Hold the orders in processing from before a day of which nothing was sent."""
    rows = world.rows(_STANDING + "SELECT * FROM standing WHERE status = 'processing' ORDER BY created_at DESC, order_id DESC")
    ends = [place for place in range(1, len(rows)) if 4 <= sum(not row["is_sent"] for row in rows[place:]) <= 9]
    ends = [
        place
        for place in ends
        if len(rows) - place <= 12 and rows[place - 1]["created_at"][:10] != rows[place]["created_at"][:10]
    ]
    if not ends:
        raise t.NothingToDraw("a day that parts the orders")
    first = world.rng.choice(ends)
    day = datetime.fromisoformat(rows[first]["created_at"]).date() + timedelta(days=1)
    wanted = rows[first:]
    size = on_page(world, len(rows) - 1, PER_PAGE)[0]
    pages = turn_pages(world, len(rows) - 1, PER_PAGE, "The older ones are on the next page.", "Next page")
    assert len(pages) == size
    steps = joined(*(
        [*open_order(row), *([t.click("Hold", "Nothing was sent.")] if not row["is_sent"] else [])] for row in wanted
    ))  # fmt: skip
    return t.Draw(
        {"day": f"{day:%B} {day.day}, {day.year}"},
        turn_into(world, ORDERS, {row["increment_id"]: {"status": "holded"} for row in wanted if not row["is_sent"]}),
        [
            *open_menu("Sales", "Orders"),
            *filtered(t.choose("Status", "Processing")),
            *pages,
            *steps,
            t.leave("", "All of them are on hold."),
        ],
        evidence=[row["increment_id"] for row in wanted],
    )


@TEMPLATES.define(
    'On {day} a glitch sent some orders twice: the same customer, the same items and quantities, a few minutes apart. Cancel the later one of '
    'each such pair. Two orders that differ in anything are both meant.',
    "Our checkout hiccuped on {day}: a few orders came in double. Cancel the second of each double (same person, exactly the same content). Orders that "
    "only look alike must stay!",
    "there are duplicate orders from {day} - same customer, identical items + quantities. cancel the newer one of every pair. careful, some people "
    "really did order twice with different stuff",
    "Please clean up after the outage of {day}. Whoever clicked twice has two equal orders then; the later of the two is to be canceled. If the lines "
    "of the two orders differ, even in a quantity, keep both.",
    "Some customers were charged for two identical orders on {day} because of a bug. Find the pairs and cancel the later order of each, nothing else.",
    sites=("shopping_admin",),
    difficulty=("recovery", "restraint", "exhaustive"),
)  # fmt: skip
def cancel_doubles(world: t.Sampler) -> t.Draw:
    """Cancel the later of two equal orders, and neither of two that differ."""
    originals = world.rows(
        _STANDING
        + """SELECT s.* FROM standing s WHERE customer_id IS NOT NULL AND NOT is_refunded AND status != 'canceled'
        AND (SELECT count(*) FROM order_item i WHERE i.order_id = s.order_id) BETWEEN 1 AND 3 ORDER BY order_id"""
    )
    people = {row["customer_id"]: row for row in world.rng.sample(originals, len(originals))}
    models = list(people.values())[:6]
    day = now(world) - timedelta(days=world.rng.randint(1, 9))
    start = day.replace(hour=9, minute=5, second=0)
    number = int(world.value("SELECT max(increment_id) FROM sales_order"))
    equal = set(world.rng.sample(range(len(models)), world.rng.choice((3, 4))))
    made: list[tuple[t.Row, t.Row]] = []
    for place, model in enumerate(models):
        pair = []
        for again in (0, 1):
            number += 1
            moment = start + timedelta(minutes=37 * place + 4 * again + world.rng.randrange(3))
            pair.append(order_like(world, model, f"{number:09}", str(moment), extra=1 if again and place not in equal else 0))
        made.append((pair[0], pair[1]))
    doubles = [later for place, (_, later) in enumerate(made) if place in equal]
    looks: list[Step] = []
    for place, (one, later) in enumerate(made):
        looks += [*open_order(one), *open_order(later)]
        looks += [t.click("Cancel", "It is the same as the one before.")] if place in equal else []
    rows = world.rows("SELECT order_id FROM sales_order WHERE status = 'pending' ORDER BY created_at DESC, order_id DESC")
    return t.Draw(
        {"day": f"{day:%B} {day.day}, {day.year}"},
        turn_into(world, ORDERS, {row["increment_id"]: {"status": "canceled"} for row in doubles}),
        [
            *open_menu("Sales", "Orders"),
            *filtered(t.choose("Status", "Pending")),
            *turn_pages(world, len(rows) - 1, PER_PAGE, "There are more.", "Next page"),
            *looks,
            t.leave("", "The doubles are canceled."),
        ],
        evidence=[row["increment_id"] for pair in made for row in pair],
    )


def order_like(world: t.Sampler, model: t.Row, number: str, moment: str, *, extra: int = 0) -> t.Row:
    """Plant a pending order like another one, with some more pieces of its first line, and return it."""
    items = world.rows("SELECT * FROM order_item WHERE order_id = ? ORDER BY item_id", model["order_id"])
    subtotal = sum(item["price_cents"] * item["qty_ordered"] for item in items) + extra * items[0]["price_cents"]
    columns = ("customer_id", "customer_email", "customer_name", "shipping_method", "payment_method", "shipping_cents")
    order = world.plant(
        "sales_order",
        increment_id=number,
        status="pending",
        created_at=moment,
        subtotal_cents=subtotal,
        grand_total_cents=subtotal + model["shipping_cents"],
        **{column: model[column] for column in columns},
    )
    for address in world.rows("SELECT * FROM order_address WHERE order_id = ? ORDER BY kind", model["order_id"]):
        world.plant("order_address", **(dict(address) | {"order_id": order}))
    for place, item in enumerate(items):
        own = {column: item[column] for column in ("product_id", "sku", "name", "options", "price_cents")}
        world.plant("order_item", order_id=order, qty_ordered=item["qty_ordered"] + (extra if place == 0 else 0), **own)
    return world.rows("SELECT * FROM sales_order WHERE order_id = ?", order)[0]


@TEMPLATES.define(
    'The customer of order {number} wants all the money back. Our rules are on the content page "{page}". If they allow it, refund the whole order, '
    'shipping included. If they do not, write the note the page asks for on the order (internally), refund nothing, and answer N/A.',
    'refund order {number} completely if "{page}" (content page) lets you. otherwise leave the note it demands on the order, dont notify anybody and reply N/A',
    'Angry caller about {number}, demands a full refund. Read "{page}" among our content pages and decide: either you pay everything back offline, '
    'or you put the note from that page on the order and tell me N/A.',
    'Please decide about a complete refund of order {number} according to the page "{page}" in Content. Allowed: refund all of it with shipping. Not '
    'allowed: internal note as described there, no refund, and N/A as your answer.',
    'Someone from sales promised a full refund for {number}, which may or may not have been wise. "{page}" (Content > Pages) has the last word. Refund everything '
    'if it is covered; if not, just the note that the page prescribes on the order, and answer N/A.',
    sites=("shopping_admin",),
    difficulty=("judgement", "policies"),
)  # fmt: skip
def refund_by_rules(world: t.Sampler) -> t.Draw:
    """Refund an order, or refuse to, as a page of rules says; both are as likely."""
    title, note = "Refunds", world.rng.choice(("Refund refused by the rules", "Not covered", "No refund possible"))
    days = world.rng.choice((30, 45, 60))
    limit = world.rng.choice((15000, 20000, 30000))
    rows = world.rows(
        _STANDING
        + """SELECT s.*, (SELECT sum(grand_total_cents) FROM invoice v WHERE v.order_id = s.order_id) AS paid,
            (SELECT city FROM order_address a WHERE a.order_id = s.order_id AND kind = 'shipping') AS city
        FROM standing s WHERE status = 'complete' AND NOT is_refunded AND paid = grand_total_cents ORDER BY order_id"""
    )
    since = ago(world, days=days)
    blocked = world.rng.choice(("Gift Voucher", "Check / Money order"))

    def is_covered(row: t.Row) -> bool:
        return bool(row["created_at"] > since and row["grand_total_cents"] <= limit and row["payment_method"] != blocked)

    wanted = world.rng.random() < 0.5
    near = [
        row
        for row in rows
        if is_covered(row) is wanted and (wanted or (row["created_at"] > since) or row["grand_total_cents"] <= limit)
    ]
    if not near:
        raise t.NothingToDraw("an order to decide about")
    row = world.rng.choice(near)
    if ago(world, days=days + 2) <= row["created_at"] <= ago(world, days=days - 2):
        raise t.NothingToDraw("an order that is not nearly as old as the rules allow")
    rules = (
        f"Money goes back for orders that are at most {days} days old; the day of the order counts, not that of the delivery.\n\n"
        f"A grand total above {money(limit)} is never refunded by us but by the head office, whatever the reason. So is everything that was paid by "
        f'"{blocked}".\n\nIn each case that we cannot pay ourselves, write "{note}" as a note on the order. The customer is not told: the head office does that.'
    )
    way = [*staff_page(world, title, rules), *open_order(row)]
    comments = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", row["order_id"])
    evidence = [row["increment_id"], row["payment_method"], money(row["grand_total_cents"]), f"at most {days} days old"]
    slots = {"number": row["increment_id"], "page": title}
    if wanted:
        return t.Draw(
            slots,
            t.all_of(turn_into(world, ORDERS, {row["increment_id"]: {"status": "closed", "refunds": 1}}), notes_are(world, {})),
            [*way, t.click("Credit Memo"), t.click("Refund Offline"), t.leave("", "The rules allow it.")],
            evidence=evidence,
        )
    return t.Draw(
        slots,
        t.all_of(
            t.not_achievable(),
            turn_into(world, ORDERS, {row["increment_id"]: {"comments": comments + 1}}),
            notes_are(world, {row["order_id"]: note}),
        ),
        [*way, *remark(note), t.leave("N/A", "The rules do not allow it.")],
        grounds={"N/A": says(f"at most {days} days old", row["payment_method"])},
        evidence=evidence,
    )
