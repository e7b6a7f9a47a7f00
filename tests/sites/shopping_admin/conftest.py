"""An admin who is signed in."""

import pytest

from tests.sites.shopping_admin.person import Person


@pytest.fixture
def person(opened) -> Person:
    return opened(Person())
