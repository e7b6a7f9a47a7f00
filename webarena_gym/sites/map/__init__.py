"""Placeholder."""

from webarena_gym.sites.kit import Request, Site

site = Site("map", __file__)


@site.get("/")
def home(_: Request) -> str:
    """Show the home page."""
    return "<!doctype html><html lang=en><title>map</title><h1>map</h1>"
