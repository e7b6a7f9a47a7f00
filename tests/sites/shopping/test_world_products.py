"""Generated products: their categories, options, names and reviews."""

import json
import re
from pathlib import Path

import pytest

from tests.generated import assert_nothing_shared, column, value
from webarena_gym.sites import shopping
from webarena_gym.sites.shopping.views.catalogue import find


def test_worlds_share_no_product():
    assert_nothing_shared("shopping", (0, 1, 2, 3, 5, 8, 13, -1, 2**40), "SELECT name FROM product")


def test_options_of_orders_exist(db):
    titles = "SELECT title FROM product_option WHERE product_id = ? ORDER BY position"
    labels = "SELECT label FROM product_option_value JOIN product_option USING (option_id) WHERE product_id = ? AND title = ?"
    for product_id, options in db.execute("SELECT product_id, options FROM order_item"):
        chosen = json.loads(options)
        assert list(chosen) == column(db, titles, product_id)
        assert all(column(db, labels, product_id, title).count(label) == 1 for title, label in chosen.items())


def test_best_sellers_are_beyond_doubt(db):
    for period in ("substr(created_at, 1, 7)", "substr(created_at, 1, 4)", "'ever'"):
        for kept in ("1", "status != 'canceled'"):
            for key in column(db, f"SELECT DISTINCT {period} FROM sales_order WHERE {kept}"):
                orders = f"order_item JOIN sales_order USING (order_id) WHERE {period} = ? AND {kept} GROUP BY product_id"
                sold = column(db, f"SELECT sum(qty_ordered) FROM {orders} ORDER BY 1 DESC LIMIT 6", key)
                assert len(set(sold)) == len(sold)


def test_reviews_follow_purchases_and_agree_with_their_stars(db):
    assert value(db, "SELECT avg(customer_id IS NOT NULL) FROM review") > 0.5
    assert value(db, "SELECT count(*) FROM review WHERE customer_id = 1") >= 2
    assert value(db, "SELECT avg(status = 'Approved') FROM review") == pytest.approx(0.9, abs=0.05)
    assert value(db, "SELECT max(n) FROM (SELECT count(*) n FROM review GROUP BY product_id)") > 10
    assert value(db, "SELECT count(*) FROM product WHERE product_id NOT IN (SELECT product_id FROM review)") > 10
    pool = json.loads((Path(shopping.__file__).parent / "opinions.json").read_text())
    praise = [text for aspect in pool["aspects"].values() for text in aspect["praise"]]
    complaints = [text for aspect in pool["aspects"].values() for text in aspect["complaint"]]
    for row in db.execute("SELECT rating, detail FROM review"):
        good, bad = any(text in row["detail"] for text in praise), any(text in row["detail"] for text in complaints)
        assert good == (row["rating"] >= 3)
        assert bad == (row["rating"] < 3) or row["rating"] == 3


def test_opinions_name_their_aspect_and_no_other():
    pool = json.loads((Path(shopping.__file__).parent / "opinions.json").read_text())
    keywords = {name: aspect["keyword"] for name, aspect in pool["aspects"].items()}
    assert len(set(keywords.values())) == len(keywords)
    kinds = [(name, texts) for name, aspect in pool["aspects"].items() for kind, texts in aspect.items() if kind != "keyword"]
    sentences = [(name, text) for name, texts in kinds for text in texts]
    sentences += [("", text) for group in ("titles", "openers", "closers") for texts in pool[group].values() for text in texts]
    for name, text in sentences:
        assert [other for other in keywords if keywords[other] in text.lower()] == ([name] if name else [])


def test_search_terms_have_true_results_and_texts_agree_with_settings(db):
    uses = column(db, "SELECT uses FROM search_term")
    assert len(set(uses)) == len(uses)
    assert min(uses) > 0
    for row in db.execute("SELECT query_text, num_results FROM search_term").fetchall():
        assert row["num_results"] == len(find(db, row["query_text"]))
    assert value(db, "SELECT count(*) FROM search_term WHERE num_results = 0") >= 1
    settings = dict(db.execute("SELECT path, value FROM store_config").fetchall())
    pages = dict(db.execute("SELECT title, content FROM cms_page").fetchall())
    assert settings["general/store_information/phone"] in pages["Customer Service"]
    assert settings["general/email"] in pages["Customer Service"]
    assert f"within {settings['catalog/returns_days']} days" in pages["Returns"]
    threshold = settings["carriers/freeshipping/free_shipping_subtotal"].removesuffix(".00")
    assert re.search(rf"free from \${re.escape(threshold)}\b", pages["Shipping and Delivery"])
    assert value(db, "SELECT count(*) FROM theme WHERE is_applied") == 1
