"""The shop's admin: orders, catalogue, customers, marketing, content, reports and settings, on the shop's own database."""

from webarena_gym.sites.kit import App, Database
from webarena_gym.sites.shopping_admin import views as views
from webarena_gym.sites.shopping_admin.routing import site

__all__ = ["create_app", "site"]


def create_app(database: Database) -> App:
    """Return the admin's WSGI application over the shop's database of one episode."""
    return site.app(database)
