"""The shop's admin: queries of its templates, paths of solutions, and ledgers of tables that may change."""

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.shopping.queries import marks
from webarena_gym.sites.shopping_admin.grids import written_cents
from webarena_gym.sites.shopping_admin.views.customers import APPLY
from webarena_gym.sites.shopping_admin.views.orders import CARRIERS, STATUSES
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import amounts, nth

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
    """Draw an order that satisfies a condition."""
    return world.pick(f"SELECT * FROM sales_order o WHERE {condition} ORDER BY order_id")


class Month(NamedTuple):
    """A month."""

    first: date

    @property
    def last(self) -> date:
        """The last date."""
        return self.first.replace(day=monthrange(self.first.year, self.first.month)[1])

    @property
    def name(self) -> str:
        """The month in words."""
        return f"{self.first:%B %Y}"

    @property
    def key(self) -> str:
        """Prefix of the month's times in the database."""
        return f"{self.first:%Y-%m}"


def a_month(world: t.Sampler, table: str = "sales_order") -> Month:
    """Draw a past month in which a row of a table was created."""
    query = f"""SELECT DISTINCT substr(created_at, 1, 7) AS month FROM {table}
        WHERE substr(created_at, 1, 7) < (SELECT substr(value, 1, 7) FROM world WHERE key = 'now') ORDER BY month"""
    row = world.pick(query)
    return Month(date.fromisoformat(f"{row['month']}-01"))


def two_months_by_count(world: t.Sampler, table: str, condition: str = "1") -> list[tuple[Month, int]]:
    """Draw two past months, the earlier one first, with the numbers of their rows that satisfy a condition.

    The numbers are drawn before the months, so that rare ones are asked for as often. Raises NothingToDraw.
    """
    query = f"""SELECT substr(created_at, 1, 7) AS month, count(*) AS found FROM {table} WHERE {condition} GROUP BY month
        HAVING month < (SELECT substr(value, 1, 7) FROM world WHERE key = 'now') ORDER BY month"""
    rows = world.rows(query)
    counts = sorted({row["found"] for row in rows})
    targets = [world.rng.choice(counts) for _ in range(2)]
    drawn = [world.rng.choice([row for row in rows if row["found"] == count]) for count in targets]
    t.skip_if(drawn[0]["month"] == drawn[1]["month"], "two months")
    return [(Month(date.fromisoformat(f"{month}-01")), count) for month, count in sorted(map(tuple, drawn))]


def format_day(day: date) -> str:
    """Return a date in the format of form fields."""
    return f"{day:%m/%d/%Y}"


def open_menu(*labels: str) -> list[Step]:
    """Return the steps to a page of the menu: a section, then a page in it."""
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


def apply_filters(*fields: Step) -> list[Step]:
    """Return the steps that filter the list on this page; `fields` are the steps that fill in fields."""
    return [t.click("Filters"), *fields, t.click("Apply Filters")]


def show_report(label: str, first: date, last: date, period: str = "Month") -> list[Step]:
    """Return the steps to a report on a range of dates, by its label in the menu."""
    return [
        *open_menu("Reports", label),
        t.choose("Period", period),
        t.type_text("From", format_day(first)),
        t.type_text("To", format_day(last)),
        t.click("Show Report"),
    ]


class Ledger(NamedTuple):
    """A table to check. `columns` are compared for rows that may change, `sums` over all other rows."""

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


def becomes(world: t.Sampler, ledger: Ledger, *keys: object, **changes: object) -> dict[str, Any]:
    """Return a check that the rows with these keys have changed only in these columns, and that other rows are unchanged.

    Raises NothingToDraw when they are like that already.
    """
    query = f"SELECT {ledger.columns} FROM {ledger.table} WHERE {ledger.key} IN ({marks(keys)}) ORDER BY {ledger.key}"
    rows = [dict(row) for row in world.rows(query, *keys)]
    if unknown := changes.keys() - rows[0].keys():
        raise ValueError(f"the ledger does not watch {', '.join(unknown)}")
    changed = [row | changes for row in rows]
    if changed == rows:
        raise t.NothingToDraw(f"{ledger.key} {keys} is as wanted")
    expected = [list(row.values()) for row in changed]
    return t.all_of(t.state(query, *keys, expected=expected), others_stay(world, ledger, *keys))


