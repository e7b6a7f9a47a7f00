"""Groups: lists of them, a group's page, new ones and their settings."""

import sqlite3
from typing import Any

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.access import VISIBILITIES, VISIBLE_GROUP, group_role, rank
from webarena_gym.sites.gitlab.base import RESERVED, members_only, my_id, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.listing import list_projects
from webarena_gym.sites.gitlab.slugs import is_slug, slug
from webarena_gym.sites.kit.forms import clean, complaints, read
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response

FIELDS = {
    "name": Field("Group name"),
    "path": Field("Group URL", required=False, limit=100),
    "description": Field("Group description", required=False, limit=500),
    "visibility": Field("Visibility level", required=False),
}


def find_group(request: Request, path: str) -> sqlite3.Row:
    """Return a group by its path. Raises NotFound, also when the visitor may not see it."""
    group = queries.group(request.db, path)
    if group is None:
        raise NotFound
    request.shows(path=group["path"])
    query = f"SELECT 1 FROM user_group g WHERE g.group_id = :group AND {VISIBLE_GROUP}"
    if request.db.execute(query, {"group": group["group_id"], "me": my_id(request)}).fetchone() is None:
        raise NotFound
    return group


def render_groups(request: Request, title: str, where: str, tabs: list[tuple[str, str, bool]]) -> str:
    """Return the page of the visible groups that fulfil a condition, by name."""
    name = clean(request.args.get("name", ""))[:200]
    request.shows({"name": folded(name)})
    values: dict[str, Any] = {"me": my_id(request), "name": name}
    rows = request.db.execute(
        f"""
        SELECT g.*, (SELECT count(*) FROM current_group_member m WHERE m.group_id = g.group_id) AS members,
            (SELECT role FROM current_group_member m WHERE m.group_id = g.group_id AND m.user_id = :me) AS role
        FROM user_group g WHERE {VISIBLE_GROUP} AND ({where})
            AND (:name = '' OR instr(lower(g.name || ' ' || g.path || ' ' || g.description), lower(:name)))
        ORDER BY g.name COLLATE NOCASE, g.group_id
        """,
        values,
    ).fetchall()
    pager = Pager.of(request, len(rows), 20, "page")
    shown = pager.cut(rows)
    return request.render("groups.html", title=title, rows=shown, pager=pager, name=name, tabs=tabs)


@site.get("/dashboard/groups")
@members_only
def yours(request: Request, _: sqlite3.Row) -> str:
    """Show the groups that I am a member of."""
    tabs = [("/dashboard/groups", "Your groups", True), ("/explore/groups", "All groups", False)]
    where = "g.group_id IN (SELECT group_id FROM current_group_member WHERE user_id = :me)"
    return render_groups(request, "Groups", where, tabs)


@site.get("/groups/<path>")
def show(request: Request, path: str) -> str:
    """Show a group and its projects."""
    group = find_group(request, path)
    request.stands_at(f"/groups/{group['path']}")
    listing = list_projects(request, "p.group_id = :group", group=group["group_id"])
    members = request.db.execute(
        "SELECT count(*) FROM current_group_member WHERE group_id = ?", (group["group_id"],)
    ).fetchone()[0]
    role = group_role(request.db, group["group_id"], my_id(request))
    return request.render("group.html", group=group, listing=listing, members=members, rank=rank(role), role=role)


@site.get("/groups/new")
@members_only
def new_form(request: Request, _: sqlite3.Row) -> str:
    """Ask for a new group's data."""
    return _form(request, dict.fromkeys(FIELDS, "") | {"visibility": "private"}, [])


def _form(request: Request, values: dict[str, str], errors: list[str], group: sqlite3.Row | None = None) -> str:
    return request.render("group_form.html", values=values, errors=errors, group=group)


def _read(request: Request, group: sqlite3.Row | None) -> tuple[dict[str, str], list[str]]:
    """Return the posted data of a group, and what is wrong with them."""
    values = read(request, FIELDS)
    values["path"] = values["path"] or slug(values["name"])
    errors = complaints(values, FIELDS)
    if values["visibility"] not in VISIBILITIES:
        errors.append("Select a visibility level.")
    if not is_slug(values["path"]) or values["path"].lower() in RESERVED:
        errors.append("Group URL can contain only letters, digits, '_', '-' and '.', and must not be a word of the site's own.")
    elif group is None or values["path"].lower() != group["path"].lower():
        taken = queries.group(request.db, values["path"]) or queries.user_named(request.db, values["path"])
        if taken:
            errors.append(f"The path {values['path']} has already been taken.")
    return values, errors


@site.post("/groups/new")
@members_only
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a group; who makes it owns it."""
    values, errors = _read(request, None)
    if errors:
        return _form(request, values, errors)
    now = request.stamp
    group_id = request.db.execute(
        "INSERT INTO user_group (path, name, description, visibility, created_at) VALUES (?, ?, ?, ?, ?)",
        (values["path"], values["name"], values["description"], values["visibility"], now),
    ).lastrowid
    request.db.execute("INSERT INTO group_member VALUES (?, ?, 'Owner', NULL, ?)", (group_id, user["user_id"], now))
    return request.redirect(f"/groups/{values['path']}", f"Group '{values['name']}' was successfully created.")


def _owned(request: Request, path: str) -> sqlite3.Row:
    """Return a group that the visitor owns. Raises NotFound, Forbidden."""
    group = find_group(request, path)
    if rank(group_role(request.db, group["group_id"], my_id(request))) < rank("Owner"):
        raise Forbidden("You need the role Owner in this group.")
    return group


@site.get("/groups/<path>/-/edit")
@members_only
def edit_form(request: Request, _: sqlite3.Row, path: str) -> str:
    """Show a group's data, to be changed."""
    group = _owned(request, path)
    return _form(request, {name: group[name] for name in FIELDS}, [], group)


@site.post("/groups/<path>/-/edit")
@members_only
def edit(request: Request, _: sqlite3.Row, path: str) -> str | Response:
    """Change a group's data; its projects move with its path."""
    group = _owned(request, path)
    values, errors = _read(request, group)
    if errors:
        return _form(request, values, errors, group)
    request.db.execute(
        "UPDATE user_group SET path = ?, name = ?, description = ?, visibility = ? WHERE group_id = ?",
        (*(values[name] for name in ("path", "name", "description", "visibility")), group["group_id"]),
    )
    request.db.execute("UPDATE project SET namespace = ? WHERE group_id = ?", (values["path"], group["group_id"]))
    return request.redirect(f"/groups/{values['path']}", f"Group '{values['name']}' was successfully updated.")
