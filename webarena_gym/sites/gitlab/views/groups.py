"""Groups, and the members of groups and projects."""

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.texts import fold_case
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.queries import VISIBILITIES, VISIBLE_GROUP, group_role, is_slug, project_role, slug
from webarena_gym.sites.gitlab.site import RESERVED, Field, in_project, members_only, my_id, site
from webarena_gym.sites.gitlab.views.projects import list_projects
from webarena_gym.sites.gitlab.world_projects import ROLES, rank
from webarena_gym.sites.kit.database import first, insert, update, value
from webarena_gym.sites.kit.forms import Pager, clean, complaints, day, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import View

FIELDS = {
    "name": Field("Group name"),
    "path": Field("Group URL", required=False, limit=100),
    "description": Field("Group description", required=False, limit=500),
    "visibility": Field("Visibility level", required=False),
}


def in_group(view: View) -> View:
    """Return a decorator that passes the group of the URL to a view. The view raises NotFound for groups that the user may not see."""

    @wraps(view)
    def wrapper(request: Request, *user: object, path: str) -> str | Response:
        query = f"SELECT g.*, {VISIBLE_GROUP} AS is_visible FROM user_group g WHERE path = :path COLLATE NOCASE"
        group = first(request.db, query, {"path": path, "me": my_id(request)})
        if group is None:
            raise NotFound
        request.shows(path=group["path"])
        if not group["is_visible"]:
            raise NotFound
        return view(request, *user, group)

    return wrapper


def render_groups(request: Request, title: str, where: str, tabs: list[tuple[str, str, bool]]) -> str:
    """Return the page of the visible groups that satisfy a condition, by name."""
    name = clean(request.args.get("name", ""))[:200]
    request.shows({"name": fold_case(name)})
    query = f"""
        SELECT g.*, (SELECT count(*) FROM current_group_member m WHERE m.group_id = g.group_id) AS members,
            (SELECT role FROM current_group_member m WHERE m.group_id = g.group_id AND m.user_id = :me) AS role
        FROM user_group g WHERE {VISIBLE_GROUP} AND ({where})
            AND (:name = '' OR instr(lower(g.name || ' ' || g.path || ' ' || g.description), lower(:name)))
        ORDER BY g.name COLLATE NOCASE, g.group_id
    """
    rows = request.db.execute(query, {"me": my_id(request), "name": name}).fetchall()
    pager = Pager.of(request, len(rows), 20, "page")
    return request.render("groups.html", title=title, rows=pager.cut(rows), pager=pager, name=name, tabs=tabs)


@site.get("/dashboard/groups", members_only)
def yours(request: Request, _: sqlite3.Row) -> str:
    """Show the groups of the current user."""
    tabs = [("/dashboard/groups", "Your groups", True), ("/explore/groups", "All groups", False)]
    where = "g.group_id IN (SELECT group_id FROM current_group_member WHERE user_id = :me)"
    return render_groups(request, "Groups", where, tabs)


@site.get("/groups/<path>", in_group)
def show_group(request: Request, group: sqlite3.Row) -> str:
    """Show a group and its projects."""
    request.stands_at(f"/groups/{group['path']}")
    listing = list_projects(request, "p.group_id = :group", group=group["group_id"])
    members = value(request.db, "SELECT count(*) FROM current_group_member WHERE group_id = ?", (group["group_id"],))
    role = group_role(request.db, group["group_id"], my_id(request))
    return request.render("group.html", group=group, listing=listing, members=members, rank=rank(role), role=role)


@site.form("/groups/new", members_only)
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Create a group, whose owner is the current user."""
    return _save(request, user, None)


@site.form("/groups/<path>/-/edit", members_only, in_group)
def edit(request: Request, user: sqlite3.Row, group: sqlite3.Row) -> str | Response:
    """Change a group's data; the paths of its projects change with its path. Raises Forbidden for users who do not own it."""
    if rank(group_role(request.db, group["group_id"], my_id(request))) < rank("Owner"):
        raise Forbidden("You need the role Owner in this group.")
    return _save(request, user, group)


