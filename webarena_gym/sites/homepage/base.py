"""The `Site` of the start page, and the sites that it leads to."""

from webarena_gym.sites.catalogue import SITES, Entry
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site

site = Site("homepage", __file__)


def doors(request: Request) -> list[tuple[Entry, str]]:
    """Return the other sites with their addresses where this one is served."""
    others = (entry for entry in SITES.values() if entry.about)
    return [(entry, request.sibling(entry.host.partition(".")[0]) + (entry.path or "/")) for entry in others]
