"""Reports: tables by day, month or year, and lists of reviews, search terms and low stock.

A `Report` consists of parts of an SQL query, which groups rows by interval, and by `group` if it is set. Totals are sums of the shown rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import money, read_data
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.shopping_admin.grids import LISTS, Form, render_grid
from webarena_gym.sites.shopping_admin.site import members_only, site
from webarena_gym.sites.shopping_admin.views.orders import STATUSES

PERIODS = {"day": "Day", "month": "Month", "year": "Year"}
_WIDTHS = {"day": 10, "month": 7, "year": 4}  # characters of YYYY-MM-DD that name the interval
_MOST = 500  # rows that one page shows


class Cell(NamedTuple):
    """A column of a report. Columns with `summed` have a total."""

    label: str
    sql: str
    is_money: bool = False
    is_summed: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """A table by interval over `source`. `moment` is the SQL of the time by which rows are grouped; `top` limits the rows of an interval."""

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


REPORTS = {
    address: Report(**{**entry, "cells": tuple(Cell(*cell) for cell in entry["cells"])})
    for address, entry in read_data(Path(__file__).parents[1] / "reports.toml").items()
}


def _interval(text: str) -> str:
    """Return an interval as text: Mar 5, 2023 or 3/2023 or 2023."""
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 3:
        day = date(*parts)
        return f"{day:%b} {day.day}, {day.year}"
    return "/".join(str(part) for part in reversed(parts))


def _table(report: Report, rows: list[Any]) -> tuple[list[list[str]], list[str]]:
    """Return the texts of the rows, and of the line with the totals."""

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


_LISTS = {
    "report_review/customer": "reviews_by_customer",
    "report_review/product": "reviews_by_product",
    "report_product/lowstock": "low_stock",
}


@site.get("/admin/reports/<any(report_sales, report_customer, report_product, report_review):kind>/<name>/", members_only)
def show_report(request: Request, kind: str, name: str) -> str:
    """A report on sales, customers, products or reviews: a list, or a form with the requested table."""
    key = f"{kind}/{name}"
    if key in _LISTS:
        return render_grid(request, LISTS[_LISTS[key]])
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


site.get("/admin/search/term/report/", members_only)(partial(render_grid, grid=LISTS["search_term_report"]))
