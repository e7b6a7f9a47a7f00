"""Questions about customers."""

from webarena_gym.sites.kit import long_date
from webarena_gym.tasks.shopping_admin.routes import CUSTOMERS, KEYWORD, open_customer, open_menu
from webarena_gym.tasks.template import Draw, Sampler, Templates, answer, leave, search

TEMPLATES = Templates("shopping_admin")
GROUPS = ("General", "Wholesale", "Retailer")


@TEMPLATES.define("What is the e-mail address of the customer {customer}?")
def customer_email(world: Sampler) -> Draw:
    """Ask for an e-mail address."""
    row, other = world.rng.sample(world.rows(CUSTOMERS + "SELECT * FROM people ORDER BY customer_id"), 2)
    return Draw(
        slots={"customer": row["name"]},
        eval=answer(fuzzy_match=row["email"]),
        solution=[*open_customer(row["name"]), leave(row["email"], f"The customer's e-mail address is {row['email']}.")],
        wrong_answers=[other["email"]],
    )


@TEMPLATES.define("Which customer has the phone number {phone}? Name the customer and the e-mail address.")
def customer_by_phone(world: Sampler) -> Draw:
    """Ask who has a phone number, which stands in the list of customers."""
    rows = world.rows(CUSTOMERS + "SELECT * FROM people WHERE telephone IS NOT NULL ORDER BY customer_id")
    row, other = world.rng.sample(rows, 2)
    return Draw(
        slots={"phone": row["telephone"]},
        eval=answer(fuzzy_match=f"{row['name']}, {row['email']}"),
        solution=[
            *open_menu("Customers", "All Customers"),
            search(KEYWORD, row["telephone"]),
            leave(f"{row['name']}, {row['email']}", f"The only one with {row['telephone']} is {row['name']}, {row['email']}."),
        ],
        wrong_answers=[f"{other['name']}, {other['email']}"],
    )


@TEMPLATES.define("Which customer group does the customer with the e-mail address {email} belong to?")
def customer_group(world: Sampler) -> Draw:
    """Ask for a customer's group; each group that there is is as likely."""
    group = world.pick("SELECT DISTINCT group_name FROM customer ORDER BY group_name")["group_name"]
    row = world.pick(CUSTOMERS + "SELECT * FROM people WHERE group_name = ? ORDER BY customer_id", group)
    return Draw(
        slots={"email": row["email"]},
        eval=answer(fuzzy_match=group),
        solution=[
            *open_menu("Customers", "All Customers"),
            search(KEYWORD, row["email"]),
            leave(group, f"{row['name']} is in the group {group}."),
        ],
        wrong_answers=[next(other for other in GROUPS if other != group)],
    )


@TEMPLATES.define("Since when has {customer} been our customer? Give me the date.")
def customer_since(world: Sampler) -> Draw:
    """Ask for the day on which an account was opened."""
    row, other = world.rng.sample(world.rows(CUSTOMERS + "SELECT * FROM people ORDER BY customer_id"), 2)
    day = long_date(row["created_at"])
    return Draw(
        slots={"customer": row["name"]},
        eval=answer(fuzzy_match=day),
        solution=[*open_customer(row["name"]), leave(day, f"The page says Customer Since {day}.")],
        wrong_answers=[long_date(other["created_at"]) if long_date(other["created_at"]) != day else "January 1, 1999"],
    )
