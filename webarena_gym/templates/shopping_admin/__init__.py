"""The shop's admin: the ways through it, the tables that its templates draw from, and ledgers of what may change."""

from calendar import monthrange
from datetime import date
from typing import Any, NamedTuple

from webarena_gym.sites.shopping_admin.views.orders import STATUSES as STATUSES
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts

TEXTS = read_texts("shopping_admin")

EVERYTHING = "Search everything"
KEYWORD = "Search by keyword"
PER_PAGE = 20  # rows of a list on one page, in the plain layout

CUSTOMER_NAMES = """
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
        """Prefix of the month's times in the database."""
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


def open_order(row: t.Row) -> list[Step]:
    """Return the steps to an order's page."""
    number = row["increment_id"]
    return [t.search(EVERYTHING, number), t.click(f"Order #{number}, {row['customer_name']}")]


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


class Ledger(NamedTuple):
    """A table to watch. `columns` are compared for the rows that may change, `sums` over all the others."""

    table: str
    key: str
    columns: str
    sums: str


ORDERS = Ledger(
    """(SELECT o.*, (SELECT count(*) FROM invoice d WHERE d.order_id = o.order_id) AS invoices,
               (SELECT count(*) FROM shipment d WHERE d.order_id = o.order_id) AS shipments,
               (SELECT count(*) FROM shipment_track JOIN shipment d USING (shipment_id)
                WHERE d.order_id = o.order_id) AS tracks,
               (SELECT count(*) FROM creditmemo d WHERE d.order_id = o.order_id) AS refunds,
               (SELECT count(*) FROM order_comment d WHERE d.order_id = o.order_id) AS comments FROM sales_order o)""",
    "increment_id",
    "status, invoices, shipments, tracks, refunds, comments",
    """sum(status = 'pending'), sum(status = 'processing'), sum(status = 'complete'), sum(status = 'closed'),
       sum(status = 'canceled'), sum(invoices), sum(shipments), sum(tracks), sum(refunds), sum(comments)""",
)
ORDER_ADDRESSES = Ledger(
    "(SELECT increment_id || ' ' || kind AS place, a.* FROM order_address a JOIN sales_order USING (order_id))",
    "place",
    "firstname, lastname, company, street, city, region, postcode, country, telephone",
    "count(*), sum(length(street)), sum(length(city)), sum(length(region)), sum(CAST(postcode AS INTEGER))",
)
PRODUCTS = Ledger(
    """(SELECT p.*, (SELECT group_concat(name || ': ' || value, '; ') FROM product_attribute a
                     WHERE a.product_id = p.product_id) AS details,
               (SELECT group_concat(title || ': ' || label || ' +' || price_delta_cents, '; ') FROM
                    (SELECT * FROM product_option o JOIN product_option_value USING (option_id)
                     WHERE o.product_id = p.product_id ORDER BY value_id)) AS options FROM product p)""",
    "sku",
    """name, brand, category_id, price_cents, special_price_cents, quantity, is_in_stock, is_enabled, short_description,
       description, details, options""",
    """count(*), sum(price_cents), sum(special_price_cents), sum(quantity), sum(is_in_stock), sum(is_enabled),
       sum(length(name)), sum(length(description)), sum(length(details)), sum(length(options))""",
)
REVIEWS = Ledger(
    "review",
    "review_id",
    "status, rating, nickname, title, detail",
    "count(*), sum(status = 'Approved'), sum(status = 'Pending'), sum(rating), sum(length(title)), sum(length(detail))",
)
CUSTOMERS = Ledger(
    "customer",
    "customer_id",
    "email, firstname, lastname, group_name",
    "count(*), sum(length(email)), sum(length(firstname)), sum(length(lastname)), sum(group_name = 'General')",
)
CUSTOMER_ADDRESSES = Ledger(
    "customer_address",
    "address_id",
    """customer_id, firstname, lastname, company, street, city, region, postcode, country, telephone,
       is_default_billing, is_default_shipping""",
    "count(*), sum(length(street)), sum(length(city)), sum(CAST(postcode AS INTEGER)), sum(is_default_billing)",
)
RULES = Ledger(
    "cart_rule",
    "name",
    "description, coupon_code, action, amount, is_active, from_date, to_date",
    "count(*), sum(amount), sum(is_active), sum(length(coupon_code)), sum(length(name))",
)
TERMS = Ledger("search_term", "query_text", "uses", "count(*), sum(uses)")
SUBSCRIBERS = Ledger("newsletter_subscriber", "email", "status", "count(*), sum(status = 'Subscribed')")
PAGES = Ledger(
    "cms_page",
    "page_id",
    "title, url_key, content_heading, content, is_enabled",
    "count(*), sum(length(title)), sum(length(content_heading)), sum(length(content)), sum(is_enabled)",
)
SETTINGS = Ledger("store_config", "path", "value", "count(*), sum(length(value))")


def becomes(world: t.Sampler, ledger: Ledger, *keys: Any, **changes: Any) -> dict[str, Any]:
    """The rows with these keys must have changed in these columns and in no other, and no other row must have changed.

    Raises NothingToDraw when they are like that already.
    """
    query = f"SELECT {ledger.columns} FROM {ledger.table} WHERE {ledger.key} IN ({_marks(keys)}) ORDER BY {ledger.key}"
    rows = [dict(row) for row in world.rows(query, *keys)]
    if unknown := changes.keys() - rows[0].keys():
        raise ValueError(f"the ledger does not watch {', '.join(unknown)}")
    changed = [row | changes for row in rows]
    if changed == rows:
        raise t.NothingToDraw(f"{ledger.key} {keys} is as wanted")
    expected = [list(row.values()) for row in changed]
    return t.all_of(t.state(query, *keys, expected=expected), others_stay(world, ledger, *keys))


def vanish(world: t.Sampler, ledger: Ledger, *keys: Any) -> dict[str, Any]:
    """The rows with these keys must be gone, and no other row must have changed."""
    query = f"SELECT count(*) FROM {ledger.table} WHERE {ledger.key} IN ({_marks(keys)})"
    return t.all_of(t.state(query, *keys, expected=[[0]]), others_stay(world, ledger, *keys))


def others_stay(world: t.Sampler, ledger: Ledger, *keys: Any) -> dict[str, Any]:
    """No row must have changed but those with these keys."""
    query = f"SELECT {ledger.sums} FROM {ledger.table}"
    return stays(world, f"{query} WHERE {ledger.key} NOT IN ({_marks(keys)})" if keys else query, *keys)


def stays(world: t.Sampler, query: str, *parameters: Any) -> dict[str, Any]:
    """The query must return what it returns now."""
    return t.state(query, *parameters, expected=[list(row) for row in world.rows(query, *parameters)])


def _marks(keys: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(keys))
