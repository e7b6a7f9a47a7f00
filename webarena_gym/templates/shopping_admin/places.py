"""Places to open: lists, reports and forms."""

from datetime import date, timedelta
from urllib.parse import urlencode

from webarena_gym.sites.country.formats import long_date
from webarena_gym.tasks import template as t
from webarena_gym.templates.rows import Visit
from webarena_gym.templates.shopping_admin.routes import (
    KEYWORD,
    STATUSES,
    a_month,
    an_order,
    filtered,
    open_customer,
    open_menu,
    open_order,
    open_product,
    show_report,
    typed,
)
from webarena_gym.templates.ways import instruction, nth, visit

LISTS: dict[str, tuple[str, ...]] = {
    "all invoices": ("Sales", "Invoices", "sales/invoice/"),
    "all shipments": ("Sales", "Shipments", "sales/shipment/"),
    "all credit memos": ("Sales", "Credit Memos", "sales/creditmemo/"),
    "all categories": ("Catalog", "Categories", "catalog/category/"),
    "all customers": ("Customers", "All Customers", "customer/index/"),
    "all cart price rules": ("Marketing", "Cart Price Rules", "sales_rule/promo_quote/"),
    "all reviews that are pending": (
        "Marketing",
        "Pending Reviews",
        "review/product/pending/",
        "review/product/index/?status=Pending",
    ),
    "all terms that people searched the shop for": ("Marketing", "Search Terms", "search/term/index/", "search/term/report/"),
    "everyone who is subscribed to the newsletter": ("Marketing", "Newsletter Subscribers", "newsletter/subscriber/"),
    "all pages of content": ("Content", "Pages", "cms/page/"),
    "the report of the products that are low in stock": ("Reports", "Low Stock", "reports/report_product/lowstock/"),
    "the reviews each product has got": ("Reports", "Reviews By Products", "reports/report_review/product/"),
    "the reviews each customer has written": ("Reports", "Reviews By Customers", "reports/report_review/customer/"),
    "the configuration of the store": ("Stores", "Configuration", "admin/system_config/"),
}
"""What may be asked for: the section and the page of the menu, and the places that will do."""
REPORTS = {
    "an orders report": ("Orders", "report_sales/sales"),
    "an invoice report": ("Invoiced", "report_sales/invoiced"),
    "a shipping report": ("Shipping", "report_sales/shipping"),
    "a refunds report": ("Refunds", "report_sales/refunded"),
    "a coupons report": ("Coupons", "report_sales/coupons"),
    "a bestsellers report": ("Bestsellers", "report_sales/bestsellers"),
    "a report of the ordered products": ("Ordered Products", "report_product/sold"),
    "a report of the new accounts": ("New Accounts", "report_customer/accounts"),
}


def report_at(path: str, first: date, last: date, period: str) -> str:
    """Return the place of a report about some days."""
    query = {"period_type": period.lower(), "from": first.isoformat(), "to": last.isoformat()}
    return f"__SHOPPING_ADMIN__/reports/{path}/?{urlencode(query)}"


def list_page(world: t.Sampler) -> t.Draw:
    """Open a page of the menu."""
    listed = world.rng.choice(list(LISTS))
    section, label, *paths = LISTS[listed]
    return visit(
        {"listed": listed},
        " |OR| ".join(f"__SHOPPING_ADMIN__/{path}" for path in paths),
        way=open_menu(section, label),
        seen=f"This is {listed}.",
    )


product_form = Visit(
    "SELECT product_id, name FROM product ORDER BY product_id",
    "__SHOPPING_ADMIN__/catalog/product/edit/id/{product_id}/",
    way=open_product("{name}"),
    seen="This is the product's form.",
    slots={"product": "{name}"},
)


customer_addresses = Visit(
    "SELECT customer_id, firstname || ' ' || lastname AS name FROM customer ORDER BY customer_id",
    "__SHOPPING_ADMIN__/customer/index/edit/id/{customer_id}/?tab=addresses",
    way=open_customer("{name}", "Addresses"),
    seen="These are the addresses.",
    slots={"customer": "{name}"},
)


def orders_in_status(world: t.Sampler) -> t.Draw:
    """Filter the list of orders; there are as many draws as statuses."""
    status, label = world.rng.choice(list(STATUSES.items()))
    return visit(
        {"status": label.lower()},
        f"__SHOPPING_ADMIN__/sales/order/?status={status}",
        way=[*open_menu("Sales", "Orders"), *filtered(t.choose("Status", label))],
        seen="The list is filtered.",
    )


