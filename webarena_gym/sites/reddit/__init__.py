"""Placeholder."""

from webarena_gym.sites.kit import Request, Site

site = Site("reddit", __file__)


@site.get("/")
def home(_: Request) -> str:
    """Show the home page."""
    return "<!doctype html><html lang=en><title>reddit</title><h1>reddit</h1>"
