"""The ways through the admin that templates share, and the tables that they draw from."""

from webarena_gym.sites.shopping_admin.fulfilment import STATUSES as STATUSES
from webarena_gym.tasks.task import Step
from webarena_gym.tasks.template import Row, Sampler, click, search

EVERYTHING = "Search everything"
KEYWORD = "Search by keyword"
PER_PAGE = 20  # rows of a list on one page

CUSTOMERS = """
WITH people AS (
    SELECT c.*, c.firstname || ' ' || c.lastname AS name, a.telephone, a.street, a.city, a.region, a.postcode
    FROM customer c LEFT JOIN customer_address a ON a.customer_id = c.customer_id AND a.is_default_billing
) """
"""The customers, with their default billing addresses."""


def an_order(world: Sampler, condition: str = "1") -> Row:
    """Draw one of the orders that meet a condition."""
    return world.pick(f"SELECT * FROM sales_order o WHERE {condition} ORDER BY order_id")


def open_menu(*labels: str) -> list[Step]:
    """Return the steps to a page of the menu: the section, then the page in it."""
    return [click(label) for label in labels]


def open_order(order: Row) -> list[Step]:
    """Return the steps to an order's page."""
    number = order["increment_id"]
    return [search(EVERYTHING, number), click(f"Order #{number}, {order['customer_name']}")]


def open_product(name: str) -> list[Step]:
    """Return the steps to a product's page."""
    return [search(EVERYTHING, name), click(f"Product {name}")]


def open_customer(name: str, *tabs: str) -> list[Step]:
    """Return the steps to a customer's page, and to one of its tabs."""
    return [search(EVERYTHING, name), click(f"Customer {name}"), *map(click, tabs)]


def nth(label: str, place: int) -> str:
    """Return the label of an element that has that many of the same name before it.

    >>> nth("Edit", 0), nth("Edit", 1)
    ('Edit', 'Edit [2]')
    """
    return f"{label} [{place + 1}]" if place else label
