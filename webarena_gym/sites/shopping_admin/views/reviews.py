"""Moderation of product reviews."""

import sqlite3
from dataclasses import replace

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.grids import Column, Grid, Link, back_to, selected, show
from webarena_gym.sites.shopping_admin.queries import one, update

LIST_URL = "/admin/review/product/index/"
STATUSES = {name: name for name in ("Approved", "Pending", "Not Approved")}
RATINGS = {"1": "1 star"} | {str(stars): f"{stars} stars" for stars in range(2, 6)}
GRID = Grid(
    title="Reviews",
    section="Marketing",
    source="review r JOIN product p USING (product_id)",
    key="r.review_id",
    columns=(
        Column("ID", "id", "r.review_id", "id"),
        Column("Created", "created_at", "r.created_at", "date"),
        Column("Status", "status", "r.status", "choice", STATUSES),
        Column("Title", "title", "r.title"),
        Column("Nickname", "nickname", "r.nickname"),
        Column("Review", "detail", "r.detail"),
        Column("Rating", "rating", "CAST(r.rating AS TEXT)", "choice", RATINGS),
        Column("Product", "name", "p.name"),
        Column("SKU", "sku", "p.sku"),
        Column("Product ID", "product_id", "p.product_id", "id", is_shown=False),
    ),
    order="-created_at",
    keyword=("r.title", "r.nickname", "r.detail", "p.name", "p.sku"),
    row_link=Link("Edit", "/admin/review/product/edit/id/{}/"),
    actions={"delete": "Delete"} | {status: f"Update Status to {status}" for status in STATUSES},
    action_url="/admin/review/product/mass/",
)


@get(LIST_URL)
def reviews(request: Request) -> str:
    """The list of all reviews."""
    return show(request, GRID)


@get("/admin/review/product/pending/")
def pending_reviews(request: Request) -> str:
    """The list of reviews that wait for a decision."""
    return show(request, replace(GRID, title="Pending Reviews"), "r.status = 'Pending'")


def _find(request: Request, review_id: int) -> sqlite3.Row:
    return one(
        request.db,
        """SELECT r.*, p.name, c.email FROM review r JOIN product p USING (product_id)
           LEFT JOIN customer c ON c.customer_id = r.customer_id WHERE review_id = ?""",
        review_id,
    )


def _page(request: Request, row: sqlite3.Row, typed: dict[str, str]) -> str:
    return request.render(
        "review.html",
        title="Edit Review",
        section="Marketing",
        row=row,
        typed=typed,
        statuses=STATUSES,
        ratings=RATINGS,
    )


@get("/admin/review/product/edit/id/<int:review_id>/")
def review(request: Request, review_id: int) -> str:
    """The form of one review."""
    row = _find(request, review_id)
    return _page(request, row, {name: str(row[name]) for name in ("status", "rating", "nickname", "title", "detail")})


@post("/admin/review/product/edit/id/<int:review_id>/")
def save_review(request: Request, review_id: int) -> str | Response:
    """Change a review."""
    row, form = _find(request, review_id), Form(request)
    values = {
        "status": form.choice("status", "Status", STATUSES),
        "rating": form.choice("rating", "Rating", RATINGS),
        "nickname": form.text("nickname", "Nickname", limit=128),
        "title": form.text("title", "Summary of Review"),
        "detail": form.text("detail", "Review", limit=10000, lines=True),
    }
    if form.show_errors():
        return _page(request, row, request.form.to_dict())
    update(request.db, "review", "review_id", review_id, **values)
    return request.redirect(LIST_URL, "You saved the review.")


@post("/admin/review/product/delete/id/<int:review_id>/")
def delete_review(request: Request, review_id: int) -> Response:
    """Delete a review."""
    _find(request, review_id)
    request.db.execute("DELETE FROM review WHERE review_id = ?", (review_id,))
    return request.redirect(LIST_URL, "The review has been deleted.")


@post("/admin/review/product/mass/")
def change_reviews(request: Request) -> Response:
    """Delete all ticked reviews, or set their status."""
    ids, action = selected(request), request.form.get("action", "")
    if action not in GRID.actions or not ids:
        request.flash("Please choose an action." if ids else "Please select review(s).", "error")
    else:
        change = "DELETE FROM review" if action == "delete" else "UPDATE review SET status = ?2"
        values = [(review_id, action)[: 1 if action == "delete" else 2] for review_id in ids]
        count = request.db.executemany(f"{change} WHERE review_id = ?1", values).rowcount
        request.flash(f"A total of {count} record(s) have been {'deleted' if action == 'delete' else 'updated'}.")
    return back_to(request, LIST_URL)
