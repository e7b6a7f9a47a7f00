"""Snippets: short pieces of text that people keep or show to others."""

import sqlite3
from collections.abc import Mapping, Sequence

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.gitlab.access import VISIBILITIES
from webarena_gym.sites.gitlab.base import current_user, members_only, my_id, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import complaints, read, tidy
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect

PER_PAGE = 20
FIELDS = {
    "title": Field("Title"),
    "description": Field("Description", required=False, limit=5000),
    "file_name": Field("File name", required=False),
    "content": Field("Content", limit=20_000),
}
VISIBLE_SNIPPET = "(s.visibility = 'public' OR s.visibility = 'internal' AND :me IS NOT NULL OR s.author_id = :me)"
"""Holds for a snippet s that the person :me may see."""


@site.get("/explore/snippets")
def explore_snippets(request: Request) -> str:
    """Show everybody's snippets."""
    return _list(request, "Explore snippets", "1")


@site.get("/-/snippets")
def own_snippets(request: Request) -> str | Response:
    """Show the visitor's own snippets."""
    return _list(request, "Your snippets", "s.author_id = :me") if current_user(request) else redirect("/explore/snippets")


def _list(request: Request, title: str, where: str) -> str:
    bound = {"me": my_id(request)}
    found = f"FROM snippet s JOIN user u ON u.user_id = s.author_id WHERE {VISIBLE_SNIPPET} AND {where}"
    (total,) = request.db.execute(f"SELECT count(*) {found}", bound).fetchone()
    pager = Pager.of(request, total, PER_PAGE, "page")
    rows = request.db.execute(
        f"SELECT s.*, u.name, u.username {found} ORDER BY s.created_at DESC, snippet_id DESC LIMIT :limit OFFSET :first",
        {**bound, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render("snippets.html", title=title, snippets=rows, pager=pager)


@site.get("/-/snippets/new")
@members_only
def new_snippet(request: Request, _: sqlite3.Row) -> str:
    """Show the form for a new snippet."""
    return _form(request, dict.fromkeys(FIELDS, "") | {"visibility": "private"})


@site.post("/-/snippets")
@members_only
def create_snippet(request: Request, user: sqlite3.Row) -> str | Response:
    """Store a new snippet."""
    values, errors = _read(request)
    if errors:
        return _form(request, values, errors)
    snippet_id = request.db.execute(
        """
        INSERT INTO snippet (author_id, title, description, file_name, content, visibility, created_at, updated_at)
        VALUES (:author_id, :title, :description, :file_name, :content, :visibility, :now, :now)
        """,
        {**values, "author_id": user["user_id"], "now": request.stamp},
    ).lastrowid
    return redirect(f"/-/snippets/{snippet_id}")


@site.get("/-/snippets/<int:snippet_id>")
def show_snippet(request: Request, snippet_id: int) -> str:
    """Show a snippet."""
    snippet = _find(request, snippet_id)
    return request.render("snippet.html", snippet=snippet, is_mine=snippet["author_id"] == my_id(request))


@site.get("/-/snippets/<int:snippet_id>/edit")
@members_only
def edit_snippet(request: Request, _: sqlite3.Row, snippet_id: int) -> str:
    """Show the form of a snippet."""
    return _form(request, dict(_own(request, snippet_id)))


@site.post("/-/snippets/<int:snippet_id>/edit")
@members_only
def save_snippet(request: Request, _: sqlite3.Row, snippet_id: int) -> str | Response:
    """Change a snippet."""
    _own(request, snippet_id)
    values, errors = _read(request)
    if errors:
        return _form(request, {**values, "snippet_id": str(snippet_id)}, errors)
    request.db.execute(
        """
        UPDATE snippet SET title = :title, description = :description, file_name = :file_name, content = :content,
            visibility = :visibility, updated_at = :now WHERE snippet_id = :snippet_id
        """,
        {**values, "snippet_id": snippet_id, "now": request.stamp},
    )
    return redirect(f"/-/snippets/{snippet_id}")


@site.post("/-/snippets/<int:snippet_id>/delete")
@members_only
def delete_snippet(request: Request, _: sqlite3.Row, snippet_id: int) -> Response:
    """Delete a snippet."""
    snippet = _own(request, snippet_id)
    request.db.execute("DELETE FROM snippet WHERE snippet_id = ?", (snippet_id,))
    return request.redirect("/-/snippets", f"The snippet {snippet['title']} was deleted.")


def _read(request: Request) -> tuple[dict[str, str], list[str]]:
    """Return what was posted and what is wrong with it; the content keeps the blanks around it."""
    values = read(request, FIELDS)
    values["visibility"] = request.form.get("visibility", "")
    errors = complaints(values, FIELDS)
    if values["visibility"] not in VISIBILITIES:
        errors.append("Choose a visibility level.")
    return values | {"content": tidy(request.form.get("content", ""))}, errors


def _find(request: Request, snippet_id: int) -> sqlite3.Row:
    """Return a snippet with its author. Raises NotFound, also when it may not be seen."""
    return one(
        request.db,
        f"""SELECT s.*, u.name, u.username FROM snippet s JOIN user u ON u.user_id = s.author_id
        WHERE snippet_id = :snippet_id AND {VISIBLE_SNIPPET}""",
        {"snippet_id": snippet_id, "me": my_id(request)},
    )


def _own(request: Request, snippet_id: int) -> sqlite3.Row:
    """Return a snippet of the visitor's. Raises Forbidden for one of somebody else."""
    snippet = _find(request, snippet_id)
    if snippet["author_id"] != my_id(request):
        raise Forbidden("This is somebody else's snippet.")
    return snippet


def _form(request: Request, values: Mapping[str, object], errors: Sequence[str] = ()) -> str:
    return request.render("snippet_form.html", values={"snippet_id": "", **values}, errors=errors)
