"""Changes to orders: what is done with them from the first call to the last refund."""

from webarena_gym.tasks.shopping_admin.ledgers import ORDERS, becomes
from webarena_gym.tasks.shopping_admin.routes import an_order, open_order
from webarena_gym.tasks.template import Draw, Sampler, Templates, click, leave

TEMPLATES = Templates("shopping_admin")


@TEMPLATES.define("Cancel order {number}.")
def cancel_order(world: Sampler) -> Draw:
    """Cancel an order of which nothing was invoiced or shipped."""
    row = an_order(world, "status = 'pending'")
    return Draw(
        slots={"number": row["increment_id"]},
        eval=becomes(world, ORDERS, row["increment_id"], status="canceled"),
        solution=[*open_order(row), click("Cancel"), leave("", "The order is canceled.")],
    )


@TEMPLATES.define("Put order {number} on hold.")
def hold_order(world: Sampler) -> Draw:
    """Stop work on an order."""
    row = an_order(world, "status IN ('pending', 'processing')")
    return Draw(
        slots={"number": row["increment_id"]},
        eval=becomes(world, ORDERS, row["increment_id"], status="holded"),
        solution=[*open_order(row), click("Hold"), leave("", "The order is on hold.")],
    )


@TEMPLATES.define("Order {number} may go on: release it from hold.")
def unhold_order(world: Sampler) -> Draw:
    """Let work on an order go on; a world has only a few orders on hold."""
    row = an_order(world, "status = 'holded'")
    has_begun = world.value(
        "SELECT max(qty_invoiced + qty_shipped) > 0 FROM order_item WHERE order_id = ?", row["order_id"]
    )
    return Draw(
        slots={"number": row["increment_id"]},
        eval=becomes(world, ORDERS, row["increment_id"], status="processing" if has_begun else "pending"),
        solution=[*open_order(row), click("Unhold"), leave("", "The order is not on hold any more.")],
    )
