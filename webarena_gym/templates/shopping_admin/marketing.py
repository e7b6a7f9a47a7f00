"""Reviews, price rules, search terms and the newsletter; customers, the shop's pages, its theme and its settings."""

from webarena_gym.sites.country.texts import long_date, money
from webarena_gym.sites.shopping_admin.grids import written_cents
from webarena_gym.sites.shopping_admin.views.customers import APPLY
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin import (
    CUSTOMER_NAMES,
    KEYWORD,
    PER_PAGE,
    REVIEWS,
    RULES,
    SETTINGS,
    TERMS,
    becomes,
    filtered,
    open_customer,
    open_menu,
    others_stay,
    vanish,
)
from webarena_gym.templates.shopping_admin import CUSTOMER_NAMES as PEOPLE
from webarena_gym.templates.shopping_admin.orders import STREETS
from webarena_gym.templates.ways import impossible, instruction, nth, question, turn_pages

OCCASIONS = ("Spring", "Summer", "Autumn", "Winter", "Birthday", "Weekend", "Launch", "Farewell")
PENDING = """SELECT r.*, p.name FROM review r JOIN product p USING (product_id) WHERE r.status = 'Pending'
    AND (SELECT count(*) FROM review s WHERE s.status = 'Pending' AND s.product_id = p.product_id) = 1
    AND (SELECT count(*) FROM product q WHERE instr(q.name, p.name)) = 1 ORDER BY review_id"""


def open_pending(row: t.Row) -> list[Step]:
    """Return the steps to the form of the one review of its product that is pending."""
    return [*open_menu("Marketing", "Pending Reviews"), t.search(KEYWORD, row["name"]), t.click("Edit")]


def last_word(name: str) -> str:
    """Return the last word of a name."""
    return name.rsplit(maxsplit=1)[-1]


def tick(rows: list[t.Row], key: str, action: str) -> list[Step]:
    """Return the steps that do something with several rows of the list on this page."""
    return [*[t.click(f"Select {row[key]}") for row in rows], t.choose("Actions", action), t.click("Submit")]


def delete_reviews_of(world: t.Sampler) -> t.Draw:
    """Delete all reviews of a nickname that is no part of another."""
    nickname = world.pick(
        """SELECT nickname FROM review r GROUP BY nickname HAVING count(*) BETWEEN 2 AND 4
           AND count(*) = (SELECT count(*) FROM review s WHERE instr(lower(s.nickname), lower(r.nickname))) ORDER BY nickname"""
    )["nickname"]
    rows = world.rows("SELECT review_id FROM review WHERE nickname = ? ORDER BY created_at DESC", nickname)
    return instruction(
        {"nickname": nickname},
        vanish(world, REVIEWS, *[row["review_id"] for row in rows]),
        way=[
            *open_menu("Marketing", "All Reviews"),
            *filtered(t.type_text("Nickname", nickname)),
            *tick(rows, "review_id", "Delete"),
        ],
        seen=f"The {len(rows)} reviews are deleted.",
    )


def judge_reviews_of(world: t.Sampler) -> t.Draw:
    """Decide about all pending reviews of a nickname that is no part of another."""
    verb, status = world.rng.choice((("Approve", "Approved"), ("Reject", "Not Approved")))
    nickname = world.pick(
        """SELECT nickname FROM review r WHERE status = 'Pending' GROUP BY nickname HAVING count(*) <= 4 AND count(*) =
           (SELECT count(*) FROM review s WHERE status = 'Pending' AND instr(lower(s.nickname), lower(r.nickname)))
           ORDER BY nickname"""
    )["nickname"]
    rows = world.rows(
        "SELECT review_id FROM review WHERE status = 'Pending' AND nickname = ? ORDER BY created_at DESC", nickname
    )
    return instruction(
        {"verb": verb, "nickname": nickname},
        becomes(world, REVIEWS, *[row["review_id"] for row in rows], status=status),
        way=[
            *open_menu("Marketing", "Pending Reviews"),
            *filtered(t.type_text("Nickname", nickname)),
            *tick(rows, "review_id", f"Update Status to {status}"),
        ],
        seen=f"Reviews updated: {len(rows)}.",
    )


