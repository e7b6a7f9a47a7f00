"""Placeholder."""

from webarena_gym.sites.kit import Request, Site

site = Site("homepage", __file__)


@site.get("/")
def home(_: Request) -> str:
    """Show the home page."""
    return "<!doctype html><html lang=en><title>homepage</title><h1>homepage</h1>"
