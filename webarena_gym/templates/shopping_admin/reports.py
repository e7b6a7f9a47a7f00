"""Reports to be read and to be made."""

from datetime import date, timedelta
from urllib.parse import urlencode

from webarena_gym.tasks import template as t
from webarena_gym.templates.shopping_admin import Month, a_month, show_report

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
    """Return the day so many days later."""
    return day + timedelta(days=days)


def report_at(path: str, first: date, last: date, period: str) -> str:
    """Return the place of a report about some days."""
    query = {"period_type": period.lower(), "from": first.isoformat(), "to": last.isoformat()}
    return f"__SHOPPING_ADMIN__/reports/{path}/?{urlencode(query)}"


def busiest_month(world: t.Sampler) -> t.Draw:
    """Compare the lines of a report."""
    one, other = a_span(world)
    rows = world.rows(
        """SELECT substr(created_at, 1, 7) AS month, count(*) AS orders FROM sales_order
           WHERE status != 'canceled' AND substr(created_at, 1, 7) BETWEEN ? AND ?
           GROUP BY month ORDER BY orders DESC, month""",
        one.key,
        other.key,
    )
    t.skip_if(len(rows) < 4 or rows[0]["orders"] == rows[1]["orders"], one.name)  # fewer months are no question
    found, second = (Month(date.fromisoformat(f"{row['month']}-01")) for row in rows[:2])
    answer = t.answer(fuzzy_match=f"{found.name} |OR| {found.first.month}/{found.first.year} |OR| {found.first:%m/%Y}")
    seen = f"The most orders are {rows[0]['orders']}, in {found.name}."
    steps = [*show_report("Orders", one.first, other.last), t.leave(found.name, seen)]
    return t.Draw({"start": one.name, "end": other.name}, answer, steps, wrong_answers=[second.name])