def rule_form(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the form of a cart price rule; the newest stands first in the list."""
    place = world.value("SELECT count(*) FROM cart_rule WHERE rule_id > ?", row["rule_id"])
    return [*open_menu("Marketing", "Cart Price Rules"), t.click(nth("Edit", place), f"This is the rule {row['name']}.")]


def create_rule(world: t.Sampler) -> t.Draw:
    """Make a new coupon."""
    occasion, number = world.rng.choice(OCCASIONS), world.rng.randint(2, 60)
    name, code = f"{occasion} Promotion {number}", f"{occasion.upper()}X{number}"
    is_percent = world.rng.randrange(2)
    action, amount = ("by_percent", number) if is_percent else ("cart_fixed", number * 100)
    kind = [] if is_percent else [t.choose("Apply", APPLY["cart_fixed"])]
    t.skip_if(world.rows("SELECT 1 FROM cart_rule WHERE name = ? OR coupon_code = ? ORDER BY 1", name, code), name)
    return instruction(
        {
            "name": name,
            "discount": f"{number} percent off" if is_percent else f"{money(amount)} off the whole cart",
            "code": code,
        },
        t.all_of(
            t.state(
                "SELECT coupon_code, action, amount, is_active, to_date FROM cart_rule WHERE name = ?",
                name,
                expected=[[code, action, amount, 1, None]],
            ),
            others_stay(world, RULES, name),
        ),
        way=[
            *open_menu("Marketing", "Cart Price Rules"),
            t.click("Add New Rule"),
            t.type_text("Rule Name", name),
            t.type_text("Coupon Code", code),
            *kind,
            t.type_text("Discount Amount", str(number) if is_percent else written_cents(amount)),
            t.click("Save", "The rule is active from the start."),
        ],
        seen="The rule is in the list.",
    )


def change_discount(world: t.Sampler) -> t.Draw:
    """Give a rule another amount."""
    row, number = world.pick("SELECT * FROM cart_rule ORDER BY rule_id"), world.rng.randint(3, 45)
    is_percent = row["action"] == "by_percent"
    amount = number if is_percent else number * 100
    t.skip_if(amount == row["amount"], row["name"])
    return instruction(
        {"name": row["name"], "discount": f"{number} percent" if is_percent else money(amount)},
        becomes(world, RULES, row["name"], amount=amount),
        way=[
            *rule_form(world, row),
            t.type_text("Discount Amount", str(number) if is_percent else written_cents(amount)),
            t.click("Save"),
        ],
        seen="The rule is saved.",
    )


def delete_term(world: t.Sampler) -> t.Draw:
    """Delete what people searched for."""
    rows = world.rows("SELECT * FROM search_term ORDER BY query_text COLLATE NOCASE, query_id")
    place = world.rng.randrange(len(rows))
    row = rows[place]
    return instruction(
        {"term": row["query_text"]},
        vanish(world, TERMS, row["query_text"]),
        way=[
            *open_menu("Marketing", "Search Terms"),
            *turn_pages(world, place, PER_PAGE, "The terms stand in the order of the alphabet.", "Next page"),
            *tick([row], "query_id", "Delete"),
        ],
        seen="The search term is deleted.",
    )


LASTNAMES = ("Winter", "Abbott", "Castillo", "Lindgren", "Okafor", "Novak", "Delgado", "Thornton", "Ishikawa", "Murray")
HOURS = ("Monday to Saturday, 9 AM to 6 PM", "Tuesday to Friday, 8 AM to 4 PM", "Daily, 11 AM to 7 PM")


def a_customer(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the customers that meet a condition."""
    return world.pick(PEOPLE + f"SELECT * FROM people WHERE {condition} ORDER BY customer_id")


def a_phone(world: t.Sampler) -> str:
    """Draw a phone number."""
    return f"{world.rng.randint(201, 989)}-555-{world.rng.randint(0, 9999):04d}"


PAGE_FORMS = """SELECT *, 'Edit' || iif(place > 1, ' [' || place || ']', '') AS edit
FROM (SELECT *, row_number() OVER (ORDER BY page_id) AS place FROM cms_page) ORDER BY page_id"""
"""The shop's own pages, with the labels of their links in the list."""


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


GROUPS = ("General", "Wholesale", "Retailer")


def customer_missing(world: t.Sampler) -> t.Draw:
    """Ask for a phone number that nobody has."""
    taken = world.pick("SELECT telephone FROM customer_address ORDER BY address_id")["telephone"]
    phone = f"{taken[:-4]}{world.rng.randrange(10000):04d}"
    t.skip_if(world.rows("SELECT 1 FROM customer_address WHERE telephone = ? ORDER BY 1", phone), phone)
    other = world.pick(CUSTOMER_NAMES + "SELECT * FROM people ORDER BY customer_id")
    return impossible(
        {"phone": phone},
        says("0 records found"),
        way=[*open_menu("Customers", "All Customers"), t.search(KEYWORD, phone)],
        seen="No record was found: nobody has this number.",
        wrong=[f"{other['name']}, {other['email']}"],
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
