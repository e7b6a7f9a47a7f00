"""Changes to my account: the wish list, the newsletter, addresses, reviews and messages."""

from typing import Any

from webarena_gym.tasks.shopping.routes import GOODS, ME, open_product
from webarena_gym.tasks.template import Draw, Sampler, Templates, click, leave, state

TEMPLATES = Templates("shopping")

WISHES = f"SELECT sku, w.quantity FROM wishlist_item w JOIN product USING (product_id) WHERE customer_id = {ME} ORDER BY sku"


def wishes(world: Sampler) -> dict[str, int]:
    """Return what stands on my wish list: SKU and quantity."""
    return {row["sku"]: row["quantity"] for row in world.rows(WISHES)}


def wish_list_holds(wanted: dict[str, int]) -> dict[str, Any]:
    """My wish list must hold exactly these products, as `wishes` returns them."""
    return state(WISHES, expected=[list(item) for item in sorted(wanted.items())])


@TEMPLATES.define("Add the {product} to my wish list.")
def wish_list_add(world: Sampler) -> Draw:
    """Put a product on the wish list that is not there yet."""
    present = wishes(world)
    rows = world.rows(GOODS + "SELECT name, sku FROM goods ORDER BY product_id")
    row = world.rng.choice([row for row in rows if row["sku"] not in present])
    return Draw(
        slots={"product": row["name"]},
        eval=wish_list_holds({**present, row["sku"]: 1}),
        solution=[*open_product(row["name"]), click("Add to Wish List"), leave("", "It is on the wish list.")],
    )
