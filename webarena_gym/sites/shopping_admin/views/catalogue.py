"""The catalogue: lists of products and categories, and changes to many products at once."""

import sqlite3

from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.grids import Column, Grid, Link, back_to, selected, show
from webarena_gym.sites.shopping_admin.queries import update
from webarena_gym.sites.shopping_admin.views.products import EDIT_URL, PRODUCTS_URL, STOCK, delete

ATTRIBUTES_URL = "/admin/catalog/product_action_attribute/edit/"
PRODUCTS = Grid(
    title="Products",
    section="Catalog",
    source="product p JOIN category c USING (category_id)",
    key="p.product_id",
    columns=(
        Column("ID", "id", "p.product_id", "id"),
        Column("Name", "name", "p.name"),
        Column("SKU", "sku", "p.sku"),
        Column("Price", "price", "p.price_cents", "money"),
        Column("Quantity", "quantity", "p.quantity", "number"),
        Column("Status", "status", "CAST(p.is_enabled AS TEXT)", "choice", {"1": "Enabled", "0": "Disabled"}),
        Column("Stock Status", "stock", "CAST(p.is_in_stock AS TEXT)", "choice", STOCK, is_shown=False),
        Column("Category", "category", "c.name", is_shown=False),
        Column("Brand", "brand", "p.brand", is_shown=False),
    ),
    order="id",
    keyword=("p.name", "p.sku", "p.brand"),
    row_link=Link("Edit", EDIT_URL),
    actions={
        "delete": "Delete",
        "enable": "Change status to Enable",
        "disable": "Change status to Disable",
        "attributes": "Update attributes",
    },
    action_url="/admin/catalog/product/mass/",
    add=Link("Add New Product", "/admin/catalog/product/new/"),
)
CATEGORIES = Grid(
    title="Categories",
    section="Catalog",
    source="""(SELECT c.category_id, coalesce(up.name || ' / ', '') || c.name AS path, c.position,
                      (SELECT count(*) FROM product p WHERE p.category_id = c.category_id) AS products
               FROM category c LEFT JOIN category up ON up.category_id = c.parent_id)""",
    key="category_id",
    columns=(
        Column("ID", "id", "category_id", "id"),
        Column("Category", "name", "path"),
        Column("Position", "position", "position", "number"),
        Column("Products", "products", "products", "number"),
    ),
    order="id",
    keyword=("path",),
)


@get("/admin/catalog/product/")
def products(request: Request) -> str:
    """The list of products."""
    return show(request, PRODUCTS)


@get("/admin/catalog/category/")
def categories(request: Request) -> str:
    """The list of categories."""
    return show(request, CATEGORIES)


def _existing(db: sqlite3.Connection, ids: list[int]) -> list[sqlite3.Row]:
    """The products among the ids."""
    return db.execute(
        f"SELECT product_id, name FROM product WHERE product_id IN ({','.join('?' * len(ids[:500]))})", ids[:500]
    ).fetchall()


@post("/admin/catalog/product/mass/")
def change_products(request: Request) -> Response:
    """Do what was chosen with all ticked products."""
    db, action = request.db, request.form.get("action", "")
    ids = [row["product_id"] for row in _existing(db, selected(request))]
    if action not in PRODUCTS.actions or not ids:
        request.flash("Please choose an action." if ids else "Please select items.", "error")
    elif action == "attributes":
        return redirect(f"{ATTRIBUTES_URL}?ids={','.join(map(str, ids))}")
    elif action == "delete":
        delete(db, ids)
        request.flash(f"A total of {len(ids)} record(s) have been deleted.")
    else:
        for product_id in ids:
            update(db, "product", "product_id", product_id, is_enabled=action == "enable")
        request.flash(f"A total of {len(ids)} record(s) have been updated.")
    return back_to(request, PRODUCTS_URL)


def _attributes_page(request: Request, ids: list[int], typed: dict[str, str]) -> str | Response:
    chosen = _existing(request.db, ids)
    if not chosen:
        return request.redirect(PRODUCTS_URL, "Please select items.", "error")
    return request.render(
        "attributes.html", title="Update Attributes", section="Catalog", products=chosen, typed=typed, stock=STOCK
    )


@get(ATTRIBUTES_URL)
def attributes(request: Request) -> str | Response:
    """The form for changing many products at once."""
    ids = [int(part) for part in request.args.get("ids", "").split(",") if part.isdecimal() and len(part) < 16]
    request.shows({"ids": ",".join(map(str, ids))})
    return _attributes_page(request, ids, {})


@post(ATTRIBUTES_URL)
def save_attributes(request: Request) -> str | Response:
    """Change many products at once; what was left empty stays as it is."""
    form, ids = Form(request), selected(request)
    typed = {
        "price_cents": form.optional_cents("price", "Price"),
        "special_price_cents": form.optional_cents("special_price", "Special Price"),
        "quantity": form.optional_count("quantity", "Quantity"),
        "is_in_stock": int(stock)
        if (stock := form.choice("is_in_stock", "Stock Status", {"": "", **STOCK})) in STOCK
        else None,
    }
    changes = {column: value for column, value in typed.items() if value is not None}
    if not form.errors and not changes:
        form.errors.append("Please fill in what should change.")
    if form.show_errors():
        return _attributes_page(request, ids, request.form.to_dict())
    found = _existing(request.db, ids)
    for row in found:
        update(request.db, "product", "product_id", row["product_id"], **changes)
    return request.redirect(PRODUCTS_URL, f"A total of {len(found)} record(s) were updated.")
