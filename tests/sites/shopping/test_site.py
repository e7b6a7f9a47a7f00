"""The shop's frame on each page: store name, categories, cart, and pages of customers."""

import pytest
from werkzeug.test import EnvironBuilder

from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.layout import PLAIN
from webarena_gym.sites.shopping.site import ID, current_customer, members_only, site


@pytest.fixture
def ask(base):
    database = Database(base)

    def build(customer_id=None):
        request = Request(EnvironBuilder("/account").get_environ(), database, PLAIN, site.templates)
        if customer_id is not None:
            request.session["customer_id"] = customer_id
        return request

    return build


def test_pages_of_customers_send_others_to_the_login_and_back(ask):
    page = members_only(lambda request, customer: customer["email"])
    guest = ask()
    assert (current_customer(guest), page(guest).location) == (None, "/customer/account/login/")
    assert guest.session["after_login"] == "/account"
    row = guest.db.execute("SELECT * FROM customer WHERE customer_id = 1").fetchone()
    assert tuple(current_customer(ask(1))) == tuple(row)
    assert page(ask(1)) == row["email"]
    assert current_customer(ask(10**6)) is None, "a customer who was deleted is signed out"


def test_the_frame_has_the_name_of_the_store_or_a_default(ask):
    name = site.templates.globals["store_name"]
    request = ask()
    assert (
        name(request)
        == request.db.execute("SELECT value FROM store_config WHERE path = 'general/store_information/name'").fetchone()[0]
    )
    request.db.execute("DELETE FROM store_config WHERE path = 'general/store_information/name'")
    assert name(request) == "Shop"


def test_the_frame_has_top_categories_and_the_number_of_items_in_the_cart(ask):
    request = ask(1)
    top = site.templates.globals["top_categories"](request)
    names = [row["name"] for row in request.db.execute("SELECT name FROM category WHERE parent_id IS NULL")]
    assert sorted(row["name"] for row in top) == sorted(names) != []
    assert site.templates.globals["cart_count"](request) >= 0


def test_ids_beyond_those_of_the_database_are_no_addresses(visitor):
    assert ID == "int(max=2147483647)"
    visitor.sign_in()
    assert visitor.status("/sales/order/view/order_id/9999999999/") == 404