def vanish(world: t.Sampler, ledger: Ledger, *keys: object) -> dict[str, Any]:
    """Return a check that the rows with these keys are deleted, and that other rows are unchanged."""
    query = f"SELECT count(*) FROM {ledger.table} WHERE {ledger.key} IN ({marks(keys)})"
    return t.all_of(t.state(query, *keys, expected=[[0]]), others_stay(world, ledger, *keys))


def others_stay(world: t.Sampler, ledger: Ledger, *keys: object) -> dict[str, Any]:
    """Return a check that all rows except those with these keys are unchanged."""
    query = f"SELECT {ledger.sums} FROM {ledger.table}"
    return stays(world, f"{query} WHERE {ledger.key} NOT IN ({marks(keys)})" if keys else query, *keys)


def stays(world: t.Sampler, query: str, *parameters: object) -> dict[str, Any]:
    """Return a check that a query returns its present rows."""
    return t.state(query, *parameters, expected=[list(row) for row in world.rows(query, *parameters)])


def missing_number(world: t.Sampler, table: str) -> str:
    """Draw a number that no document of a table has."""
    last = world.value(f"SELECT max(CAST(increment_id AS INTEGER)) FROM {table}")
    return f"{last + world.rng.randint(40, 900):09d}"


STREETS = (
    "12 Lakeview Terrace", "77 Orchard Lane", "409 Mill Road", "1501 Harbor Street", "260 Linden Avenue", "8 Quarry Hill",
)  # fmt: skip
CITIES = (
    ("Denver", "Colorado", "80202"), ("Portland", "Oregon", "97205"), ("Austin", "Texas", "78701"),
    ("Boston", "Massachusetts", "02110"), ("Madison", "Wisconsin", "53703"), ("Tucson", "Arizona", "85701"),
)  # fmt: skip
UNTOUCHED = """status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM order_item i WHERE i.order_id = o.order_id AND qty_invoiced + qty_shipped + qty_canceled > 0)"""
PAID = """status = 'processing' AND NOT EXISTS (
    SELECT 1 FROM order_item i WHERE i.order_id = o.order_id AND (qty_invoiced < qty_ordered OR qty_shipped > 0))"""


def last_comment(world: t.Sampler, row: t.Row, comment: str, *, is_notified: bool) -> dict[str, object]:
    """Return a check that an order has a new last comment, and that nothing else has changed."""
    count = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", row["order_id"])
    return t.all_of(
        becomes(world, ORDERS, row["increment_id"], comments=count + 1),
        t.state(
            """SELECT comment, is_customer_notified FROM order_comment WHERE order_id = ?
               ORDER BY comment_id DESC LIMIT 1""",
            row["order_id"],
            expected=[[comment, int(is_notified)]],
        ),
    )


def total_is(row: t.Row, table: str) -> dict[str, object]:
    """Return a check that the only document of an order in a table is about the total of the order."""
    query = f"SELECT grand_total_cents FROM {table} WHERE order_id = ?"
    return t.state(query, row["order_id"], expected=[[row["grand_total_cents"]]])


def an_address(world: t.Sampler) -> dict[str, str]:
    """Draw an address, by column of the tables of addresses."""
    street, (city, region, postcode) = world.rng.choice(STREETS), world.rng.choice(CITIES)
    return {"street": street, "city": city, "region": region, "postcode": postcode}


def enter_address(address: dict[str, str]) -> list[Step]:
    """Return the steps that fill in the form of an address and save it."""
    labels = {"street": "Street Address", "city": "City", "region": "State/Province", "postcode": "ZIP"}
    return [*(t.type_text(label, address[column]) for column, label in labels.items()), t.click("Save")]


def track(world: t.Sampler) -> tuple[str, str]:
    """Draw a carrier and a tracking number."""
    return world.rng.choice(CARRIERS[1:]), str(world.rng.randrange(10**11, 10**12))


def enter_track(carrier: str, number: str) -> list[Step]:
    """Return the steps that fill in a carrier and tracking number."""
    return [t.choose("Carrier", carrier), t.type_text("Number", number)]


