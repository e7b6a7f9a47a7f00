"""The people behind orders: customers told by what they bought, spent or say, and parcels that were slow."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.baskets import as_written
from webarena_gym.templates.hard.buying import noun
from webarena_gym.templates.hard.orders import notes_are, open_order, remark
from webarena_gym.templates.hard.ways import joined, listed, now, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import CUSTOMERS, ORDERS, REVIEWS, RULES
from webarena_gym.templates.shopping_admin.marketing import rule_form
from webarena_gym.templates.shopping_admin.routes import KEYWORD, PER_PAGE, filtered, open_customer, open_menu, typed
from webarena_gym.templates.ways import nth, turn_pages

TEMPLATES = t.Templates("hard")

_PEOPLE = "SELECT c.*, c.firstname || ' ' || c.lastname AS name FROM customer c "


def told_apart(world: t.Sampler, people: Sequence[t.Row]) -> None:
    """Raise NothingToDraw unless the name of each of these customers is part of no other's."""
    query = "SELECT count(*) FROM customer WHERE instr(firstname || ' ' || lastname, ?)"
    if any(world.value(query, person["name"]) > 1 for person in people):
        raise t.NothingToDraw("customers with names of their own")


def orders_of(world: t.Sampler, person: t.Row) -> list[t.Row]:
    """Return the orders of a customer as the customer's page lists them, the newest first."""
    return world.rows(
        "SELECT * FROM sales_order WHERE customer_id = ? ORDER BY created_at DESC, order_id DESC", person["customer_id"]
    )


def nouns_of(world: t.Sampler, order: t.Row) -> set[str]:
    """Return what kinds of things are in an order."""
    return {
        noun(name) for (name,) in world.rows("SELECT name FROM order_item WHERE order_id = ? ORDER BY 1", order["order_id"])
    }


def move_to(person: t.Row, group: str) -> list[Step]:
    """Return the steps from any page of the admin that put a customer into a group."""
    way = [t.click("Dashboard"), *open_customer(person["name"], "Account Information")]
    return [*way, t.choose("Group", group), t.click("Save Customer")]


@TEMPLATES.define(
    "One of our customers called {firstname} has ordered a {noun} at some time, the only {firstname} who has. Move that customer to the group {group}.",
    "customer group {group} for the {firstname} who once bought a {noun}. there are several {firstname}s, only one bought that",
    "I met a customer at the fair who said the {noun} from us was great. First name {firstname}, that is all I got. Only one {firstname} has ever ordered a {noun}, so it must be possible to find out who. Please put this customer into the group {group}.",
    "Which {firstname} bought a {noun} from us? Whoever it is belongs in the customer group {group} from now on.",
    "Please change the customer group to {group} for {firstname}. No, not every {firstname}: the one with the {noun} in one of the orders, canceled or not, doesnt matter.",
    sites=("shopping_admin",),
    difficulty=("names", "exhaustive"),
)
def group_of_buyer(world: t.Sampler) -> t.Draw:
    """Move a customer who is told by the first name and by something bought."""
    names = world.rows(
        """SELECT c.firstname FROM customer c JOIN sales_order USING (customer_id) GROUP BY 1
        HAVING count(DISTINCT c.customer_id) BETWEEN 2 AND 6 AND count(*) BETWEEN 5 AND 16 ORDER BY 1"""
    )
    firstname = world.rng.choice(names)["firstname"]
    people = world.rows(_PEOPLE + "WHERE c.firstname = ? ORDER BY c.customer_id", firstname)
    told_apart(world, people)
    orders = {person["customer_id"]: orders_of(world, person) for person in people}
    bought = {key: set().union(*(nouns_of(world, order) for order in own)) for key, own in orders.items()}
    once = sorted(
        (what, key)
        for key, own in bought.items()
        for what in own
        if len(what) > 3 and sum(what in other for other in bought.values()) == 1
    )
    what, wanted = world.rng.choice([pair for pair in once if pair[1] != people[0]["customer_id"]])
    person = next(person for person in people if person["customer_id"] == wanted)
    group = world.rng.choice([each for each in ("Wholesale", "Retailer") if each != person["group_name"]])
    steps: list[Step] = []
    for each in people:
        for place, order in enumerate(orders[each["customer_id"]][:PER_PAGE]):
            if place == 0:
                steps += [t.click("Dashboard"), *open_customer(each["name"], "Orders")]
            steps += [t.click(nth("View", place))]
            if each is person and what in nouns_of(world, order):
                break
            steps.append(t.back("That is not in it."))
        if each is person:
            break
    place = next(place for place, each in enumerate(people) if each is person)
    seen = [order for each in people[:place] for order in orders[each["customer_id"]]]
    return t.Draw(
        {"firstname": firstname, "noun": what, "group": group},
        turn_into(world, CUSTOMERS, {wanted: {"group_name": group}}),
        [
            *open_menu("Customers", "All Customers"),
            t.search(KEYWORD, firstname),
            *steps,
            *move_to(person, group),
            t.leave("", f"It was {person['name']}."),
        ],
        evidence=[*(each["name"] for each in people), *(order["increment_id"] for order in seen)],
    )


