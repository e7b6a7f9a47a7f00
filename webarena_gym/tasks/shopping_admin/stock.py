"""Changes to products and reviews."""

from webarena_gym.tasks.shopping_admin.ledgers import PRODUCTS, becomes
from webarena_gym.tasks.shopping_admin.routes import open_product
from webarena_gym.tasks.template import Draw, Sampler, Templates, click, leave, type_text

TEMPLATES = Templates("shopping_admin")


@TEMPLATES.define("Disable the product {product}; there are complaints about its quality.")
def disable_product(world: Sampler) -> Draw:
    """Take a product out of the shop."""
    row = world.pick("SELECT name, sku FROM product WHERE is_enabled ORDER BY product_id")
    return Draw(
        slots={"product": row["name"]},
        eval=becomes(world, PRODUCTS, row["sku"], is_enabled=0),
        solution=[
            *open_product(row["name"]),
            click("Enable Product", "It is still enabled."),
            click("Save"),
            leave("", "The product is saved and disabled."),
        ],
    )


@TEMPLATES.define("Set the stock quantity of the product with the SKU {sku} to {quantity}.")
def set_quantity(world: Sampler) -> Draw:
    """Change how many the shop has of a product."""
    row = world.pick("SELECT name, sku, quantity FROM product WHERE is_in_stock ORDER BY product_id")
    quantity = row["quantity"] + world.rng.randint(5, 60)
    return Draw(
        slots={"sku": row["sku"], "quantity": quantity},
        eval=becomes(world, PRODUCTS, row["sku"], quantity=quantity),
        solution=[
            *open_product(row["sku"])[:1],
            click(f"Product {row['name']}", "This is the one with that SKU."),
            type_text("Quantity", str(quantity), f"The quantity is {row['quantity']} so far."),
            click("Save"),
            leave("", f"The quantity is {quantity} now."),
        ],
    )
