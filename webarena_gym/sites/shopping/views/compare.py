"""Comparing products side by side; the list belongs to the session."""

from webarena_gym.sites.kit.forms import whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
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
        request.flash("We can't find that product.", "error")
        return redirect("/catalog/product_compare/")
    request.db.execute(
        "INSERT OR IGNORE INTO compare_item (session_id, product_id) VALUES (?, ?)", (request.session_id, product["product_id"])
    )
    request.flash(f"You added product {product['name']} to the comparison list.")
    return redirect(return_url(request, "/catalog/product_compare/"))


@site.post("/catalog/product_compare/remove/")
def remove(request: Request) -> Response:
    """Take a product out of the comparison."""
    product_id = whole_number(request.form.get("product"), 1, 10**9 - 1)
    request.db.execute("DELETE FROM compare_item WHERE session_id = ? AND product_id = ?", (request.session_id, product_id))
    request.flash("You removed a product from the comparison list.")
    return redirect("/catalog/product_compare/")


@site.post("/catalog/product_compare/clear/")
def clear(request: Request) -> Response:
    """Empty the comparison."""
    request.db.execute("DELETE FROM compare_item WHERE session_id = ?", (request.session_id,))
    request.flash("You cleared the comparison list.")
    return redirect("/catalog/product_compare/")
