"""Reviews, price rules, search terms and the newsletter; customers, the shop's pages, its theme and its settings."""

from webarena_gym.sites.shopping_admin.grids import written_cents as written_cents
from webarena_gym.sites.shopping_admin.views.customers import APPLY as APPLY
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin import CUSTOMER_NAMES as PEOPLE
from webarena_gym.templates.shopping_admin import KEYWORD, open_menu
from webarena_gym.templates.ways import nth

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


def tick(action: str, *keys: int) -> list[Step]:
    """Return the steps that do something with several rows of the list on this page."""
    return [*[t.click(f"Select {key}") for key in keys], t.choose("Actions", action), t.click("Submit")]


LAST_ORDERS = """SELECT customer_id, firstname || ' ' || lastname AS name, max(o.created_at) AS latest
FROM customer JOIN sales_order o USING (customer_id) WHERE status != 'canceled' GROUP BY customer_id"""


def rule_form(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the form of a cart price rule; the newest stands first in the list."""
    place = world.value("SELECT count(*) FROM cart_rule WHERE rule_id > ?", row["rule_id"])
    return [*open_menu("Marketing", "Cart Price Rules"), t.click(nth("Edit", place), f"This is the rule {row['name']}.")]


LASTNAMES = ("Winter", "Abbott", "Castillo", "Lindgren", "Okafor", "Novak", "Delgado", "Thornton", "Ishikawa", "Murray")


def a_customer(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the customers that meet a condition."""
    return world.pick(PEOPLE + f"SELECT * FROM people WHERE {condition} ORDER BY customer_id")


PAGE_FORMS = """SELECT *, 'Edit' || iif(place > 1, ' [' || place || ']', '') AS edit
FROM (SELECT *, row_number() OVER (ORDER BY page_id) AS place FROM cms_page) ORDER BY page_id"""
"""The shop's own pages, with the labels of their links in the list."""


GROUPS = ("General", "Wholesale", "Retailer")