@TEMPLATES.define(
    "Which of {names} has the highest total of complete orders placed on or after {day}? Put this one customer into the group {group}. Orders in any other status do not count.",
    "{names}: who spent most since {day} (only orders with status Complete, grand totals)? -> group {group}",
    "We want to thank the best customer out of {names}. What counts is the sum of the grand totals of their orders with the status Complete, from {day} until today. The winner goes to the customer group {group}; the lifetime sales on their pages are something else.",
    "Compare the complete orders that {names} have placed since {day} (that day included), add up the grand totals for each, and move whoever has the highest sum to the group {group}.",
    "One out of {names} gets a better customer group ({group}), namely the one with the most money spent since {day} in orders that are complete. Not pendng, not closed, just complete.",
    sites=("shopping_admin",),
    difficulty=("optimum", "time", "exhaustive"),
)
def best_customer_since(world: t.Sampler) -> t.Draw:
    """Move the customer who has spent most since a day, who is not the one with the highest lifetime sales."""
    rows = world.rows(
        _PEOPLE
        + """WHERE (SELECT count(*) FROM sales_order o WHERE o.customer_id = c.customer_id) BETWEEN 3 AND 12 AND customer_id != 1
        ORDER BY c.customer_id"""
    )
    people = world.rng.sample(rows, 6)
    told_apart(world, people)
    day = (now(world) - timedelta(days=world.rng.choice((120, 150, 200, 250)))).date()
    orders = {person["name"]: orders_of(world, person) for person in people}
    counted = {
        name: [order for order in own if order["status"] == "complete" and order["created_at"] >= str(day)]
        for name, own in orders.items()
    }
    sums = {name: sum(order["grand_total_cents"] for order in own) for name, own in counted.items()}
    lifetime = {
        name: sum(order["grand_total_cents"] for order in own if order["status"] != "canceled") for name, own in orders.items()
    }
    ranked = sorted(sums, key=lambda name: -sums[name])
    if sums[ranked[0]] - sums[ranked[1]] < 100 or max(lifetime, key=lambda name: lifetime[name]) == ranked[0]:
        raise t.NothingToDraw("a customer who is best since that day only")
    winner = next(person for person in people if person["name"] == ranked[0])
    group = world.rng.choice([each for each in ("Wholesale", "Retailer") if each != winner["group_name"]])
    looks = joined(*([t.click("Dashboard"), *open_customer(person["name"], "Orders")] for person in people))
    return t.Draw(
        {"names": listed([person["name"] for person in people]), "day": as_written(day), "group": group},
        turn_into(world, CUSTOMERS, {winner["customer_id"]: {"group_name": group}}),
        [*looks, *move_to(winner, group), t.leave("", f"It is {winner['name']} with {money(sums[ranked[0]])}.")],
        evidence=[
            text
            for own in counted.values()
            for order in own
            for text in (order["increment_id"], money(order["grand_total_cents"]))
        ],
    )


