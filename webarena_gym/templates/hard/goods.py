"""Products of the shop to be restocked or repriced, but for those that a note excepts."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping_admin.fields import written_cents
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import findable, turn_into
from webarena_gym.templates.shopping_admin.ledgers import PRODUCTS
from webarena_gym.templates.shopping_admin.routes import KEYWORD, PER_PAGE, open_menu, open_product
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")

_LAST = (
    "No longer made; what is left is what is left.",
    "The maker has stopped producing it, so there will be no more of these.",
    "Last pieces: this model is being replaced.",
)


def in_form(row: t.Row, *steps: Step) -> list[Step]:
    """Return the steps from any page of the admin to the form of a product, and some in it."""
    return [t.click("Dashboard"), *open_product(row["name"]), *steps]


def brand_list(world: t.Sampler, brand: str, count: int) -> list[Step]:
    """Return the steps through the list of the products of a brand."""
    return [
        *open_menu("Catalog", "Products"),
        t.search(KEYWORD, brand),
        *turn_pages(world, count - 1, PER_PAGE, "There are more.", "Next page"),
    ]


@TEMPLATES.define(
    "A delivery from {brand} is here. Set the quantity of every product of this brand that is in stock with fewer than {few} pieces to {many}. Leave out what is marked as out of stock, and whatever its description says will not be made any more.",
    "{brand} delivery: everything of the brand thats in stock but below {few} -> quantity {many}. not the discontinued ones (see description), not the out of stock ones",
    "The truck from {brand} has finally come, with plenty of everything that they still make. All their products of which we have fewer than {few}, but which are in stock, get the new quantity {many}. The description tells if something is no longer produced: do not touch these.",
    "Please restock {brand}: quantity {many} for each product with less than {few} pieces and the stock status In Stock, unless the description says that production has ended.",
    "For {brand} products with the status In Stock and a quantity below {few}, enter {many} as the quantity. Exeption: discontinued ones, you see that in their descriptions.",
    sites=("shopping_admin",),
    difficulty=("exhaustive", "restraint"),
)  # fmt: skip
def restock(world: t.Sampler) -> t.Draw:
    """Raise the quantities of a brand's scarce products, but for those that are no longer made."""
    brands = [
        row["brand"]
        for row in world.rows(
            "SELECT brand FROM product WHERE is_enabled GROUP BY brand HAVING count(*) BETWEEN 8 AND 30 ORDER BY brand"
        )
    ]
    found = []
    products = findable(world, world.rows("SELECT * FROM product ORDER BY product_id"), "product")
    for brand in brands:
        rows = [row for row in products if row["brand"] == brand and row["is_enabled"]]
        for few in (30, 40, 50, 60, 75):
            scarce = [row for row in rows if row["is_in_stock"] and 0 < row["quantity"] < few]
            found += [(brand, few, rows, scarce)] if 6 <= len(scarce) <= 9 else []
    if not found:
        raise t.NothingToDraw("a brand to restock")
    brand, few, rows, scarce = world.rng.choice(found)
    if len(rows) != world.value("SELECT count(*) FROM product WHERE brand = ?", brand):
        raise t.NothingToDraw("a brand whose products all can be found")
    many = few + world.rng.randint(40, 90)
    ended = {row["sku"] for row in world.rng.sample(scarce, 2)}
    for row in scarce:
        if row["sku"] in ended:
            world.alter(
                "product", {"product_id": row["product_id"]}, description=f"{row['description']} {world.rng.choice(_LAST)}"
            )
    steps: list[Step] = []
    for row in scarce:
        change = [] if row["sku"] in ended else [t.type_text("Quantity", str(many)), t.click("Save")]
        steps += in_form(row, *change)
    return t.Draw(
        {"brand": brand, "few": few, "many": many},
        turn_into(world, PRODUCTS, {row["sku"]: {"quantity": many} for row in scarce if row["sku"] not in ended}),
        [*brand_list(world, brand, len(rows)), *steps, t.leave("", "All that is still made is restocked.")],
        evidence=[row["sku"] for row in scarce],
    )


@TEMPLATES.define(
    "Everything of {brand} that costs more than {limit} gets cheaper: lower the regular price by {percent} percent, rounded to the cent. Products with a special price are not touched.",
    "{brand}: regular price -{percent}% (round to cents) for all products over {limit} that have no special price",
    "We have agreed on lower prices with {brand}. For each of their products with a price above {limit}, take {percent} percent off the price and round to whole cents. One exception: if there is a special price, everything stays as it is.",
    "Please cut the prices of {brand} by {percent} percent (to the nearest cent). This concerns what costs more than {limit} today and is not on a special price already.",
    "Reduce the price of evry {brand} product above {limit} by {percent} %, rounding to cents. Those with a special price keep both prices.",
    sites=("shopping_admin",),
    difficulty=("exhaustive", "restraint"),
)  # fmt: skip
def cut_prices(world: t.Sampler) -> t.Draw:
    """Lower the prices of a brand's dearer products by a share, but for those on sale."""
    found = []
    percent = world.rng.choice((5, 10, 15, 20))
    products = findable(world, world.rows("SELECT * FROM product ORDER BY product_id"), "product")
    for (brand,) in world.rows("SELECT brand FROM product GROUP BY brand HAVING count(*) BETWEEN 6 AND 30 ORDER BY brand"):
        rows = [row for row in products if row["brand"] == brand]
        for limit in (1500, 2000, 3000, 4000, 5000, 7500, 10000):
            dear = [row for row in rows if row["price_cents"] > limit]
            wanted = [row for row in dear if row["special_price_cents"] is None]
            found += (
                [(brand, limit, rows, dear, wanted)] if 4 <= len(wanted) <= 7 and len(dear) - len(wanted) in (1, 2, 3) else []
            )
    if not found:
        raise t.NothingToDraw("a brand to make cheaper")
    brand, limit, rows, dear, wanted = world.rng.choice(found)
    prices = {row["sku"]: row["price_cents"] * (100 - percent) for row in wanted}
    if len(rows) != world.value("SELECT count(*) FROM product WHERE brand = ?", brand) or any(
        cents % 100 == 50 for cents in prices.values()
    ):
        raise t.NothingToDraw("prices that can be rounded in one way only")
    changes = {sku: {"price_cents": (cents + 50) // 100} for sku, cents in prices.items()}
    steps: list[Step] = []
    for row in dear:
        change = changes.get(row["sku"])
        steps += in_form(
            row, *([t.type_text("Price", written_cents(change["price_cents"])), t.click("Save")] if change else [])
        )
    return t.Draw(
        {"brand": brand, "limit": money(limit), "percent": percent},
        turn_into(world, PRODUCTS, changes),
        [*brand_list(world, brand, len(rows)), *steps, t.leave("", "The prices are lower.")],
        evidence=[row["sku"] for row in dear],
    )
