"""Groups, and the members of groups and projects."""

import sqlite3
from dataclasses import dataclass
from typing import Any

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.queries import VISIBILITIES, VISIBLE_GROUP, group_role, is_slug, project_role, slug
from webarena_gym.sites.gitlab.site import RESERVED, Field, find_project, members_only, my_id, require_role, site
from webarena_gym.sites.gitlab.views.projects import list_projects
from webarena_gym.sites.gitlab.world_projects import ROLES, rank
from webarena_gym.sites.kit.forms import Pager, clean, complaints, day, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect

MOST_INVITED = 50


@dataclass(frozen=True)
class Place:
    """A project or group, as far as its members are concerned."""

    table: str  # project_member or group_member
    column: str
    row_id: int
    url: str  # of the page of its members

    def rows(self, db: sqlite3.Connection) -> list[sqlite3.Row]:
        """Return those who were invited to it and whose place has not expired, by name."""
        return db.execute(
            f"""
            SELECT m.*, u.username, u.name FROM {self.table} m JOIN user u USING (user_id)
            WHERE m.{self.column} = ? AND (expires_on IS NULL OR expires_on > (SELECT date(value) FROM world WHERE key = 'now'))
            ORDER BY u.name, u.user_id
            """,
            (self.row_id,),
        ).fetchall()

    def my_rank(self, request: Request) -> int:
        """Return how much the visitor may do here."""
        find = project_role if self.table == "project_member" else group_role
        return rank(find(request.db, self.row_id, my_id(request)))


def of_project(project: sqlite3.Row) -> Place:
    """Return a project's place for members."""
    return Place("project_member", "project_id", project["project_id"], f"/{project['full_path']}/-/project_members")


def of_group(group: sqlite3.Row) -> Place:
    """Return a group's place for members."""
    return Place("group_member", "group_id", group["group_id"], f"/groups/{group['path']}/-/group_members")


def require_manager(request: Request, place: Place) -> int:
    """Return the visitor's rank. Raises Forbidden unless the visitor may manage members: maintainers, in groups only owners."""
    needed = "Maintainer" if place.table == "project_member" else "Owner"
    if place.my_rank(request) < rank(needed):
        raise Forbidden(f"You need the role {needed} or a higher one to manage members.")
    return place.my_rank(request)


def grantable(limit: int) -> list[str]:
    """Return the roles that somebody of that rank may give."""
    return [role for role in ROLES if rank(role) <= limit]


@dataclass
class Invitation:
    """Form of an invitation: names, a role, a last day; and the people that the names may mean."""

    names: str
    role: str
    expires: str
    found: list[sqlite3.Row]  # certainly meant
    unsure: list[sqlite3.Row]  # perhaps meant: to be chosen from
    errors: list[str]


def find_people(db: sqlite3.Connection, wanted: str) -> list[sqlite3.Row]:
    """Return the people whose username, name or email is `wanted`, or else contains it, by name, twenty at most."""
    text = wanted.lstrip("@").lower()
    exact = db.execute(
        "SELECT * FROM user WHERE lower(username) = :text OR lower(name) = :text OR lower(email) = :text ORDER BY name, user_id",
        {"text": text},
    ).fetchall()
    return (
        exact
        or db.execute(
            """SELECT * FROM user WHERE instr(lower(username), :text) OR instr(lower(name), :text) OR instr(lower(email), :text)
        ORDER BY name, user_id LIMIT 20""",
            {"text": text},
        ).fetchall()
    )


def read_expiry(request: Request, errors: list[str]) -> str | None:
    """Return the last day that was posted; add to `errors` what is wrong with it."""
    typed = clean(request.form.get("expires_on", ""))
    expires = day(typed)
    if typed and expires is None:
        errors.append("The access expiration date must be written as YYYY-MM-DD.")
    elif expires is not None and expires <= str(request.now.date()):
        errors.append("The access expiration date must be in the future.")
    return expires


def read_invitation(request: Request, limit: int) -> Invitation:
    """Return what was typed into the form that invites people; `limit` is the rank of who invites."""
    names, role = clean(request.form.get("names", ""))[:2000], request.form.get("role", "")
    invitation = Invitation(names, role, clean(request.form.get("expires_on", ""))[:20], [], [], [])
    people: dict[int, sqlite3.Row] = {}
    for ticked in request.form.getlist("user_id")[:MOST_INVITED]:
        row = request.db.execute("SELECT * FROM user WHERE user_id = ?", (ticked[:9],)).fetchone()
        if row:
            people[row["user_id"]] = row
    for name in [part.strip() for part in names.split(",") if part.strip()][:MOST_INVITED]:
        matching = find_people(request.db, name)
        if len(matching) == 1 and not people.get(matching[0]["user_id"]):
            people[matching[0]["user_id"]] = matching[0]
        elif len(matching) > 1 and not any(row["user_id"] in people for row in matching):
            invitation.unsure += [row for row in matching if row not in invitation.unsure]
        elif not matching:
            invitation.errors.append(f"Nobody is called {name[:100]}.")
    invitation.found = list(people.values())
    if not people and not invitation.unsure and not invitation.errors:
        invitation.errors.append("Say whom to invite.")
    if invitation.unsure:
        invitation.errors.append("Several people match. Tick those whom you mean.")
    if role not in grantable(limit):
        invitation.errors.append("Select a role that you may give.")
    read_expiry(request, invitation.errors)
    return invitation