_BOUGHT = (
    ("Ordered it {span} ago", "I ordered mine {span} ago"),
    ("No luck", "The order is of {span} before this review"),
    ("{span} later", "Exactly {span} have passed since I placed the order"),
)
_FAULT = (
    "and the seam has split.",
    "and now the seam is open at one side.",
    "and it took no more than that for the seam to give way.",
)
_OTHER = (
    "and nothing has happened to it.",
    "and my only complaint is the color.",
    "and the seam looks as good as on the first day.",
)
_SPANS = {"two days": 2, "five days": 5, "a week": 7, "ten days": 10, "two weeks": 14, "three weeks": 21, "four weeks": 28, "five weeks": 35}  # fmt: skip


@TEMPLATES.define(
    'There was a bad batch of the {product}; our content page "{page}" says when it was sold. Pending reviews by people who ordered theirs in that time and report the fault get the status Not Approved; all other pending reviews of this product are approved.',
    "pending reviews of {product}: fault + ordered while the bad batch was sold (see content page \"{page}\") = Not Approved. everything else pending there = Approved",
    'We have agreed with the maker of the {product} not to publish complaints about one faulty batch. The dates are on the content page "{page}". Work out from each pending review when its writer ordered. Inside those days and with the fault described: Not Approved. In all other cases: Approved. Reviews of other products stay as they are.',
    'Please decide on what is pending for the {product}. Complaints about the fault from "{page}" (Content > Pages) that come from orders of the days given there: Not Approved. The rest: Approved.',
    'Go thru the pending reviews of the {product}. If the order fell into the days of the page "{page}" (one of our content pages) and it is that fault, set Not Approved, otherwise Approved.',
    sites=("shopping_admin",),
    difficulty=("time", "reading", "policies"),
)  # fmt: skip
def bad_batch(world: t.Sampler) -> t.Draw:
    """Decide on reviews by the day of the order, which each tells from the day on which it was written."""
    rng = world.rng
    product = world.pick(
        """SELECT * FROM product WHERE product_id NOT IN (SELECT product_id FROM review WHERE status = 'Pending') ORDER BY product_id"""
    )
    if world.value("SELECT count(*) FROM product WHERE instr(name, ?)", product["name"]) > 1:
        raise t.NothingToDraw("a product that its name finds alone")
    today, title = now(world), "The split seam"
    end = today.date() - timedelta(days=rng.randint(24, 30))
    start = end - timedelta(days=rng.choice((9, 12, 15)))
    way = staff_page(
        world,
        title,
        f"A part of our stock had a seam that splits. All pieces that were ordered from {as_written(start)} to {as_written(end)} "
        "(both days included) are of this batch. What was ordered before or after is not concerned, whatever its owner may have seen.",
    )
    length = (end - start).days
    offsets = [rng.randint(1, length - 1) for _ in range(4)] + [
        -rng.randint(2, 6),
        -rng.randint(2, 6),
        length + 2,
        length + rng.randint(3, 8),
    ]
    spans = rng.sample(sorted(_SPANS), len(offsets))
    made: list[tuple[int, str]] = []
    said: list[str] = []
    nicknames = rng.sample(("Ada", "pebble", "T. Rowe", "Lisbet", "nine lives", "Corwin", "Maud", "J-P", "Orla", "tin man"), 8)
    cases = list(zip(offsets, spans, strict=True))
    rng.shuffle(cases)
    faults = {offset for offset, _ in cases if not 0 <= offset <= length} | set(rng.sample(offsets[:4], 3))
    for (offset, span), nickname in zip(cases, nicknames, strict=True):
        ordered = start + timedelta(days=offset)
        written = ordered + timedelta(days=_SPANS[span])
        if written >= today.date():
            raise t.NothingToDraw("reviews of the past")
        is_fault = offset in faults
        headline, words = rng.choice(_BOUGHT)
        text = f"{words.format(span=span)}, {rng.choice(_FAULT if is_fault else _OTHER)}"
        moment = datetime(written.year, written.month, written.day, rng.randint(7, 21), rng.randint(0, 59))
        number = world.plant(
            "review",
            product_id=product["product_id"],
            nickname=nickname,
            title=(headline.format(span=span)[0].upper() + headline.format(span=span)[1:]),
            detail=text,
            rating=2 if is_fault else 4,
            status="Pending",
            created_at=str(moment),
        )
        made.append((number, "Not Approved" if is_fault and 0 <= offset <= length else "Approved"))
        said.append(text)
    find = [*open_menu("Marketing", "Pending Reviews"), t.search(KEYWORD, product["name"])]
    looks: list[Step] = []
    for place in range(len(made)):
        looks += [t.click(nth("Edit", place)), t.back("When was it written, and how long after the order?")]
    sets: list[Step] = []
    for status in ("Approved", "Not Approved"):
        ticks = [t.click(f"Select {number}") for number, wanted in made if wanted == status]
        sets += [*find, *ticks, t.choose("Actions", f"Update Status to {status}"), t.click("Submit")]
    return t.Draw(
        {"product": product["name"], "page": title},
        turn_into(world, REVIEWS, {number: {"status": status} for number, status in made}),
        [*way, *find, *looks, *sets, t.leave("", "All are decided.")],
        evidence=["both days included", *said],
    )


