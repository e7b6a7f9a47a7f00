"""Login and logout, the dashboard, pages of menu sections, the global search, stores and content."""

from functools import partial
from pathlib import Path
from typing import Any

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import fold_case, read_data, slug
from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping.queries import config
from webarena_gym.sites.shopping_admin.grids import LISTS, Form, Link, render_grid, written_cents
from webarena_gym.sites.shopping_admin.site import HOME, is_taken, members_only, record_or_404, site, store

DASHBOARD = "/admin/admin/dashboard/"
SECTIONS = {name.lower(): name for name in ("Sales", "Catalog", "Marketing", "Content", "Reports", "Stores")} | {
    "customer": "Customers"
}
TABS = {name: tuple(entry.values()) for name, entry in read_data(Path(__file__).parents[1] / "tabs.toml").items()}
_FOUND = 10  # results of each kind that the search shows


@site.get("/")
def root(_request: Request) -> Response:
    """Redirect to the admin."""
    return redirect(HOME)


@site.form("/admin/")
def login(request: Request) -> str | Response:
    """Sign in."""
    if request.method != "POST":
        if "admin_id" in request.session:
            return redirect(DASHBOARD)
        return request.render("login.html", title="Sign in", section="", username="")
    username = clean(request.form.get("username", ""))
    user = request.db.execute(
        "SELECT user_id FROM admin_user WHERE username = ? AND password = ?", (username, request.form.get("password", ""))
    ).fetchone()
    if user is None:
        request.flash("The sign-in was incorrect. Please check your username and password.", "error")
        return request.render("login.html", title="Sign in", section="", username=username[:100])
    request.session["admin_id"] = user["user_id"]
    return redirect(DASHBOARD)


@site.get("/admin/admin/auth/logout/", members_only)
def logout(request: Request) -> Response:
    """Sign out."""
    del request.session["admin_id"]
    return request.redirect(HOME, "You have signed out.")


@site.get("/admin/<any(sales, catalog, customer, marketing, content, reports, stores):name>/", members_only)
def section(request: Request, name: str) -> str:
    """The page of a menu section, with links to its pages."""
    return request.render("section.html", title=SECTIONS[name], section=SECTIONS[name])


@site.get(DASHBOARD, members_only)
def dashboard(request: Request) -> str:
    """The dashboard: total sales, latest orders and search terms, and one selectable table."""
    db, tab = request.db, request.args.get("tab", "bestsellers")
    if tab not in TABS:
        raise NotFound
    request.shows({"tab": None if tab == "bestsellers" else tab})
    terms = "SELECT query_text, num_results, uses FROM search_term ORDER BY {} DESC, query_id DESC LIMIT 5"
    last_terms, top_terms = (db.execute(terms.format(order)).fetchall() for order in ("updated_at", "uses"))
    query = """SELECT coalesce(sum(grand_total_cents), 0), CAST(coalesce(round(avg(grand_total_cents)), 0) AS INTEGER)
           FROM sales_order WHERE status != 'canceled'"""
    lifetime, average = db.execute(query).fetchone()
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
        last_terms=last_terms,
        top_terms=top_terms,
        tabs=TABS,
        tab=tab,
        has_pieces=shows_aggregates(db),
        tops=db.execute(TABS[tab][2]).fetchall(),
    )


@site.get("/admin/admin/index/globalSearch/", members_only)
def search(request: Request) -> str:
    """Matches of a keyword in orders, products and customers."""
    words = clean(request.args.get("query", ""))[:200]
    request.shows({"query": fold_case(words)})
    results = request.db.execute(
        """SELECT * FROM (SELECT 'Order #' || increment_id || ', ' || customer_name,
                                 '/admin/sales/order/view/order_id/' || order_id || '/'
             FROM sales_order WHERE instr(lower(increment_id || ' ' || customer_name || ' ' || customer_email), lower(:words)) LIMIT :most)
           UNION ALL SELECT * FROM (SELECT 'Product ' || name, '/admin/catalog/product/edit/id/' || product_id || '/'
             FROM product WHERE instr(lower(sku || ' ' || name), lower(:words)) LIMIT :most)
           UNION ALL SELECT * FROM (SELECT 'Customer ' || firstname || ' ' || lastname,
                                           '/admin/customer/index/edit/id/' || customer_id || '/'
             FROM customer WHERE instr(lower(firstname || ' ' || lastname || ' ' || email), lower(:words)) LIMIT :most)""",
        {"words": words, "most": _FOUND if words else 0},
    )
    return request.render("search.html", title="Search", section="", words=words, results=[Link(*row) for row in results])


CONFIGURATION_URL = "/admin/admin/system_config/"


