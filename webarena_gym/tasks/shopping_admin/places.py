"""Places to open: lists, reports and forms."""

from webarena_gym.tasks.shopping_admin.routes import open_product
from webarena_gym.tasks.template import Draw, Sampler, Templates, at_url, leave

TEMPLATES = Templates("shopping_admin")


@TEMPLATES.define("Open the page on which I can edit the product {product}.")
def product_form(world: Sampler) -> Draw:
    """Open a product's form."""
    row = world.pick("SELECT product_id, name FROM product ORDER BY product_id")
    return Draw(
        slots={"product": row["name"]},
        eval=at_url(f"__SHOPPING_ADMIN__/catalog/product/edit/id/{row['product_id']}/"),
        solution=[*open_product(row["name"]), leave("", "This is the product's form.")],
    )
