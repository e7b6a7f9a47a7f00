"""The cart: what is in it, changing it, coupons and an estimate of the shipping."""

from webarena_gym.sites.kit.forms import clean, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.shopping import carts, pricing, queries
from webarena_gym.sites.shopping.base import site
from webarena_gym.sites.shopping.forms import RefusedError

NO_QUANTITY = f"Please enter a whole number from 1 to {carts.MOST} as the quantity."


@site.get("/checkout/cart/")
def show(request: Request) -> str:
    """Show what lies in the cart, and what it comes to."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    if not cart or not lines:
        return request.render("cart_empty.html")
    method = request.session.get("shipping_method")
    totals = carts.totals(request, cart, lines, method)
    rates = carts.rates(request, lines, totals.subtotal_cents - totals.discount_cents)
    return request.render("cart.html", lines=lines, totals=totals, rates=rates, method=method)


@site.post("/checkout/cart/add/")
def add(request: Request) -> Response:
    """Put a product into the cart; who has to choose options first is sent to the product."""
    product = queries.product(request.db, whole_number(request.form.get("product"), 1, 10**9 - 1))
    if product is None:
        return request.redirect("/checkout/cart/", "We can't find that product.", "error")
    page = f"/{product['url_key']}.html"
    quantity = whole_number(request.form.get("qty", "1"), 1, carts.MOST)
    if quantity is None:
        return request.redirect(page, NO_QUANTITY, "error")
    prefix = "options["
    chosen = {key[len(prefix) : -1]: value for key, value in request.form.items() if key.startswith(prefix)}
    try:
        options = carts.chosen_options(request.db, product["product_id"], chosen)
        carts.add(request.db, carts.obtain(request), product, quantity, options)
    except RefusedError as refusal:
        return request.redirect(page, str(refusal), "error")
    return request.redirect(return_url(request, page), f"You added {product['name']} to your shopping cart.")


@site.post("/checkout/cart/updatePost/")
def update(request: Request) -> Response:
    """Change the quantities; a quantity of 0 takes the row out."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    wanted = {line.item_id: whole_number(request.form.get(f"qty[{line.item_id}]"), 0, carts.MOST) for line in lines}
    pieces: dict[int, int] = {}
    for line in lines:
        quantity = wanted[line.item_id]
        if quantity is None:
            return request.redirect("/checkout/cart/", NO_QUANTITY, "error")
        pieces[line.product_id] = pieces.get(line.product_id, 0) + quantity
        if quantity > line.quantity and pieces[line.product_id] > line.available:
            return request.redirect("/checkout/cart/", f"The requested quantity of {line.name} is not available.", "error")
    for item_id, quantity in wanted.items():
        request.db.execute("UPDATE cart_item SET quantity = ? WHERE item_id = ?", (quantity, item_id))
    request.db.execute("DELETE FROM cart_item WHERE quantity = 0")
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/delete/")
def delete(request: Request) -> Response:
    """Take one row out of the cart."""
    cart = carts.find(request)
    if cart is not None:
        item_id = whole_number(request.form.get("item"), 1, 10**9 - 1)
        request.db.execute("DELETE FROM cart_item WHERE item_id = ? AND cart_id = ?", (item_id, cart["cart_id"]))
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/couponPost/")
def coupon(request: Request) -> Response:
    """Apply a coupon code, or cancel the one applied."""
    cart = carts.find(request)
    if cart is None:
        return redirect("/checkout/cart/")
    if request.form.get("remove") == "1":
        request.db.execute("UPDATE cart SET coupon_code = NULL WHERE cart_id = ?", (cart["cart_id"],))
        return request.redirect("/checkout/cart/", "You canceled the coupon code.")
    wanted = clean(request.form.get("coupon_code", ""))[:255]
    code = pricing.coupon(request.db, request.now, wanted) if wanted else None
    if code is None:
        request.flash(f'The coupon code "{wanted}" is not valid.', "error")
    else:
        request.db.execute("UPDATE cart SET coupon_code = ? WHERE cart_id = ?", (code, cart["cart_id"]))
        request.flash(f'You used coupon code "{code}".')
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/estimatePost/")
def estimate(request: Request) -> Response:
    """Keep the shipping method in mind that the totals should reckon with."""
    request.session["shipping_method"] = clean(request.form.get("shipping_method", ""))[:255]
    return redirect("/checkout/cart/")
