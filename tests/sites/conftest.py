"""A database of three tables, and requests to a site with it."""

import pytest
from werkzeug.test import EnvironBuilder

from tests.visitors import database_of
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.layout import PLAIN

SCHEMA = """
CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID;
CREATE TABLE note (note_id INTEGER PRIMARY KEY, text TEXT, made_at TEXT);
INSERT INTO world VALUES ('seed', '7'), ('now', '2023-03-05 10:00:00');
"""


@pytest.fixture
def database():
    return database_of(SCHEMA)


@pytest.fixture
def ask(database):
    def build(path="/", **form):
        method = "POST" if form else "GET"
        place, _, query = path.partition("?")
        environ = EnvironBuilder(place, query_string=query, method=method, data=form).get_environ()
        return Request(environ, database, PLAIN, Site("common", __file__).templates)

    return build
