"""Addresses, of orders and of customers: one form for all."""

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.queries import insert, one, update
from webarena_gym.sites.shopping_admin.views.orders import URL as ORDER_URL

FIELDS = {
    "firstname": "First Name",
    "lastname": "Last Name",
    "company": "Company",
    "street": "Street Address",
    "city": "City",
    "region": "State/Province",
    "postcode": "ZIP",
    "country": "Country",
    "telephone": "Phone Number",
}
CUSTOMER_URL = "/admin/customer/index/edit/id/{}/?tab=addresses"


def _read(form: Form) -> dict[str, str]:
    """What the form holds; what is missing collects in its errors."""
    return {name: form.text(name, label, required=name != "company") for name, label in FIELDS.items()}


def _page(request: Request, title: str, section: str, back: str, typed: dict[str, str], defaults: dict[str, bool]) -> str:
    return request.render(
        "address.html", title=title, section=section, fields=FIELDS, back=back, typed=typed, defaults=defaults
    )


@get("/admin/sales/order/address/order_id/<int:order_id>/<any(billing, shipping):kind>/")
def order_address(request: Request, order_id: int, kind: str) -> str:
    """The form for an order's billing or shipping address."""
    row = one(request.db, "SELECT * FROM order_address WHERE order_id = ? AND kind = ?", order_id, kind)
    return _page(request, f"Edit {kind.title()} Address", "Sales", ORDER_URL.format(order_id), dict(row), {})


@post("/admin/sales/order/address/order_id/<int:order_id>/<any(billing, shipping):kind>/")
def save_order_address(request: Request, order_id: int, kind: str) -> str | Response:
    """Change an order's billing or shipping address."""
    one(request.db, "SELECT 1 FROM order_address WHERE order_id = ? AND kind = ?", order_id, kind)
    form = Form(request)
    values = _read(form)
    if form.show_errors():
        return _page(request, f"Edit {kind.title()} Address", "Sales", ORDER_URL.format(order_id), request.form.to_dict(), {})
    changes = ", ".join(f"{name} = ?" for name in values)
    request.db.execute(
        f"UPDATE order_address SET {changes} WHERE order_id = ? AND kind = ?", (*values.values(), order_id, kind)
    )
    return request.redirect(ORDER_URL.format(order_id), "You updated the order address.")


@get("/admin/customer/address/edit/id/<int:address_id>/")
def customer_address(request: Request, address_id: int) -> str:
    """The form for a customer's address."""
    row = one(request.db, "SELECT * FROM customer_address WHERE address_id = ?", address_id)
    defaults = {kind: bool(row[f"is_default_{kind}"]) for kind in ("billing", "shipping")}
    return _page(request, "Edit Address", "Customers", CUSTOMER_URL.format(row["customer_id"]), dict(row), defaults)


@get("/admin/customer/address/new/customer_id/<int:customer_id>/")
def new_customer_address(request: Request, customer_id: int) -> str:
    """The form for a new address, with the customer's name in it."""
    row = one(request.db, "SELECT firstname, lastname FROM customer WHERE customer_id = ?", customer_id)
    typed = dict.fromkeys(FIELDS, "") | dict(row) | {"country": queries.country(request.db)}
    back = CUSTOMER_URL.format(customer_id)
    return _page(request, "Add New Address", "Customers", back, typed, {"billing": False, "shipping": False})


def _save(request: Request, customer_id: int, address_id: int | None) -> str | Response:
    """Store a customer's address; an address that becomes a default takes the place of the one before."""
    form, back = Form(request), CUSTOMER_URL.format(customer_id)
    values = _read(form)
    defaults = {kind: form.is_ticked(kind) for kind in ("billing", "shipping")}
    if form.show_errors():
        return _page(request, "Edit Address", "Customers", back, request.form.to_dict(), defaults)
    for kind, is_default in defaults.items():
        if is_default:
            update(request.db, "customer_address", "customer_id", customer_id, **{f"is_default_{kind}": 0})
    columns = {**values, **{f"is_default_{kind}": is_default for kind, is_default in defaults.items()}}
    if address_id is None:
        insert(request.db, "customer_address", customer_id=customer_id, **columns)
    else:
        update(request.db, "customer_address", "address_id", address_id, **columns)
    return request.redirect(back, "The customer address was saved.")


@post("/admin/customer/address/edit/id/<int:address_id>/")
def save_customer_address(request: Request, address_id: int) -> str | Response:
    """Change a customer's address."""
    row = one(request.db, "SELECT customer_id FROM customer_address WHERE address_id = ?", address_id)
    return _save(request, row["customer_id"], address_id)


@post("/admin/customer/address/new/customer_id/<int:customer_id>/")
def create_customer_address(request: Request, customer_id: int) -> str | Response:
    """Add an address to a customer."""
    one(request.db, "SELECT 1 FROM customer WHERE customer_id = ?", customer_id)
    return _save(request, customer_id, None)


@post("/admin/customer/address/delete/id/<int:address_id>/")
def delete_customer_address(request: Request, address_id: int) -> Response:
    """Delete a customer's address."""
    row = one(request.db, "SELECT customer_id FROM customer_address WHERE address_id = ?", address_id)
    request.db.execute("DELETE FROM customer_address WHERE address_id = ?", (address_id,))
    return request.redirect(CUSTOMER_URL.format(row["customer_id"]), "The customer address was deleted.")
