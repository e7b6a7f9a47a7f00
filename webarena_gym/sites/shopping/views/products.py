"""A customer's reviews, wish list and comparison of products."""

import sqlite3
from collections.abc import Mapping

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import Field, Pager, clean, complaints, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.carts import RefusedError
from webarena_gym.sites.shopping.site import ID, current_customer, members_only, site

PER_PAGE = 10
FIELDS = {"nickname": Field("Nickname", limit=128), "title": Field("Summary"), "detail": Field("Review", limit=20_000)}


@site.form(f"/review/product/list/id/<{ID}:product_id>/")
def write_review(request: Request, product_id: int) -> str | Response:
    """Take a review; it waits for approval."""
    if request.method != "POST":
        customer = current_customer(request)
        values = {"nickname": customer["firstname"] if customer else "", "title": "", "detail": ""}
        return _page(request, _product(request, product_id), values, None, [])
    product = _product(request, product_id)
    values, rating = read(request, FIELDS), whole_number(request.form.get("rating"), 1, 5)
    errors = complaints(values, FIELDS)
    if rating is None:
        errors.insert(0, "Please select a rating of 1 to 5 stars.")
    if errors:
        return _page(request, product, values, rating, errors)
    customer = current_customer(request)
    request.db.execute(
        """
        INSERT INTO review (product_id, customer_id, nickname, title, detail, rating, status, created_at)
        VALUES (:product_id, :customer_id, :nickname, :title, :detail, :rating, 'Pending', :now)
        """,
        {
            **values,
            "product_id": product_id,
            "customer_id": customer["customer_id"] if customer else None,
            "rating": rating,
            "now": request.stamp,
        },
    )
    return request.redirect(f"/{product['url_key']}.html", "You submitted your review for moderation.")


def _product(request: Request, product_id: int) -> sqlite3.Row:
    product = queries.product(request.db, product_id)
    if product is None:
        raise NotFound
    return product


def _page(request: Request, product: sqlite3.Row, values: Mapping[str, str], rating: int | None, errors: list[str]) -> str:
    pager = Pager.of(request, product["review_count"], PER_PAGE)
    reviews = request.db.execute(
        """
        SELECT * FROM review WHERE product_id = ? AND status = 'Approved'
        ORDER BY created_at DESC, review_id DESC LIMIT ? OFFSET ?
        """,
        (product["product_id"], pager.limit, pager.first),
    ).fetchall()
    return request.render(
        "reviews.html", product=product, reviews=reviews, pager=pager, values=values, rating=rating, errors=errors
    )


@site.get("/review/customer/", members_only)
def own_reviews(request: Request, customer: sqlite3.Row) -> str:
    """Show what the customer has reviewed."""
    (total,) = request.db.execute("SELECT count(*) FROM review WHERE customer_id = ?", (customer["customer_id"],)).fetchone()
    pager = Pager.of(request, total, PER_PAGE)
    reviews = request.db.execute(
        """
        SELECT r.*, p.name, p.url_key FROM review r JOIN product p USING (product_id)
        WHERE r.customer_id = ? ORDER BY r.created_at DESC, r.review_id DESC LIMIT ? OFFSET ?
        """,
        (customer["customer_id"], pager.limit, pager.first),
    ).fetchall()
    return request.render("own_reviews.html", reviews=reviews, pager=pager)


@site.get(f"/review/customer/view/id/<{ID}:review_id>/", members_only)
def own_review(request: Request, customer: sqlite3.Row, review_id: int) -> str:
    """Show one review of the customer's own."""
    review = one(
        request.db,
        """
        SELECT r.*, p.name, p.url_key FROM review r JOIN product p USING (product_id)
        WHERE r.review_id = ? AND r.customer_id = ?
        """,
        (review_id, customer["customer_id"]),
    )
    return request.render("own_review.html", review=review)


LONGEST = 1000  # characters of a comment


@site.get("/wishlist/", members_only)
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


@site.post("/wishlist/index/update/", members_only)
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


@site.post("/wishlist/index/remove/", members_only)
def remove(request: Request, customer: sqlite3.Row) -> Response:
    """Take an item off the wish list."""
    item = _chosen(request, customer)
    if item is None:
        return redirect("/wishlist/")
    request.db.execute("DELETE FROM wishlist_item WHERE item_id = ?", (item["item_id"],))
    return request.redirect("/wishlist/", f"{item['name']} has been removed from your Wish List.")


@site.post("/wishlist/index/cart/", members_only)
def to_cart(request: Request, customer: sqlite3.Row) -> Response:
    """Move one item into the cart; who has to choose options first is sent to the product."""
    item = _chosen(request, customer)
    return redirect("/wishlist/" if item is None or _move(request, item) else f"/{item['url_key']}.html")


@site.post("/wishlist/index/allcart/", members_only)
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


@site.get("/catalog/product_compare/")
@site.get("/catalog/product_compare/index/")
def compare(request: Request) -> str:
    """Show the products to compare as columns of one table."""
    rows = request.db.execute(
        "SELECT product_id FROM compare_item WHERE session_id = ? ORDER BY item_id", (request.session_id,)
    )
    products = [product for row in rows.fetchall() if (product := queries.product(request.db, row["product_id"])) is not None]
    product_ids = [product["product_id"] for product in products]
    values: dict[str, dict[int, str]] = {}
    for row in request.db.execute(
        f"SELECT * FROM product_attribute WHERE product_id IN ({queries.marks(product_ids)}) ORDER BY position, name",
        product_ids,
    ):
        values.setdefault(row["name"], {})[row["product_id"]] = row["value"]
    return request.render("compare.html", products=products, values=values)


@site.post("/catalog/product_compare/add/")
def add_to_compare(request: Request) -> Response:
    """Add a product to the comparison."""
    product = queries.product(request.db, whole_number(request.form.get("product"), 1, 10**9 - 1))
    if product is None:
        return request.redirect("/catalog/product_compare/", "We can't find that product.", "error")
    request.db.execute(
        "INSERT OR IGNORE INTO compare_item (session_id, product_id) VALUES (?, ?)", (request.session_id, product["product_id"])
    )
    return request.redirect(
        return_url(request, "/catalog/product_compare/"), f"You added product {product['name']} to the comparison list."
    )


@site.post("/catalog/product_compare/remove/")
def remove_from_compare(request: Request) -> Response:
    """Take a product out of the comparison."""
    product_id = whole_number(request.form.get("product"), 1, 10**9 - 1)
    request.db.execute("DELETE FROM compare_item WHERE session_id = ? AND product_id = ?", (request.session_id, product_id))
    return request.redirect("/catalog/product_compare/", "You removed a product from the comparison list.")


@site.post("/catalog/product_compare/clear/")
def clear(request: Request) -> Response:
    """Empty the comparison."""
    request.db.execute("DELETE FROM compare_item WHERE session_id = ?", (request.session_id,))
    return request.redirect("/catalog/product_compare/", "You cleared the comparison list.")
