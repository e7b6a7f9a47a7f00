"""Hard templates of the shop's admin: customers who are identified by what they have bought."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.prose.grammar import enumerate_items
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.kit import as_written, concatenate, now, turn_into
from webarena_gym.templates.hard.shopping_admin_orders import notes_are, remark, written_on
from webarena_gym.templates.hard.shopping_goods import noun
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.shopping_admin import (
    CUSTOMERS,
    KEYWORD,
    ORDERS,
    PER_PAGE,
    apply_filters,
    open_customer,
    open_menu,
)
from webarena_gym.templates.ways import nth

TEXTS = read_texts("hard/shopping_admin")


_PEOPLE = "SELECT c.*, c.firstname || ' ' || c.lastname AS name FROM customer c "


def require_distinct(world: t.Sampler, people: Sequence[t.Row]) -> None:
    """Raise NothingToDraw if the name of one of these customers is part of another customer's name."""
    query = "SELECT count(*) FROM customer WHERE instr(firstname || ' ' || lastname, ?)"
    t.skip_if(any(world.value(query, person["name"]) > 1 for person in people), "customers with names of their own")


def orders_of(world: t.Sampler, person: t.Row) -> list[t.Row]:
    """Return the orders of a customer as listed on the customer's page, newest first."""
    query = "SELECT * FROM sales_order WHERE customer_id = ? ORDER BY created_at DESC, order_id DESC"
    return world.rows(query, person["customer_id"])


def nouns_of(world: t.Sampler, order: t.Row) -> set[str]:
    """Return the nouns of the products in an order."""
    rows = world.rows("SELECT name FROM order_item WHERE order_id = ? ORDER BY 1", order["order_id"])
    return {noun(name) for (name,) in rows}


def move_to(person: t.Row, group: str) -> list[Step]:
    """Return the steps from any page of the admin that move a customer to a group."""
    way = [t.click("Dashboard"), *open_customer(person["name"], "Account Information")]
    return [*way, t.choose("Group", group), t.click("Save Customer")]


def group_of_buyer(world: t.Sampler) -> t.Draw:
    """Move a customer who is identified by first name and a purchase to a group."""
    query = """SELECT c.firstname FROM customer c JOIN sales_order USING (customer_id) GROUP BY 1
        HAVING count(DISTINCT c.customer_id) BETWEEN 2 AND 6 AND count(*) BETWEEN 5 AND 16 ORDER BY 1"""
    names = world.rows(query)
    firstname = world.rng.choice(names)["firstname"]
    people = world.rows(_PEOPLE + "WHERE c.firstname = ? ORDER BY c.customer_id", firstname)
    require_distinct(world, people)
    orders = {person["customer_id"]: orders_of(world, person) for person in people}
    bought = {key: set().union(*(nouns_of(world, order) for order in bought_things)) for key, bought_things in orders.items()}
    counts = Counter(what for bought_things in bought.values() for what in bought_things if len(what) > 3)
    once = sorted((what, key) for key, bought_things in bought.items() for what in bought_things if counts[what] == 1)
    what, target = world.rng.choice([pair for pair in once if pair[1] != people[0]["customer_id"]])
    person = next(person for person in people if person["customer_id"] == target)
    group = world.rng.choice([item for item in ("Wholesale", "Retailer") if item != person["group_name"]])
    steps: list[Step] = []
    for item in people:
        for place, order in enumerate(orders[item["customer_id"]][:PER_PAGE]):
            if place == 0:
                steps += [t.click("Dashboard"), *open_customer(item["name"], "Orders")]
            steps += [t.click(nth("View", place))]
            if item is person and what in nouns_of(world, order):
                break
            steps.append(t.back("That is not in it."))
        if item is person:
            break
    place = next(place for place, item in enumerate(people) if item is person)
    visible = [order for item in people[:place] for order in orders[item["customer_id"]]]
    check = turn_into(world, CUSTOMERS, {target: {"group_name": group}})
    steps = [
        *open_menu("Customers", "All Customers"),
        t.search(KEYWORD, firstname),
        *steps,
        *move_to(person, group),
        t.end_task("", f"It was {person['name']}."),
    ]
    evidence = [*(item["name"] for item in people), *(order["increment_id"] for order in visible)]
    return t.Draw({"firstname": firstname, "noun": what, "group": group}, check, steps, evidence=evidence)


