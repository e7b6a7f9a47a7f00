"""The catalogue: products, categories, and changes to many products at once."""

import sqlite3
from functools import partial
from itertools import count
from typing import Any

from webarena_gym.sites.country.texts import slug
from webarena_gym.sites.kit.database import first, insert, update
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping.carts import remove_variants, set_stock, variants_of
from webarena_gym.sites.shopping_admin.grids import LISTS, Form, back_to, render_grid, selected_ids, written_cents
from webarena_gym.sites.shopping_admin.site import is_taken, members_only, record_or_404, site

PRODUCTS_URL = "/admin/catalog/product/"
EDIT_URL = "/admin/catalog/product/edit/id/{}/"
STOCK = LISTS["products"].choices("stock")


def _leaves(db: sqlite3.Connection) -> dict[str, str]:
    """Return the categories of products, by id."""
    query = """SELECT c.category_id, coalesce(up.name || ' / ', '') || c.name FROM category c
           LEFT JOIN category up ON up.category_id = c.parent_id
           WHERE NOT EXISTS (SELECT 1 FROM category below WHERE below.parent_id = c.category_id) ORDER BY 2"""
    rows = db.execute(query)
    return {str(category_id): name for category_id, name in rows}


def _read(db: sqlite3.Connection, form: Form, product_id: int | None) -> dict[str, Any]:
    """Return the columns of the product form; error messages are in the form's `errors`."""
    values: dict[str, Any] = {
        "name": form.text("name", "Product Name"),
        "sku": form.text("sku", "SKU", limit=64),
        "price_cents": form.cents("price", "Price"),
        "special_price_cents": form.optional_cents("special_price", "Special Price"),
        "quantity": form.count("quantity", "Quantity"),
        "is_in_stock": form.choice("is_in_stock", "Stock Status", STOCK) == "1",
        "is_enabled": form.is_ticked("is_enabled"),
        "category_id": form.choice("category_id", "Category", _leaves(db)),
        "brand": form.text("brand", "Brand", required=False),
        "short_description": form.text("short_description", "Short Description", required=False, limit=2000, lines=True),
        "description": form.text("description", "Description", required=False, limit=10000, lines=True),
    }
    special = values["special_price_cents"]
    if not form.errors and special is not None and special >= values["price_cents"]:
        form.errors.append("Special Price: please enter an amount below the price.")
    for column, label in (("name", "Product Name"), ("sku", "SKU")):
        if is_taken(db, "product", column, values[column], product_id):
            form.errors.append(f"{label}: another product has this value already.")
    return values


@site.form("/admin/catalog/product/new/", members_only)
@site.form("/admin/catalog/product/edit/id/<int:product_id>/", members_only)
def save_product(request: Request, product_id: int | None = None) -> str | Response:
    """Change a product, or add one, with a unique URL key."""
    db, typed = request.db, {"is_enabled": "1", "is_in_stock": "1", "quantity": "0"}
    row = None if product_id is None else record_or_404(db, "SELECT * FROM product WHERE product_id = ?", product_id)
    further = "SELECT name, value FROM product_attribute WHERE product_id = ? AND name != 'Brand' ORDER BY position"
    details = db.execute(further, (product_id,)).fetchall()  # the brand has a field of its own
    if request.method == "POST":
        form, typed = Form(request), request.form.to_dict()
        values = _read(db, form, product_id)
        changes = [
            (form.text(f"detail_{index}", detail["name"]), product_id, detail["name"])
            for index, detail in enumerate(details)
            if f"detail_{index}" in request.form
        ]
        if not form.show_errors():
            if product_id is None:
                base = slug(values["name"])[:200] or "product"
                keys = (base if number == 1 else f"{base}-{number}" for number in count(1))
                key = next(key for key in keys if not is_taken(db, "product", "url_key", key))
                product_id = insert(db, "product", url_key=key, created_at=str(request.now), **values)
            else:
                update(db, "product", "product_id", product_id, **values)
                changes.append((values["brand"], product_id, "Brand"))
                db.executemany("UPDATE product_attribute SET value = ? WHERE product_id = ? AND name = ?", changes)
            return request.redirect(EDIT_URL.format(product_id), "You saved the product.")
    elif row:
        typed = {name: str(value) for name, value in dict(row).items() if name != "is_enabled" or value}
        typed |= {name: written_cents(row[f"{name}_cents"]) for name in ("price", "special_price")}
    query = """SELECT v.value_id, o.title, v.label, v.price_delta_cents FROM product_option o
           JOIN product_option_value v USING (option_id) WHERE o.product_id = ? ORDER BY o.position, v.position, v.value_id"""
    options = db.execute(query, (product_id,)).fetchall()
    page = {"title": row["name"] if row else "New Product", "section": "Catalog", "product_id": product_id, "typed": typed}
    variants = list(variants_of(db, [] if product_id is None else [product_id]).values())
    shown = {"stock": STOCK, "options": options, "details": details, "variants": variants}
    return request.render("product.html", **page, **shown, categories=_leaves(db))


