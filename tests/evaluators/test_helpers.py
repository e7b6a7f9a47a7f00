"""Helper functions of official task files, on a shop's REST API."""

import pytest

from tests.errors import expect_error
from tests.official_pages import Shop
from tests.portal import portal
from tests.serving import outcome_of, serving
from webarena_gym.addresses import (
    Account,
)
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.helpers import HELPERS, HelperContext
from webarena_gym.pages.page import Network


class TestHelpers:
    @pytest.fixture
    def shop(self):
        shop = Shop()
        with serving(shop) as address:
            yield shop, HelperContext(lambda _: "", {"__SHOPPING__": address}, {})

    def test_the_newest_order_and_review(self, shop):
        made, scene = shop
        assert HELPERS["shopping_get_latest_order_url"](scene) == scene.urls["__SHOPPING__"] + "/sales/order/view/order_id/170/"
        assert HELPERS["shopping_get_sku_latest_review_author"](scene, "B01") == ""
        assert HELPERS["shopping_get_sku_latest_review_rating"](scene, "B01") == ""
        rated = {"nickname": "Ann", "ratings": [{"rating_name": "Rating", "percent": 80}]}
        made.reviews["B01"] = [{"nickname": "Bo", "ratings": []}, rated]
        assert HELPERS["shopping_get_sku_latest_review_author"](scene, "B01") == "Ann"
        assert HELPERS["shopping_get_sku_latest_review_rating"](scene, "B01") == "80"

    @pytest.mark.parametrize("broken", ["down", "<html>", "{}", '{"items": []}', "[3]"])
    def test_an_unreachable_shop_raises_instead_of_a_verdict(self, shop, broken):
        made, scene = shop
        made.broken = broken
        with pytest.raises(EvaluationError, match="the shop"):
            HELPERS["shopping_get_latest_order_url"](scene)

    def test_the_wrong_administrator_and_no_shop(self, shop):
        _, scene = shop
        with expect_error(EvaluationError, 401):
            HELPERS["shopping_get_latest_order_url"](scene._replace(accounts={"shopping_admin": Account("a", "b")}))
        with expect_error(EvaluationError, "shopping"):
            HELPERS["shopping_get_latest_order_url"](HelperContext(lambda _: "", {}, {}))

    @pytest.mark.parametrize(("url", "expected"), [
        ("http://f.test/f/books/12/title", "http://f.test/f/books/12/"),
        ("http://f.test/f/books", "http://f.test/f/books"),
        ("http://f.test/u/ann/12/x", "http://f.test/u/ann/12/x"),
        ("about:blank", "about:blank"),
    ])  # fmt: skip
    def test_posts(self, url, expected):
        assert HELPERS["reddit_get_post_url"](None, url) == expected


@pytest.fixture
def browser(opened):
    made = opened(InProcessBrowser(Network({"portal.test": portal})))
    made.start([], {})
    return made


def test_evaluators_use_the_values_of_helpers(browser):
    shop = Shop()
    shop.reviews["B01"] = [{"nickname": "Ann"}]
    with serving(shop) as address:
        browser.goto("http://portal.test/x")
        author = "func:shopping_get_sku_latest_review_author('B01')"
        target = {"url": "last", "locator": author, "required_contents": {"exact_match": "Ann"}}
        block = {"eval_types": ["program_html"], "program_html": [target]}
        (verdict,) = evaluate(block, "", outcome_of(browser, {"__SHOPPING__": address}, scripts=False), rules="vab")
    assert verdict.passed  # without scripts, too
