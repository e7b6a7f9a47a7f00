"""Questions about what the shop sells."""

from webarena_gym.answers import matches
from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping.views.search import TEXT
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import difference_of, lacks, says
from webarena_gym.templates.rows import Fact, Impossible
from webarena_gym.templates.shopping.routes import GOODS, SEARCH_BOX, open_product
from webarena_gym.templates.ways import impossible, question

YES_NO = ("No", "Yes")


product_price = Fact(
    GOODS + "SELECT name, cents, price_cents FROM goods ORDER BY product_id",
    "{cents:money}",
    way=[t.search(SEARCH_BOX, "{name}")],
    seen="It costs {cents:money}.",
    wrong=lambda _, row: [money(row["price_cents"] if row["price_cents"] != row["cents"] else row["cents"] + 100)],
    slots={"product": "{name}"},
)


product_sku = Fact(
    GOODS + "SELECT name, sku FROM goods ORDER BY product_id",
    "{sku}",
    way=open_product("{name}"),
    seen="The page says SKU: {sku}.",
    wrong=["{other[sku]}"],
    pair=True,
    slots={"product": "{name}"},
)


def product_stock(world: t.Sampler) -> t.Draw:
    """Ask whether something can be bought; both answers are as likely."""
    is_salable = world.rng.randrange(2)
    row = world.pick(GOODS + "SELECT name FROM goods WHERE is_salable = ? ORDER BY product_id", is_salable)
    seen = "It is in stock." if is_salable else "The page says that it is out of stock."
    return t.Draw(
        slots={"product": row["name"]},
        grounds={YES_NO[is_salable]: says("In stock" if is_salable else "Out of stock")},
        eval=t.told(
            t.answer(fuzzy_match=YES_NO[is_salable]),
            yes=["in stock", "available"],
            no=["out of stock", "sold out", "unavailable"],
        ),
        solution=[*open_product(row["name"]), t.leave(YES_NO[is_salable], seen)],
        wrong_answers=[YES_NO[1 - is_salable]],
    )


def product_attribute(world: t.Sampler) -> t.Draw:
    """Ask for a fact that the name of the product does not give away."""
    row = world.pick(
        GOODS
        + """SELECT g.name AS product, a.name, a.value FROM goods g JOIN product_attribute a USING (product_id)
        WHERE a.name != 'Brand' AND instr(g.name, a.value) = 0
            AND EXISTS (SELECT 1 FROM product_attribute b WHERE b.name = a.name AND b.value NOT LIKE '%' || a.value || '%')
        ORDER BY product_id, a.name"""
    )
    others = world.rows("SELECT DISTINCT value FROM product_attribute WHERE name = ? ORDER BY value", row["name"])
    return t.Draw(
        slots={"product": row["product"], "attribute": row["name"]},
        grounds={row["value"]: says(row["name"])} if row["value"] in YES_NO else {},
        eval=t.answer(fuzzy_match=row["value"]),
        solution=[*open_product(row["product"]), t.leave(row["value"], f"{row['name']}: {row['value']}.")],
        wrong_answers=[other["value"] for other in others if not matches(row["value"], other["value"])][:2],
    )


def product_options(world: t.Sampler) -> t.Draw:
    """Ask for the values of an option."""
    row = world.pick(
        GOODS
        + """SELECT g.name, o.title, o.option_id FROM goods g JOIN product_option o USING (product_id)
        WHERE is_salable ORDER BY option_id"""
    )
    values = world.rows("SELECT label FROM product_option_value WHERE option_id = ? ORDER BY position", row["option_id"])
    labels = [value["label"] for value in values]
    return question(
        {"product": row["name"], "option": row["title"]},
        ", ".join(labels),
        way=open_product(row["name"]),
        seen=f"The list of {row['title']} has {len(labels)} entries.",
        wrong=[", ".join(labels[1:])],
    )


def product_saving(world: t.Sampler) -> t.Draw:
    """Ask for the difference of two prices."""
    row = world.pick(GOODS + "SELECT name, cents, price_cents FROM goods WHERE cents < price_cents ORDER BY product_id")
    now, before, saved = (money(cents) for cents in (row["cents"], row["price_cents"], row["price_cents"] - row["cents"]))
    return t.Draw(
        slots={"product": row["name"]},
        grounds={saved: difference_of([before], [now])},
        eval=t.answer(fuzzy_match=saved),
        solution=[t.search(SEARCH_BOX, row["name"]), t.leave(saved, f"{before} before, {now} now: {saved} less.")],
        wrong_answers=[money(row["price_cents"] - row["cents"] + 100), now],
    )


def cheaper_of_two(world: t.Sampler) -> t.Draw:
    """Compare two products of one category."""
    first, second = two_of_a_category(world)
    cheap, dear = sorted((first, second), key=lambda row: int(row["cents"]))
    return question(
        {"first": first["name"], "second": second["name"]},
        cheap["name"],
        way=[
            t.search(SEARCH_BOX, first["name"]),
            t.search(SEARCH_BOX, second["name"], f"The first costs {money(first['cents'])}."),
        ],
        seen=f"The second costs {money(second['cents'])}, so the {cheap['name']} is cheaper.",
        wrong=[dear["name"]],
    )


def two_of_a_category(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return two products of one category that have different prices."""
    first = world.pick(GOODS + "SELECT * FROM goods ORDER BY product_id")
    others = GOODS + "SELECT * FROM goods WHERE category_id = ? AND cents != ? ORDER BY product_id"
    return first, world.pick(others, first["category_id"], first["cents"])


def missing_product(world: t.Sampler) -> t.Draw:
    """Ask for the price of something that this brand does not make."""
    row = world.pick(GOODS + "SELECT name, brand FROM goods ORDER BY product_id")
    brand = world.pick("SELECT DISTINCT brand FROM product WHERE brand != ? ORDER BY brand", row["brand"])["brand"]
    title = row["name"].removeprefix(row["brand"]).strip()
    if world.rows(f"SELECT 1 FROM product p WHERE {TEXT} LIKE ? AND {TEXT} LIKE ?", f"%{brand}%", f"%{kind_of(row)}%"):
        raise t.NothingToDraw(title)
    return impossible(
        {"product": f"{brand} {title}"},
        says("Your search returned no results"),
        way=[
            t.search(SEARCH_BOX, f"{brand} {title}"),
            t.search(SEARCH_BOX, f"{brand} {kind_of(row)}", "Nothing was found. I try fewer words."),
        ],
        seen="The shop has no such thing.",
    )


def kind_of(row: t.Row) -> str:
    """Return the last word of what a product is, in small letters: towel, sneakers."""
    return str(row["name"]).partition(",")[0].split()[-1].lower()


brand_phone = Impossible(
    GOODS + "SELECT name, brand FROM goods ORDER BY product_id",
    lacks(["{brand}"], ["Phone", "Telephone"]),
    way=open_product("{name}"),
    seen="The page names {brand} but no phone number.",
    slots={"product": "{name}"},
)


store_phone = Fact(
    "SELECT value FROM store_config WHERE path = 'general/store_information/phone'",
    "{value}",
    way=[t.click("Customer Service")],
    seen="They can be called at {value}.",
    wrong=lambda _, row: [row["value"][:-1] + str((int(row["value"][-1]) + 1) % 10)],
)


return_window = Fact(
    "SELECT value FROM store_config WHERE path = 'catalog/returns_days'",
    "{value}",
    way=[t.click("Customer Service"), t.click("Returns")],
    seen="Returns are possible within {value} days.",
    wrong=lambda _, row: [str(int(row["value"]) + 15)],
)
