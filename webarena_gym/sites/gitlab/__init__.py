"""A code host: groups, projects, repositories with branches and commits, members, stars, forks, and the planning around them."""

from webarena_gym.sites.gitlab import views as views
from webarena_gym.sites.gitlab.base import site as site
from webarena_gym.sites.kit import App, Database


def create_app(database: Database) -> App:
    """Return the code host on that database, a WSGI application."""
    return site.app(database)
