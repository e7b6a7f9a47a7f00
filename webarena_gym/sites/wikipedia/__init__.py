"""An encyclopedia: articles with infoboxes, lists, categories, search, page histories, editing and a watchlist."""

from webarena_gym.sites.kit import App, Database
from webarena_gym.sites.wikipedia import views as views
from webarena_gym.sites.wikipedia.base import site as site


def create_app(database: Database) -> App:
    """Return the encyclopedia on that database, a WSGI application."""
    return site.app(database)
