"""Visitors of the map, signed out and signed in."""

from contextlib import closing

import pytest
from werkzeug.test import Client

from tests.sites.map.visitor import MapVisitor, content
from webarena_gym.sites.country.seeding import sign_in
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.map import queries
from webarena_gym.sites.world import load_site


@pytest.fixture
def visitor(opened):
    return opened(MapVisitor())


@pytest.fixture
def roads(visitor):
    return queries.roads(visitor.db)


@pytest.fixture
def client():
    """A browser's connection of user 2, who is signed in."""
    client = Client(load_site("map").app(Database(content())))
    with closing(client.application.database.connection) as db:
        client.set_cookie("sid", sign_in(db, user_id=2), domain="localhost")
        client.key = client.get("/note/new").text.partition('name="form_key" value="')[2].partition('"')[0]
        yield client
