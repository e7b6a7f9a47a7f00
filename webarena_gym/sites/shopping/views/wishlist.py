"""A customer's wish list."""

import sqlite3

from webarena_gym.sites.kit.forms import clean, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.base import current_customer, members_only, site
from webarena_gym.sites.shopping.forms import RefusedError

LONGEST = 1000  # characters of a comment


@site.get("/wishlist/")
@members_only
def show(request: Request, customer: sqlite3.Row) -> str:
    """Show the wish list."""
    return request.render("wishlist.html", items=_items(request.db, customer["customer_id"]))


def _items(db: sqlite3.Connection, customer_id: int) -> list[sqlite3.Row]:
    return db.execute(
        f"""
        SELECT w.*, p.name, p.url_key, {queries.FINAL_PRICE} AS final_cents, p.is_in_stock AND p.quantity > 0 AS is_salable
        FROM wishlist_item w JOIN product p USING (product_id)
        WHERE w.customer_id = ? AND p.is_enabled ORDER BY w.item_id
        """,
        (customer_id,),
    ).fetchall()


def _chosen(request: Request, customer: sqlite3.Row) -> sqlite3.Row | None:
    """Return the item of the customer's that the posted form names."""
    wanted = whole_number(request.form.get("item"), 1, 10**9 - 1)
    return next((item for item in _items(request.db, customer["customer_id"]) if item["item_id"] == wanted), None)


@site.post("/wishlist/index/add/")
def add(request: Request) -> Response:
    """Put a product on the wish list; who is not signed in has to do so first."""
    product = queries.product(request.db, whole_number(request.form.get("product"), 1, 10**9 - 1))
    if product is None:
        return request.redirect("/wishlist/", "We can't find that product.", "error")
    customer = current_customer(request)
    if customer is None:
        request.session["after_login"] = f"/{product['url_key']}.html"
        return request.redirect(
            "/customer/account/login/", "You must sign in or create an account to add items to your wish list.", "error"
        )
    request.db.execute(
        """
        INSERT INTO wishlist_item (customer_id, product_id, quantity, added_at) VALUES (?, ?, 1, ?)
        ON CONFLICT (customer_id, product_id) DO UPDATE SET quantity = quantity + 1
        """,
        (customer["customer_id"], product["product_id"], request.stamp),
    )
    return request.redirect(return_url(request, "/wishlist/"), f"{product['name']} has been added to your Wish List.")


@site.post("/wishlist/index/update/")
@members_only
def update(request: Request, customer: sqlite3.Row) -> Response:
    """Change quantities and comments."""
    complaint = f"the quantity must be 1 to {carts.MOST}, the comment {LONGEST} characters at most"
    refused = False
    for item in _items(request.db, customer["customer_id"]):
        quantity = whole_number(request.form.get(f"qty[{item['item_id']}]"), 1, carts.MOST)
        comment = clean(request.form.get(f"description[{item['item_id']}]", ""))
        if quantity is None or len(comment) > LONGEST:
            refused = True
            request.flash(f"{item['name']}: {complaint}.", "error")
        else:
            query = "UPDATE wishlist_item SET quantity = ?, comment = ? WHERE item_id = ?"
            request.db.execute(query, (quantity, comment, item["item_id"]))
    if not refused:
        request.flash("Your Wish List has been updated.")
    return redirect("/wishlist/")


@site.post("/wishlist/index/remove/")
@members_only
def remove(request: Request, customer: sqlite3.Row) -> Response:
    """Take an item off the wish list."""
    item = _chosen(request, customer)
    if item is None:
        return redirect("/wishlist/")
    request.db.execute("DELETE FROM wishlist_item WHERE item_id = ?", (item["item_id"],))
    return request.redirect("/wishlist/", f"{item['name']} has been removed from your Wish List.")


@site.post("/wishlist/index/cart/")
@members_only
def to_cart(request: Request, customer: sqlite3.Row) -> Response:
    """Move one item into the cart; who has to choose options first is sent to the product."""
    item = _chosen(request, customer)
    return redirect("/wishlist/" if item is None or _move(request, item) else f"/{item['url_key']}.html")


@site.post("/wishlist/index/allcart/")
@members_only
def all_to_cart(request: Request, customer: sqlite3.Row) -> Response:
    """Move every item into the cart that can be bought as it is."""
    moved = [_move(request, item) for item in _items(request.db, customer["customer_id"])]
    return redirect("/checkout/cart/" if any(moved) else "/wishlist/")


def _move(request: Request, item: sqlite3.Row) -> bool:
    """Move an item from the wish list into the cart; tell whether that was possible."""
    product = queries.product(request.db, item["product_id"])
    assert product is not None
    try:
        options = carts.chosen_options(request.db, item["product_id"], {})
        carts.add(request.db, carts.obtain(request), product, item["quantity"], options)
    except RefusedError as refusal:
        request.flash(str(refusal), "error")
        return False
    request.db.execute("DELETE FROM wishlist_item WHERE item_id = ?", (item["item_id"],))
    request.flash(f"You added {item['name']} to your shopping cart.")
    return True
