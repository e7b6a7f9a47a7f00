"""Changes to products: prices, stock, texts, options, and whether they are sold at all."""

from typing import Any

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping_admin.fields import written_cents
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Change
from webarena_gym.templates.shopping_admin.ledgers import PRODUCTS, becomes, others_stay
from webarena_gym.templates.shopping_admin.routes import EVERYTHING, KEYWORD, filtered, open_menu, open_product
from webarena_gym.templates.ways import instruction

SENTENCES = (
    "Now with a longer warranty.",
    "Our customers love how long it lasts.",
    "Packed without any plastic.",
    "Please measure twice before you order.",
    "Made in small batches.",
    "A favorite gift of our regulars.",
)
NEW_GOODS = ("Folding Bookstand", "Travel Chess Set", "Beeswax Candle", "Canvas Apron", "Desk Bell", "Puzzle Mat", "Rain Gauge")


def a_product(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the products that meet a condition."""
    return world.pick(f"SELECT * FROM product p WHERE {condition} ORDER BY product_id")


def change_form(product: t.Row, *steps: Step, seen: str) -> list[Step]:
    """Return the steps that change a product in its form."""
    return [*open_product(product["name"]), *steps, t.click("Save"), t.leave("", seen)]


def edited(world: t.Sampler, row: t.Row, slots: dict[str, Any], change: Step, *, seen: str, **values: object) -> t.Draw:
    """Return a draw that makes one change in a product's form. The product must get these values, and no other may change."""
    return t.Draw(slots, becomes(world, PRODUCTS, row["sku"], **values), change_form(row, change, seen=seen))


def tick_all(keyword: str, products: list[t.Row], action: str) -> list[Step]:
    """Return the steps that do something with all products that a keyword finds."""
    return [
        *open_menu("Catalog", "Products"),
        t.search(KEYWORD, keyword),
        *[t.click(f"Select {product['product_id']}") for product in products],
        t.choose("Actions", action),
        t.click("Submit"),
    ]


def disable_product(world: t.Sampler) -> t.Draw:
    """Take a product out of the shop."""
    row = a_product(world, "is_enabled")
    return edited(
        world,
        row,
        {"product": row["name"]},
        t.click("Enable Product", "It is still enabled."),
        seen="The product is disabled.",
        is_enabled=0,
    )


set_quantity = Change(
    lambda world: a_product(world, "is_in_stock"),
    lambda world, row: becomes(world, PRODUCTS, row["sku"], quantity=row["new_quantity"]),
    way=[
        t.search(EVERYTHING, "{sku}"),
        t.click("Product {name}", "This is the one with that SKU."),
        t.type_text("Quantity", "{new_quantity!s}", "The quantity is {quantity} so far."),
        t.click("Save"),
    ],
    seen="The quantity is {new_quantity} now.",
    also={"new_quantity": lambda world, row: row["quantity"] + world.rng.randint(5, 60)},
    slots={"quantity": "{new_quantity}"},
)


def add_quantity(world: t.Sampler) -> t.Draw:
    """Add to how many the shop has of a product."""
    row, count = a_product(world, "is_in_stock AND quantity > 0"), world.rng.randint(3, 40)
    quantity = row["quantity"] + count
    return edited(
        world,
        row,
        {"count": count, "product": row["name"]},
        t.type_text("Quantity", str(quantity), f"{row['quantity']} and {count} are {quantity}."),
        seen=f"The quantity is {quantity} now.",
        quantity=quantity,
    )


def out_of_stock(world: t.Sampler) -> t.Draw:
    """Stop the sale of a product."""
    row = a_product(world, "is_in_stock")
    return edited(
        world,
        row,
        {"product": row["name"]},
        t.choose("Stock Status", "Out of Stock"),
        seen="The product is out of stock.",
        is_in_stock=0,
    )


def set_price(world: t.Sampler) -> t.Draw:
    """Set a product's regular price."""
    row = a_product(world, "special_price_cents IS NULL")
    cents = row["price_cents"] + world.rng.choice((-1, 1)) * world.rng.randrange(25, min(row["price_cents"], 1000), 25)
    return edited(
        world,
        row,
        {"product": row["name"], "price": money(cents)},
        t.type_text("Price", written_cents(cents)),
        seen=f"The price is {money(cents)} now.",
        price_cents=cents,
    )


def move_price(world: t.Sampler) -> t.Draw:
    """Raise or lower a product's regular price by an amount of money or by some percent."""
    row = a_product(world, "special_price_cents IS NULL AND price_cents > 1000")
    old, percent = row["price_cents"], world.rng.choice((10, 20, 25, 50))
    is_percent = old * percent % 100 == 0 and world.rng.randrange(2) == 1
    amount = old * percent // 100 if is_percent else world.rng.randint(1, 8) * 100
    change, sign = world.rng.choice((("Raise", 1), ("Lower", -1)))
    cents = old + sign * amount
    return edited(
        world,
        row,
        {"change": change, "product": row["name"], "amount": f"{percent}%" if is_percent else money(amount)},
        t.type_text("Price", written_cents(cents), f"{money(old)} {'+' if sign > 0 else '-'} {money(amount)}."),
        seen=f"The price is {money(cents)} now.",
        price_cents=cents,
    )


def set_special_price(world: t.Sampler) -> t.Draw:
    """Give a product a sale price."""
    row = a_product(world, "special_price_cents IS NULL AND price_cents > 1000")
    cents = row["price_cents"] - world.rng.randrange(100, 900, 50)
    return edited(
        world,
        row,
        {"product": row["name"], "price": money(cents)},
        t.type_text("Special Price", written_cents(cents)),
        seen=f"The sale price is {money(cents)}.",
        special_price_cents=cents,
    )


def extend_description(world: t.Sampler) -> t.Draw:
    """Change a product's text; its form must show the old text and the new one."""
    row, sentence = a_product(world, "length(description) < 300"), world.rng.choice(SENTENCES)
    text = f"{row['description']} {sentence}"
    form = f"__SHOPPING_ADMIN__/catalog/product/edit/id/{row['product_id']}/"
    return t.Draw(
        slots={"sentence": sentence, "product": row["name"]},
        eval=t.all_of(
            t.page_shows(form, "#description", exact_match=text), becomes(world, PRODUCTS, row["sku"], description=text)
        ),
        solution=change_form(
            row, t.type_text("Description", text, "The old text stays."), seen="The description is longer now."
        ),
    )


add_option_value = Change(
    """SELECT p.*, o.title, v.label FROM product p JOIN product_option o USING (product_id)
           JOIN (SELECT DISTINCT title, label FROM product_option JOIN product_option_value USING (option_id)) v USING (title)
           WHERE NOT EXISTS (SELECT 1 FROM product_option_value own
                             WHERE own.option_id = o.option_id AND lower(own.label) = lower(v.label))
           ORDER BY product_id, o.title, v.label""",
    lambda world, row: becomes(world, PRODUCTS, row["sku"], options=f"{row['options']}; {row['title']}: {row['label']} +0"),
    way=[*open_product("{name}"), t.type_text("Option", "{title}"), t.type_text("Value", "{label}"), t.click("Add Value")],
    seen="The option {title} has the value {label}.",
    also={"options": lambda world, row: world.value(f"SELECT options FROM {PRODUCTS.table} WHERE sku = ?", row["sku"])},
    slots={"product": "{name}", "value": "{label}", "option": "{title}"},
)


def disable_brand(world: t.Sampler) -> t.Draw:
    """Take all products of a brand out of the shop at once."""
    brand = world.pick(
        """SELECT brand FROM product p GROUP BY brand
           HAVING count(*) = (SELECT count(*) FROM product q WHERE instr(lower(q.name || ' ' || q.brand), lower(p.brand)))
           AND sum(is_enabled) AND count(*) BETWEEN 2 AND 5 ORDER BY brand"""
    )["brand"]
    rows = world.rows("SELECT * FROM product WHERE brand = ? ORDER BY product_id", brand)
    return instruction(
        {"brand": brand},
        becomes(world, PRODUCTS, *[row["sku"] for row in rows], is_enabled=0),
        way=tick_all(brand, rows, "Change status to Disable"),
        seen=f"No product of {rows[0]['brand']} is enabled any more.",
    )


def variants_out_of_stock(world: t.Sampler) -> t.Draw:
    """Stop the sale of products that differ in what stands behind the comma of their names alone."""
    name = world.pick(
        """SELECT substr(name, 1, instr(name, ',') - 1) AS model FROM product p WHERE instr(name, ',')
           GROUP BY model HAVING count(*) BETWEEN 2 AND 4 AND sum(is_in_stock)
           AND count(*) = (SELECT count(*) FROM product q WHERE instr(q.name, substr(p.name, 1, instr(p.name, ',') - 1)))
           ORDER BY model"""
    )["model"]
    rows = world.rows("SELECT * FROM product WHERE instr(name, ?) ORDER BY product_id", name)
    return instruction(
        {"product": name},
        becomes(world, PRODUCTS, *[row["sku"] for row in rows], is_in_stock=0),
        way=[*tick_all(name, rows, "Update attributes"), t.choose("Stock Status", "Out of Stock"), t.click("Save")],
        seen=f"All {len(rows)} products were updated.",
    )


disable_and_list = Change(
    lambda world: a_product(world, "is_enabled"),
    lambda world, row: t.all_of(
        becomes(world, PRODUCTS, row["sku"], is_enabled=0), t.at_url("__SHOPPING_ADMIN__/catalog/product/?status=0")
    ),
    way=lambda _, row: [
        *change_form(row, t.click("Enable Product", "It is still enabled."), seen="")[:-1],
        *open_menu("Catalog", "Products"),
        *filtered(t.choose("Status", "Disabled")),
    ],
    seen="The list shows the disabled products.",
    slots={"product": "{name}"},
)


def add_product(world: t.Sampler) -> t.Draw:
    """Put something new into the catalog."""
    name, number = world.rng.choice(NEW_GOODS), world.rng.randint(10000, 99999)
    sku, cents, quantity = f"NEW-{number}", world.rng.randrange(500, 9000, 25), world.rng.randint(5, 90)
    if world.rows("SELECT 1 FROM product WHERE name = ? ORDER BY 1", name):
        raise t.NothingToDraw(name)
    return instruction(
        {"name": name, "sku": sku, "price": money(cents), "quantity": quantity},
        t.all_of(
            t.state(
                "SELECT name, price_cents, special_price_cents, quantity, is_enabled FROM product WHERE sku = ?",
                sku,
                expected=[[name, cents, None, quantity, 1]],
            ),
            others_stay(world, PRODUCTS, sku),
        ),
        way=[
            *open_menu("Catalog", "Products"),
            t.click("Add New Product"),
            t.type_text("Product Name", name),
            t.type_text("SKU", sku),
            t.type_text("Price", written_cents(cents)),
            t.type_text("Quantity", str(quantity)),
            t.click("Save"),
        ],
        seen=f"The product {name} is saved.",
    )