def _save(request: Request, user: sqlite3.Row, group: sqlite3.Row | None) -> str | Response:
    """Save the posted data of a group, or show its form."""
    values = {name: group[name] for name in FIELDS} if group else dict.fromkeys(FIELDS, "") | {"visibility": "private"}
    errors, own_path = list[str](), values["path"].lower()
    if request.method == "POST":
        values = read(request, FIELDS)
        values["path"] = path = values["path"] or slug(values["name"])
        errors = complaints(values, FIELDS)
        if values["visibility"] not in VISIBILITIES:
            errors.append("Select a visibility level.")
        if not is_slug(path) or path.lower() in RESERVED:
            errors.append(
                "Group URL can contain only letters, digits, '_', '-' and '.', and must not be a word of the site's own."
            )
        elif path.lower() != own_path and (queries.group(request.db, path) or queries.user_named(request.db, path)):
            errors.append(f"The path {path} has already been taken.")
        if not errors and group:
            update(request.db, "user_group", "group_id", group["group_id"], **values)
            update(request.db, "project", "group_id", group["group_id"], namespace=path)
        elif not errors:
            group_id = insert(request.db, "user_group", created_at=request.stamp, **values)
            row = {"user_id": user["user_id"], "role": "Owner", "created_at": request.stamp}
            insert(request.db, "group_member", group_id=group_id, **row)
        if not errors:
            done = "updated" if group else "created"
            return request.redirect(f"/groups/{path}", f"Group '{values['name']}' was successfully {done}.")
    return request.render("group_form.html", values=values, errors=errors, group=group)


MOST_INVITED = 50


class Place(NamedTuple):
    """A project or group with its members."""

    noun: str
    row: sqlite3.Row

    @property
    def row_id(self) -> int:
        """Its id."""
        return int(self.row[f"{self.noun}_id"])

    @property
    def url(self) -> str:
        """URL of its members page."""
        base = self.row["full_path"] if self.noun == "project" else f"groups/{self.row['path']}"
        return f"/{base}/-/{self.noun}_members"

    @property
    def page(self) -> dict[str, Any]:
        """Values for the templates of its pages."""
        return {"project": None, "group": None, self.noun: self.row, "place": self}

    def rows(self, db: sqlite3.Connection) -> list[sqlite3.Row]:
        """Return its direct members whose membership has not expired, by name."""
        query = f"""SELECT m.*, u.username, u.name FROM {self.noun}_member m JOIN user u USING (user_id) WHERE m.{self.noun}_id = ?
            AND (expires_on IS NULL OR expires_on > (SELECT date(value) FROM world WHERE key = 'now')) ORDER BY u.name, u.user_id"""
        return db.execute(query, (self.row_id,)).fetchall()

    @property
    def manager(self) -> str:
        """The lowest role that manages members."""
        return "Maintainer" if self.noun == "project" else "Owner"

    def my_rank(self, request: Request) -> int:
        """Return the rank of the current user's role."""
        find = project_role if self.noun == "project" else group_role
        return rank(find(request.db, self.row_id, my_id(request)))

    def require_manager(self, request: Request) -> int:
        """Return the current user's rank. Raises Forbidden unless the user may manage members."""
        mine = self.my_rank(request)
        if mine < rank(self.manager):
            raise Forbidden(f"You need the role {self.manager} or a higher one to manage members.")
        return mine

    def role_of(self, db: sqlite3.Connection, user_id: int | None) -> tuple[str, bool]:
        """Return the direct role of a user, "" without one, and True if nobody else is an owner."""
        roles = {row["user_id"]: str(row["role"]) for row in self.rows(db)}
        role = roles.get(user_id or 0, "")
        return role, role == "Owner" and list(roles.values()).count("Owner") < 2

    def set_role(self, request: Request, user_id: int, role: str, expires: str | None, *, is_new: bool = False) -> None:
        """Set the role and expiration date of a member. Raises NotFound for other users, Forbidden for changes that are not allowed."""
        current, is_last_owner = self.role_of(request.db, user_id)
        if not current and not is_new:
            raise NotFound
        if max(rank(current), rank(role)) > self.my_rank(request):
            raise Forbidden("You cannot change or give a role above your own.")
        if is_last_owner and (role != "Owner" or expires):
            raise Forbidden("The last owner must stay one.")
        query = f"""INSERT INTO {self.noun}_member ({self.noun}_id, user_id, role, expires_on, created_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET role = excluded.role, expires_on = excluded.expires_on"""
        request.db.execute(query, (self.row_id, user_id, role, expires, request.stamp))

    def remove(self, request: Request, user_id: int) -> None:
        """Remove a member. Raises NotFound and Forbidden."""
        current, is_last_owner = self.role_of(request.db, user_id)
        if not current:
            raise NotFound
        if user_id != my_id(request) and rank(current) > self.require_manager(request):
            raise Forbidden("You cannot remove somebody with a role above your own.")
        if is_last_owner:
            raise Forbidden("The last owner cannot leave.")
        query = f"DELETE FROM {self.noun}_member WHERE {self.noun}_id = ? AND user_id = ?"
        request.db.execute(query, (self.row_id, user_id))


