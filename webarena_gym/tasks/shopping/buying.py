"""Changes to the cart and to what I have ordered."""

from typing import Any

from webarena_gym.tasks.shopping.routes import GOODS, ME, open_product
from webarena_gym.tasks.template import Draw, Sampler, Templates, click, leave, state

TEMPLATES = Templates("shopping")

CART = f"""
SELECT p.sku, i.options, i.quantity FROM cart c JOIN cart_item i USING (cart_id) JOIN product p USING (product_id)
WHERE c.customer_id = {ME} ORDER BY p.sku, i.options
"""


def cart_holds(*lines: list[Any]) -> dict[str, Any]:
    """My cart must hold exactly these lines: SKU, options as JSON, quantity."""
    return state(CART, expected=sorted(lines))


@TEMPLATES.define("Put one {product} into my shopping cart.")
def cart_add(world: Sampler) -> Draw:
    """Add a product that has no options to the cart."""
    row = world.pick(GOODS + "SELECT name, sku FROM goods WHERE is_salable AND is_plain ORDER BY product_id")
    return Draw(
        slots={"product": row["name"]},
        eval=cart_holds([row["sku"], "{}", 1]),
        solution=[*open_product(row["name"]), click("Add to Cart"), leave("", "It is in the cart.")],
    )
