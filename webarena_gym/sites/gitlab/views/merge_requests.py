"""The pages of a merge request: what was said, its commits, its changes, and merging it."""

import sqlite3

from werkzeug.exceptions import Conflict

from webarena_gym.sites.gitlab import merging, queries
from webarena_gym.sites.gitlab.base import find_project, members_only, require_role, site
from webarena_gym.sites.gitlab.ledger import Ledger
from webarena_gym.sites.gitlab.planning import MERGE_REQUEST, Plan
from webarena_gym.sites.gitlab.rights import address, find_item, merge_obstacle
from webarena_gym.sites.gitlab.views.item_forms import Choices, read_plan, show_form
from webarena_gym.sites.gitlab.views.notes import show_item
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response, redirect

ONE = "/<namespace>/<path>/-/merge_requests/<int:iid>"


@site.get(ONE)
def merge_request(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show a merge request with all that was said about it."""
    project, item = find_item(request, MERGE_REQUEST, namespace, path, iid)
    return show_item(request, MERGE_REQUEST, project, item)


@site.get(f"{ONE}/commits")
def merge_request_commits(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show the commits of a merge request."""
    return _part(request, "merge_request_commits.html", namespace, path, iid)


@site.get(f"{ONE}/diffs")
def merge_request_diffs(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show what a merge request changes, file by file."""
    return _part(request, "merge_request_diffs.html", namespace, path, iid)


def _part(request: Request, template: str, namespace: str, path: str, iid: int) -> str:
    """Show one of the pages beside the overview."""
    project, item = find_item(request, MERGE_REQUEST, namespace, path, iid)
    commits, changes = merging.contents(request.db, item)
    return request.render(
        template,
        kind=MERGE_REQUEST,
        project=project,
        item=item,
        base=address(MERGE_REQUEST, project, iid),
        commits=commits,
        changes=changes,
        diff_lines=merging.diff_lines,
        may_edit=False,
    )


@site.post(f"{ONE}/merge")
@members_only
def merge(request: Request, user: sqlite3.Row, namespace: str, path: str, iid: int) -> Response:
    """Merge the branches. Raises Conflict when something is in the way."""
    project, item = find_item(request, MERGE_REQUEST, namespace, path, iid)
    _, changes = merging.contents(request.db, item)
    obstacle = merge_obstacle(request, project, item, changes)
    if obstacle:
        raise Conflict(obstacle)
    merging.merge(request.db, item, user, request.stamp)
    Ledger(request.db, user, request.now).move(MERGE_REQUEST, item, "merged")
    return request.redirect(address(MERGE_REQUEST, project, iid), "The changes were merged.")


@site.get("/<namespace>/<path>/-/merge_requests/new")
@members_only
def new_merge_request(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Ask for the branches of a new merge request, then show its form."""
    project = _project_to_change(request, namespace, path)
    source = clean(request.args.get("source_branch", ""))
    target = clean(request.args.get("target_branch", "")) or project["default_branch"]
    request.shows({"source_branch": source, "target_branch": target if "target_branch" in request.args else None})
    errors = _branch_complaints(request, project, source, target) if "target_branch" in request.args else []
    if not source or errors or "target_branch" not in request.args:
        branches = [row["name"] for row in queries.branches(request.db, project["project_id"])]
        return request.render(
            "merge_request_branches.html", project=project, branches=branches, source=source, target=target, errors=errors
        )
    commits = merging.commits_between(request.db, project["project_id"], source, target)
    plan = Plan(commits[0]["title"] if len(commits) == 1 else _title(source), target_branch=target)
    return show_form(request, MERGE_REQUEST, project, plan, Choices(request.db, project, plan), source_branch=source)


@site.post("/<namespace>/<path>/-/merge_requests")
@members_only
def create_merge_request(request: Request, user: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Open a merge request."""
    project = _project_to_change(request, namespace, path)
    source, target = (clean(request.form.get(name, "")) for name in ("source_branch", "target_branch"))
    start = Plan("", target_branch=target)
    choices = Choices(request.db, project, start)
    plan, errors = read_plan(request, MERGE_REQUEST, choices, start, user=user, is_planning=True)
    errors = _branch_complaints(request, project, source, target) + errors
    if errors:
        return show_form(request, MERGE_REQUEST, project, plan, choices, source_branch=source, errors=errors)
    iid = Ledger(request.db, user, request.now).create(MERGE_REQUEST, project, plan, source)
    return redirect(address(MERGE_REQUEST, project, iid))


def _project_to_change(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project of a URL, in which the visitor must be a developer. Raises NotFound or Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    return project


def _branch_complaints(request: Request, project: sqlite3.Row, source: str, target: str) -> list[str]:
    """Return why no merge request can be made of two branches."""
    if not source:
        return ["Select a source branch."]
    branches = [row["name"] for row in queries.branches(request.db, project["project_id"])]
    for role, name in (("source", source), ("target", target)):
        if name not in branches:
            return [f"The {role} branch {name[:80]!r} does not exist."]
    if source == target:
        return ["Source and target must be different branches."]
    other = request.db.execute(
        """SELECT iid FROM merge_request
        WHERE project_id = ? AND source_branch = ? AND target_branch = ? AND state = 'opened' ORDER BY iid""",
        (project["project_id"], source, target),
    ).fetchone()
    return [f"There is already an open merge request for these branches: !{other['iid']}."] if other else []


def _title(branch: str) -> str:
    """Return a title made of a branch's name.

    >>> _title("feature/dark-mode")
    'Feature/dark mode'
    """
    words = branch.replace("-", " ").replace("_", " ")
    return (words[:1].upper() + words[1:])[:255]
