"""Questions about customers."""

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping_admin.routes import CUSTOMERS, KEYWORD, filtered, open_customer, open_menu
from webarena_gym.templates.ways import impossible, question

GROUPS = ("General", "Wholesale", "Retailer")


customer_email = Fact(
    CUSTOMERS + "SELECT * FROM people ORDER BY customer_id",
    "{email}",
    way=open_customer("{name}"),
    seen="The customer's e-mail address is {email}.",
    wrong=["{other[email]}"],
    pair=True,
    slots={"customer": "{name}"},
)


def customer_by_phone(world: t.Sampler) -> t.Draw:
    """Ask who has a phone number, which stands in the list of customers."""
    rows = world.rows(CUSTOMERS + "SELECT * FROM people WHERE telephone IS NOT NULL ORDER BY customer_id")
    row, other = world.rng.sample(rows, 2)
    return question(
        {"phone": row["telephone"]},
        f"{row['name']}, {row['email']}",
        way=[*open_menu("Customers", "All Customers"), t.search(KEYWORD, row["telephone"])],
        seen=f"The only one with {row['telephone']} is {row['name']}, {row['email']}.",
        wrong=[f"{other['name']}, {other['email']}"],
    )


customer_group = Fact(
    "SELECT DISTINCT group_name FROM customer ORDER BY group_name",
    "{other[group_name]}",
    way=[*open_menu("Customers", "All Customers"), t.search(KEYWORD, "{other[email]}")],
    seen="{other[name]} is in the group {other[group_name]}.",
    wrong=lambda _, row: [next(other for other in GROUPS if other != row["other"]["group_name"])],
    other=(
        CUSTOMERS + "SELECT * FROM people WHERE group_name = ? ORDER BY customer_id",
        "group_name",
    ),
    slots={"email": "{other[email]}"},
)


customer_since = Fact(
    CUSTOMERS + "SELECT * FROM people ORDER BY customer_id",
    "{created_at:long_date}",
    way=open_customer("{name}"),
    seen="The page says Customer Since {created_at:long_date}.",
    wrong=lambda _, row: [
        long_date(row["other"]["created_at"])
        if long_date(row["other"]["created_at"]) != long_date(row["created_at"])
        else "January 1, 1999"
    ],
    pair=True,
    slots={"customer": "{name}"},
)


def customer_missing(world: t.Sampler) -> t.Draw:
    """Ask for a phone number that nobody has."""
    taken = world.pick("SELECT telephone FROM customer_address ORDER BY address_id")["telephone"]
    phone = f"{taken[:-4]}{world.rng.randrange(10000):04d}"
    if world.rows("SELECT 1 FROM customer_address WHERE telephone = ? ORDER BY 1", phone):
        raise t.NothingToDraw(phone)
    other = world.pick(CUSTOMERS + "SELECT * FROM people ORDER BY customer_id")
    return impossible(
        {"phone": phone},
        says("0 records found"),
        way=[*open_menu("Customers", "All Customers"), t.search(KEYWORD, phone)],
        seen="No record was found: nobody has this number.",
        wrong=[f"{other['name']}, {other['email']}"],
    )


customer_sales = Fact(
    """SELECT firstname || ' ' || lastname AS name, sum(grand_total_cents) AS cents
           FROM customer JOIN sales_order USING (customer_id) WHERE status != 'canceled'
           GROUP BY customer_id ORDER BY customer_id""",
    "{cents:money}",
    way=open_customer("{name}"),
    seen="The page shows lifetime sales of {cents:money}.",
    wrong=lambda _, row: [money(row["cents"] + 5000)],
    slots={"customer": "{name}"},
)


def customer_last_order(world: t.Sampler) -> t.Draw:
    """Ask for the day of a customer's newest order."""
    rows = world.rows(
        """SELECT firstname || ' ' || lastname AS name, max(o.created_at) AS latest
           FROM customer JOIN sales_order o USING (customer_id) WHERE status != 'canceled'
           GROUP BY customer_id ORDER BY customer_id"""
    )
    row = world.rng.choice(rows)
    day = long_date(row["latest"])
    return question(
        {"customer": row["name"]},
        day,
        way=open_customer(row["name"]),
        seen=f"The last order is of {day}.",
        wrong=[next(other for other in (long_date(row["latest"]) for row in rows) if other != day)],
    )


customers_of_region = Fact(
    CUSTOMERS
    + """SELECT region, count(*) AS customers FROM people p WHERE region IS NOT NULL GROUP BY region
        HAVING customers = (SELECT count(*) FROM people q WHERE instr(q.region, p.region)) ORDER BY region""",
    "{customers}",
    way=[*open_menu("Customers", "All Customers"), *filtered(t.type_text("State/Province", "{region}"))],
    seen="Records found: {customers}.",
)


def customer_newsletter(world: t.Sampler) -> t.Draw:
    """Ask about a subscription; both answers are as likely."""
    wanted = world.rng.choice(("Yes", "No"))
    row = world.pick(
        """SELECT firstname || ' ' || lastname AS name, coalesce(s.status, 'Not Subscribed') AS status
           FROM customer c LEFT JOIN newsletter_subscriber s ON s.email = c.email
           WHERE (s.status IS 'Subscribed') = ? ORDER BY 1""",
        wanted == "Yes",
    )
    return t.Draw(
        slots={"customer": row["name"]},
        grounds={wanted: says(row["status"])},
        eval=t.told(t.answer(fuzzy_match=wanted), yes=["subscribed", "a subscriber"], no=["unsubscribed"]),
        solution=[*open_customer(row["name"]), t.leave(wanted, f"Under Newsletter the page says {row['status']}.")],
        wrong_answers=["No" if wanted == "Yes" else "Yes"],
    )
