"""A forum: communities with submissions, comments, votes, subscriptions, moderators and private messages."""

from webarena_gym.sites.kit import App, Database
from webarena_gym.sites.reddit import views as views
from webarena_gym.sites.reddit.base import site as site


def create_app(database: Database) -> App:
    """Return the forum on that database, a WSGI application."""
    return site.app(database)
