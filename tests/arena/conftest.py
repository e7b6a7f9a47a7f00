"""A client of an arena."""

import pytest

from benchmarks.arena import Client
from tests.serving import serving_episodes


@pytest.fixture(scope="module")
def client():
    with serving_episodes() as url:
        yield Client(url)
