"""Questions that go over several of my orders."""

from datetime import date

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.sites.shopping.queries import STATUS_LABELS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import number_of, sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping.routes import MINE, PER_PAGE, open_account
from webarena_gym.templates.ways import nth, on_page, question, turn_pages

RECENT = 5  # orders that the account page shows
RANKS = ("latest", "second latest", "third latest", "fourth latest", "fifth latest")


def latest_in_status(world: t.Sampler) -> t.Row:
    """Return my newest order in some status."""
    status = world.pick(MINE + "SELECT DISTINCT status FROM mine ORDER BY status")["status"]
    return world.rows(MINE + "SELECT * FROM mine WHERE status = ? ORDER BY place LIMIT 1", status)[0]


def look_for(world: t.Sampler, row: t.Row, status: str) -> list[Step]:
    """Return the steps to the page of my orders on which the first of a status stands."""
    return [*open_account("My Orders"), *turn_pages(world, row["place"], PER_PAGE, f"None on this page is {status}.")]


def read_month(world: t.Sampler, rows: list[t.Row]) -> list[Step]:
    """Return the steps over the pages of my orders on which these orders of one month stand."""
    first, last = (on_page(world, row["place"], PER_PAGE)[0] for row in (rows[0], rows[-1]))
    thought = f"There is no order of {month_name(rows[0])} on this page yet."
    steps = [*open_account("My Orders"), *turn_pages(world, rows[0]["place"], PER_PAGE, thought)]
    for page in range(first, last):
        seen = (money(row["grand_total_cents"]) for row in rows if on_page(world, row["place"], PER_PAGE)[0] <= page)
        steps.append(t.click("Next", f"So far: {', '.join(seen)}."))
    return steps


def months(world: t.Sampler, condition: str) -> list[list[t.Row]]:
    """Return my orders that meet a condition, the newest first, in one list for each month."""
    found: dict[str, list[t.Row]] = {}
    for row in world.rows(MINE + f"SELECT * FROM mine WHERE {condition} ORDER BY place"):
        found.setdefault(row["created_at"][:7], []).append(row)
    return list(found.values())


def month_name(row: t.Row) -> str:
    """Return the month of an order as people write it."""
    return f"{date.fromisoformat(row['created_at'][:10]):%B %Y}"


latest_number = Fact(
    latest_in_status,
    "{increment_id}",
    way=lambda world, row: look_for(world, row, row["new_status"]),
    seen="The first one that is {new_status} is {increment_id}.",
    wrong=["{other[increment_id]}"],
    other=(
        MINE + "SELECT increment_id FROM mine WHERE order_id != ? ORDER BY order_id",
        "order_id",
    ),
    also={"new_status": lambda _, row: STATUS_LABELS[row["status"]]},
    slots={"status": "{new_status}"},
)


latest_total = Fact(
    latest_in_status,
    "{grand_total_cents:money}",
    way=lambda world, row: look_for(world, row, row["new_status"]),
    seen="The first one that is {new_status} comes to {grand_total_cents:money}.",
    wrong=lambda _, row: [money(row["grand_total_cents"] + 500)],
    also={"new_status": lambda _, row: STATUS_LABELS[row["status"]]},
    slots={"status": "{new_status}"},
)


def status_count(world: t.Sampler) -> t.Draw:
    """Ask how many orders are in a status; there are as many draws as statuses."""
    status = world.pick(MINE + "SELECT DISTINCT status FROM mine ORDER BY status")["status"]
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    size = world.layout.page_size(PER_PAGE)
    found = [sum(row["status"] == status for row in rows[at : at + size]) for at in range(0, len(rows), size)]
    pages = [t.click("Next", f"{count} {STATUS_LABELS[status]} on this page.") for count in found[:-1]]
    return t.Draw(
        slots={"status": STATUS_LABELS[status]},
        grounds={str(sum(found)): number_of(*(row["increment_id"] for row in rows if row["status"] == status))},
        eval=t.answer(fuzzy_match=str(sum(found))),
        solution=[
            *open_account("My Orders"),
            *pages,
            t.leave(str(sum(found)), f"{' + '.join(map(str, found))} = {sum(found)}."),
        ],
        wrong_answers=[str(sum(found) + 1)],
    )


def month_count(world: t.Sampler) -> t.Draw:
    """Ask how many orders are of a month."""
    rows = world.rng.choice(months(world, "true"))
    return t.Draw(
        slots={"month": month_name(rows[0])},
        grounds={str(len(rows)): number_of(*(row["increment_id"] for row in rows))},
        eval=t.answer(fuzzy_match=str(len(rows))),
        solution=[
            *read_month(world, rows),
            t.leave(str(len(rows)), f"They are {', '.join(row['increment_id'] for row in rows)}."),
        ],
        wrong_answers=[str(len(rows) + 1)],
    )


def month_spending(world: t.Sampler) -> t.Draw:
    """Ask for a sum over the orders of a month, among which others may be canceled."""
    rows = world.rng.choice(months(world, "status = 'complete'"))
    parts = [row["grand_total_cents"] for row in rows]
    total = money(sum(parts))
    return t.Draw(
        slots={"month": month_name(rows[0])},
        grounds={total: sum_of(*map(money, parts))},
        eval=t.answer(fuzzy_match=total),
        solution=[
            *read_month(world, rows),
            t.leave(total, f"{' + '.join(map(money, parts))} = {total}."),
        ],
        wrong_answers=[money(sum(parts) + 1500)],
    )


def date_by_rank(world: t.Sampler) -> t.Draw:
    """Ask for the date of the first order ever, or of one of the latest; there are six draws in a world."""
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    place = world.rng.choice([*range(len(RANKS)), len(rows) - 1])
    day = long_date(rows[place]["created_at"])
    others = [long_date(row["created_at"]) for row in rows if long_date(row["created_at"]) != day]
    is_first = place == len(rows) - 1
    steps = [*open_account("My Orders"), *turn_pages(world, place, PER_PAGE, "The oldest order is on the last page.")]
    return question(
        {"rank": "very first" if is_first else RANKS[place]},
        day,
        way=steps if is_first else open_account(),
        seen=f"That is {rows[place]['increment_id']}, of {day}.",
        wrong=[world.rng.choice(others)],
    )


def last_ordered(world: t.Sampler) -> t.Draw:
    """Ask when a product was ordered last, which was in one of the recent orders, by opening one after the other."""
    row = world.pick(
        MINE
        + """SELECT i.name, min(place) AS place, max(created_at) AS created_at FROM mine m JOIN order_item i USING (order_id)
        GROUP BY i.product_id HAVING min(place) < ? ORDER BY i.product_id""",
        RECENT,
    )
    day = long_date(row["created_at"])
    others = world.rows(
        MINE + "SELECT created_at FROM mine WHERE date(created_at) != date(?) ORDER BY place", row["created_at"]
    )
    looks: list[Step] = []
    for place in range(row["place"]):
        looks += [t.click(nth("View Order", place)), t.back("It is not in this order.")]
    return question(
        {"product": row["name"]},
        day,
        way=[*open_account(), *looks, t.click(nth("View Order", row["place"]))],
        seen=f"Here it is: {day}.",
        wrong=[long_date(others[0]["created_at"])],
    )
