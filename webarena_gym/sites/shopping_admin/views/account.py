"""Signing in and out, the dashboard, the sections' own pages and the search over everything."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.kit import aggregates
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping_admin.base import HOME, get, site
from webarena_gym.sites.shopping_admin.grids import Link

DASHBOARD = "/admin/admin/dashboard/"
SECTIONS = {name.lower(): name for name in ("Sales", "Catalog", "Marketing", "Content", "Reports", "Stores")} | {
    "customer": "Customers"
}
TABS = {
    "bestsellers": (
        "Bestsellers",
        ("Product", "Price", "Quantity"),
        """SELECT i.name, max(i.price_cents) AS price_cents, sum(i.qty_ordered) AS quantity
           FROM order_item i JOIN sales_order o USING (order_id) WHERE o.status != 'canceled'
           GROUP BY i.product_id ORDER BY quantity DESC, i.product_id LIMIT 5""",
    ),
    "new_customers": (
        "New Customers",
        ("Customer", "Total", "Orders"),
        """SELECT c.firstname || ' ' || c.lastname, coalesce(sum(o.grand_total_cents), 0), count(o.order_id)
           FROM (SELECT * FROM customer ORDER BY created_at DESC, customer_id DESC LIMIT 5) c
           LEFT JOIN sales_order o ON o.customer_id = c.customer_id AND o.status != 'canceled'
           GROUP BY c.customer_id ORDER BY c.created_at DESC, c.customer_id DESC""",
    ),
    "customers": (
        "Customers",
        ("Customer", "Total", "Orders"),
        """SELECT c.firstname || ' ' || c.lastname, sum(o.grand_total_cents) AS total, count(*) AS orders
           FROM sales_order o JOIN customer c USING (customer_id) WHERE o.status != 'canceled'
           GROUP BY c.customer_id ORDER BY orders DESC, total DESC, c.customer_id LIMIT 5""",
    ),
}
_FOUND = 10  # results of each kind that the search shows


@site.get("/")
def root(_request: Request) -> Response:
    """Lead to the admin."""
    return redirect(HOME)


@site.get("/admin/")
def login_form(request: Request) -> str | Response:
    """The login form, or the dashboard for whoever is signed in."""
    if "admin_id" in request.session:
        return redirect(DASHBOARD)
    return request.render("login.html", title="Sign in", section="", username="")


@site.post("/admin/")
def login(request: Request) -> str | Response:
    """Sign in."""
    username = clean(request.form.get("username", ""))
    user = request.db.execute(
        "SELECT user_id FROM admin_user WHERE username = ? AND password = ?", (username, request.form.get("password", ""))
    ).fetchone()
    if user is None:
        request.flash("The sign-in was incorrect. Please check your username and password.", "error")
        return request.render("login.html", title="Sign in", section="", username=username[:100])
    request.session["admin_id"] = user["user_id"]
    return redirect(DASHBOARD)


@get("/admin/admin/auth/logout/")
def logout(request: Request) -> Response:
    """Sign out."""
    del request.session["admin_id"]
    return request.redirect(HOME, "You have signed out.")


@get("/admin/<any(sales, catalog, customer, marketing, content, reports, stores):name>/")
def section(request: Request, name: str) -> str:
    """A section's own page, where the menu shows what the section holds."""
    return request.render("section.html", title=SECTIONS[name], section=SECTIONS[name])


@get(DASHBOARD)
def dashboard(request: Request) -> str:
    """The dashboard: sales so far, latest orders and search terms, and one table by choice."""
    db, tab = request.db, request.args.get("tab", "bestsellers")
    if tab not in TABS:
        raise NotFound
    request.shows({"tab": None if tab == "bestsellers" else tab})
    lifetime, average = db.execute(
        """SELECT coalesce(sum(grand_total_cents), 0), CAST(coalesce(round(avg(grand_total_cents)), 0) AS INTEGER)
           FROM sales_order WHERE status != 'canceled'"""
    ).fetchone()
    return request.render(
        "dashboard.html",
        title="Dashboard",
        section="Dashboard",
        lifetime=lifetime,
        average=average,
        orders=db.execute(
            """SELECT o.order_id, o.customer_name, o.grand_total_cents, sum(i.qty_ordered) AS items
               FROM (SELECT * FROM sales_order ORDER BY created_at DESC, order_id DESC LIMIT 5) o
               JOIN order_item i USING (order_id) GROUP BY o.order_id ORDER BY o.created_at DESC, o.order_id DESC"""
        ).fetchall(),
        last_terms=_terms(db, "updated_at DESC"),
        top_terms=_terms(db, "uses DESC"),
        tabs=TABS,
        tab=tab,
        has_pieces=aggregates.are_shown(db),
        tops=db.execute(TABS[tab][2]).fetchall(),
    )


def _terms(db: sqlite3.Connection, order: str) -> list[sqlite3.Row]:
    return db.execute(
        f"SELECT query_text, num_results, uses FROM search_term ORDER BY {order}, query_id DESC LIMIT 5"
    ).fetchall()


@get("/admin/admin/index/globalSearch/")
def search(request: Request) -> str:
    """What matches a keyword among orders, products and customers."""
    words = clean(request.args.get("query", ""))[:200]
    request.shows({"query": folded(words)})
    results = request.db.execute(
        """SELECT * FROM (SELECT 'Order #' || increment_id || ', ' || customer_name,
                                 '/admin/sales/order/view/order_id/' || order_id || '/'
             FROM sales_order WHERE instr(lower(increment_id || ' ' || customer_name || ' ' || customer_email), lower(?1)) LIMIT ?2)
           UNION ALL SELECT * FROM (SELECT 'Product ' || name, '/admin/catalog/product/edit/id/' || product_id || '/'
             FROM product WHERE instr(lower(sku || ' ' || name), lower(?1)) LIMIT ?2)
           UNION ALL SELECT * FROM (SELECT 'Customer ' || firstname || ' ' || lastname,
                                           '/admin/customer/index/edit/id/' || customer_id || '/'
             FROM customer WHERE instr(lower(firstname || ' ' || lastname || ' ' || email), lower(?1)) LIMIT ?2)""",
        (words, _FOUND if words else 0),
    )
    return request.render("search.html", title="Search", section="", words=words, results=[Link(*row) for row in results])
