"""The shop's `Site`, and what its pages know about the visitor: who is signed in, and where to go next."""

import sqlite3
from functools import wraps

from webarena_gym.sites.kit import Request, Response, Site, View, redirect
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.forms import clean

ID = "int(max=2147483647)"  # the converter for ids in routes: what SQLite could not hold is no address of ours

site = Site("shopping", __file__)


def current_customer(request: Request) -> sqlite3.Row | None:
    """Return the signed-in customer's row, if somebody is signed in."""
    customer_id = request.session.get("customer_id")
    return queries.customer(request.db, customer_id) if customer_id is not None else None


def members_only(view: View) -> View:
    """Give the view the signed-in customer's row; send everybody else to the sign-in page and back afterwards."""

    @wraps(view)
    def guarded(request: Request, **arguments: object) -> str | Response:
        customer = current_customer(request)
        if customer is None:
            request.session["after_login"] = (
                request.path if request.method == "GET" else return_url(request, "/customer/account/")
            )
            return redirect("/customer/account/login/")
        return view(request, customer, **arguments)

    return guarded


def return_url(request: Request, default: str) -> str:
    """Return the page of this shop that the posted form names in `return_url`, or `default`."""
    wanted = clean(request.form.get("return_url", ""))[:2000].replace("\n", "")
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_local else default


site.templates.filters["clean"] = clean
site.templates.globals.update(
    store_name=lambda request: queries.config(request.db, "general/store_information/name", "Shop"),
    top_categories=lambda request: queries.subcategories(request.db, None),
    cart_count=carts.item_count,
    status_label=queries.status_label,
    here=lambda request: request.full_path.removesuffix("?"),
)