@site.post("/admin/catalog/product/addOption/id/<int:product_id>/", members_only)
def add_option(request: Request, product_id: int) -> Response:
    """Add a value to an option of a product; a new option is created if necessary."""
    db, form = request.db, Form(request)
    record_or_404(db, "SELECT 1 FROM product WHERE product_id = ?", product_id)
    title, label = form.text("option", "Option", limit=60), form.text("value", "Value", limit=60)
    extra = form.optional_cents("extra", "Extra Price") or 0
    row = first(
        db, "SELECT option_id FROM product_option WHERE product_id = ? AND lower(title) = lower(?)", (product_id, title)
    )
    query = "SELECT 1 FROM product_option_value WHERE option_id = ? AND lower(label) = lower(?)"
    if row and first(db, query, (row["option_id"], label)):
        form.errors.append(f"The option {title} has the value {label} already.")
    if not form.show_errors():
        place = "SELECT coalesce(max(position), 0) + 1 FROM {} WHERE {} = ?"
        if row:
            option_id = row["option_id"]
        else:
            (position,) = db.execute(place.format("product_option", "product_id"), (product_id,)).fetchone()
            option_id = insert(db, "product_option", product_id=product_id, title=title, position=position)
        (position,) = db.execute(place.format("product_option_value", "option_id"), (option_id,)).fetchone()
        insert(db, "product_option_value", option_id=option_id, label=label, price_delta_cents=extra, position=position)
        request.flash("You added the option value.")
    return redirect(EDIT_URL.format(product_id))


@site.post("/admin/catalog/product/deleteOption/id/<int:product_id>/", members_only)
def delete_option(request: Request, product_id: int) -> Response:
    """Delete a value of a product's options, and the option after its last value."""
    db, value_id = request.db, Form(request).text("value_id", "Option Value")
    query = """DELETE FROM product_option_value WHERE CAST(value_id AS TEXT) = ?
           AND option_id IN (SELECT option_id FROM product_option WHERE product_id = ?)"""
    gone = db.execute(query, (value_id, product_id))
    if gone.rowcount:
        query = """DELETE FROM product_option WHERE product_id = ?
               AND NOT EXISTS (SELECT 1 FROM product_option_value v WHERE v.option_id = product_option.option_id)"""
        db.execute(query, (product_id,))
        request.flash("You deleted the option value.")
    else:
        request.flash("Please choose one of the option values.", "error")
    return redirect(EDIT_URL.format(product_id))