def invite(request: Request, place: Place, invitation: Invitation) -> None:
    """Give the people of a checked invitation their role; the role of those who are members already changes.

    Raises Forbidden for an owner's role, when the visitor is no owner.
    """
    for person in invitation.found:
        set_role(request, place, person["user_id"], invitation.role, day(invitation.expires), is_new=True)


def set_role(request: Request, place: Place, user_id: int, role: str, expires: str | None, *, is_new: bool = False) -> None:
    """Give somebody a role until a day. Raises NotFound for somebody who is no member, Forbidden for what must not be."""
    current = _current_role(request.db, place, user_id)
    if not current and not is_new:
        raise NotFound
    if max(rank(current), rank(role)) > place.my_rank(request):
        raise Forbidden("You cannot change or give a role above your own.")
    if current == "Owner" and (role != "Owner" or expires) and _owners(request.db, place) < 2:
        raise Forbidden("The last owner must stay one.")
    request.db.execute(
        f"""INSERT INTO {place.table} ({place.column}, user_id, role, expires_on, created_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET role = excluded.role, expires_on = excluded.expires_on""",
        (place.row_id, user_id, role, expires, request.stamp),
    )


def remove_member(request: Request, place: Place, user_id: int) -> None:
    """Take somebody's place away. Raises NotFound, Forbidden."""
    current = _current_role(request.db, place, user_id)
    if not current:
        raise NotFound
    if user_id != my_id(request) and rank(current) > require_manager(request, place):
        raise Forbidden("You cannot remove somebody with a role above your own.")
    if current == "Owner" and _owners(request.db, place) < 2:
        raise Forbidden("The last owner cannot leave.")
    request.db.execute(f"DELETE FROM {place.table} WHERE {place.column} = ? AND user_id = ?", (place.row_id, user_id))


def may_leave(request: Request, place: Place) -> bool:
    """Say whether the visitor has a place of their own to give up; the last owner has none."""
    user_id = my_id(request)
    role = _current_role(request.db, place, user_id) if user_id else ""
    return bool(role) and (role != "Owner" or _owners(request.db, place) > 1)


def _current_role(db: sqlite3.Connection, place: Place, user_id: int) -> str:
    return next((str(row["role"]) for row in place.rows(db) if row["user_id"] == user_id), "")


def _owners(db: sqlite3.Connection, place: Place) -> int:
    return sum(row["role"] == "Owner" for row in place.rows(db))


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


@site.get("/dashboard/groups", members_only)
def yours(request: Request, _: sqlite3.Row) -> str:
    """Show the groups that I am a member of."""
    tabs = [("/dashboard/groups", "Your groups", True), ("/explore/groups", "All groups", False)]
    where = "g.group_id IN (SELECT group_id FROM current_group_member WHERE user_id = :me)"
    return render_groups(request, "Groups", where, tabs)


@site.get("/groups/<path>")
def show_group(request: Request, path: str) -> str:
    """Show a group and its projects."""
    group = find_group(request, path)
    request.stands_at(f"/groups/{group['path']}")
    listing = list_projects(request, "p.group_id = :group", group=group["group_id"])
    members = request.db.execute(
        "SELECT count(*) FROM current_group_member WHERE group_id = ?", (group["group_id"],)
    ).fetchone()[0]
    role = group_role(request.db, group["group_id"], my_id(request))
    return request.render("group.html", group=group, listing=listing, members=members, rank=rank(role), role=role)


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


@site.form("/groups/new", members_only)
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a group; who makes it owns it."""
    if request.method != "POST":
        return _form(request, dict.fromkeys(FIELDS, "") | {"visibility": "private"}, [])
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


@site.form("/groups/<path>/-/edit", members_only)
def edit(request: Request, _: sqlite3.Row, path: str) -> str | Response:
    """Change a group's data; its projects move with its path."""
    group = _owned(request, path)
    if request.method != "POST":
        return _form(request, {name: group[name] for name in FIELDS}, [], group)
    values, errors = _read(request, group)
    if errors:
        return _form(request, values, errors, group)
    request.db.execute(
        "UPDATE user_group SET path = ?, name = ?, description = ?, visibility = ? WHERE group_id = ?",
        (*(values[name] for name in ("path", "name", "description", "visibility")), group["group_id"]),
    )
    request.db.execute("UPDATE project SET namespace = ? WHERE group_id = ?", (values["path"], group["group_id"]))
    return request.redirect(f"/groups/{values['path']}", f"Group '{values['name']}' was successfully updated.")


_NO_INVITATION = Invitation("", "Guest", "", [], [], [])


