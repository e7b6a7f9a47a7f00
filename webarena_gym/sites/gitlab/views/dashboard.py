"""My own lists of projects: those I work on, mine alone, those I committed to, and those I starred."""

import sqlite3

from webarena_gym.sites.gitlab.base import current_user, members_only, site
from webarena_gym.sites.gitlab.listing import list_projects
from webarena_gym.sites.gitlab.views.explore import explore
from webarena_gym.sites.kit.requests import Request, Response

_TABS = {
    "Yours": ("/dashboard/projects", "p.project_id IN (SELECT project_id FROM membership WHERE user_id = :me)"),
    "Personal": ("/dashboard/projects/personal", "p.owner_id = :me"),
    "Contributed": (
        "/dashboard/projects/contributed",
        "p.project_id IN (SELECT project_id FROM git_commit WHERE author_id = :me)",
    ),
    "Starred": ("/dashboard/projects/starred", "p.project_id IN (SELECT project_id FROM star WHERE user_id = :me)"),
}


@site.get("/")
def home(request: Request) -> str | Response:
    """Show my projects, or to strangers all public ones."""
    return explore(request) if current_user(request) is None else yours(request)


def _page(request: Request, chosen: str) -> str:
    address, where = _TABS[chosen]
    tabs = [(path, label, label == chosen) for label, (path, _) in _TABS.items()]
    title = "Projects" if chosen == "Yours" else f"{chosen} projects"
    return request.render(
        "projects.html", title=title, tabs=tabs, listing=list_projects(request, where), address=address, group=None
    )


@site.get("/dashboard/projects")
@members_only
def yours(request: Request, _: sqlite3.Row) -> str:
    """Show the projects that I am a member of."""
    return _page(request, "Yours")


@site.get("/dashboard/projects/personal")
@members_only
def personal(request: Request, _: sqlite3.Row) -> str:
    """Show the projects in my own namespace."""
    return _page(request, "Personal")


@site.get("/dashboard/projects/contributed")
@members_only
def contributed(request: Request, _: sqlite3.Row) -> str:
    """Show the projects that I have made commits to."""
    return _page(request, "Contributed")


@site.get("/dashboard/projects/starred")
@members_only
def starred(request: Request, _: sqlite3.Row) -> str:
    """Show the projects that I have starred."""
    return _page(request, "Starred")