def of_members(
    register: Callable[..., Callable[[View], View]], suffix: str = "", *guards: Callable[[View], View], role: str | None = None
) -> Callable[[View], View]:
    """Register a view of members for projects, in which the user must have a role, if one is given, and for groups."""

    def decorate(view: View) -> View:
        def of(noun: str) -> View:
            return wraps(view)(lambda request, *arguments: view(request, *arguments[:-1], Place(noun, arguments[-1])))

        register(f"/<namespace>/<path>/-/project_members{suffix}", *guards, in_project(role))(of("project"))
        register(f"/groups/<path>/-/group_members{suffix}", *guards, in_group)(of("group"))
        return view

    return decorate


def grantable(limit: int) -> list[str]:
    """Return the roles that a user with a rank may grant."""
    return [role for role in ROLES if rank(role) <= limit]


@of_members(site.get)
def show_members(request: Request, place: Place) -> str:
    """Show the members of a group, or of a project including those of its group."""
    search = clean(request.args.get("search", ""))[:100]
    request.shows({"search": fold_case(search)})
    mine, me, page = place.my_rank(request), my_id(request), place.page
    lists = {"rows": place.rows(request.db), "inherited": []}
    if place.noun == "project":
        mine = 0 if place.row["is_archived"] else mine
        group = first(request.db, "SELECT * FROM user_group WHERE group_id IS ?", (place.row["group_id"],))
        page |= {"group": group}
        lists["inherited"] = Place("group", group).rows(request.db) if group else []
    for name, rows in lists.items():
        page[name] = [row for row in rows if search.lower() in f"{row['name']} {row['username']}".lower()]
    role, is_last_owner = place.role_of(request.db, me)
    roles = grantable(mine) if mine >= rank(place.manager) else []
    may_leave = bool(role) and not is_last_owner
    return request.render(
        "members.html", **page, may_leave=may_leave, roles=roles, my_rank=mine, me=me, rank=rank, search=search
    )


def find_people(db: sqlite3.Connection, search_text: str) -> list[sqlite3.Row]:
    """Return up to twenty users whose username, name or email is `search_text`, or else contains it, by name."""
    text = search_text.lstrip("@").lower()
    for condition, limit in (("lower({}) = :text", ""), ("instr(lower({}), :text)", "LIMIT 20")):
        fits = " OR ".join(condition.format(column) for column in ("username", "name", "email"))
        rows = db.execute(f"SELECT * FROM user WHERE {fits} ORDER BY name, user_id {limit}", {"text": text}).fetchall()
        if rows:
            break
    return rows


