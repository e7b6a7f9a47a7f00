"""Placeholder."""

from webarena_gym.sites.kit import Request, Site

site = Site("wikipedia", __file__)


@site.get("/")
def home(_: Request) -> str:
    """Show the home page."""
    return "<!doctype html><html lang=en><title>wikipedia</title><h1>wikipedia</h1>"
