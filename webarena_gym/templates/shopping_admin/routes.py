"""The ways through the admin that templates share, and the tables that they draw from."""

from calendar import monthrange
from datetime import date
from typing import NamedTuple

from webarena_gym.sites.shopping_admin.fulfilment import STATUSES as STATUSES
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step

EVERYTHING = "Search everything"
KEYWORD = "Search by keyword"
PER_PAGE = 20  # rows of a list on one page, in the plain layout

CUSTOMERS = """
WITH people AS (
    SELECT c.*, c.firstname || ' ' || c.lastname AS name, a.telephone, a.street, a.city, a.region, a.postcode
    FROM customer c LEFT JOIN customer_address a ON a.customer_id = c.customer_id AND a.is_default_billing
) """
"""The customers, with their default billing addresses."""


def an_order(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the orders that meet a condition."""
    return world.pick(f"SELECT * FROM sales_order o WHERE {condition} ORDER BY order_id")


class Month(NamedTuple):
    """One month of trade."""

    first: date

    @property
    def last(self) -> date:
        """The last day."""
        return self.first.replace(day=monthrange(self.first.year, self.first.month)[1])

    @property
    def name(self) -> str:
        """The month as people write it."""
        return f"{self.first:%B %Y}"

    @property
    def key(self) -> str:
        """How the month's times begin in the database."""
        return f"{self.first:%Y-%m}"


def a_month(world: t.Sampler, table: str = "sales_order") -> Month:
    """Draw a month that is over and in which something was created."""
    row = world.pick(
        f"""SELECT DISTINCT substr(created_at, 1, 7) AS month FROM {table}
        WHERE substr(created_at, 1, 7) < (SELECT substr(value, 1, 7) FROM world WHERE key = 'now') ORDER BY month"""
    )
    return Month(date.fromisoformat(f"{row['month']}-01"))


def typed(day: date) -> str:
    """Return a day as it is typed into a form."""
    return f"{day:%m/%d/%Y}"


def open_menu(*labels: str) -> list[Step]:
    """Return the steps to a page of the menu: the section, then the page in it."""
    return [t.click(label) for label in labels]


def open_order(order: t.Row) -> list[Step]:
    """Return the steps to an order's page."""
    number = order["increment_id"]
    return [t.search(EVERYTHING, number), t.click(f"Order #{number}, {order['customer_name']}")]


def open_product(name: str) -> list[Step]:
    """Return the steps to a product's page."""
    return [t.search(EVERYTHING, name), t.click(f"Product {name}")]


def open_customer(name: str, *tabs: str) -> list[Step]:
    """Return the steps to a customer's page, and to one of its tabs."""
    return [t.search(EVERYTHING, name), t.click(f"Customer {name}"), *map(t.click, tabs)]


def filtered(*fields: Step) -> list[Step]:
    """Return the steps that reduce the list on this page by fields of its filters."""
    return [t.click("Filters"), *fields, t.click("Apply Filters")]


def show_report(label: str, first: date, last: date, period: str = "Month") -> list[Step]:
    """Return the steps to a report about some days, by the label that it has in the menu."""
    return [
        *open_menu("Reports", label),
        t.choose("Period", period),
        t.type_text("From", typed(first)),
        t.type_text("To", typed(last)),
        t.click("Show Report"),
    ]