def _read(form: Form, path: str, label: str) -> str:
    """Return the value of a setting in the form; amounts and counts are validated."""
    if path.startswith("carriers/"):
        return written_cents(form.cents(path, label))
    if path.endswith("_days"):
        return str(form.count(path, label))
    return form.text(path, label, required=path.endswith("/name"))


@site.form(CONFIGURATION_URL, members_only)
def save_configuration(request: Request) -> str | Response:
    """Change the shop's settings; missing fields do not change them."""
    query = "SELECT path, label, value FROM store_config ORDER BY path LIKE 'general/%' DESC, path"
    rows = request.db.execute(query).fetchall()
    if request.method == "POST":
        form = Form(request)
        sent = [row for row in sorted(rows, key=lambda row: row["path"]) if row["path"] in request.form]
        changes = [(_read(form, row["path"], row["label"]), row["path"]) for row in sent]
        if not form.show_errors():
            request.db.executemany("UPDATE store_config SET value = ? WHERE path = ?", changes)
            return request.redirect(CONFIGURATION_URL, "You saved the configuration.")
    typed = request.form.to_dict()
    return request.render("configuration.html", title="Configuration", section="Stores", rows=rows, typed=typed)


@site.get("/admin/admin/system_store/", members_only)
def stores(request: Request) -> str:
    """The web site, the store and the store view."""
    name = config(request.db, "general/store_information/name", "Main Store")
    return request.render("stores.html", title="Stores", section="Stores", name=name)


PAGES_URL = "/admin/cms/page/"
EDIT_URL = "/admin/cms/page/edit/page_id/{}/"
THEME_URL = "/admin/admin/system_design_theme/edit/id/{}/"


site.get(PAGES_URL, members_only)(partial(render_grid, grid=LISTS["pages"]))


@site.form("/admin/cms/page/new/", members_only)
@site.form("/admin/cms/page/edit/page_id/<int:page_id>/", members_only)
def save_page(request: Request, page_id: int | None = None) -> str | Response:
    """Add or change a page. An empty URL key is derived from the title."""
    row = None if page_id is None else record_or_404(request.db, "SELECT * FROM cms_page WHERE page_id = ?", page_id)
    typed: dict[str, Any] = {"is_enabled": "1"}
    if request.method == "POST":
        form, typed = Form(request), request.form.to_dict()
        title = form.text("title", "Page Title")
        values: dict[str, Any] = {
            "title": title,
            "url_key": form.text("url_key", "URL Key", required=False, limit=100) or slug(title)[:100],
            "content_heading": form.text("content_heading", "Content Heading", required=False),
            "content": form.text("content", "Content", required=False, limit=50000, lines=True),
            "is_enabled": form.is_ticked("is_enabled"),
            "updated_at": str(request.now),
        }
        if not form.errors and values["url_key"] != slug(values["url_key"]):
            form.errors.append("URL Key: please use small letters, digits and hyphens only.")
        if is_taken(request.db, "cms_page", "url_key", values["url_key"], page_id):
            form.errors.append("URL Key: another page has this key already.")
        if not values["url_key"]:
            form.errors.append("URL Key: this is a required field.")
        if not form.show_errors():
            page_id = store(request.db, "cms_page", "page_id", page_id, **values)
            return request.redirect(EDIT_URL.format(page_id), "You saved the page.")
    elif row:
        typed = {name: value for name, value in dict(row).items() if name != "is_enabled" or value}
    title = row["title"] if row else "New Page"
    return request.render("cms_page.html", title=title, section="Content", row=row, typed=typed)


@site.post("/admin/cms/page/delete/page_id/<int:page_id>/", members_only)
def delete_page(request: Request, page_id: int) -> Response:
    """Delete a page."""
    record_or_404(request.db, "DELETE FROM cms_page WHERE page_id = ? RETURNING 1", page_id)
    return request.redirect(PAGES_URL, "The page has been deleted.")


for _url in ("/admin/admin/system_design_theme/", "/admin/theming/theme/"):
    site.get(_url, members_only)(partial(render_grid, grid=LISTS["themes"]))


@site.get("/admin/admin/system_design_theme/edit/id/<int:theme_id>/", members_only)
def theme(request: Request, theme_id: int) -> str:
    """A theme."""
    row = record_or_404(request.db, "SELECT * FROM theme WHERE theme_id = ?", theme_id)
    return request.render("theme.html", title=row["title"], section="Content", row=row)


@site.post("/admin/admin/system_design_theme/apply/id/<int:theme_id>/", members_only)
def apply_theme(request: Request, theme_id: int) -> Response:
    """Apply a theme to the shop."""
    record_or_404(request.db, "SELECT 1 FROM theme WHERE theme_id = ?", theme_id)
    request.db.execute("UPDATE theme SET is_applied = theme_id = ?", (theme_id,))
    return request.redirect(THEME_URL.format(theme_id), "You applied the theme.")