def large_orders(world: t.Sampler) -> t.Draw:
    """Filter the list of orders by status and amount."""
    status, label = world.rng.choice(list(STATUSES.items()))
    amount = str(world.rng.randrange(50, 400, 25))
    query = {"status": status, "grand_total_from": f"{amount}.00"}
    return visit(
        {"status": label, "amount": amount},
        f"__SHOPPING_ADMIN__/sales/order/?{urlencode(query)}",
        way=[*open_menu("Sales", "Orders"), *filtered(t.type_text("Grand Total from", amount), t.choose("Status", label))],
        seen="Both filters are active.",
    )


invoice_page = Visit(
    """SELECT o.*, max(i.invoice_id) AS invoice_id, max(i.increment_id) AS invoice
           FROM sales_order o JOIN invoice i USING (order_id) GROUP BY order_id HAVING count(*) = 1 ORDER BY order_id""",
    "__SHOPPING_ADMIN__/sales/order_invoice/view/invoice_id/{invoice_id}/",
    way=lambda _, row: [*open_order(row), t.click(f"Invoice #{row['invoice']}")],
    seen="This is the invoice.",
    slots={"number": "{increment_id}"},
)


def customer_order(world: t.Sampler) -> t.Draw:
    """Open one of a customer's newest orders."""
    place = world.rng.randrange(3)
    customer = world.pick(
        """SELECT customer_id, c.firstname || ' ' || c.lastname AS name FROM customer c JOIN sales_order USING (customer_id)
           GROUP BY customer_id HAVING count(*) > ? ORDER BY customer_id""",
        place,
    )
    order = world.rows(
        "SELECT * FROM sales_order WHERE customer_id = ? ORDER BY created_at DESC, order_id DESC", customer["customer_id"]
    )[place]
    return visit(
        {"rank": ("most recent", "second most recent", "third most recent")[place], "customer": customer["name"]},
        f"__SHOPPING_ADMIN__/sales/order/view/order_id/{order['order_id']}/",
        way=[
            *open_customer(customer["name"], "Orders"),
            t.click(nth("View", place), f"The newest stand first; number {place + 1} is {order['increment_id']}."),
        ],
        seen="This is the order.",
    )


def order_of_shipment(world: t.Sampler) -> t.Draw:
    """Go from a shipment to its order."""
    row = world.pick("SELECT * FROM shipment ORDER BY shipment_id")
    order = an_order(world, f"order_id = {row['order_id']}")
    place = world.value(
        """SELECT count(*) FROM shipment JOIN sales_order o USING (order_id)
           WHERE (shipment.increment_id = ?1 OR o.increment_id = ?1) AND shipment.created_at > ?2""",
        row["increment_id"],
        row["created_at"],
    )
    return instruction(
        {"number": row["increment_id"]},
        t.at_url(f"__SHOPPING_ADMIN__/sales/order/view/order_id/{row['order_id']}/"),
        way=[
            *open_menu("Sales", "Shipments"),
            t.search(KEYWORD, row["increment_id"]),
            t.click(nth("View", place), f"This is shipment {row['increment_id']}."),
            t.click(f"#{order['increment_id']}"),
        ],
        seen="This is the order.",
    )


def report_for_days(world: t.Sampler) -> t.Draw:
    """Show a report for given days."""
    report, period = world.rng.choice(list(REPORTS)), world.rng.choice(("Day", "Month", "Year"))
    first = a_month(world).first + timedelta(days=world.rng.randrange(28))
    last = first + timedelta(days=world.rng.randint(20, 200))
    label, path = REPORTS[report]
    return visit(
        {"report": report, "period": period.lower(), "start": typed(first), "end": typed(last)},
        report_at(path, first, last, period),
        way=show_report(label, first, last, period),
        seen="The report is shown.",
    )


def report_for_last_month(world: t.Sampler) -> t.Draw:
    """Show a report for days that follow from a date."""
    month, report = a_month(world), world.rng.choice(list(REPORTS))
    today = month.last + timedelta(days=world.rng.randint(1, 28))
    label, path = REPORTS[report]
    steps = show_report(label, month.first, month.last, "Day")
    return visit(
        {"today": long_date(str(today)), "report": report},
        report_at(path, month.first, month.last, "Day"),
        way=steps,
        seen=f"The report about {month.name} is shown.",
    )
