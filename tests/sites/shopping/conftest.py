"""Databases of generated shops, and visitors of a small one, signed out and signed in."""

import pytest

from tests.generated import worlds
from tests.sites.shopping.shopper import Shopper
from tests.visitors import rows_of, small_database
from webarena_gym.sites.country.seeding import sign_in

db = worlds("shopping", (0, 1, 2, 3, 5))


@pytest.fixture(scope="module")
def base() -> bytes:
    """The database of a small shop, with sessions of Emma and Paul."""
    db = small_database("shopping", rows_of("shop_of_emma"))
    sign_in(db, site="shopping", customer_id=1)
    db.commit()
    return db.serialize()


@pytest.fixture
def visitor(base: bytes, opened) -> Shopper:
    return opened(Shopper(base))


@pytest.fixture
def emma(visitor: Shopper) -> Shopper:
    return visitor.sign_in()