_NOTES = ("Shipped late", "Slow parcel", "Apologize for the delay")


@TEMPLATES.define(
    'Some orders placed from {first} to {last} were slow to leave our house. Write the internal note "{note}" (customer not notified) on each order of these days whose shipment was created more than {hours} hours after the order. Orders without a shipment are not meant.',
    'orders of {first} - {last}: if the shipment came more than {hours}h after the order, add the note "{note}", no mail to the customer',
    'I would like to look into slow parcels. Take the orders from {first} until {last}, both days included, and compare when each was placed with when its shipment was created. More than {hours} hours in between: leave the note "{note}" on the order, internally. The others stay as they are.',
    'Please mark the slow ones among the orders of {first} to {last} that were shipped: whenever order and shipment are more than {hours} hours apart, put the internal comment "{note}" on the order.',
    'Which orders from the days {first} to {last} waited longer than {hours} hours for their shipment? Each of these gets the coment "{note}", and the customers must not hear of it.',
    sites=("shopping_admin",),
    difficulty=("time", "exhaustive"),
)
def slow_parcels(world: t.Sampler) -> t.Draw:
    """Write a note on orders that were shipped late."""
    rng = world.rng
    rows = world.rows(
        """SELECT o.*, s.created_at AS sent_at, (julianday(s.created_at) - julianday(o.created_at)) * 24 AS hours,
            (SELECT count(*) FROM shipment u WHERE u.order_id = o.order_id) AS shipments
        FROM sales_order o JOIN shipment s USING (order_id) ORDER BY o.created_at, o.order_id"""
    )
    hours = rng.choice((48, 60, 66))
    found = []
    for start in range(1, len(rows) - 13):
        own = rows[start : start + rng.randint(9, 13)]
        days = [rows[start - 1]["created_at"][:10], own[0]["created_at"][:10], own[-1]["created_at"][:10]]
        after = rows[start + len(own)]["created_at"][:10]
        slow = [row for row in own if row["hours"] > hours]
        is_whole = days[0] < days[1] and days[2] < after and all(row["shipments"] == 1 for row in own)
        if is_whole and 3 <= len(slow) <= 6 and all(abs(row["hours"] - hours) > 0.5 for row in own):
            found.append((own, slow))
    own, slow = rng.choice(found)
    note = rng.choice(_NOTES)
    first, last = (date.fromisoformat(row["created_at"][:10]) for row in (own[0], own[-1]))
    comments = {
        row["increment_id"]: world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", row["order_id"])
        for row in slow
    }
    return t.Draw(
        {"first": as_written(first), "last": as_written(last), "hours": hours, "note": note},
        t.all_of(
            turn_into(world, ORDERS, {number: {"comments": count + 1} for number, count in comments.items()}),
            notes_are(world, {row["order_id"]: note for row in slow}),
        ),
        [
            *open_menu("Sales", "Shipments"),
            *filtered(t.type_text("Order Date from", typed(first)), t.type_text("Order Date to", typed(last))),
            *turn_pages(world, len(own) - 1, PER_PAGE, "There are more.", "Next page"),
            *joined(*([*open_order(row), *remark(note)] for row in slow)),
            t.leave("", "The slow ones are marked."),
        ],
        evidence=[row["increment_id"] for row in own],
    )


