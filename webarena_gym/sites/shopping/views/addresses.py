"""A customer's address book."""

import sqlite3
from collections.abc import Mapping

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import complaints, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.addressing import ADDRESS, save_address
from webarena_gym.sites.shopping.base import ID, members_only, site

DEFAULTS = ("is_default_billing", "is_default_shipping")


@site.get("/customer/address/")
@members_only
def book(request: Request, customer: sqlite3.Row) -> str:
    """Show the address book."""
    return request.render("addresses.html", addresses=queries.addresses(request.db, customer["customer_id"]))


@site.get("/customer/address/new/")
@members_only
def new_form(request: Request, customer: sqlite3.Row) -> str:
    """Ask for one more address."""
    values = dict.fromkeys(ADDRESS, "") | {"firstname": customer["firstname"], "lastname": customer["lastname"]}
    return _form(request, values | {"country": queries.country(request.db)}, dict.fromkeys(DEFAULTS, False), [])


@site.post("/customer/address/new/")
@members_only
def new(request: Request, customer: sqlite3.Row) -> str | Response:
    """Add an address to the book."""
    return _save(request, customer["customer_id"], None)


@site.get(f"/customer/address/edit/id/<{ID}:address_id>/")
@members_only
def edit_form(request: Request, customer: sqlite3.Row, address_id: int) -> str:
    """Show an address, to be changed."""
    address = _own(request, customer["customer_id"], address_id)
    return _form(request, dict(address), {name: bool(address[name]) for name in DEFAULTS}, [])


@site.post(f"/customer/address/edit/id/<{ID}:address_id>/")
@members_only
def edit(request: Request, customer: sqlite3.Row, address_id: int) -> str | Response:
    """Change an address of the book."""
    _own(request, customer["customer_id"], address_id)
    return _save(request, customer["customer_id"], address_id)


@site.post("/customer/address/delete/")
@members_only
def delete(request: Request, customer: sqlite3.Row) -> Response:
    """Take an address out of the book; a default one stays."""
    address_id = whole_number(request.form.get("id"), 1, 10**9 - 1) or 0
    address = _own(request, customer["customer_id"], address_id)
    if any(address[name] for name in DEFAULTS):
        request.flash("A default address cannot be deleted.", "error")
    else:
        request.db.execute("DELETE FROM customer_address WHERE address_id = ?", (address_id,))
        request.flash("You deleted the address.")
    return redirect("/customer/address/")


def _own(request: Request, customer_id: int, address_id: int) -> sqlite3.Row:
    return one(request.db, "SELECT * FROM customer_address WHERE address_id = ? AND customer_id = ?", (address_id, customer_id))


def _save(request: Request, customer_id: int, address_id: int | None) -> str | Response:
    values = read(request, ADDRESS)
    defaults = {name: request.form.get(name) == "1" for name in DEFAULTS}
    errors = complaints(values, ADDRESS)
    if errors:
        return _form(request, values, defaults, errors)
    save_address(request.db, customer_id, values, defaults, address_id)
    return request.redirect("/customer/address/", "You saved the address.")


def _form(request: Request, values: Mapping[str, str], defaults: Mapping[str, bool], errors: list[str]) -> str:
    return request.render("address_form.html", fields=ADDRESS, values=values, defaults=defaults, errors=errors)
