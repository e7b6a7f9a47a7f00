"""Content: the shop's own pages, and its themes."""

import sqlite3
from typing import Any

from webarena_gym.sites.country.texts import slug
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.grids import Column, Grid, Link, show
from webarena_gym.sites.shopping_admin.queries import insert, is_taken, one, update

PAGES_URL = "/admin/cms/page/"
EDIT_URL = "/admin/cms/page/edit/page_id/{}/"
THEME_URL = "/admin/admin/system_design_theme/edit/id/{}/"
PAGES = Grid(
    title="Pages",
    section="Content",
    source="cms_page",
    key="page_id",
    columns=(
        Column("ID", "id", "page_id", "id"),
        Column("Title", "title", "title"),
        Column("URL Key", "url_key", "url_key"),
        Column("Status", "status", "CAST(is_enabled AS TEXT)", "choice", {"1": "Enabled", "0": "Disabled"}),
        Column("Modified", "updated_at", "updated_at", "date"),
    ),
    order="id",
    keyword=("title", "url_key", "content"),
    row_link=Link("Edit", EDIT_URL),
    add=Link("Add New Page", "/admin/cms/page/new/"),
)
THEMES = Grid(
    title="Themes",
    section="Content",
    source="theme",
    key="theme_id",
    columns=(
        Column("Theme Title", "title", "title"),
        Column("Parent Theme", "parent", "parent"),
        Column("Theme Path", "path", "path"),
        Column("Status", "status", "CAST(is_applied AS TEXT)", "choice", {"1": "Applied", "0": "Not Applied"}),
    ),
    order="title",
    row_link=Link("View", THEME_URL),
)


@get(PAGES_URL)
def pages(request: Request) -> str:
    """The list of the shop's own pages."""
    return show(request, PAGES)


def _form_page(request: Request, row: sqlite3.Row | None, typed: dict[str, str]) -> str:
    title = row["title"] if row else "New Page"
    return request.render("cms_page.html", title=title, section="Content", row=row, typed=typed)


def _find(request: Request, page_id: int) -> sqlite3.Row:
    return one(request.db, "SELECT * FROM cms_page WHERE page_id = ?", page_id)


@get("/admin/cms/page/edit/page_id/<int:page_id>/")
def page(request: Request, page_id: int) -> str:
    """The form of one page."""
    row = _find(request, page_id)
    typed = {name: row[name] for name in ("title", "content_heading", "content", "url_key")}
    return _form_page(request, row, typed | ({"is_enabled": "1"} if row["is_enabled"] else {}))


@get("/admin/cms/page/new/")
def new_page(request: Request) -> str:
    """The form for a new page."""
    return _form_page(request, None, {"is_enabled": "1"})


def _save(request: Request, row: sqlite3.Row | None) -> str | Response:
    """Store a page. An empty URL key is made from the title."""
    form, page_id = Form(request), row["page_id"] if row else None
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
    if form.show_errors():
        return _form_page(request, row, request.form.to_dict())
    if page_id is None:
        page_id = insert(request.db, "cms_page", **values)
    else:
        update(request.db, "cms_page", "page_id", page_id, **values)
    return request.redirect(EDIT_URL.format(page_id), "You saved the page.")


@post("/admin/cms/page/edit/page_id/<int:page_id>/")
def save_page(request: Request, page_id: int) -> str | Response:
    """Change a page."""
    return _save(request, _find(request, page_id))


@post("/admin/cms/page/new/")
def create_page(request: Request) -> str | Response:
    """Add a page."""
    return _save(request, None)


@post("/admin/cms/page/delete/page_id/<int:page_id>/")
def delete_page(request: Request, page_id: int) -> Response:
    """Delete a page."""
    _find(request, page_id)
    request.db.execute("DELETE FROM cms_page WHERE page_id = ?", (page_id,))
    return request.redirect(PAGES_URL, "The page has been deleted.")


@get("/admin/admin/system_design_theme/")
@get("/admin/theming/theme/")
def themes(request: Request) -> str:
    """The list of themes."""
    return show(request, THEMES)


@get("/admin/admin/system_design_theme/edit/id/<int:theme_id>/")
def theme(request: Request, theme_id: int) -> str:
    """One theme."""
    row = one(request.db, "SELECT * FROM theme WHERE theme_id = ?", theme_id)
    return request.render("theme.html", title=row["title"], section="Content", row=row)


@post("/admin/admin/system_design_theme/apply/id/<int:theme_id>/")
def apply_theme(request: Request, theme_id: int) -> Response:
    """Give the shop a theme."""
    one(request.db, "SELECT 1 FROM theme WHERE theme_id = ?", theme_id)
    request.db.execute("UPDATE theme SET is_applied = theme_id = ?", (theme_id,))
    return request.redirect(THEME_URL.format(theme_id), "You applied the theme.")
