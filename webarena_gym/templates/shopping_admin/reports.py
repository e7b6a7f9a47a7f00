"""Reports to be read, and lists, reports and forms to be opened."""

from datetime import date, timedelta
from itertools import groupby
from urllib.parse import urlencode

from webarena_gym.sites.country.texts import long_date
from webarena_gym.tasks import template as t
from webarena_gym.templates.shopping_admin import (
    Month,
    a_month,
    filtered,
    open_menu,
    show_report,
    typed,
)
from webarena_gym.templates.ways import nth, question, visit

ORDINALS = ("", "second", "third", "fourth", "fifth")
_SOLD = "SELECT i.name, sum(qty_ordered) AS pieces FROM order_item i JOIN sales_order o USING (order_id)"
_TERMS = "SELECT * FROM search_term ORDER BY uses DESC, query_id DESC"


def ranked(rows: list[t.Row], place: int, column: str) -> t.Row:
    """Return the row at a place of a ranking that no other row shares. Raises NothingToDraw."""
    t.skip_if(len(rows) <= place or [row[column] for row in rows].count(rows[place][column]) > 1, column)
    return rows[place]


def best(place: int, word: str) -> str:
    """Return a rank in words: most used, second most used."""
    return f"{ORDINALS[place]} {word}".strip()


def busiest_month(world: t.Sampler) -> t.Draw:
    """Compare the lines of a report."""
    one, other = sorted((a_month(world), a_month(world)))
    rows = world.rows(
        """SELECT substr(created_at, 1, 7) AS month, count(*) AS orders FROM sales_order
           WHERE status != 'canceled' AND substr(created_at, 1, 7) BETWEEN ? AND ?
           GROUP BY month ORDER BY orders DESC, month""",
        one.key,
        other.key,
    )
    if len(rows) < 4:  # fewer are no question
        raise t.NothingToDraw(one.name)
    months = [Month(one.first.fromisoformat(f"{row['month']}-01")) for row in rows]
    most, found = ranked(rows, 0, "orders")["orders"], months[0]
    return t.Draw(
        slots={"start": one.name, "end": other.name},
        eval=t.answer(fuzzy_match=f"{found.name} |OR| {found.first.month}/{found.first.year} |OR| {found.first:%m/%Y}"),
        solution=[
            *show_report("Orders", one.first, other.last),
            t.leave(found.name, f"The most orders are {most}, in {found.name}."),
        ],
        wrong_answers=[months[1].name],
    )


def bestseller_of_month(world: t.Sampler) -> t.Draw:
    """Ask for a place in the report about bestsellers."""
    month, place = a_month(world), world.rng.randrange(3)
    rows = world.rows(
        f"{_SOLD} WHERE status != 'canceled' AND substr(o.created_at, 1, 7) = ? GROUP BY product_id ORDER BY pieces DESC",
        month.key,
    )
    row = ranked(rows, place, "pieces")
    return question(
        {"rank": best(place, "best-selling"), "month": month.name},
        row["name"],
        way=show_report("Bestsellers", month.first, month.last),
        seen=f"Place {place + 1} has {row['pieces']} pieces of {row['name']}.",
        wrong=[rows[place - 1 if place else 1]["name"]],
    )


def bestseller(world: t.Sampler) -> t.Draw:
    """Ask for a place in the dashboard's table of bestsellers, at most five draws in a world."""
    place = world.rng.randrange(len(ORDINALS))
    rows = world.rows(f"{_SOLD} WHERE status != 'canceled' GROUP BY product_id ORDER BY pieces DESC")
    row = ranked(rows, place, "pieces")
    return question(
        {"rank": best(place, "best-selling")},
        row["name"],
        way=[],
        seen=f"Place {place + 1} of the bestsellers is {row['name']} with {row['pieces']}.",
        wrong=[rows[place - 1 if place else 1]["name"]],
    )


def busiest_customer(world: t.Sampler) -> t.Draw:
    """Ask for a place in the dashboard's table of customers, at most five draws in a world."""
    place = world.rng.randrange(len(ORDINALS))
    rows = world.rows(
        """SELECT firstname || ' ' || lastname AS name, count(*) AS orders FROM customer JOIN sales_order USING (customer_id)
           WHERE status != 'canceled' GROUP BY customer_id ORDER BY orders DESC"""
    )
    row = ranked(rows, place, "orders")
    return question(
        {"rank": best(place, "most")},
        row["name"],
        way=[t.click(nth("Customers", 1))],
        seen=f"Place {place + 1} is {row['name']} with {row['orders']} orders.",
        wrong=[rows[place - 1 if place else 1]["name"]],
    )


def top_terms(world: t.Sampler) -> t.Draw:
    """Ask for the most used search terms, which the dashboard shows; four draws in a world."""
    count = world.rng.randint(2, 5)
    rows = world.rows(_TERMS)
    ranked(rows, count - 1, "uses")
    texts = [row["query_text"] for row in rows]
    top = ", ".join(texts[:count])
    return question(
        {"count": count},
        top,
        way=[],
        seen=f"The table of top search terms begins with {top}.",
        wrong=[", ".join(texts[1 : count + 1])],
    )


def term_uses(world: t.Sampler) -> t.Draw:
    """Ask for the uses of a search term that stands on the report's first page."""
    place = world.rng.randrange(20)
    row = ranked(world.rows(_TERMS), place, "uses")
    uses = row["uses"]
    return question(
        {"term": f'"{row["query_text"]}"'},
        uses,
        way=open_menu("Reports", "Search Terms"),
        seen=f"The report shows {uses} hits for it.",
    )


def terms_by_results(world: t.Sampler) -> t.Draw:
    """Ask for the search terms with a number of results; a few draws in a world."""
    rows = world.rows("SELECT query_text, num_results AS results FROM search_term ORDER BY results, query_id")
    groups = {count: [row["query_text"] for row in group] for count, group in groupby(rows, lambda row: row["results"])}
    count = world.rng.choice([count for count, texts in groups.items() if 2 <= len(texts) <= 6])
    texts = ", ".join(groups[count])
    return question(
        {"count": count},
        texts,
        way=[
            *open_menu("Reports", "Search Terms"),
            *filtered(t.type_text("Results from", str(count)), t.type_text("Results to", str(count))),
        ],
        seen=f"These have {count} results: {texts}.",
        wrong=[", ".join(groups[count][1:])],
    )


def coupon_uses(world: t.Sampler) -> t.Draw:
    """Ask for the uses of a coupon in a time, by the report about coupons."""
    one, other = sorted((a_month(world), a_month(world)))
    row = world.pick(
        """SELECT coupon_code AS code, count(*) AS uses FROM sales_order WHERE coupon_code IS NOT NULL AND status != 'canceled'
           AND substr(created_at, 1, 7) BETWEEN ? AND ? GROUP BY coupon_code ORDER BY coupon_code""",
        one.key,
        other.key,
    )
    uses = row["uses"]
    return question(
        {"start": one.name, "end": other.name, "code": row["code"]},
        uses,
        way=show_report("Coupons", one.first, other.last, "Year"),
        seen=f"The lines of {row['code']} add up to {uses} uses.",
    )


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
"""Reports to ask for: the section and the page of the menu, and the places that will do."""
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
