"""Pages to open."""

from urllib.parse import urlencode

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping.listing import LIMITS, price_ranges, range_label
from webarena_gym.tasks import template as t
from webarena_gym.templates.rows import Visit
from webarena_gym.templates.shopping.routes import (
    GOODS,
    MINE,
    SEARCH_BOX,
    open_account,
    open_category,
    open_order,
    open_product,
    open_reviews,
)
from webarena_gym.templates.shopping.shelves import draw_extreme
from webarena_gym.templates.ways import instruction, visit

ROOMS = {
    "wish list": ("wishlist/", [t.click("My Wish List")]),
    "address book": ("customer/address/", open_account("Address Book")),
    "list of past orders": ("sales/order/history/", open_account("My Orders")),
    "list of product reviews that I wrote": ("review/customer/", open_account("My Product Reviews")),
    "newsletter settings": ("newsletter/manage/", open_account("Newsletter Subscriptions")),
    "account page": ("customer/account/", open_account()),
    "name and email settings": ("customer/account/edit/", open_account("Account Information")),
    "shopping cart": ("checkout/cart/", [t.click("My Cart")]),
}
"""Pages of the account: what they are called, where they are, and the way there."""


def account_place(world: t.Sampler) -> t.Draw:
    """Open a page of the account."""
    place = world.rng.choice(list(ROOMS))
    path, steps = ROOMS[place]
    return visit({"place": place}, f"__SHOPPING__/{path}", way=steps)


category_place = Visit(
    GOODS + "SELECT DISTINCT category, department, division, url_path FROM goods ORDER BY url_path",
    "__SHOPPING__/{url_path}.html",
    way=lambda _, row: open_category(row),
)


search_place = Visit(
    GOODS + "SELECT name, brand FROM goods ORDER BY product_id",
    lambda _, row: f"__SHOPPING__/catalogsearch/result/?{urlencode({'q': row['words']})}",
    way=[t.search(SEARCH_BOX, "{words}")],
    also={"words": lambda _, row: row["name"].partition(",")[0].removeprefix(row["brand"]).strip().lower()},
)


product_place = Visit(
    GOODS + "SELECT name, url_key FROM goods ORDER BY product_id",
    "__SHOPPING__/{url_key}.html",
    way=open_product("{name}"),
    slots={"product": "{name}"},
)


order_place = Visit(
    MINE + "SELECT * FROM mine ORDER BY order_id",
    "__SHOPPING__/sales/order/view/order_id/{order_id}/",
    way=open_order,
    slots={"number": "{increment_id}"},
)


reviews_place = Visit(
    GOODS + "SELECT * FROM goods WHERE reviews > 0 ORDER BY product_id",
    "__SHOPPING__/review/product/list/id/{product_id}/",
    way=lambda _, row: open_reviews(row),
    slots={"product": "{name}"},
)


def sorted_place(world: t.Sampler) -> t.Draw:
    """Open a category sorted by price."""
    end = draw_extreme(world)
    arguments = f"?product_list_order=price&product_list_dir={'desc' if end.is_dearest else 'asc'}"
    return instruction(
        {"category": end.row["category"], "extreme": end.word},
        t.all_of(
            t.at_url(f"__SHOPPING__/{end.row['url_path']}.html{arguments}"),
            t.page_shows("last", ".grid li:first-child .name", exact_match=end.row["name"]),
        ),
        way=end.way,
        seen=f"The {end.row['name']} comes first now.",
    )


def price_filter_place(world: t.Sampler) -> t.Draw:
    """Open a category, filtered by one of the ranges of prices on offer."""
    row = world.pick(
        GOODS + "SELECT DISTINCT category_id, category, department, division, url_path FROM goods ORDER BY url_path"
    )
    goods = world.rows(GOODS + "SELECT cents FROM goods WHERE category_id = ? ORDER BY cents", row["category_id"])
    low, high, found = world.rng.choice(price_ranges([product["cents"] for product in goods]))
    if found == len(goods):
        raise t.NothingToDraw("a range that leaves something out")
    label = range_label(low, high)
    return visit(
        {"category": row["category"], "range": label},
        f"__SHOPPING__/{row['url_path']}.html?price={low // 100}-{high // 100}",
        way=[*open_category(row), t.click(label)],
        seen=f"These are the {found} from {label}.",
    )


brand_filter_place = Visit(
    GOODS + "SELECT DISTINCT category, department, division, url_path, brand FROM goods ORDER BY url_path, brand",
    "__SHOPPING__/{url_path}.html?brand={brand}",
    way=lambda _, row: [*open_category(row), t.click(row["brand"])],
)


def extreme_place(world: t.Sampler) -> t.Draw:
    """Open the page of the product at either end of a category's prices."""
    end = draw_extreme(world)
    return visit(
        {"category": end.row["category"], "extreme": end.word},
        f"__SHOPPING__/{end.row['url_key']}.html",
        way=[*end.way, t.click(end.row["name"], f"The first costs {money(end.row['cents'])}.")],
    )


def most_reviewed_place(world: t.Sampler) -> t.Draw:
    """Open the page of the product with the most reviews in a category."""
    row = world.pick(GOODS + "SELECT category_id, count(*) AS found FROM goods GROUP BY category_id ORDER BY category_id")
    best, second = world.rows(
        GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY reviews DESC LIMIT 2", row["category_id"]
    )
    if best["reviews"] == second["reviews"]:
        raise t.NothingToDraw("one that has more reviews than all others")
    sizes = [world.layout.page_size(size) for size in LIMITS]
    size = next((size for size in sizes if size >= row["found"]), sizes[-1])
    whole_list = [t.choose("Show", str(size)), t.click("Apply")] if size > sizes[0] else []
    return visit(
        {"category": best["category"]},
        f"__SHOPPING__/{best['url_key']}.html",
        way=[
            *open_category(best),
            *whole_list,
            t.click(best["name"], f"{best['reviews']} reviews are more than any other has."),
        ],
    )
