"""Placeholder."""

from webarena_gym.sites.kit import Request, Site

site = Site("gitlab", __file__)


@site.get("/")
def home(_: Request) -> str:
    """Show the home page."""
    return "<!doctype html><html lang=en><title>gitlab</title><h1>gitlab</h1>"
