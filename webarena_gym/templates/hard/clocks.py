"""Orders of the shop by its own clock, which is not that of the admin, and addresses that customers want to have changed."""

from datetime import timedelta
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.orders import notes_are, open_order, order_like, remark
from webarena_gym.templates.hard.ways import ago, listed, now, staff_page, turn_into
from webarena_gym.templates.shopping_admin.handling import an_address, enter_address
from webarena_gym.templates.shopping_admin.ledgers import ORDER_ADDRESSES, ORDERS
from webarena_gym.templates.shopping_admin.routes import open_menu

TEMPLATES = t.Templates("hard")


@TEMPLATES.define(
    'Our flash sale ran on {day} from {start} to {end}, shop time. Leave the internal note "{note}" on every order that was placed during the sale and has not been canceled, and on no other. The page "{page}" (Content) explains what shop time is; the admin counts differently.',
    'flash sale was {day}, {start} to {end} shop time (NOT the time the admin shows, see content page "{page}"). put note "{note}" on all orders placed in it, except canceled ones. internal, dont notify',
    'We have to find the orders of the flash sale. It was on {day} between {start} and {end}, by the clock of the shop. As the times in the admin are by another clock (our page "{page}" in Content has the details), be careful about the day as well. Please write "{note}" as a comment on each of these orders, canceled ones excepted, without notifying the customers.',
    'Which orders came in between {start} and {end} shop time on {day}? See "{page}" among the content pages for what that means in the admin. On those that are not canceled, leave "{note}" as an internal note.',
    'Mark all uncanceled orders of {day}, {start} to {end} (shop time, as "{page}" in Content defines it), by the comment "{note}". Nobody is notified, and orders from outside these hours are not marked.',
    sites=("shopping_admin",),
    difficulty=("time", "policies", "exhaustive"),
)  # fmt: skip
def note_in_shop_time(world: t.Sampler) -> t.Draw:
    """Leave notes on the orders of some hours, told by another clock than that of the admin."""
    rng = world.rng
    behind, title = rng.choice((5, 6, 7, 8)), rng.choice(("Shop time", "Our clock", "Times and days"))
    note = rng.choice(("Flash sale", "Placed during the sale", "Sale order"))
    begin, length = rng.choice((17, 18, 19)), 4
    day = (now(world) - timedelta(days=rng.randint(4, 12))).replace(hour=0, minute=0, second=0, microsecond=0)
    start = day + timedelta(hours=begin + behind)
    end = start + timedelta(hours=length)
    models = world.rows(
        """SELECT * FROM sales_order o WHERE customer_id IS NOT NULL AND discount_cents = 0
        AND (SELECT count(*) FROM order_item i WHERE i.order_id = o.order_id) BETWEEN 1 AND 2 ORDER BY order_id"""
    )
    inside = rng.sample(range(4, 60 * length - 4), 4)
    moments = [start + timedelta(minutes=minutes) for minutes in inside]
    # These would be inside if the admin counted as the shop does, or are just outside.
    moments += [day + timedelta(hours=begin, minutes=rng.randint(9, 200)), start - timedelta(minutes=rng.randint(3, 50)), end + timedelta(minutes=rng.randint(3, 50))]  # fmt: skip
    number = int(world.value("SELECT max(increment_id) FROM sales_order"))
    for place, (moment, model) in enumerate(zip(sorted(moments), rng.sample(models, len(moments)), strict=True)):
        order_like(world, model, f"{number + 1 + place:09}", str(moment))
    canceled = str(moments[0])
    world.alter("sales_order", {"created_at": canceled, "status": "pending"}, status="canceled")
    near = world.rows(
        "SELECT * FROM sales_order WHERE created_at BETWEEN ? AND ? ORDER BY created_at",
        str(min(day + timedelta(hours=begin), start - timedelta(hours=1))),
        str(end + timedelta(hours=1)),
    )
    if len(near) > 11:
        raise t.NothingToDraw("a quiet day")
    wanted = [row for row in near if str(start) <= row["created_at"] <= str(end) and row["status"] != "canceled"]
    if any(row["created_at"] in (str(start), str(end)) for row in near):
        raise t.NothingToDraw("orders that are clearly inside or outside")
    rules = (
        f"The admin shows all times in UTC. The shop, its sales and its promises to customers go by the clock on our wall, which is {behind} hours behind UTC, in summer and in winter. "
        f"When it is {behind:02}:00 in the admin, the new day begins in the shop.\n\nWhenever one of us speaks of a day or an hour, shop time is meant."
    )
    way = staff_page(world, title, rules)
    steps: list[Step] = open_menu("Sales", "Orders")
    for row in near:
        steps += open_order(row)
        steps += remark(note) if row in wanted else []
    changes: dict[str, dict[str, Any]] = {}
    for row in wanted:
        count = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", row["order_id"])
        changes[row["increment_id"]] = {"comments": count + 1}
    return t.Draw(
        {"day": f"{day:%B} {day.day}, {day.year}", "start": f"{begin}:00", "end": f"{begin + length}:00", "note": note, "page": title},
        t.all_of(turn_into(world, ORDERS, changes), notes_are(world, {row["order_id"]: note for row in wanted})),
        [*way, *steps, t.leave("", "The orders of the sale are marked.")],
        evidence=[f"{behind} hours behind UTC", *(row["increment_id"] for row in near)],
    )  # fmt: skip