_OCCASIONS = ("Lantern", "Harvest", "Skating", "Picnic", "Regatta", "Orchard", "Bookworm", "Snowdrop")


@TEMPLATES.define(
    "Give some coupons more time: every active price rule with a coupon that ends in the four weeks after {day} (the day itself does not count, the last day of the four weeks does) and was used fewer than {uses} times. Its end moves by exactly two weeks to later.",
    "active coupon rules ending within 4 weeks after {day} (day itself excluded) with < {uses} uses: end date +14 days",
    "Marketing has asked for an extension. It concerns the cart price rules that are active, have a coupon code, were used less than {uses} times so far and end within the 28 days that follow {day}. For each of them, move the end date to two weeks later, and change nothing else.",
    "Please extend by 14 days: active cart price rules with a coupon, fewer than {uses} uses, whose last day is one of the 28 days after {day}. Rules without an end, or with another one, are not to be touched.",
    "For all active coupons (cart price rules) with an end date in the four weeks follwing {day} and less than {uses} uses, shift the end by two weeks.",
    sites=("shopping_admin",),
    difficulty=("time", "exhaustive", "restraint"),
)
def extend_coupons(world: t.Sampler) -> t.Draw:
    """Move the end of some price rules by two weeks."""
    rng, uses = world.rng, world.rng.choice((10, 15, 20))
    day = now(world).date() + timedelta(days=rng.randint(3, 12))
    inside, outside = [1, 28, *rng.sample(range(3, 27), 3)], [0, 29, rng.randint(31, 45)]
    names = rng.sample(_OCCASIONS, 8)
    cases = [(offset, rng.randrange(uses), 1) for offset in inside[:3]]
    cases += [(inside[3], uses + rng.randrange(5), 1), (inside[4], rng.randrange(uses), 0)]
    cases += [(offset, rng.randrange(uses), 1) for offset in outside]
    rng.shuffle(cases)
    for name, (offset, used, active) in zip(names, cases, strict=True):
        world.plant(
            "cart_rule",
            name=f"{name} coupon",
            description="For the newsletter",
            coupon_code=f"{name.upper()}{rng.randint(3, 30)}",
            action="by_percent",
            amount=rng.choice((5, 10, 12)),
            is_active=active,
            from_date=str(day - timedelta(days=60)),
            to_date=str(day + timedelta(days=offset)),
            times_used=used,
        )
    rules = world.rows("SELECT * FROM cart_rule ORDER BY rule_id DESC")
    limits = str(day), str(day + timedelta(days=28))
    wanted = [
        rule
        for rule in rules
        if rule["is_active"]
        and rule["coupon_code"]
        and rule["times_used"] < uses
        and rule["to_date"]
        and limits[0] < rule["to_date"][:10] <= limits[1]
    ]
    ends = {rule["name"]: date.fromisoformat(rule["to_date"][:10]) + timedelta(days=14) for rule in wanted}
    if len(ends) != len(wanted) or len(wanted) > 6:
        raise t.NothingToDraw("rules with names of their own")
    steps = joined(
        *([*rule_form(world, rule), t.type_text("To", typed(ends[rule["name"]])), t.click("Save")] for rule in wanted)
    )
    return t.Draw(
        {"day": as_written(day), "uses": uses},
        turn_into(world, RULES, {name: {"to_date": str(end)} for name, end in ends.items()}),
        [*open_menu("Marketing", "Cart Price Rules"), *steps, t.leave("", "They end later now.")],
        evidence=[rule["name"] for rule in rules[:8]],
    )


