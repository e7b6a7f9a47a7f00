"""What customers say: the reviews of a product, writing one, and a customer's own."""

import sqlite3
from collections.abc import Mapping

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import Field, complaints, read, whole_number
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.base import ID, current_customer, members_only, site

PER_PAGE = 10
FIELDS = {
    "nickname": Field("Nickname", limit=128),
    "title": Field("Summary"),
    "detail": Field("Review", limit=20_000),
}


@site.get(f"/review/product/list/id/<{ID}:product_id>/")
def product_reviews(request: Request, product_id: int) -> str:
    """Show a product's approved reviews, the newest first, and the form for another one."""
    customer = current_customer(request)
    values = {"nickname": customer["firstname"] if customer else "", "title": "", "detail": ""}
    return _page(request, _product(request, product_id), values, None, [])


@site.post(f"/review/product/list/id/<{ID}:product_id>/")
def write_review(request: Request, product_id: int) -> str | Response:
    """Take a review; it waits for approval."""
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


@site.get("/review/customer/")
@members_only
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


@site.get(f"/review/customer/view/id/<{ID}:review_id>/")
@members_only
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