@site.get("/<namespace>/<path>/-/project_members")
def of_a_project(request: Request, namespace: str, path: str) -> str:
    """Show who belongs to a project."""
    project = find_project(request, namespace, path)
    group = request.db.execute("SELECT * FROM user_group WHERE group_id IS ?", (project["group_id"],)).fetchone()
    inherited = of_group(group).rows(request.db) if group else []
    return _list(request, of_project(project), project=project, group=group, inherited=inherited)


@site.get("/groups/<path>/-/group_members")
def of_a_group(request: Request, path: str) -> str:
    """Show who belongs to a group."""
    group = find_group(request, path)
    return _list(request, of_group(group), project=None, group=group, inherited=[])


def _list(
    request: Request, place: Place, *, project: sqlite3.Row | None, group: sqlite3.Row | None, inherited: list[sqlite3.Row],
) -> str:  # fmt: skip
    search = clean(request.args.get("search", ""))[:100]
    request.shows({"search": folded(search)})
    needed = "Maintainer" if project else "Owner"
    mine = place.my_rank(request) if not (project and project["is_archived"]) else 0

    def matching(rows: list[sqlite3.Row]) -> list[sqlite3.Row]:
        return [row for row in rows if search.lower() in f"{row['name']} {row['username']}".lower()]

    return request.render(
        "members.html",
        project=project,
        group=group,
        place=place,
        rows=matching(place.rows(request.db)),
        inherited=matching(inherited),
        may_leave=may_leave(request, place),
        roles=grantable(mine) if mine >= rank(needed) else [],
        my_rank=mine,
        me=my_id(request),
        rank=rank,
        search=search,
    )


def _project_place(request: Request, namespace: str, path: str) -> tuple[sqlite3.Row, Place]:
    project = find_project(request, namespace, path)
    require_role(request, project, "Maintainer")
    return project, of_project(project)


def _invite_form(
    request: Request, place: Place, invitation: Invitation, *, project: sqlite3.Row | None, group: sqlite3.Row | None
) -> str:
    limit = require_manager(request, place)
    return request.render(
        "invite.html", project=project, group=group, place=place, invitation=invitation, roles=grantable(limit)
    )


def _invite(
    request: Request, place: Place, *, project: sqlite3.Row | None = None, group: sqlite3.Row | None = None
) -> str | Response:
    invitation = read_invitation(request, require_manager(request, place))
    if invitation.errors:
        return _invite_form(request, place, invitation, project=project, group=group)
    invite(request, place, invitation)
    names = ", ".join(person["name"] for person in invitation.found)
    return request.redirect(place.url, f"Members were successfully added: {names}.")


@site.form("/<namespace>/<path>/-/project_members/invite", members_only)
def invite_to_project(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Invite people to a project."""
    project, place = _project_place(request, namespace, path)
    if request.method != "POST":
        return _invite_form(request, place, _NO_INVITATION, project=project, group=None)
    return _invite(request, place, project=project)


@site.form("/groups/<path>/-/group_members/invite", members_only)
def invite_to_group(request: Request, _: sqlite3.Row, path: str) -> str | Response:
    """Invite people to a group."""
    group = find_group(request, path)
    if request.method != "POST":
        return _invite_form(request, of_group(group), _NO_INVITATION, project=None, group=group)
    return _invite(request, of_group(group), group=group)


def _change(request: Request, place: Place) -> Response:
    """Change or remove the member that was posted, as the button says."""
    user_id = whole_number(request.form.get("user_id"), 1, 10**9 - 1) or 0
    if request.form.get("action") == "remove":
        remove_member(request, place, user_id)
        return request.redirect(place.url, "The member was removed.")
    limit = require_manager(request, place)
    errors: list[str] = []
    expires = read_expiry(request, errors)
    role = request.form.get("role", "")
    if role not in grantable(limit):
        errors.append("Select a role that you may give.")
    for error in errors:
        request.flash(error, "error")
    if not errors:
        set_role(request, place, user_id, role, expires)
        request.flash("The member was updated.")
    return redirect(place.url)


@site.post("/<namespace>/<path>/-/project_members", members_only)
def change_in_project(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
    """Change or remove a member of a project."""
    _, place = _project_place(request, namespace, path)
    return _change(request, place)


@site.post("/groups/<path>/-/group_members", members_only)
def change_in_group(request: Request, _: sqlite3.Row, path: str) -> Response:
    """Change or remove a member of a group."""
    return _change(request, of_group(find_group(request, path)))


@site.post("/<namespace>/<path>/-/project_members/leave", members_only)
def leave_project(request: Request, user: sqlite3.Row, namespace: str, path: str) -> Response:
    """Give up the own place in a project."""
    project = find_project(request, namespace, path)
    remove_member(request, of_project(project), user["user_id"])
    return request.redirect("/dashboard/projects", f"You left the project {project['name']}.")


@site.post("/groups/<path>/-/group_members/leave", members_only)
def leave_group(request: Request, user: sqlite3.Row, path: str) -> Response:
    """Give up the own place in a group."""
    group = find_group(request, path)
    remove_member(request, of_group(group), user["user_id"])
    return request.redirect("/dashboard/groups", f"You left the group {group['name']}.")
