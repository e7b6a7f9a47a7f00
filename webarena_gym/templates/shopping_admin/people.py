"""Questions about customers."""

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.shopping_admin.routes import CUSTOMERS, KEYWORD, filtered, open_customer, open_menu
from webarena_gym.templates.ways import impossible, question

TEMPLATES = t.Templates("shopping_admin")
GROUPS = ("General", "Wholesale", "Retailer")


@TEMPLATES.define("What is the e-mail address of the customer {customer}?")
def customer_email(world: t.Sampler) -> t.Draw:
    """Ask for an e-mail address."""
    row, other = world.rng.sample(world.rows(CUSTOMERS + "SELECT * FROM people ORDER BY customer_id"), 2)
    return question(
        {"customer": row["name"]},
        row["email"],
        way=open_customer(row["name"]),
        seen=f"The customer's e-mail address is {row['email']}.",
        wrong=[other["email"]],
    )


@TEMPLATES.define("Which customer has the phone number {phone}? Name the customer and the e-mail address.")
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


@TEMPLATES.define("Which customer group does the customer with the e-mail address {email} belong to?")
def customer_group(world: t.Sampler) -> t.Draw:
    """Ask for a customer's group; each group that there is is as likely."""
    group = world.pick("SELECT DISTINCT group_name FROM customer ORDER BY group_name")["group_name"]
    row = world.pick(CUSTOMERS + "SELECT * FROM people WHERE group_name = ? ORDER BY customer_id", group)
    return question(
        {"email": row["email"]},
        group,
        way=[*open_menu("Customers", "All Customers"), t.search(KEYWORD, row["email"])],
        seen=f"{row['name']} is in the group {group}.",
        wrong=[next(other for other in GROUPS if other != group)],
    )


@TEMPLATES.define("Since when has {customer} been our customer? Give me the date.")
def customer_since(world: t.Sampler) -> t.Draw:
    """Ask for the day on which an account was opened."""
    row, other = world.rng.sample(world.rows(CUSTOMERS + "SELECT * FROM people ORDER BY customer_id"), 2)
    day = long_date(row["created_at"])
    return question(
        {"customer": row["name"]},
        day,
        way=open_customer(row["name"]),
        seen=f"The page says Customer Since {day}.",
        wrong=[long_date(other["created_at"]) if long_date(other["created_at"]) != day else "January 1, 1999"],
    )


@TEMPLATES.define("Which customer has the phone number {phone}? Name the customer and the e-mail address.")
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


@TEMPLATES.define("What are the lifetime sales to {customer}?")
def customer_sales(world: t.Sampler) -> t.Draw:
    """Ask what a customer has spent, canceled orders left out, as the customer's page does."""
    row = world.pick(
        """SELECT firstname || ' ' || lastname AS name, sum(grand_total_cents) AS cents
           FROM customer JOIN sales_order USING (customer_id) WHERE status != 'canceled'
           GROUP BY customer_id ORDER BY customer_id"""
    )
    total = money(row["cents"])
    return question(
        {"customer": row["name"]},
        total,
        way=open_customer(row["name"]),
        seen=f"The page shows lifetime sales of {total}.",
        wrong=[money(row["cents"] + 5000)],
    )


@TEMPLATES.define("When did {customer} place the last order? Give me the date; canceled orders do not count.")
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


@TEMPLATES.define("How many of our customers have their default billing address in {region}?")
def customers_of_region(world: t.Sampler) -> t.Draw:
    """Ask for a count by state; no other state's name contains this one."""
    row = world.pick(
        CUSTOMERS
        + """SELECT region, count(*) AS customers FROM people p WHERE region IS NOT NULL GROUP BY region
        HAVING customers = (SELECT count(*) FROM people q WHERE instr(q.region, p.region)) ORDER BY region"""
    )
    count = row["customers"]
    return question(
        {"region": row["region"]},
        count,
        way=[*open_menu("Customers", "All Customers"), *filtered(t.type_text("State/Province", row["region"]))],
        seen=f"Records found: {count}.",
    )


@TEMPLATES.define("Is {customer} subscribed to the newsletter? Answer yes or no.")
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
