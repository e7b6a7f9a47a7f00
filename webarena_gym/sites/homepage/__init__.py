"""A start page: links to the other sites, the user's accounts, a calculator and a scratchpad."""

from webarena_gym.sites.homepage import views as views
from webarena_gym.sites.homepage.base import site as site
from webarena_gym.sites.kit import App, Database


def create_app(database: Database) -> App:
    """Return the start page on that database, a WSGI application."""
    return site.app(database)