@site.post("/admin/catalog/product/variants/id/<int:product_id>/", members_only)
def save_variants(request: Request, product_id: int) -> Response:
    """Change the stock of a product's variants; the product's quantity is their sum."""
    db, form = request.db, Form(request)
    known = variants_of(db, [product_id]).values()
    counts = [form.optional_count(f"variant_{variant.variant_id}", f"Quantity of {variant.sku}") for variant in known]
    if not form.show_errors():
        for variant, number in zip(known, counts, strict=True):
            if number is not None and number != variant.quantity:
                set_stock(db, variant, number, is_in_stock=number > 0)
        total = sum(variant.quantity for variant in variants_of(db, [product_id]).values())
        update(db, "product", "product_id", product_id, quantity=total, is_in_stock=total > 0)
        request.flash("You saved the configurations.")
    return redirect(EDIT_URL.format(product_id))


def delete(db: sqlite3.Connection, ids: list[int]) -> None:
    """Delete products with all dependent rows; orders keep copies of the product data."""
    remove_variants(db, ids)
    item = [(product_id,) for product_id in ids]
    db.executemany(
        "DELETE FROM product_option_value WHERE option_id IN (SELECT option_id FROM product_option WHERE product_id = ?)", item
    )
    for table in ("product_option", "product_attribute", "review", "cart_item", "wishlist_item", "compare_item", "product"):
        db.executemany(f"DELETE FROM {table} WHERE product_id = ?", item)


@site.post("/admin/catalog/product/delete/id/<int:product_id>/", members_only)
def delete_product(request: Request, product_id: int) -> Response:
    """Delete a product."""
    record_or_404(request.db, "SELECT 1 FROM product WHERE product_id = ?", product_id)
    delete(request.db, [product_id])
    return request.redirect(PRODUCTS_URL, "You deleted the product.")


ATTRIBUTES_URL = "/admin/catalog/product_action_attribute/edit/"


site.get(PRODUCTS_URL, members_only)(partial(render_grid, grid=LISTS["products"]))
site.get("/admin/catalog/category/", members_only)(partial(render_grid, grid=LISTS["categories"]))


def _existing(db: sqlite3.Connection, ids: list[int]) -> list[sqlite3.Row]:
    return db.execute(
        f"SELECT product_id, name FROM product WHERE product_id IN ({','.join('?' * len(ids[:500]))})", ids[:500]
    ).fetchall()


@site.post("/admin/catalog/product/mass/", members_only)
def change_products(request: Request) -> Response:
    """Apply the selected action to all selected products."""
    db, action = request.db, request.form.get("action", "")
    ids = [row["product_id"] for row in _existing(db, selected_ids(request))]
    if action not in LISTS["products"].actions or not ids:
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


@site.form(ATTRIBUTES_URL, members_only)
def save_attributes(request: Request) -> str | Response:
    """Change several products at once; empty fields do not change them."""
    typed, ids = request.form.to_dict(), selected_ids(request)
    if request.method != "POST":
        ids = [int(part) for part in request.args.get("ids", "").split(",") if part.isdecimal() and len(part) < 16]
        request.shows({"ids": ",".join(map(str, ids))})
    products = _existing(request.db, ids)
    if request.method == "POST":
        form = Form(request)
        columns = {
            "price_cents": form.optional_cents("price", "Price"),
            "special_price_cents": form.optional_cents("special_price", "Special Price"),
            "quantity": form.optional_count("quantity", "Quantity"),
        }
        stock = form.choice("is_in_stock", "Stock Status", {"": "", **STOCK})
        columns["is_in_stock"] = int(stock) if stock in STOCK else None
        changes = {column: value for column, value in columns.items() if value is not None}
        if not form.errors and not changes:
            form.errors.append("Please fill in what should change.")
        if not form.show_errors():
            for row in products:
                update(request.db, "product", "product_id", row["product_id"], **changes)
            return request.redirect(PRODUCTS_URL, f"A total of {len(products)} record(s) were updated.")
    if not products:
        return request.redirect(PRODUCTS_URL, "Please select items.", "error")
    page = {"title": "Update Attributes", "section": "Catalog", "products": products, "stock": STOCK}
    return request.render("attributes.html", typed=typed, **page)