def track_is(row: t.Row, carrier: str, number: str) -> dict[str, object]:
    """Return a check that the newest tracking number of an order is this one."""
    query = """SELECT carrier, number FROM shipment_track JOIN shipment USING (shipment_id) WHERE order_id = ?
               ORDER BY track_id DESC LIMIT 1"""
    return t.state(query, row["order_id"], expected=[[carrier, number]])


INVOICED = """SELECT o.*, max(i.created_at) AS invoiced_at,
    CAST(julianday(substr(max(i.created_at), 1, 10)) - julianday(substr(o.created_at, 1, 10)) AS INTEGER) AS days
FROM sales_order o JOIN invoice i USING (order_id) GROUP BY order_id HAVING count(*) = 1"""
"""Orders with one invoice, and the days from one to the other."""


RANKS = ("most recent", "second most recent", "third most recent", "fourth most recent")
NEWEST = "SELECT *, row_number() OVER (ORDER BY created_at DESC, order_id DESC) - 1 AS place FROM sales_order"
LATEST_TOTALS = "SELECT grand_total_cents FROM sales_order"


def has_pieces(world: t.Sampler) -> bool:
    """Return True if the dashboard shows the number of pieces of orders."""
    return shows_aggregates(world.connection("shopping_admin"))


def sum_up(numbers: list[Any], end: int = 10**9) -> int:
    """Return the sum of the first numbers."""
    return sum(map(int, numbers[:end]))


NEW_GOODS = ("Folding Bookstand", "Travel Chess Set", "Beeswax Candle", "Canvas Apron", "Desk Bell", "Puzzle Mat", "Rain Gauge")


