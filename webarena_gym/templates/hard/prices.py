"""Prices of the shop that somebody's import has changed, by the price list and what was agreed on since."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping_admin.fields import written_cents
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.goods import in_form
from webarena_gym.templates.hard.ways import findable, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import PRODUCTS

TEMPLATES = t.Templates("hard")


@TEMPLATES.define(
    'Last night an import changed regular prices of the products on our page "{page}" (Content). Put back every regular price that is not as that page says, all of it read. Special prices and everything else stay.',
    'import went wrong, some regular prices are off. right ones: content page "{page}" (read to the end, there are exceptions!). fix only whats wrong, leave special prices',
    'Could you check the regular prices of everything that is on the content page "{page}"? They should be as that page says, but since the import of last night some are not. Correct those. A special price is none of our business here, and neither are products that are not on the page.',
    'Compare the products listed on "{page}" (Content > Pages) with their forms. Where the field Price does not hold what the page as a whole tells, correct it. Touch nothing else, no special prices either.',
    'We have a page "{page}" in Content which says what things cost, and what has changed since it was written. By that page, repair the regular prices that were damaged yesterday. The rest is to remain as it is, of corse.',
    sites=("shopping_admin",),
    difficulty=("recovery", "policies", "exhaustive"),
)  # fmt: skip
def restore_prices(world: t.Sampler) -> t.Draw:
    """Put back regular prices that an import has changed, by a price list with exceptions."""
    rng, title = world.rng, world.rng.choice(("Price list", "What things cost", "Prices of this season"))
    rows = world.rows(
        """SELECT * FROM product p WHERE is_enabled AND special_price_cents IS NULL AND price_cents BETWEEN 1500 AND 20000
        AND NOT EXISTS (SELECT 1 FROM product_option o WHERE o.product_id = p.product_id) ORDER BY product_id"""
    )
    on_sale = world.rows(
        """SELECT * FROM product p WHERE is_enabled AND special_price_cents IS NOT NULL AND price_cents < 30000
        AND NOT EXISTS (SELECT 1 FROM product_option o WHERE o.product_id = p.product_id) ORDER BY product_id"""
    )
    plan = ["right", "wrong", "wrong", "raised, done", "raised, undone", "called off", "percent", "on sale", "on sale, wrong"]
    rng.shuffle(plan)
    plain, special = (iter(rng.sample(findable(world, own, "product"), count)) for own, count in ((rows, 7), (on_sale, 2)))
    chosen = [(next(special if fate.startswith("on sale") else plain), fate) for fate in plan]
    lines: list[str] = []
    more: list[str] = []
    right: dict[str, int] = {}
    for row, fate in chosen:
        price, name = row["price_cents"], row["name"]
        told = price
        step = rng.choice((-300, -150, 200, 450))
        if fate.startswith("raised"):
            told = price - abs(step)
            more.append(f"The {name} has become dearer for us. It costs {money(price)} now.")
        elif fate == "percent":
            told = price // 1000 * 1000 or 1000
            price = told * 9 // 10
            more.append(f"From the {name} ten percent of the price above are taken off, for good.")
        elif fate == "called off":
            more.append(f"We had planned {money(price + 500)} for the {name}. That is off the table, nothing changes there.")
        lines.append(f"{name}: {money(told)}")
        right[row["sku"]] = price
        now = {
            "wrong": price + step, "raised, undone": told, "called off": price + 500, "percent": told, "on sale, wrong": price + abs(step),
        }.get(fate, price)  # fmt: skip
        if now != row["price_cents"]:
            world.alter("product", {"product_id": row["product_id"]}, price_cents=now)
    rng.shuffle(more)
    way = staff_page(
        world, title, "\n\n".join(["These are our regular prices.", *lines, "What has changed since then:", *more])
    )
    steps: list[Step] = []
    changes: dict[str, dict[str, int]] = {}
    for row, _ in chosen:
        price = right[row["sku"]]
        is_wrong = world.value("SELECT price_cents FROM product WHERE product_id = ?", row["product_id"]) != price
        steps += in_form(
            row, *([t.type_text("Price", written_cents(price), "The import was here."), t.click("Save")] if is_wrong else [])
        )
        if is_wrong:
            changes[row["sku"]] = {"price_cents": price}
    return t.Draw(
        {"page": title},
        turn_into(world, PRODUCTS, changes),
        [*way, *steps, t.leave("", "The prices are as the page says.")],
        evidence=[*lines, *more, *(row["sku"] for row, _ in chosen)],
    )
