"""The members of projects and groups: the list, inviting people, changing and removing them, leaving."""

import sqlite3

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import membership
from webarena_gym.sites.gitlab.access import rank
from webarena_gym.sites.gitlab.base import find_project, members_only, my_id, require_role, site
from webarena_gym.sites.gitlab.membership import Invitation, Place, grantable, of_group, of_project
from webarena_gym.sites.gitlab.views.groups import find_group
from webarena_gym.sites.kit.forms import clean, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect

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
        may_leave=membership.may_leave(request, place),
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
    limit = membership.require_manager(request, place)
    return request.render(
        "invite.html", project=project, group=group, place=place, invitation=invitation, roles=grantable(limit)
    )


def _invite(
    request: Request, place: Place, *, project: sqlite3.Row | None = None, group: sqlite3.Row | None = None
) -> str | Response:
    invitation = membership.read_invitation(request, membership.require_manager(request, place))
    if invitation.errors:
        return _invite_form(request, place, invitation, project=project, group=group)
    membership.invite(request, place, invitation)
    names = ", ".join(person["name"] for person in invitation.found)
    return request.redirect(place.url, f"Members were successfully added: {names}.")


@site.get("/<namespace>/<path>/-/project_members/invite")
@members_only
def invite_to_project_form(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Ask whom to invite to a project."""
    project, place = _project_place(request, namespace, path)
    return _invite_form(request, place, _NO_INVITATION, project=project, group=None)


@site.post("/<namespace>/<path>/-/project_members/invite")
@members_only
def invite_to_project(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Invite people to a project."""
    project, place = _project_place(request, namespace, path)
    return _invite(request, place, project=project)


@site.get("/groups/<path>/-/group_members/invite")
@members_only
def invite_to_group_form(request: Request, _: sqlite3.Row, path: str) -> str:
    """Ask whom to invite to a group."""
    group = find_group(request, path)
    return _invite_form(request, of_group(group), _NO_INVITATION, project=None, group=group)


@site.post("/groups/<path>/-/group_members/invite")
@members_only
def invite_to_group(request: Request, _: sqlite3.Row, path: str) -> str | Response:
    """Invite people to a group."""
    group = find_group(request, path)
    return _invite(request, of_group(group), group=group)


def _change(request: Request, place: Place) -> Response:
    """Change or remove the member that was posted, as the button says."""
    user_id = whole_number(request.form.get("user_id"), 1, 10**9 - 1) or 0
    if request.form.get("action") == "remove":
        membership.remove(request, place, user_id)
        return request.redirect(place.url, "The member was removed.")
    limit = membership.require_manager(request, place)
    errors: list[str] = []
    expires = membership.read_expiry(request, errors)
    role = request.form.get("role", "")
    if role not in grantable(limit):
        errors.append("Select a role that you may give.")
    for error in errors:
        request.flash(error, "error")
    if not errors:
        membership.set_role(request, place, user_id, role, expires)
        request.flash("The member was updated.")
    return redirect(place.url)


@site.post("/<namespace>/<path>/-/project_members")
@members_only
def change_in_project(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
    """Change or remove a member of a project."""
    _, place = _project_place(request, namespace, path)
    return _change(request, place)


@site.post("/groups/<path>/-/group_members")
@members_only
def change_in_group(request: Request, _: sqlite3.Row, path: str) -> Response:
    """Change or remove a member of a group."""
    return _change(request, of_group(find_group(request, path)))


@site.post("/<namespace>/<path>/-/project_members/leave")
@members_only
def leave_project(request: Request, user: sqlite3.Row, namespace: str, path: str) -> Response:
    """Give up the own place in a project."""
    project = find_project(request, namespace, path)
    membership.remove(request, of_project(project), user["user_id"])
    return request.redirect("/dashboard/projects", f"You left the project {project['name']}.")


@site.post("/groups/<path>/-/group_members/leave")
@members_only
def leave_group(request: Request, user: sqlite3.Row, path: str) -> Response:
    """Give up the own place in a group."""
    group = find_group(request, path)
    membership.remove(request, of_group(group), user["user_id"])
    return request.redirect("/dashboard/groups", f"You left the group {group['name']}.")
