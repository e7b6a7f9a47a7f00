"""The forum's `Site`, its form fields and lists, and the current user for its pages."""

import re
import sqlite3
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from webarena_gym.sites.country.texts import amount
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.accounts import here, members_of, visitor
from webarena_gym.sites.kit.database import value
from webarena_gym.sites.kit.forms import Pager, clean
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.queries import CARD, DAYS, LISTED, ORDER_BY, PERIODS, WITH_PERIOD
from webarena_gym.sites.reddit.world_posts import ago

NAME = "Plaza"
PER_PAGE = 25  # rows of a list, in the plain layout

site = Site("reddit", __file__, sign_in="/login")
current_user = visitor()


def my_id(request: Request) -> int:
    """Return the id of the signed-in user, 0 for a guest."""
    user = current_user(request)
    return user["user_id"] if user else 0


members_only = members_of(current_user, site.sign_in, "Please log in first.")
site.templates.filters.update(clean=clean, count=amount)
site.templates.globals.update(
    site_name=NAME,
    ago=ago,
    current_user=current_user,
    unread_count=queries.unread_count,
    address=queries.address,
    sorts=queries.SORTS,
    periods=queries.PERIODS,
    here=here,
)


class Field(forms.Field):
    """A text field of a form, with the forum's error messages."""

    missing: ClassVar[str] = "{label}: this field must not be empty."
    too_long: ClassVar[str] = "{label}: {length} characters are too many, {limit} at most."


EMAIL = Field("Email", pattern=forms.EMAIL.pattern, hint="this is no email address such as name@domain.com.")
USERNAME = Field(
    "Username", limit=25, pattern=re.compile(r"[A-Za-z0-9_-]{3,25}"), hint="3 to 25 letters, digits, dashes and underscores."
)


class Listing:
    """A page of the submissions that satisfy `where`. The names of sort orders are appended to the path `base`."""

    def __init__(
        self, request: Request, base: str, sort: str, where: str, parameters: Mapping[str, Any], *, sticky_first: bool = False
    ) -> None:
        self.base = base
        self.sort = sort
        self.period = ""
        values = {**parameters, "me": my_id(request)}
        condition = f"{LISTED} AND {where}"
        if sort in WITH_PERIOD:
            span = request.args.get("t", "")
            self.period = span if span in PERIODS else next(iter(PERIODS))
            request.shows({"t": None if self.period == next(iter(PERIODS)) else self.period})
            if self.period in DAYS:
                values["since"] = f"{request.now - timedelta(days=DAYS[self.period]):%Y-%m-%d %H:%M:%S}"
                condition += " AND s.created_at >= :since"
        total = value(request.db, f"SELECT count(*) FROM submission s WHERE {condition}", values)
        self.pager = Pager.of(request, total, PER_PAGE)
        values |= {"limit": self.pager.limit, "first": self.pager.first}
        order = f"{'s.is_sticky DESC, ' if sticky_first and sort == 'hot' else ''}{ORDER_BY[sort]}, s.submission_id DESC"
        # What a card shows is counted after the page is cut, and not for all that it is cut from.
        page = f"SELECT s.submission_id FROM submission s WHERE {condition} ORDER BY {order} LIMIT :limit OFFSET :first"
        query = f"{CARD} WHERE s.submission_id IN ({page}) ORDER BY {order}"
        self.rows: list[sqlite3.Row] = request.db.execute(query, values).fetchall()
