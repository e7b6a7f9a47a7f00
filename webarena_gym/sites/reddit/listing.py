"""Lists of submissions: which ones, in which order, how far back, and which page of them."""

import sqlite3
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.reddit.base import PER_PAGE, my_id
from webarena_gym.sites.reddit.queries import CARD, DAYS, LISTED, ORDER_BY, PERIODS, WITH_PERIOD


class Listing:
    """One page of the submissions for which `where` holds. `base` is the address that the names of the orders are added to."""

    def __init__(
        self, request: Request, base: str, sort: str, where: str, parameters: Mapping[str, Any], *, sticky_first: bool = False
    ) -> None:
        self.base = base
        self.sort = sort
        self.period = ""
        values = {**parameters, "me": my_id(request)}
        condition = f"{LISTED} AND {where}"
        if sort in WITH_PERIOD:
            wanted = request.args.get("t", "")
            self.period = wanted if wanted in PERIODS else next(iter(PERIODS))
            request.shows({"t": None if self.period == next(iter(PERIODS)) else self.period})
            if self.period in DAYS:
                values["since"] = f"{request.now - timedelta(days=DAYS[self.period]):%Y-%m-%d %H:%M:%S}"
                condition += " AND s.created_at >= :since"
        (total,) = request.db.execute(f"SELECT count(*) FROM submission s WHERE {condition}", values).fetchone()
        self.pager = Pager.of(request, total, PER_PAGE)
        values |= {"limit": self.pager.limit, "first": self.pager.first}
        first = "s.is_sticky DESC, " if sticky_first and sort == "hot" else ""
        order = f"{first}{ORDER_BY[sort]}, s.submission_id DESC"
        # What a card shows is counted after the page is cut, and not for all that it is cut from.
        page = f"SELECT s.submission_id FROM submission s WHERE {condition} ORDER BY {order} LIMIT :limit OFFSET :first"
        self.rows: list[sqlite3.Row] = request.db.execute(
            f"{CARD} WHERE s.submission_id IN ({page}) ORDER BY {order}", values
        ).fetchall()