def read_expiry(request: Request, errors: list[str]) -> str | None:
    """Return the posted expiration date, and add error messages to `errors`."""
    typed = clean(request.form.get("expires_on", ""))
    expires = day(typed)
    if typed and expires is None:
        errors.append("The access expiration date must be written as YYYY-MM-DD.")
    elif expires is not None and expires <= str(request.now.date()):
        errors.append("The access expiration date must be in the future.")
    return expires


def read_invitation(request: Request, limit: int) -> tuple[dict[str, Any], list[sqlite3.Row]]:
    """Return the values of an invitation form, its error messages, and the users that it identifies.

    `limit` is the rank of who invites. Those whom a name may mean are `unsure`, and are to be chosen from.
    """
    names, role = clean(request.form.get("names", ""))[:2000], request.form.get("role", "")
    people: dict[int, sqlite3.Row] = {}
    unsure, errors = list[sqlite3.Row](), list[str]()
    for ticked in request.form.getlist("user_id")[:MOST_INVITED]:
        if row := first(request.db, "SELECT * FROM user WHERE user_id = ?", (ticked[:9],)):
            people[row["user_id"]] = row
    for name in [part.strip() for part in names.split(",") if part.strip()][:MOST_INVITED]:
        matching = find_people(request.db, name)
        if len(matching) == 1:
            people.setdefault(matching[0]["user_id"], matching[0])
        elif not matching:
            errors.append(f"Nobody is called {name[:100]}.")
        elif not any(row["user_id"] in people for row in matching):
            unsure += [row for row in matching if row not in unsure]
    if not people and not unsure and not errors:
        errors.append("Say whom to invite.")
    if unsure:
        errors.append("Several people match. Tick those whom you mean.")
    if role not in grantable(limit):
        errors.append("Select a role that you may give.")
    read_expiry(request, errors)
    expires = clean(request.form.get("expires_on", ""))[:20]
    return {"names": names, "role": role, "expires": expires, "unsure": unsure, "errors": errors}, [*people.values()]


@of_members(site.form, "/invite", members_only, role="Maintainer")
def invite(request: Request, _: sqlite3.Row, place: Place) -> str | Response:
    """Invite users; the role of existing members changes."""
    limit = place.require_manager(request)
    invitation: dict[str, Any] = {"names": "", "role": "Guest", "expires": "", "unsure": [], "errors": []}
    if request.method == "POST":
        invitation, people = read_invitation(request, limit)
        if not invitation["errors"]:
            for person in people:
                place.set_role(request, person["user_id"], invitation["role"], day(invitation["expires"]), is_new=True)
            names = ", ".join(person["name"] for person in people)
            return request.redirect(place.url, f"Members were successfully added: {names}.")
    return request.render("invite.html", **place.page, invitation=invitation, roles=grantable(limit))


@of_members(site.post, "", members_only, role="Maintainer")
def change_member(request: Request, _: sqlite3.Row, place: Place) -> Response:
    """Change or remove the posted member, depending on the button."""
    user_id = whole_number(request.form.get("user_id"), 1, 10**9 - 1) or 0
    if request.form.get("action") == "remove":
        place.remove(request, user_id)
        return request.redirect(place.url, "The member was removed.")
    errors: list[str] = []
    limit, expires, role = place.require_manager(request), read_expiry(request, errors), request.form.get("role", "")
    if role not in grantable(limit):
        errors.append("Select a role that you may give.")
    for error in errors:
        request.flash(error, "error")
    if not errors:
        place.set_role(request, user_id, role, expires)
        request.flash("The member was updated.")
    return redirect(place.url)


@of_members(site.post, "/leave", members_only)
def leave_group(request: Request, user: sqlite3.Row, place: Place) -> Response:
    """End the membership of the current user in a project or group."""
    place.remove(request, user["user_id"])
    return request.redirect(f"/dashboard/{place.noun}s", f"You left the {place.noun} {place.row['name']}.")
