"""The shop: the goods and my orders, which its templates draw from, and the ways to them."""

from webarena_gym.sites.shopping.queries import FINAL_PRICE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import nth, on_page, turn_pages

TEXTS = read_texts("shopping")

SEARCH_BOX = "Search entire store"
ME = 1  # the customer who is signed in when a task starts
PER_PAGE = 10  # orders or reviews on one page, in the plain layout

GOODS = f"""
WITH rated AS (
    SELECT product_id, avg(rating) AS rating, count(*) AS reviews FROM review WHERE status = 'Approved' GROUP BY product_id
), goods AS (
    SELECT p.*, {FINAL_PRICE} AS cents, p.is_in_stock AND p.quantity > 0 AS is_salable, rating, coalesce(reviews, 0) AS reviews,
        NOT EXISTS (SELECT 1 FROM product_option o WHERE o.product_id = p.product_id) AS is_plain,
        c.name AS category, c.url_path, top.name AS department, above.name AS division
    FROM product p JOIN category c USING (category_id) JOIN category top ON top.category_id = c.parent_id
        LEFT JOIN category above ON above.category_id = top.parent_id
        LEFT JOIN rated USING (product_id)
    WHERE p.is_enabled
) """
"""Query of the products that the shop shows, one row each. A product is plain when a buyer has nothing to choose."""

MINE = f"""
WITH mine AS (
    SELECT o.*, row_number() OVER (ORDER BY created_at DESC, order_id DESC) - 1 AS place
    FROM sales_order o WHERE customer_id = {ME}
) """
"""My orders, with their place in the list of orders, where the newest comes first."""


def open_product(name: str) -> list[Step]:
    """Return the steps to a product's page."""
    return [t.search(SEARCH_BOX, name), t.click(name)]


def open_category(row: t.Row) -> list[Step]:
    """Return the steps to the category of a row of the goods."""
    return [t.click(row[name]) for name in ("division", "department", "category") if row[name]]


def sort_by_price(*, is_descending: bool = False) -> list[Step]:
    """Return the steps that sort the list of products on this page."""
    turn = [t.click("Set Descending Direction", "The cheapest come first now.")] if is_descending else []
    return [t.choose("Sort By", "Price"), t.click("Apply"), *turn]


PLAIN = GOODS + "SELECT * FROM goods WHERE is_salable AND is_plain ORDER BY product_id"
"""The products that can be bought without choosing options."""
WISHES = f"SELECT sku, w.quantity FROM wishlist_item w JOIN product USING (product_id) WHERE customer_id = {ME} ORDER BY sku"
NOT_WISHED = GOODS + f"SELECT name, sku FROM goods WHERE sku NOT IN (SELECT sku FROM ({WISHES})) ORDER BY product_id"
COMPARED = "SELECT sku FROM compare_item JOIN product USING (product_id) ORDER BY sku"
ADDRESS = (
    "firstname, lastname, company, street, city, region, postcode, country, telephone, is_default_billing, is_default_shipping"
)
BOOK = f"SELECT {ADDRESS} FROM customer_address WHERE customer_id = {ME} ORDER BY street"
"""My address book."""


def open_account(*labels: str) -> list[Step]:
    """Return the steps to a page of my account, by the links to follow."""
    return [t.click("My Account"), *map(t.click, labels)]


def open_orders(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the page of my list of orders on which a row of mine stands."""
    turns = turn_pages(world, row["place"], PER_PAGE, f"{row['increment_id']} is not on this page.")
    return [*open_account("My Orders"), *turns]


def open_order(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to an order's own page."""
    _, place = on_page(world, row["place"], PER_PAGE)
    thought = f"{row['increment_id']} is number {place + 1} on this page."
    return [*open_orders(world, row), click_order(world, row, "View Order", thought)]


def click_order(world: t.Sampler, row: t.Row, label: str, thought: str) -> Step:
    """Return the step that follows a link of an order on its page of the list."""
    return t.click(nth(label, on_page(world, row["place"], PER_PAGE)[1]), thought)


def open_reviews(row: t.Row) -> list[Step]:
    """Return the steps to the first page of the reviews of a row of the goods."""
    return [*open_product(row["name"]), t.click("Reviews" if row["reviews"] else "Be the first to review this product")]


def remove_wishes(world: t.Sampler) -> list[Step]:
    """Return the steps that take what is on my wish list now off it; it comes first."""
    return [t.click("Remove", f"{count} to take off.") for count in range(len(world.rows(WISHES)), 0, -1)]
