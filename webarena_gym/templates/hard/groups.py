"""Customers of the shop, whose group follows from rules."""

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import listed, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import CUSTOMERS
from webarena_gym.templates.shopping_admin.routes import open_customer

TEMPLATES = t.Templates("hard")

_COMPANIES = (
    "Marlow & Daughters",
    "Tidewater Supplies",
    "Fenwick Joinery",
    "Oakum Brothers",
    "Halfmoon Catering",
    "Quillon Press",
)
_PEOPLE = """SELECT c.*, c.firstname || ' ' || c.lastname AS name, a.address_id, coalesce(sum(CASE WHEN o.status != 'canceled' THEN o.grand_total_cents END), 0) AS spent,
        max(CASE WHEN o.status != 'canceled' THEN o.created_at END) AS latest,
        max(o.created_at) AS newest
    FROM customer c JOIN customer_address a ON a.customer_id = c.customer_id AND a.is_default_billing LEFT JOIN sales_order o ON o.customer_id = c.customer_id
    WHERE (SELECT count(*) FROM customer d WHERE instr(d.firstname || ' ' || d.lastname, c.firstname || ' ' || c.lastname)) = 1
    GROUP BY c.customer_id HAVING spent > 0 ORDER BY c.customer_id"""


@TEMPLATES.define(
    'Check the customer groups of {people} against our page "{page}" (Content), and move everybody to the right group who is in a wrong one. Change nothing else about them.',
    'are {people} in the right customer group? rules: content page "{page}". fix the wrong ones, nothing else',
    'Accounting wants the customer groups to be right by tonight. Please look at {people}, and decide by the rules on "{page}" (one of our content pages) to which group each of them belongs. Whoever is in another one is to be moved.',
    'By the rules on "{page}" (Content > Pages), which group should each of these customers be in: {people}? Change the group where it is not that one.',
    'The groups of {people} may be out of date. "{page}" in Content tells who belongs where. Corect them where necessary; names, addresses and mail addresses stay.',
    sites=("shopping_admin",),
    difficulty=("policies", "exhaustive", "restraint"),
)  # fmt: skip
def groups_by_rules(world: t.Sampler) -> t.Draw:
    """Move customers to the groups that a page of rules gives them."""
    rng, title = world.rng, world.rng.choice(("Customer groups", "Who gets which prices", "Groups and discounts"))
    rows = world.rows(_PEOPLE)
    spent = sorted(row["spent"] for row in rows)
    limit = spent[len(spent) // 2] // 5000 * 5000
    year = world.value("SELECT substr(value, 1, 4) FROM world WHERE key = 'now'")
    rich = [row for row in rows if row["spent"] >= limit + 300 and row["latest"] >= f"{int(year) - 1}-01-01"]
    poor = [row for row in rows if row["spent"] < limit - 300 and row["latest"] >= f"{int(year) - 1}-01-01"]
    asleep = [row for row in rows if row["newest"] < f"{int(year) - 1}-01-01"]
    # Company in the billing address, in another address, or nowhere; the group now, and the right one.
    plan = [
        (rich, "billing", "General", "Wholesale"),
        (rich, "other", "Wholesale", "General"),
        (poor, "billing", rng.choice(("General", "Wholesale")), "Retailer"),
        (poor, "nowhere", "Retailer", "General"),
        (rich, "nowhere", "General", "General"),
        (poor, "billing", "Retailer", "Retailer"),
    ]
    plan.append(
        (asleep, "billing", "Wholesale", "Wholesale")
        if asleep and rng.random() < 0.6
        else (rich, "billing", "Retailer", "Wholesale")
    )
    plan = [*plan[:4], rng.choice(plan[4:6]), plan[6]]
    taken: list[int] = []
    made: list[tuple[t.Row, str, str]] = []
    for (group, place, now, right), company in zip(plan, _COMPANIES, strict=True):
        row = rng.choice([each for each in group if each["customer_id"] not in taken])
        taken.append(row["customer_id"])
        world.alter("customer", {"customer_id": row["customer_id"]}, group_name=now)
        world.alter("customer_address", {"address_id": row["address_id"]}, company=company if place == "billing" else "")
        others = world.rows(
            "SELECT * FROM customer_address WHERE customer_id = ? AND address_id != ? ORDER BY address_id",
            row["customer_id"],
            row["address_id"],
        )
        for other in others:
            world.alter("customer_address", {"address_id": other["address_id"]}, company="")
        if place == "other":
            model = dict(world.rows("SELECT * FROM customer_address WHERE address_id = ?", row["address_id"])[0])
            del model["address_id"]
            world.plant("customer_address", **(model | {"company": company, "is_default_billing": 0, "is_default_shipping": 0}))
        made.append((row, now, right))
    rng.shuffle(made)
    rules = (
        f"Wholesale is for companies that have bought for {money(limit)} or more (lifetime sales). Companies that have bought for less are in the group Retailer.\n\n"
        "A customer counts as a company when the default billing address names one. A company in any other address is of no interest to us.\n\n"
        "Everybody else is in the group General, no matter how much was bought.\n\n"
        f"Nobody is moved whose last order was placed before {int(year) - 1}: we do not wake sleeping dogs, right group or wrong."
    )
    way = staff_page(world, title, rules)
    steps: list[Step] = []
    for row, now, right in made:
        steps += [t.click("Dashboard"), *open_customer(row["name"], "Addresses")]
        if now != right:
            steps += [t.click("Account Information"), t.choose("Group", right), t.click("Save Customer")]
    return t.Draw(
        {"people": listed([row["name"] for row, _, _ in made]), "page": title},
        turn_into(world, CUSTOMERS, {row["customer_id"]: {"group_name": right} for row, now, right in made if now != right}),
        [*way, *steps, t.leave("", "Everybody is in the right group.")],
        evidence=[
            "A company in any other address is of no interest",
            *(money(row["spent"]) for row, _, _ in made),
            *(row["name"] for row, _, _ in made),
        ],
    )
