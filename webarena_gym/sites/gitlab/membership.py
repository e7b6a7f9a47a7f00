"""Giving people places in projects and groups: inviting, changing roles, removing; the same rules hold for both."""

import sqlite3
from dataclasses import dataclass

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.gitlab.access import ROLES, group_role, project_role, rank
from webarena_gym.sites.gitlab.base import my_id
from webarena_gym.sites.kit.forms import clean, day
from webarena_gym.sites.kit.requests import Request

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
    """What was typed to invite people: names, a role, a last day; and whom the names may mean."""

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


def remove(request: Request, place: Place, user_id: int) -> None:
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
