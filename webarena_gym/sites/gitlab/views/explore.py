"""Everything that is there for everybody: all projects that a visitor may see, and all groups."""

from webarena_gym.sites.gitlab.base import my_id, site
from webarena_gym.sites.gitlab.listing import list_projects
from webarena_gym.sites.gitlab.views.groups import render_groups
from webarena_gym.sites.kit.requests import Request

TABS = (("/explore", "All projects"), ("/explore?sort=stars_desc", "Most starred"), ("/explore/groups", "All groups"))


@site.get("/explore")
def explore(request: Request) -> str:
    """Show all projects."""
    where = "p.visibility = 'public'" if my_id(request) is None else "p.visibility != 'private'"
    tabs = [(address, label, address == "/explore" and not request.args) for address, label in TABS]
    listing = list_projects(request, where)
    return request.render("projects.html", title="Explore projects", tabs=tabs, listing=listing, address="/explore", group=None)


@site.get("/explore/groups")
def explore_groups(request: Request) -> str:
    """Show all groups."""
    tabs = [(address, label, address == "/explore/groups") for address, label in TABS]
    return render_groups(request, "Explore groups", "1", tabs)
