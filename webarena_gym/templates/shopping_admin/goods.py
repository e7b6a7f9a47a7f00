"""Questions about products and their stock."""

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping_admin.routes import EVERYTHING, KEYWORD, filtered, open_menu, open_product
from webarena_gym.templates.ways import impossible, question

product_quantity = Fact(
    "SELECT name, quantity FROM product ORDER BY product_id",
    "{quantity}",
    way=open_product("{name}"),
    seen="The field Quantity holds {quantity}.",
    slots={"product": "{name}"},
)


def product_missing(world: t.Sampler) -> t.Draw:
    """Ask for the stock of a product that the shop does not have: another brand makes it."""
    rows = world.rows("SELECT name, brand FROM product WHERE substr(name, 1, length(brand)) = brand ORDER BY product_id")
    row, other = world.rng.sample(rows, 2)
    name = other["brand"] + row["name"][len(row["brand"]) :]
    if any(name in product["name"] for product in rows):
        raise t.NothingToDraw(name)
    return impossible(
        {"product": name},
        says("0 results"),
        way=[t.search(EVERYTHING, name)],
        seen="Nothing was found, so there is no such product.",
        wrong=["0"],
    )


price_of_sku = Fact(
    "SELECT sku, price_cents FROM product ORDER BY product_id",
    "{price_cents:money}",
    way=[*open_menu("Catalog", "Products"), t.search(KEYWORD, "{sku}")],
    seen="The price of {sku} is {price_cents:money}.",
    wrong=lambda _, row: [money(row["price_cents"] + 100)],
)


name_of_sku = Fact(
    "SELECT sku, name FROM product ORDER BY product_id",
    "{name}",
    way=[t.search(EVERYTHING, "{sku}")],
    seen="The product found is {name}.",
    wrong=["{other[name]}"],
    pair=True,
)


products_of_brand = Fact(
    """SELECT brand, count(*) AS products FROM product p GROUP BY brand
           HAVING products = (SELECT count(*) FROM product q WHERE instr(lower(q.name || q.brand), lower(p.brand)))
           AND products > 1 ORDER BY brand""",
    "{products}",
    way=[*open_menu("Catalog", "Products"), t.search(KEYWORD, "{brand}")],
    seen="{products} records were found, all by {brand}.",
)


def products_by_stock(world: t.Sampler) -> t.Draw:
    """Ask which products are about to run out."""
    row = world.pick(
        "SELECT quantity, count(*) AS n FROM product WHERE quantity BETWEEN 1 AND 25 GROUP BY 1 HAVING n <= 6 ORDER BY 1"
    )
    quantity = row["quantity"]
    skus = [found["sku"] for found in world.rows("SELECT sku FROM product WHERE quantity = ? ORDER BY sku", quantity)]
    other = world.value("SELECT sku FROM product WHERE quantity > ? ORDER BY quantity", quantity)
    listed = ", ".join(skus)
    return question(
        {"quantity": quantity},
        listed,
        way=[
            *open_menu("Catalog", "Products"),
            *filtered(t.type_text("Quantity from", str(quantity)), t.type_text("Quantity to", str(quantity))),
        ],
        seen=f"The products with a quantity of {quantity} have the SKUs {listed}.",
        wrong=[", ".join([*skus[1:], other])],
    )
