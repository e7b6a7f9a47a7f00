"""A map of the country: search, pages of places, routes by car, bicycle and on foot, saved places and notes."""

from webarena_gym.sites.kit import App, Database
from webarena_gym.sites.map import views as views
from webarena_gym.sites.map.base import site as site


def create_app(database: Database) -> App:
    """Return the map on that database, a WSGI application."""
    return site.app(database)