@TEMPLATES.define(
    'On the orders {numbers}, customers ask for another shipping address. Handle each as our page "{page}" (Content) says: change the shipping address, or leave the note that it asks for.',
    'address change requests: {numbers}. see the comments on these orders for what they want, and content page "{page}" for what we do. change the shipping address or leave the note, nothing else',
    'Some people have moved. {numbers} have comments in which customers ask for another shipping address, and "{page}" among our content pages tells when we do that and when we do not. Please deal with each of them accordingly; the last thing that a customer has written is what counts.',
    'Please read the comments on {numbers} and change the shipping addresses where "{page}" (Content > Pages) allows it. Where it does not, the note from that page goes on the order, without telling the customer.',
    'For {numbers}: does "{page}" (a content page) let us send the order to the address that the customer wants now? If so, enter it as the shipping address. If not, leave the internal note that is given there. Billing addresses stay as they are, and nobody gets notifed.',
    sites=("shopping_admin",),
    difficulty=("judgement", "policies", "reading"),
)  # fmt: skip
def change_addresses(world: t.Sampler) -> t.Draw:
    """Change shipping addresses that customers have asked for, where a page of rules allows it."""
    rng, title = world.rng, "Changes of address"
    note = rng.choice(("Address not changed", "Change of address refused", "Stays with the old address"))
    rows = world.rows(
        """SELECT o.*, sum(qty_shipped) > 0 AS is_begun FROM sales_order o JOIN order_item USING (order_id)
        WHERE status IN ('pending', 'processing') AND customer_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM order_comment c WHERE c.order_id = o.order_id)
        GROUP BY order_id ORDER BY order_id"""
    )
    fresh, begun = [row for row in rows if not row["is_begun"]], [row for row in rows if row["is_begun"]]
    plan = ["allowed", "corrected", "begun", "taken back", "friend", "held"]
    old = rng.sample(begun, 1)
    new = iter(rng.sample(fresh, len(plan) - 1))
    cases = [(fate, old[0] if fate == "begun" else next(new)) for fate in plan]
    rng.shuffle(cases)
    rules = (
        "The customer of an order may have it sent elsewhere: then change the shipping address of the order, and write nothing.\n\n"
        f'As soon as any piece of it has been shipped, it is too late. Leave the internal note "{note}" instead.\n\n'
        "The same note is left where somebody else than the customer asks (the comment says who wrote it), and on orders that are on hold: for those, Priya decides.\n\n"
        "If a customer has thought better of it, nothing is changed and nothing is written."
    )
    way = staff_page(world, title, rules)
    steps: list[Step] = []
    texts: list[str] = []
    notes: dict[int, str] = {}
    changes: dict[str, dict[str, Any]] = {}
    moved: dict[str, dict[str, Any]] = {}
    for place, (fate, row) in enumerate(cases):
        first, second = an_address(world), an_address(world)
        if first["street"] == second["street"]:
            raise t.NothingToDraw("two streets")

        def written(address: dict[str, str]) -> str:
            return f"{address['street']}, {address['city']}, {address['region']}, {address['postcode']}"

        said = [
            f"Customer: Please send it to my new flat: {written(first)}."
            if fate != "friend"
            else f"By mail, from a friend of the customer: it should go to {written(first)}, I think."
        ]
        if fate == "corrected":
            said.append(f"Customer: Sorry, I was too fast. The right address is {written(second)}.")
        if fate == "taken back":
            said.append("Customer: Forget the new flat, it came to nothing. Leave everything as it was.")
        if fate == "held":
            world.alter("sales_order", {"order_id": row["order_id"]}, status="holded")
        for number, text in enumerate(said):
            world.plant(
                "order_comment", order_id=row["order_id"], status=row["status"], comment=text, is_visible_on_front=1, created_at=ago(world, hours=60 - 17 * number, minutes=place),
            )  # fmt: skip
        texts += said
        number = row["increment_id"]
        steps += open_order(row)
        if fate in ("allowed", "corrected"):
            address = second if fate == "corrected" else first
            moved[f"{number} shipping"] = dict(address)
            steps += [t.click("Edit Shipping Address"), *enter_address(address)]
        elif fate != "taken back":
            notes[row["order_id"]] = note
            changes[number] = {"comments": len(said) + 1}
            steps += remark(note)
    return t.Draw(
        {"numbers": listed([row["increment_id"] for _, row in cases]), "page": title},
        t.all_of(turn_into(world, ORDERS, changes), turn_into(world, ORDER_ADDRESSES, moved), notes_are(world, notes)),
        [*way, *steps, t.leave("", "All requests are dealt with.")],
        evidence=["As soon as any piece of it has been shipped", *texts],
    )
