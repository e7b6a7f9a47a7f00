"""The admin's logins, and its queries of single rows."""

import pytest
from werkzeug.exceptions import NotFound
from werkzeug.test import EnvironBuilder

from tests.shopping_rows import small_shop
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.layout import PLAIN
from webarena_gym.sites.shopping_admin.site import HOME, is_taken, members_only, record_or_404, site, store


@pytest.fixture
def request_():
    return Request(EnvironBuilder("/admin/x").get_environ(), Database(small_shop()), PLAIN, site.templates)


@pytest.fixture
def db(request_):
    return request_.db


def test_views_need_a_login(request_):
    page = members_only(lambda request, number: f"page {number}")
    assert page(request_, number=3).location == HOME
    request_.session["admin_id"] = 1
    assert page(request_, number=3) == "page 3"


def test_a_record_that_does_not_exist_is_not_found(db):
    assert record_or_404(db, "SELECT name FROM product WHERE product_id = ?", 1)["name"] == "Canvas Backpack"
    with pytest.raises(NotFound):
        record_or_404(db, "SELECT name FROM product WHERE product_id = ?", 10**6)


def test_a_value_is_taken_by_other_rows_alone(db):
    sku = db.execute("SELECT sku FROM product WHERE product_id = 1").fetchone()[0]
    assert is_taken(db, "product", "sku", sku)
    assert is_taken(db, "product", "sku", sku, own_id=2)
    assert not is_taken(db, "product", "sku", sku, own_id=1)
    assert not is_taken(db, "product", "sku", "absent")
    assert not is_taken(db, "product", "sku", None)


def test_rows_are_inserted_or_changed(db):
    values = {"num_results": 1, "uses": 2, "updated_at": "2023-06-15 10:00:00"}
    number = store(db, "search_term", "query_id", None, query_text="cups", **values)
    count = db.execute("SELECT count(*) FROM search_term").fetchone()[0]
    assert store(db, "search_term", "query_id", number, query_text="mugs", uses=3) == number
    rows = db.execute("SELECT query_text, uses, num_results FROM search_term WHERE query_id = ?", (number,)).fetchall()
    assert [tuple(row) for row in rows] == [("mugs", 3, 1)]
    assert db.execute("SELECT count(*) FROM search_term").fetchone()[0] == count
