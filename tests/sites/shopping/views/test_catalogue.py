"""Home page, categories, search, products and their pictures."""

import json
from importlib import resources

from lxml.etree import fromstring

from tests.sites.shopping.shopper import HOST
from webarena_gym.sites.shopping.views.catalogue import draw_image


def test_the_home_page_shows_new_and_best_selling_products(visitor):
    assert visitor.browser.page().title == "Corner Shop"
    assert visitor.names == ["Two Person Tent", "Red Kettle", "Iron Frying Pan", "Copper Frying Pan"]
    visitor.db.execute("UPDATE product SET created_at = '2021-01-01 00:00:00' WHERE product_id < 4")
    assert visitor.open("/").names[:2] == ["Copper Frying Pan", "Iron Frying Pan"]  # best sellers that are not new


def test_lists_of_a_category_are_sorted_filtered_and_paged(visitor):
    visitor.click("Kitchen").at("/kitchen.html").lists("Copper Frying Pan", "Iron Frying Pan", "Red Kettle")
    visitor.click("Kettles").at("/kitchen/kettles.html").lists("Red Kettle").sees("Out of stock")
    visitor.open("/kitchen.html").choose("Sort By", "Price").click("Apply")
    assert visitor.names == ["Red Kettle", "Iron Frying Pan", "Copper Frying Pan"]  # by what is paid, not by the old price
    visitor.click("Set Descending Direction")
    assert visitor.path == "/kitchen.html?product_list_order=price&product_list_limit=12&product_list_dir=desc"
    assert visitor.names == ["Copper Frying Pan", "Iron Frying Pan", "Red Kettle"]
    visitor.click("Set Ascending Direction").choose("Sort By", "Product Name").click("Apply")
    assert visitor.names == ["Copper Frying Pan", "Iron Frying Pan", "Red Kettle"]
    visitor.open("/kitchen.html").click("Alder").at("/kitchen.html?brand=Alder").lists("Copper Frying Pan", "Red Kettle")
    visitor.click("$10.00 - $19.99").lists("Red Kettle").click("Remove Brand: Alder").at("/kitchen.html?price=10-20")
    visitor.click("Clear All")
    assert len(visitor.names) == 3
    visitor.click("In Stock", "4 stars & up").lists("Copper Frying Pan")
    visitor.open("/outdoors.html?price=0-10&product_list_order=price&product_list_dir=desc").sees("Items 1-12 of 25")
    first = visitor.names
    visitor.click("Next")
    second = visitor.names
    visitor.click("Page 3")
    assert [*first, *second, *visitor.names] == [f"Tent Peg No. {n:02d}" for n in range(25, 0, -1)]
    visitor.choose("Show", "36").click("Apply").sees("25 Items")
    assert len(visitor.names) == 25


def test_a_search_ranks_counts_suggests_and_knows_no_wildcards(visitor):
    visitor.type(Search_entire_store="camping").click("Search").at("/catalogsearch/result/?q=camping")
    visitor.lists("Iron Frying Pan", "Two Person Tent").open("/catalogsearch/result/?q=PAN+birch").lists("Iron Frying Pan")
    assert visitor.open("/catalogsearch/result/?q=two+person+tent").names[0] == "Two Person Tent"
    visitor.open("/catalogsearch/result/?q=Tent").open("/catalogsearch/result/?q=tent&p=2")
    assert visitor.row("SELECT * FROM search_term WHERE query_text = 'tent'")["uses"] == 8
    assert visitor.row("SELECT * FROM search_term WHERE query_text = 'camping'")["num_results"] == 2
    visitor.open("/catalogsearch/result/?q=coper+fryng+pan").sees("Your search returned no results.")
    visitor.click("copper frying pan").lists("Copper Frying Pan")
    visitor.open("/catalogsearch/result/?q=zzzzzzz").lacks("Did you mean").open("/catalogsearch/result/?q=%25").lists()
    assert visitor.open("/catalogsearch/result/?q=no._01").names == []
    visitor.open("/catalogsearch/advanced/").type(Product_Name="pan", Price_to="30").click("Search by these fields")
    assert visitor.names == ["Iron Frying Pan"]
    visitor.open("/catalogsearch/advanced/").type(Price_from="cheap").click("Search by these fields").sees("cheap is no price")
    visitor.open("/catalogsearch/advanced/").click("Search by these fields").sees("Enter a search term and try again.")


def test_pages_of_products_and_of_text(visitor):
    visitor.open("/iron-frying-pan.html")
    visitor.sees("Special Price $24.00", "Regular Price $30.00", "3.0 (1)", "SKU: PAN-2", "In stock", "10 inch", "Birch")
    assert "Be the first to review this product" in visitor.open("/red-kettle.html").text
    assert visitor.open("/forgotten-tent.html").browser.page().title == "404 Not Found"
    visitor.open("/about-us").sees("About the Corner Shop", "And &lt;tents>.")
    assert "404" in visitor.open("/off/").browser.page().title


def test_pictures_are_drawn_from_the_product_and_a_missing_one_shows_no_page(visitor):
    first, again, other, missing = (
        visitor.network.request("GET", f"{HOST}/media/catalog/{key}.svg")
        for key in ("red-kettle", "red-kettle", "copper-frying-pan", "none")
    )
    assert first.status == 200
    assert first.header("Content-Type").startswith("image/svg+xml")
    assert first.body == again.body != other.body
    assert (missing.status, missing.body) == (404, b"")


def test_product_images_depend_on_the_noun_of_the_name():
    catalogue = json.loads(resources.files("webarena_gym.sites.shopping").joinpath("catalogue.json").read_text("utf-8"))
    nouns = [kind[0] for leaves in catalogue["categories"].values() for leaf in leaves.values() for kind in leaf[2]]
    drawn = {
        noun: [path.get("d") for path in fromstring(draw_image(f"Brand {noun}").encode()).iter("{*}path")] for noun in nouns
    }
    other = drawn["Power Bank"]  # whose words say no shape
    assert sum(paths == other for paths in drawn.values()) <= len(nouns) // 20
    assert len({str(paths) for paths in drawn.values()}) >= 30
    assert all(len(paths) > 1 for paths in drawn.values())
