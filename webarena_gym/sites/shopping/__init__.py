"""A shop: catalogue, search, cart, checkout, orders, accounts, wish lists, reviews and a few pages of text."""

from webarena_gym.sites.kit import App, Database
from webarena_gym.sites.shopping import views as views
from webarena_gym.sites.shopping.base import site as site


def create_app(database: Database) -> App:
    """Return the shop on that database, a WSGI application."""
    return site.app(database)
