"""What I may still give back to the shop, by its rules about returns."""

from datetime import date, timedelta

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import joined, now
from webarena_gym.templates.shopping.routes import MINE, PER_PAGE, open_account, open_order
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")


@TEMPLATES.define(
    "By the shop's page about returns, how much money would I get back if I gave back everything that I still may give back today? {answer}.",
    "how much $$ would i get if i returned all i am still allowed to return today (see the shops page Returns, its strict)? {answer}",
    "I am short of money this month, so I think about sending back all that the shop still takes back, and I mean everything. Please read the rules on their page about returns, go through my orders, and tell me the sum that they would have to pay me. {answer}.",
    "If I used my right to return things to the full today, as the page Returns of the shop describes it, how much would be paid to me? {answer}.",
    "What is the total that the shop would pay me for everything returnable as of today? The rules stand on the page Returns, and they have exeptions. {answer}.",
    sites=("shopping",),
    difficulty=("policies", "time", "exhaustive"),
)  # fmt: skip
def sum_of_returns(world: t.Sampler) -> t.Draw:
    """Ask for the sum of all that may still be returned."""
    rng, today = world.rng, now(world).date()
    page = world.rows("SELECT * FROM cms_page WHERE url_key = 'returns' AND is_enabled ORDER BY page_id")
    if not page:
        raise t.NothingToDraw("a page about returns")
    mine = world.rows(MINE + "SELECT * FROM mine WHERE discount_cents = 0 ORDER BY place")
    items: dict[int, list[t.Row]] = {}
    for item in world.rows("SELECT * FROM order_item ORDER BY order_id, item_id"):
        items.setdefault(item["order_id"], []).append(item)
    found = []
    for days in range(40, 241, 10):
        since = str(today - timedelta(days=days))
        within = [row for row in mine if row["created_at"][:10] >= since]
        near = {str(date.fromisoformat(since) + timedelta(days=shift)) for shift in (-1, 0, 1)}
        complete = [row for row in within if row["status"] == "complete"]
        if 3 <= len(complete) <= 7 and len(within) > len(complete) and not near & {row["created_at"][:10] for row in mine}:
            for limit in (800, 1000, 1500, 2000, 2500, 3000, 4000, 5000):
                pieces = [item for row in complete for item in items[row["order_id"]]]
                dear = [item for item in pieces if item["price_cents"] >= limit]
                if 3 <= len(dear) < len(pieces):
                    found.append((days, limit, within, complete, dear))
    if not found:
        raise t.NothingToDraw("something to return")
    days, limit, within, complete, dear = rng.choice(found)
    rules = (
        f"We take back what was ordered at most {days} days ago; the day of the order counts, whenever it arrived.\n\n"
        "The order must be complete. What is still on its way, on hold or waiting cannot be returned, and neither can an order that is closed or canceled.\n\n"
        f"You get the price of the goods, without the shipping. Things that cost less than {money(limit)} a piece are not taken back, no matter how many there are."
    )
    world.alter("cms_page", {"page_id": page[0]["page_id"]}, content=rules)
    amounts = [money(item["price_cents"] * item["qty_ordered"]) for item in dear]
    total = money(sum(item["price_cents"] * item["qty_ordered"] for item in dear))
    more = money(sum(row["subtotal_cents"] for row in complete))
    everything = money(sum(row["grand_total_cents"] for row in within))
    looks: list[Step] = joined(*(open_order(world, row) for row in complete))
    last = within[-1]["place"]
    return t.Draw(
        {"answer": rng.choice(("Only the sum, please", "Answer with the amount alone", "Just the amount"))},
        t.answer(fuzzy_match=total),
        [
            t.click("Customer Service"),
            t.click(page[0]["title"]),
            *open_account("My Orders"),
            *turn_pages(world, last, PER_PAGE, "There may be more on the next page."),
            *looks,
            t.leave(total, f"{' + '.join(amounts)} = {total}."),
        ],
        wrong_answers=[wrong for wrong in (more, everything) if wrong != total],
        grounds={total: sum_of(*amounts)},
        evidence=["no matter how many there are", *(row["increment_id"] for row in complete), *amounts],
    )
