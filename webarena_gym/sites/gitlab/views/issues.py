"""The page of an issue."""

from webarena_gym.sites.gitlab.base import site
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.gitlab.rights import find_item
from webarena_gym.sites.gitlab.views.notes import show_item
from webarena_gym.sites.kit.requests import Request


@site.get("/<namespace>/<path>/-/issues/<int:iid>")
def issue(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show an issue with all that was said about it."""
    project, item = find_item(request, ISSUE, namespace, path, iid)
    return show_item(request, ISSUE, project, item)
