"""Reports: tables by day, month or year, and lists of reviews, search terms and low stock.

A `Report` is SQL in parts. Its query groups rows by interval, and by `group` where there is one; all sums are of what is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.shopping_admin.grids import Column, Form, Grid, Link, show
from webarena_gym.sites.shopping_admin.site import members_only, site
from webarena_gym.sites.shopping_admin.views.customers import TERMS
from webarena_gym.sites.shopping_admin.views.orders import STATUSES

PERIODS = {"day": "Day", "month": "Month", "year": "Year"}
_WIDTHS = {"day": 10, "month": 7, "year": 4}  # characters of YYYY-MM-DD that name the interval
_MOST = 500  # rows that one page shows
LOW_STOCK = 10  # fewer than so many are few


class Cell(NamedTuple):
    """One column of a report; what is `summed` has a total."""

    label: str
    sql: str
    is_money: bool = False
    is_summed: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """A table by interval over `source`; `moment` is the SQL of the time that counts. `top` limits the rows of an interval."""

    title: str
    moment: str
    source: str
    cells: tuple[Cell, ...]
    where: str = "1"
    group: str = ""
    order: str = "1"
    top: int | None = None
    has_status: bool = True

    def sql(self, period: str, conditions: str) -> str:
        """Return the query, whose first column is the interval."""
        interval = f"substr({self.moment}, 1, {_WIDTHS[period]})"
        columns = ", ".join(cell.sql for cell in self.cells)
        group = f"{interval}, {self.group}" if self.group else interval
        inner = f"""SELECT {interval} AS interval, {columns}, row_number() OVER (PARTITION BY {interval} ORDER BY {self.order}) AS place
                    FROM {self.source} WHERE {self.where}{conditions} GROUP BY {group}"""
        top = f" WHERE place <= {self.top}" if self.top else ""
        return f"SELECT * FROM ({inner}){top} ORDER BY interval, place"


def _name(label: str, sql: str) -> Cell:
    return Cell(label, sql, is_summed=False)


def _money(label: str, sql: str) -> Cell:
    return Cell(label, sql, is_money=True)


_SOLD = {"group": "i.product_id", "order": "sum(i.qty_ordered) DESC, i.product_id"}
_ITEMS = "sales_order o JOIN order_item i USING (order_id)"
_ORDERS = Cell("Orders", "count(*)")
_CUSTOMER = (
    _name("Customer", "max(o.customer_name)"),
    _ORDERS,
    Cell("Average", "CAST(round(avg(o.grand_total_cents)) AS INTEGER)", is_money=True, is_summed=False),
    _money("Total", "sum(o.grand_total_cents)"),
)


def _per_order(column: str, table: str, name: str) -> str:
    return f"LEFT JOIN (SELECT order_id, sum({column}) AS sum FROM {table} GROUP BY order_id) {name} USING (order_id)"


def _of_documents(title: str, table: str, done: str) -> Report:
    cells = Cell(f"{done} Orders", "count(DISTINCT d.order_id)"), _money(f"Total {done}", "sum(d.grand_total_cents)")
    return Report(title, "d.created_at", f"{table} d JOIN sales_order o USING (order_id)", cells)


def _of_orders(title: str, *cells: Cell, source: str = "sales_order o", **more: Any) -> Report:
    return Report(title, "o.created_at", source, cells, **more)


REPORTS = {
    "report_sales/sales": _of_orders(
        "Orders Report",
        _ORDERS,
        Cell("Sales Items", "coalesce(sum(i.sum), 0)"),
        _money("Sales Total", "sum(o.grand_total_cents)"),
        _money("Invoiced", "coalesce(sum(p.sum), 0)"),
        _money("Refunded", "coalesce(sum(r.sum), 0)"),
        _money("Sales Shipping", "sum(o.shipping_cents)"),
        _money("Sales Discount", "sum(o.discount_cents)"),
        source=f"""sales_order o {_per_order("qty_ordered", "order_item", "i")}
            {_per_order("grand_total_cents", "invoice", "p")} {_per_order("grand_total_cents", "creditmemo", "r")}""",
    ),
    "report_sales/invoiced": _of_documents("Invoice Report", "invoice", "Invoiced"),
    "report_sales/refunded": _of_documents("Refunds Report", "creditmemo", "Refunded"),
    "report_sales/shipping": _of_orders(
        "Shipping Report",
        _name("Carrier/Method", "o.shipping_method"),
        _ORDERS,
        _money("Total Sales Shipping", "sum(o.shipping_cents)"),
        group="o.shipping_method",
        order="o.shipping_method",
    ),
    "report_sales/coupons": _of_orders(
        "Coupons Report",
        _name("Coupon Code", "o.coupon_code"),
        _name("Price Rule", "coalesce(max(r.name), '')"),
        Cell("Uses", "count(*)"),
        _money("Sales Subtotal", "sum(o.subtotal_cents)"),
        _money("Sales Discount", "sum(o.discount_cents)"),
        _money("Sales Total", "sum(o.grand_total_cents)"),
        source="sales_order o LEFT JOIN cart_rule r USING (coupon_code)",
        where="o.coupon_code IS NOT NULL",
        group="o.coupon_code",
        order="o.coupon_code",
    ),
    "report_sales/bestsellers": _of_orders(
        "Bestsellers Report",
        _name("Product", "i.name"),
        Cell("Price", "max(i.price_cents)", is_money=True, is_summed=False),
        Cell("Order Quantity", "sum(i.qty_ordered)"),
        source=_ITEMS,
        top=5,
        **_SOLD,
    ),
    "report_product/sold": _of_orders(
        "Ordered Products Report",
        _name("SKU", "i.sku"),
        _name("Product", "i.name"),
        Cell("Ordered Quantity", "sum(i.qty_ordered)"),
        source=_ITEMS,
        **_SOLD,
    ),
    "report_customer/totals": _of_orders(
        "Order Total Report", *_CUSTOMER, group="o.customer_email", order="sum(o.grand_total_cents) DESC, o.customer_email"
    ),
    "report_customer/orders": _of_orders(
        "Order Count Report",
        *_CUSTOMER,
        group="o.customer_email",
        order="count(*) DESC, sum(o.grand_total_cents) DESC, o.customer_email",
    ),
    "report_customer/accounts": Report(
        "New Accounts Report", "c.created_at", "customer c", (Cell("New Accounts", "count(*)"),), has_status=False
    ),
}


def _interval(text: str) -> str:
    """Formats of an interval: Mar 5, 2023 or 3/2023 or 2023."""
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 3:
        day = date(*parts)
        return f"{day:%b} {day.day}, {day.year}"
    return "/".join(str(part) for part in reversed(parts))


def _table(report: Report, rows: list[Any]) -> tuple[list[list[str]], list[str]]:
    """The texts of the rows, and of the line with the totals."""

    def write(cell: Cell, value: Any) -> str:
        return money(value) if cell.is_money else str(value)

    texts = [
        [_interval(row[0]), *(write(cell, value) for cell, value in zip(report.cells, row[1:-1], strict=True))]
        for row in rows[:_MOST]
    ]
    sums = [
        write(cell, sum(row[place] for row in rows)) if cell.is_summed else ""
        for place, cell in enumerate(report.cells, start=1)
    ]
    return texts, ["Total", *sums]


_REVIEWS = (
    Column("Reviews", "reviews", "reviews", "number"),
    Column("Average Rating", "average", "average", "number"),
    Column("Last Review", "latest", "latest", "date"),
)
_COUNTED = "count(*) AS reviews, round(avg(r.rating), 2) AS average, max(r.created_at) AS latest"
LISTS = {
    "report_review/customer": Grid(
        title="Customer Reviews Report",
        section="Reports",
        source=f"""(SELECT coalesce(r.customer_id, 0) AS id, coalesce(c.firstname || ' ' || c.lastname, 'Guest') AS name, {_COUNTED}
                    FROM review r LEFT JOIN customer c USING (customer_id) GROUP BY coalesce(r.customer_id, 0))""",
        key="id",
        columns=(Column("Customer", "name", "name"), *_REVIEWS),
        order="-reviews",
    ),
    "report_review/product": Grid(
        title="Product Reviews Report",
        section="Reports",
        source=f"""(SELECT p.product_id AS id, p.name, p.sku, {_COUNTED}
                    FROM review r JOIN product p USING (product_id) GROUP BY p.product_id)""",
        key="id",
        columns=(Column("ID", "id", "id", "id"), Column("Product", "name", "name"), *_REVIEWS),
        order="-reviews",
        row_link=Link("Show Reviews", "/admin/review/product/index/?product_id={}"),
    ),
    "report_product/lowstock": Grid(
        title="Low Stock Report",
        section="Reports",
        source=f"(SELECT * FROM product WHERE quantity < {LOW_STOCK})",
        key="product_id",
        columns=(
            Column("Product", "name", "name"),
            Column("SKU", "sku", "sku"),
            Column("Stock Quantity", "quantity", "quantity", "number"),
        ),
        order="quantity",
        row_link=Link("Edit", "/admin/catalog/product/edit/id/{}/"),
        note=f"Products of which the shop has fewer than {LOW_STOCK}.",
    ),
}
TERM_REPORT = replace(
    TERMS,
    title="Search Terms Report",
    section="Reports",
    columns=(*TERMS.columns[:3], Column("Hits", "hits", "uses", "number")),
    order="-hits",
    actions={},
    action_url="",
)


@site.get("/admin/reports/<any(report_sales, report_customer, report_product, report_review):kind>/<name>/", members_only)
def show_report(request: Request, kind: str, name: str) -> str:
    """A report about sales, customers, products or reviews: a list, or a form and its table once that was asked for."""
    key = f"{kind}/{name}"
    if key in LISTS:
        return show(request, LISTS[key])
    if key not in REPORTS:
        raise NotFound
    report = REPORTS[key]
    query: Mapping[str, str] = request.args
    rows: list[Any] | None = None
    if "period_type" in query:
        form = Form(request, query)
        period = form.choice("period_type", "Period", PERIODS)
        first, last = form.optional_date("from", "From"), form.optional_date("to", "To")
        status = form.choice("status", "Order Status", ("", *STATUSES)) if query.get("status") else ""
        if form.show_errors():
            request.shows({name: query.get(name) for name in ("period_type", "from", "to", "status")})
        else:
            request.shows({"period_type": period, "from": first, "to": last, "status": status if report.has_status else None})
            bound = {"first": first, "last": f"{last} 23:59:59", "status": status}
            conditions = f" AND {report.moment} >= :first" if first else ""
            conditions += f" AND {report.moment} <= :last" if last else ""
            if report.has_status:
                conditions += " AND o.status = :status" if status else " AND o.status != 'canceled'"
            rows = request.db.execute(report.sql(period, conditions), bound).fetchall()
            if len(rows) > _MOST:
                request.flash(f"Only the first {_MOST} of {len(rows)} rows are shown.", "notice")
    texts, totals = _table(report, rows) if rows else ([], [])
    return request.render(
        "report.html",
        title=report.title,
        section="Reports",
        report=report,
        periods=PERIODS,
        statuses={"": "Any but Canceled", **STATUSES},
        typed=query,
        rows=None if rows is None else texts,
        totals=totals,
    )


site.get("/admin/search/term/report/", members_only)(partial(show, grid=TERM_REPORT))
