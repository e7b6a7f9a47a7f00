"""Changes to customers, to the shop's own pages, its theme and its settings."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Change
from webarena_gym.templates.shopping_admin.handling import STREETS, an_address, enter_address
from webarena_gym.templates.shopping_admin.ledgers import CUSTOMER_ADDRESSES, CUSTOMERS, PAGES, SETTINGS, becomes
from webarena_gym.templates.shopping_admin.people import GROUPS
from webarena_gym.templates.shopping_admin.routes import CUSTOMERS as PEOPLE
from webarena_gym.templates.shopping_admin.routes import filtered, open_customer, open_menu
from webarena_gym.templates.ways import instruction, nth

LASTNAMES = ("Winter", "Abbott", "Castillo", "Lindgren", "Okafor", "Novak", "Delgado", "Thornton", "Ishikawa", "Murray")
TITLES = (
    "Welcome",
    "All About Our Shop",
    "Read This First",
    "Good to Know",
    "How We Work",
    "Questions and Answers",
    "Our Promise",
)
HOURS = ("Monday to Saturday, 9 AM to 6 PM", "Tuesday to Friday, 8 AM to 4 PM", "Daily, 11 AM to 7 PM")


def a_customer(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the customers that meet a condition."""
    return world.pick(PEOPLE + f"SELECT * FROM people WHERE {condition} ORDER BY customer_id")


def customer_and_group(world: t.Sampler) -> tuple[t.Row, str]:
    """Draw a customer, and a group that the customer is not in."""
    row = a_customer(world)
    return row, world.rng.choice([name for name in GROUPS if name != row["group_name"]])


def edit_customer(row: t.Row, change: Step) -> list[Step]:
    """Return the steps that make one change to a customer's account."""
    return [*open_customer(row["name"], "Account Information"), change, t.click("Save Customer")]


def a_phone(world: t.Sampler) -> str:
    """Draw a phone number."""
    return f"{world.rng.randint(201, 989)}-555-{world.rng.randint(0, 9999):04d}"


def edited(row: t.Row, slots: dict[str, Any], check: dict[str, Any], change: Step) -> t.Draw:
    """Return a draw that makes one change in a customer's form."""
    return instruction({"customer": row["name"], **slots}, check, way=edit_customer(row, change), seen="The customer is saved.")


def change_email(world: t.Sampler) -> t.Draw:
    """Give a customer another e-mail address."""
    row = a_customer(world)
    email = f"{row['lastname']}.{world.rng.randint(100, 999)}@example.net".lower()
    return edited(
        row, {"email": email}, becomes(world, CUSTOMERS, row["customer_id"], email=email), t.type_text("Email", email)
    )


def change_lastname(world: t.Sampler) -> t.Draw:
    """Give a customer another name."""
    row, lastname = a_customer(world), world.rng.choice(LASTNAMES)
    return edited(
        row,
        {"lastname": lastname},
        becomes(world, CUSTOMERS, row["customer_id"], lastname=lastname),
        t.type_text("Last Name", lastname),
    )


def change_group(world: t.Sampler) -> t.Draw:
    """Put a customer into another group."""
    row, group = customer_and_group(world)
    return edited(
        row, {"group": group}, becomes(world, CUSTOMERS, row["customer_id"], group_name=group), t.choose("Group", group)
    )


def change_group_and_list(world: t.Sampler) -> t.Draw:
    """Put a customer into another group, and open a filtered list."""
    row, group = customer_and_group(world)
    return instruction(
        {"customer": row["name"], "group": group},
        t.all_of(
            becomes(world, CUSTOMERS, row["customer_id"], group_name=group),
            t.at_url(f"__SHOPPING_ADMIN__/customer/index/?group={group}"),
        ),
        way=[
            *edit_customer(row, t.choose("Group", group)),
            *open_menu("Customers", "All Customers"),
            *filtered(t.choose("Group", group)),
        ],
        seen="The list shows the customers of the group.",
    )


def move_customer(world: t.Sampler) -> t.Draw:
    """Change a customer's only address."""
    row = world.pick(
        """SELECT max(address_id) AS address_id, c.firstname || ' ' || c.lastname AS name
           FROM customer c JOIN customer_address USING (customer_id)
           GROUP BY customer_id HAVING count(*) = 1 ORDER BY customer_id"""
    )
    place = an_address(world)
    return instruction(
        {"customer": row["name"], **place},
        becomes(world, CUSTOMER_ADDRESSES, row["address_id"], **place),
        way=[*open_customer(row["name"], "Addresses"), t.click("Edit"), *enter_address(place)],
        seen="The address is saved.",
    )


def page_form(world: t.Sampler) -> tuple[t.Row, str]:
    """Draw one of the shop's own pages, and return it with the label of its link in the list."""
    rows = world.rows("SELECT * FROM cms_page ORDER BY page_id")
    place = world.rng.randrange(len(rows))
    return rows[place], nth("Edit", place)


change_title = Change(
    page_form,
    lambda world, row: becomes(world, PAGES, row["page_id"], title=row["new_title"]),
    way=lambda _, row: [
        *open_menu("Content", "Pages"),
        t.click(row["other"], f"This is the page {row['title']}."),
        t.type_text("Page Title", row["new_title"]),
        t.click("Save"),
    ],
    seen="The page is called {new_title} now.",
    also={"new_title": lambda world, _row: world.rng.choice(TITLES)},
    slots={"page": "{title}", "title": "{new_title}"},
)


change_heading = Change(
    page_form,
    lambda world, row: becomes(world, PAGES, row["page_id"], content_heading=row["heading"]),
    way=lambda _, row: [
        *open_menu("Content", "Pages"),
        t.click(row["other"], f"This is the page {row['title']}."),
        t.type_text("Content Heading", row["heading"]),
        t.click("Save"),
    ],
    seen="The page is saved.",
    also={"heading": lambda world, _row: world.rng.choice(TITLES)},
    slots={"page": "{title}"},
)


def apply_theme(world: t.Sampler) -> t.Draw:
    """Give the shop another look; a world has as many draws as themes but one."""
    rows = world.rows("SELECT * FROM theme ORDER BY title COLLATE NOCASE, theme_id")
    place, row = world.rng.choice([(place, row) for place, row in enumerate(rows) if not row["is_applied"]])
    return instruction(
        {"theme": row["title"]},
        t.state("SELECT title FROM theme WHERE is_applied ORDER BY title", expected=[[row["title"]]]),
        way=[*open_menu("Content", "Themes"), t.click(nth("View", place), f"This is {row['title']}."), t.click("Apply Theme")],
        seen="The theme is applied.",
    )


def change_setting(world: t.Sampler) -> t.Draw:
    """Change one of the store's settings."""
    wanted = {
        "general/store_information/phone": a_phone(world),
        "general/store_information/hours": world.rng.choice(HOURS),
        "general/store_information/street": world.rng.choice(STREETS),
        "catalog/returns_days": str(world.rng.choice((21, 28, 45, 60, 90))),
        "carriers/flatrate/price": f"{world.rng.randint(3, 12)}.25",
        "carriers/freeshipping/free_shipping_subtotal": f"{world.rng.randrange(40, 200, 5)}.00",
    }
    path = world.rng.choice(list(wanted))
    label, value = world.value("SELECT label FROM store_config WHERE path = ? ORDER BY path", path), wanted[path]
    return instruction(
        {"setting": label, "value": value},
        becomes(world, SETTINGS, path, value=value),
        way=[*open_menu("Stores", "Configuration"), t.type_text(label, value), t.click("Save Config")],
        seen="The configuration is saved.",
    )
