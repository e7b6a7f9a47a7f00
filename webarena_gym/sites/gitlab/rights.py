"""Finding the issue or merge request that a page is about, and what the visitor may do with it.

Whoever is signed in may open issues and comment where they can see the project. An item's author may change its text and close
it. Planning it (labels, people, milestone, dates) takes a reporter for issues and a developer for merge requests.
"""

import sqlite3

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.gitlab import items
from webarena_gym.sites.gitlab.base import can, find_project, my_id
from webarena_gym.sites.gitlab.merging import Change, conflict
from webarena_gym.sites.gitlab.planning import ISSUE, Kind
from webarena_gym.sites.kit.requests import Request


def find_item(request: Request, kind: Kind, namespace: str, path: str, iid: int) -> tuple[sqlite3.Row, sqlite3.Row]:
    """Return the project and the item of a URL. Raises NotFound, also when they may not be seen."""
    project = find_project(request, namespace, path)
    item = items.find(request.db, kind, project["project_id"], iid, my_id(request))
    if item is None:
        raise NotFound
    return project, item


def may_plan(request: Request, kind: Kind, project: sqlite3.Row) -> bool:
    """Say whether the visitor may plan the items of a project."""
    return can(request, project, "Reporter" if kind is ISSUE else "Developer")


def may_edit(request: Request, kind: Kind, project: sqlite3.Row, item: sqlite3.Row) -> bool:
    """Say whether the visitor may change the text of an item, close it and open it again."""
    is_author = item["author_id"] == my_id(request) and not project["is_archived"]
    return is_author or may_plan(request, kind, project)


def require_edit(request: Request, kind: Kind, project: sqlite3.Row, item: sqlite3.Row) -> None:
    """Raise Forbidden unless the visitor may change the item."""
    if not may_edit(request, kind, project, item):
        raise Forbidden(f"You cannot change this {kind.noun}: it is not yours, and your role in the project is too low.")


def require_open(project: sqlite3.Row) -> None:
    """Raise Forbidden when the project is archived."""
    if project["is_archived"]:
        raise Forbidden("This project is archived. It can only be read.")


def merge_obstacle(request: Request, project: sqlite3.Row, item: sqlite3.Row, changes: list[Change]) -> str:
    """Return why the visitor cannot merge a request, or nothing."""
    if item["state"] != "opened":
        return f"This merge request is {item['state']}."
    if item["is_draft"]:
        return "This merge request is a draft. Mark it as ready to merge it."
    query = "SELECT is_protected FROM branch WHERE project_id = ? AND name = ?"
    target = request.db.execute(query, (project["project_id"], item["target_branch"])).fetchone()
    role = "Maintainer" if target and target["is_protected"] else "Developer"
    if not can(request, project, role):
        return f"Somebody with the role {role} or a higher one can merge this."
    return conflict(request.db, item, changes)


def address(kind: Kind, project: sqlite3.Row, iid: int | None = None) -> str:
    """Return the path of an item's page, or of the project's list."""
    path = f"/{project['full_path']}/-/{kind.segment}"
    return path if iid is None else f"{path}/{iid}"
