"""Questions about products and their stock."""

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.shopping_admin.routes import EVERYTHING, KEYWORD, filtered, open_menu, open_product
from webarena_gym.templates.ways import impossible, question

TEMPLATES = t.Templates("shopping_admin")


@TEMPLATES.define("How many of the {product} do we have in stock?")
def product_quantity(world: t.Sampler) -> t.Draw:
    """Ask for the stock of a product."""
    row = world.pick("SELECT name, quantity FROM product ORDER BY product_id")
    quantity = row["quantity"]
    return question(
        {"product": row["name"]}, quantity, way=open_product(row["name"]), seen=f"The field Quantity holds {quantity}."
    )


@TEMPLATES.define("How many of the {product} do we have in stock?")
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


@TEMPLATES.define("What is the regular price of the product with the SKU {sku}?")
def price_of_sku(world: t.Sampler) -> t.Draw:
    """Ask for a price by article number."""
    row = world.pick("SELECT sku, price_cents FROM product ORDER BY product_id")
    price = money(row["price_cents"])
    return question(
        {"sku": row["sku"]},
        price,
        way=[*open_menu("Catalog", "Products"), t.search(KEYWORD, row["sku"])],
        seen=f"The price of {row['sku']} is {price}.",
        wrong=[money(row["price_cents"] + 100)],
    )


@TEMPLATES.define("What is the name of the product with the SKU {sku}?")
def name_of_sku(world: t.Sampler) -> t.Draw:
    """Ask for a name by article number."""
    row, other = world.rng.sample(world.rows("SELECT sku, name FROM product ORDER BY product_id"), 2)
    return question(
        {"sku": row["sku"]},
        row["name"],
        way=[t.search(EVERYTHING, row["sku"])],
        seen=f"The product found is {row['name']}.",
        wrong=[other["name"]],
    )


@TEMPLATES.define("How many products of the brand {brand} are in the catalog, disabled ones included?")
def products_of_brand(world: t.Sampler) -> t.Draw:
    """Ask for a count that the list of products shows."""
    row = world.pick(
        """SELECT brand, count(*) AS products FROM product p GROUP BY brand
           HAVING products = (SELECT count(*) FROM product q WHERE instr(lower(q.name || q.brand), lower(p.brand)))
           AND products > 1 ORDER BY brand"""
    )
    count = row["products"]
    return question(
        {"brand": row["brand"]},
        count,
        way=[*open_menu("Catalog", "Products"), t.search(KEYWORD, row["brand"])],
        seen=f"{count} records were found, all by {row['brand']}.",
    )


@TEMPLATES.define("List the SKUs of all products of which exactly {quantity} are left in stock.")
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
