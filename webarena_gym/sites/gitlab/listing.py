"""Lists of projects: filtered by what was typed, sorted and cut into pages."""

import sqlite3
from typing import Any, NamedTuple

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.base import my_id
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request

ORDERS = {
    "latest_activity_desc": ("Last updated", "p.last_activity_at DESC, p.project_id"),
    "stars_desc": ("Most stars", "stars DESC, p.project_id"),
    "name_asc": ("Name", "p.name COLLATE NOCASE, p.project_id"),
    "created_desc": ("Newest", "p.created_at DESC, p.project_id DESC"),
}
PER_PAGE = 20


class Listing(NamedTuple):
    """One page of a list of projects, and what it was filtered and sorted by."""

    rows: list[sqlite3.Row]
    pager: Pager
    name: str
    topic: str
    sort: str
    orders: list[tuple[str, str]]


def list_projects(request: Request, where: str = "1", **values: Any) -> Listing:
    """Return the page that the request asks for of the visible projects that fulfil `where`."""
    name, topic = (clean(request.args.get(key, ""))[:200] for key in ("name", "topic"))
    sort = request.args.get("sort", "")
    sort = sort if sort in ORDERS else next(iter(ORDERS))
    request.shows({"name": folded(name), "topic": folded(topic)})
    request.arranges({"sort": sort})
    wanted = f"""({where}) AND (:name = '' OR instr(lower(p.namespace || '/' || p.path || ' ' || p.name || ' ' || p.description
        || ' ' || p.topics), lower(:name)))
        AND (:topic = '' OR instr(', ' || lower(p.topics) || ',', ', ' || lower(:topic) || ','))"""
    rows = queries.find_projects(
        request.db, my_id(request), where=wanted, order=ORDERS[sort][1], name=name, topic=topic, **values
    )
    pager = Pager.of(request, len(rows), PER_PAGE, "page")
    orders = [(key, label) for key, (label, _) in ORDERS.items()]
    return Listing(pager.cut(rows), pager, name, topic, sort, orders)
