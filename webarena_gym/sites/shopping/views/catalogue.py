"""The home page, categories, products and their pictures."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import images, queries
from webarena_gym.sites.shopping.base import site
from webarena_gym.sites.shopping.listing import Listing

ON_HOME = 4  # products in each row of the home page


@site.get("/")
def home(request: Request) -> str:
    """Show what is new and what sells best."""
    newest = _ids(request, "SELECT product_id FROM product WHERE is_enabled ORDER BY created_at DESC, product_id DESC LIMIT ?")
    best = _ids(
        request,
        "SELECT product_id FROM order_item GROUP BY product_id ORDER BY sum(qty_ordered) DESC, product_id LIMIT ?",
        ON_HOME * 4,
    )
    best = [product_id for product_id in best if product_id not in newest]
    welcome = request.db.execute("SELECT content_heading, content FROM cms_page WHERE url_key = 'home'").fetchone()
    return request.render(
        "home.html",
        welcome=welcome,
        rows={
            "Best Sellers": queries.cards_by_id(request.db, best)[:ON_HOME],
            "New Arrivals": queries.cards_by_id(request.db, newest),
        },
    )


def _ids(request: Request, query: str, limit: int = ON_HOME) -> list[int]:
    return [row["product_id"] for row in request.db.execute(query, (limit,))]


@site.get("/<path:url_path>.html")
def catalogue_page(request: Request, url_path: str) -> str:
    """Show the category or the product at that address."""
    category = request.db.execute("SELECT * FROM category WHERE url_path = ?", (url_path,)).fetchone()
    if category is not None:
        return category_page(request, category)
    product = queries.product_by_url_key(request.db, url_path)
    if product is None:
        raise NotFound
    return product_page(request, product)


def category_page(request: Request, category: sqlite3.Row) -> str:
    """Show a category: the ones below it, and its products."""
    listing = Listing(
        request.path, request.args, queries.category_cards(request.db, category["category_id"]), layout=request.layout
    )
    request.shows(listing.filters)
    request.arranges(listing.arrangement)
    return request.render(
        "category.html",
        category=category,
        above=queries.category_path(request.db, category["category_id"])[:-1],
        below=queries.subcategories(request.db, category["category_id"]),
        listing=listing,
    )


def product_page(request: Request, product: sqlite3.Row) -> str:
    """Show one product."""
    options: dict[tuple[int, str], list[sqlite3.Row]] = {}
    for row in queries.options(request.db, [product["product_id"]]):
        options.setdefault((row["option_id"], row["title"]), []).append(row)
    attributes = request.db.execute(
        "SELECT name, value FROM product_attribute WHERE product_id = ? ORDER BY position, name", (product["product_id"],)
    ).fetchall()
    return request.render(
        "product.html",
        product=product,
        above=queries.category_path(request.db, product["category_id"]),
        options=options,
        attributes=attributes,
    )


@site.get("/media/catalog/<url_key>.svg")
def picture(request: Request, url_key: str) -> Response:
    """Draw a product. A picture that does not exist is an empty 404, so that it shows nobody's pending messages."""
    row = request.db.execute("SELECT name FROM product WHERE url_key = ?", (url_key,)).fetchone()
    if row is None:
        return Response(status=404)
    response = Response(images.draw(row["name"]), content_type="image/svg+xml")
    response.cache_control.max_age = 86400
    return response