def best_customer_since(world: t.Sampler) -> t.Draw:
    """Move the customer who has spent most since a date, and who does not have the highest lifetime sales, to a group."""
    some = "(SELECT count(*) FROM sales_order o WHERE o.customer_id = c.customer_id) BETWEEN 3 AND 12"
    people = world.rng.sample(world.rows(_PEOPLE + f"WHERE {some} AND customer_id != 1 ORDER BY c.customer_id"), 6)
    require_distinct(world, people)
    day = (now(world) - timedelta(days=world.rng.choice((120, 150, 200, 250)))).date()
    orders = {person["name"]: orders_of(world, person) for person in people}
    counting_draw: dict[str, list[t.Row]] = {}
    lifetime: dict[str, int] = {}
    for name, orders_of_customer in orders.items():
        counting_draw[name] = [
            order for order in orders_of_customer if order["status"] == "complete" and order["created_at"] >= str(day)
        ]
        lifetime[name] = sum(order["grand_total_cents"] for order in orders_of_customer if order["status"] != "canceled")
    sums = {
        name: sum(order["grand_total_cents"] for order in orders_of_customer)
        for name, orders_of_customer in counting_draw.items()
    }
    ranked = sorted(sums, key=lambda name: -sums[name])
    if sums[ranked[0]] - sums[ranked[1]] < 100 or max(lifetime, key=lambda name: lifetime[name]) == ranked[0]:
        raise t.NothingToDraw("a customer who is best since that day only")
    winner = next(person for person in people if person["name"] == ranked[0])
    group = world.rng.choice([item for item in ("Wholesale", "Retailer") if item != winner["group_name"]])
    looks = concatenate(*([t.click("Dashboard"), *open_customer(person["name"], "Orders")] for person in people))
    slots = {"names": enumerate_items([person["name"] for person in people]), "day": as_written(day), "group": group}
    steps = [*looks, *move_to(winner, group), t.end_task("", f"It is {winner['name']} with {money(sums[ranked[0]])}.")]
    shown = [order for orders_of_customer in counting_draw.values() for order in orders_of_customer]
    evidence = [text for order in shown for text in (order["increment_id"], money(order["grand_total_cents"]))]
    return t.Draw(slots, turn_into(world, CUSTOMERS, {winner["customer_id"]: {"group_name": group}}), steps, evidence=evidence)


def note_for_caller(world: t.Sampler) -> t.Draw:
    """Write a note on an order that is identified by a first name, a year and a product."""
    rng = world.rng
    billed = "SELECT o.*, a.firstname FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'billing'"
    several = "GROUP BY 1, 2 HAVING count(*) BETWEEN 5 AND 14 ORDER BY 1, 2"
    row = world.pick(f"SELECT firstname, substr(created_at, 1, 4) AS year FROM ({billed}) {several}")
    alike = "instr(lower(firstname || ' ' || lastname), lower(?)) AND firstname != ?"
    same = f"SELECT count(*) FROM order_address WHERE kind = 'billing' AND {alike}"
    t.skip_if(world.value(same, row["firstname"], row["firstname"]), "a first name that is no part of another name")
    condition = "a.firstname = ? AND substr(o.created_at, 1, 4) = ?"
    orders = world.rows(f"{billed} WHERE {condition} ORDER BY o.created_at DESC, o.order_id DESC", *row)
    nouns = [nouns_of(world, order) for order in orders]
    counts = Counter(what for condition in nouns for what in condition if len(what) > 3)
    once = sorted(
        (what, place) for place, condition in enumerate(nouns) for what in condition if place > 1 and counts[what] == 1
    )
    what, place = rng.choice(once)
    order, note = orders[place], rng.choice(("Call back today", "Wants to be called", "Asked for a callback"))
    year = int(row["year"])
    names = t.type_text("Bill-to Name", row["firstname"])
    days = (t.type_text("Purchase Date from", f"01/01/{year}"), t.type_text("Purchase Date to", f"12/31/{year}"))
    looks: list[Step] = []
    for number in range(place + 1):
        looks += [t.click(nth("View", number)), *([t.back("Not in this one.")] if number < place else [])]
    slots = {"firstname": row["firstname"], "noun": what, "year": year, "note": note}
    noted = {order["increment_id"]: {"comments": written_on(world, order) + 1}}
    check = t.all_of(turn_into(world, ORDERS, noted), notes_are(world, {order["order_id"]: note}))
    steps = [*open_menu("Sales", "Orders"), *apply_filters(*days, names), *looks, *remark(note), t.end_task("", "It is noted.")]
    return t.Draw(slots, check, steps, evidence=[item["increment_id"] for item in orders[: place + 1]])
