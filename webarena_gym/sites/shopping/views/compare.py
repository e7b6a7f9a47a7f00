"""Comparing products side by side; the list belongs to the session."""

from webarena_gym.sites.kit.forms import whole_number
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.base import site


@site.get("/catalog/product_compare/")
@site.get("/catalog/product_compare/index/")
def show(request: Request) -> str:
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
def add(request: Request) -> Response:
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
def remove(request: Request) -> Response:
    """Take a product out of the comparison."""
    product_id = whole_number(request.form.get("product"), 1, 10**9 - 1)
    request.db.execute("DELETE FROM compare_item WHERE session_id = ? AND product_id = ?", (request.session_id, product_id))
    return request.redirect("/catalog/product_compare/", "You removed a product from the comparison list.")


@site.post("/catalog/product_compare/clear/")
def clear(request: Request) -> Response:
    """Empty the comparison."""
    request.db.execute("DELETE FROM compare_item WHERE session_id = ?", (request.session_id,))
    return request.redirect("/catalog/product_compare/", "You cleared the comparison list.")
