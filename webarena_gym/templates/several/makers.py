"""Questions about the companies that make what the shop sells."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.shopping.routes import GOODS, open_product
from webarena_gym.templates.wikipedia.routes import FACTS, open_article

SITES = ("shopping", "wikipedia")


def company(world: t.Sampler, brand: str) -> t.Row:
    """Return the company behind a brand, with its town and the year of its founding. Raises NothingToDraw."""
    return world.pick(
        FACTS
        + """SELECT a.title AS alias, h.title, h.target AS town, CAST(f.number AS INTEGER) AS founded
        FROM alias a JOIN facts h USING (article_id) JOIN facts f USING (article_id)
        WHERE a.title = ? AND h.kind = 'company' AND h.label = 'Headquarters' AND f.label = 'Founded'""",
        brand,
        site="wikipedia",
    )


def maker_home(world: t.Sampler) -> t.Draw:
    """Go from a product to its brand, to the company, to a town."""
    product = world.pick(GOODS + "SELECT name, brand FROM goods ORDER BY product_id")
    maker = company(world, product["brand"])
    other = world.value(
        "SELECT title FROM article WHERE kind = 'town' AND title != ? ORDER BY title", maker["town"], site="wikipedia"
    )
    return t.Draw(
        start_url=tabs(*SITES),
        slots={"product": product["name"]},
        eval=t.told(t.answer(fuzzy_match=maker["town"]), about=[maker["title"]]),
        solution=[
            *open_product(product["name"]),
            turn_to(1, f"The brand is {product['brand']}."),
            *open_article(product["brand"]),
            t.leave(maker["town"], f"{maker['title']} has its headquarters in {maker['town']}."),
        ],
        wrong_answers=[other, maker["title"]],
    )


def older_maker(world: t.Sampler) -> t.Draw:
    """Compare the companies that make two products."""
    goods = world.rows(GOODS + "SELECT name, brand FROM goods ORDER BY product_id")
    one, other = world.rng.sample(goods, 2)
    if one["brand"] == other["brand"]:
        raise t.NothingToDraw("products of two companies")
    makers = [company(world, product["brand"]) for product in (one, other)]
    old, young = sorted(makers, key=lambda maker: int(maker["founded"]))
    return t.Draw(
        start_url=tabs(*SITES),
        slots={"one": one["name"], "other": other["name"]},
        eval=t.answer(fuzzy_match=old["title"]),
        solution=[
            *open_product(one["name"]),
            *open_product(other["name"]),
            turn_to(1, f"The brands are {one['brand']} and {other['brand']}."),
            *open_article(one["brand"]),
            *open_article(other["brand"], f"That company is from {makers[0]['founded']}."),
            t.leave(old["title"], f"{old['title']} is from {old['founded']}, {young['title']} from {young['founded']}."),
        ],
        wrong_answers=[young["title"]],
    )