def a_product(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw a product that satisfies a condition."""
    return world.pick(f"SELECT * FROM product p WHERE {condition} ORDER BY product_id")


def amount_of_change(world: t.Sampler, cents: int) -> tuple[int, str]:
    """Draw a percentage of a price or an amount of money; return it in cents and in words."""
    percent = world.rng.choice((10, 20, 25, 50))
    if cents * percent % 100 == 0 and world.rng.randrange(2) == 1:
        return cents * percent // 100, f"{percent}%"
    amount = world.rng.randint(1, 8) * 100
    return amount, money(amount)


REVIEWED = """
WITH reviewed AS (
    SELECT p.product_id, p.name, p.sku FROM product p
    WHERE (SELECT count(*) FROM product q WHERE instr(q.name, p.name)) = 1
) """
"""The products that a search for their name finds alone."""


def stars(rating: int) -> str:
    """Return a rating in the format of the review form."""
    return f"{rating} star{'s' * (rating > 1)}"


def open_reviews(product: str) -> list[Step]:
    """Return the steps to all reviews of a product."""
    return [*open_menu("Marketing", "All Reviews"), t.search(KEYWORD, product)]


def latest_review(world: t.Sampler) -> t.Row:
    """Draw a product with several reviews, and return its newest review."""
    product = world.pick(
        REVIEWED
        + "SELECT product_id FROM reviewed JOIN review USING (product_id) GROUP BY product_id HAVING count(*) > 1 ORDER BY 1"
    )
    query = "SELECT r.*, name FROM review r JOIN product USING (product_id) WHERE product_id = ? ORDER BY r.created_at DESC"
    return world.rows(query, product["product_id"])[0]


def whole_word(world: t.Sampler) -> dict[str, Any]:
    """Draw a word that is not part of longer words in reviews, with the number of reviews that contain it, and the steps that search it."""
    texts = [row["detail"].lower() for row in world.rows("SELECT detail FROM review ORDER BY review_id")]
    candidates = {word: sum(word in text for text in texts) for word in TEXTS["words"]}
    whole = {word: sum(re.search(rf"\b{word}\b", text) is not None for text in texts) for word in TEXTS["words"]}
    word = world.rng.choice([word for word in TEXTS["words"] if candidates[word] == whole[word] > 0])
    return {"word": word, "count": candidates[word], "narrowed": apply_filters(t.type_text("Review", word))}


OCCASIONS = ("Spring", "Summer", "Autumn", "Winter", "Birthday", "Weekend", "Launch", "Farewell")
PENDING = """SELECT r.*, p.name FROM review r JOIN product p USING (product_id) WHERE r.status = 'Pending'
    AND (SELECT count(*) FROM review s WHERE s.status = 'Pending' AND s.product_id = p.product_id) = 1
    AND (SELECT count(*) FROM product q WHERE instr(q.name, p.name)) = 1 ORDER BY review_id"""


def open_pending(row: t.Row) -> list[Step]:
    """Return the steps to the form of the only pending review of its product."""
    return [*open_menu("Marketing", "Pending Reviews"), t.search(KEYWORD, row["name"]), t.click("Edit")]


def last_word(name: str) -> str:
    """Return the last word of a name."""
    return name.rsplit(maxsplit=1)[-1]


def tick(action: str, *keys: int) -> list[Step]:
    """Return the steps that apply an action to several rows of the list on this page."""
    return [*[t.click(f"Select {key}") for key in keys], t.choose("Actions", action), t.click("Submit")]


LAST_ORDERS = """SELECT customer_id, firstname || ' ' || lastname AS name, max(o.created_at) AS latest
FROM customer JOIN sales_order o USING (customer_id) WHERE status != 'canceled' GROUP BY customer_id"""


def rule_form(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the form of a cart price rule; the list begins with the newest one."""
    place = world.value("SELECT count(*) FROM cart_rule WHERE rule_id > ?", row["rule_id"])
    return [*open_menu("Marketing", "Cart Price Rules"), t.click(nth("Edit", place), f"This is the rule {row['name']}.")]


LASTNAMES = ("Winter", "Abbott", "Castillo", "Lindgren", "Okafor", "Novak", "Delgado", "Thornton", "Ishikawa", "Murray")


def a_customer(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw a customer that satisfies a condition."""
    return world.pick(CUSTOMER_NAMES + f"SELECT * FROM people WHERE {condition} ORDER BY customer_id")


PAGE_FORMS = """SELECT *, 'Edit' || iif(place > 1, ' [' || place || ']', '') AS edit
FROM (SELECT *, row_number() OVER (ORDER BY page_id) AS place FROM cms_page) ORDER BY page_id"""
"""The shop's own pages, with the labels of their links in the list."""


GROUPS = ("General", "Wholesale", "Retailer")


SOLD = """SELECT i.name, sum(qty_ordered) AS pieces FROM order_item i JOIN sales_order o USING (order_id)
    WHERE status != 'canceled'"""
MOST_USED = "SELECT * FROM search_term ORDER BY uses DESC, query_id DESC"


def best(place: int, word: str) -> str:
    """Return a rank in words: most used, second most used."""
    return f"{('', 'second', 'third', 'fourth', 'fifth')[place]} {word}".strip()


def a_span(world: t.Sampler) -> list[Month]:
    """Draw two months, the earlier one first."""
    return sorted((a_month(world), a_month(world)))


def later(day: date, days: int) -> date:
    """Return the date a number of days later."""
    return day + timedelta(days=days)


def report_at(path: str, first: date, last: date, period: str) -> str:
    """Return the URL of a report on a range of dates."""
    query = {"period_type": period.lower(), "from": first.isoformat(), "to": last.isoformat()}
    return f"__SHOPPING_ADMIN__/reports/{path}/?{urlencode(query)}"


def busiest_month(world: t.Sampler) -> t.Draw:
    """Return a question for the line of a report with the most orders."""
    one, other = a_span(world)
    query = """SELECT substr(created_at, 1, 7) AS month, count(*) AS orders FROM sales_order
           WHERE status != 'canceled' AND substr(created_at, 1, 7) BETWEEN ? AND ?
           GROUP BY month ORDER BY orders DESC, month"""
    rows = world.rows(query, one.key, other.key)
    t.skip_if(len(rows) < 4 or rows[0]["orders"] == rows[1]["orders"], one.name)  # fewer months are no question
    best, second = (Month(date.fromisoformat(f"{row['month']}-01")) for row in rows[:2])
    answer = t.answer(fuzzy_match=f"{best.name} |OR| {best.first.month}/{best.first.year} |OR| {best.first:%m/%Y}")
    thought = f"The most orders are {rows[0]['orders']}, in {best.name}."
    steps = [*show_report("Orders", one.first, other.last), t.end_task(best.name, thought)]
    return t.Draw({"start": one.name, "end": other.name}, answer, steps, wrong_answers=[second.name])
