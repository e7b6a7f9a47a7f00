"""The shop's `Site`, and what its pages know about the visitor: who is signed in, and where to go next."""

import sqlite3

from webarena_gym.sites.kit import visits
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.shopping import carts, queries

ID = "int(max=2147483647)"  # the converter for ids in routes: what SQLite could not hold is no address of ours

site = Site("shopping", __file__, sign_in="/customer/account/login/")


def current_customer(request: Request) -> sqlite3.Row | None:
    """Return the signed-in customer's row, if somebody is signed in."""
    customer_id = request.session.get("customer_id")
    return queries.customer(request.db, customer_id) if customer_id is not None else None


members_only = visits.members_only(current_customer, site.sign_in, default="/customer/account/")
"""Give the view the signed-in customer's row; send everybody else to the sign-in page and back afterwards."""

site.templates.filters["clean"] = clean
site.templates.globals.update(
    store_name=lambda request: queries.config(request.db, "general/store_information/name", "Shop"),
    top_categories=lambda request: queries.subcategories(request.db, None),
    cart_count=carts.item_count,
    status_label=queries.status_label,
    here=visits.here,
)