@TEMPLATES.define(
    'Somebody called {firstname} has phoned about a {noun} from an order of {year}, and I forgot to ask for the number. Only one order of {year} billed to a {firstname} has a {noun} in it. Write the internal note "{note}" on it.',
    'find the {year} order billed to a {firstname} with a {noun} in it (there is just one) + add the note "{note}", customer not notified',
    'A lady or gentleman with the first name {firstname}, I did not catch the rest, wants to be called about the {noun} ordered in {year}. Please find that order; it is the only one with a {noun} among those that were billed to a {firstname} in {year}. It gets the internal comment "{note}".',
    'Which order from {year}, billed to some {firstname}, contains a {noun}? Leave "{note}" on it as an internal note, and on no other order.',
    'Note for an order: "{note}". Which one? The one from {year} with the {noun}, billed to {firstname} somthing. The customer must not be notified.',
    sites=("shopping_admin",),
    difficulty=("names", "time"),
)
def note_for_caller(world: t.Sampler) -> t.Draw:
    """Write a note on an order that is told by a first name, a year and a thing."""
    rng = world.rng
    billed = (
        """SELECT o.*, a.firstname FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'billing'"""
    )
    row = world.pick(
        f"""SELECT firstname, substr(created_at, 1, 4) AS year FROM ({billed}) GROUP BY 1, 2 HAVING count(*) BETWEEN 5 AND 14 ORDER BY 1, 2"""
    )
    same = "SELECT count(*) FROM order_address WHERE kind = 'billing' AND instr(lower(firstname || ' ' || lastname), lower(?)) AND firstname != ?"
    if world.value(same, row["firstname"], row["firstname"]):
        raise t.NothingToDraw("a first name that is no part of another name")
    orders = world.rows(
        f"{billed} WHERE a.firstname = ? AND substr(o.created_at, 1, 4) = ? ORDER BY o.created_at DESC, o.order_id DESC", *row
    )
    nouns = [nouns_of(world, order) for order in orders]
    once = sorted(
        (what, place)
        for place, own in enumerate(nouns)
        for what in own
        if place > 1 and len(what) > 3 and sum(what in other for other in nouns) == 1
    )
    what, place = rng.choice(once)
    order, note = orders[place], rng.choice(("Call back today", "Wants to be called", "Asked for a callback"))
    comments = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", order["order_id"])
    year = int(row["year"])
    names = t.type_text("Bill-to Name", row["firstname"])
    days = (t.type_text("Purchase Date from", f"01/01/{year}"), t.type_text("Purchase Date to", f"12/31/{year}"))
    looks: list[Step] = []
    for number in range(place + 1):
        looks += [t.click(nth("View", number)), *([t.back("Not in this one.")] if number < place else [])]
    return t.Draw(
        {"firstname": row["firstname"], "noun": what, "year": year, "note": note},
        t.all_of(
            turn_into(world, ORDERS, {order["increment_id"]: {"comments": comments + 1}}),
            notes_are(world, {order["order_id"]: note}),
        ),
        [*open_menu("Sales", "Orders"), *filtered(days[0], days[1], names), *looks, *remark(note), t.leave("", "It is noted.")],
        evidence=[each["increment_id"] for each in orders[: place + 1]],
    )
