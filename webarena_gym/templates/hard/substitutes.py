"""Things on my wish list, part of which is sold out, and what my comments there say about it."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import ago, findable
from webarena_gym.templates.shopping.account import WISHES
from webarena_gym.templates.shopping.buying import cart_holds
from webarena_gym.templates.shopping.routes import GOODS, ME, open_account, open_product

TEMPLATES = t.Templates("hard")


@TEMPLATES.define(
    "Fill my cart from the wish list: everything there that has a comment, in the quantity that the list says, and with sold out things handled as my comment asks. The comment also tells if something is not to be bought. The wish list itself must look the same afterwards. Do not order{please}.",
    "put the stuff from my wish list that has a comment into the cart. qty as on the list. sold out -> see comment for what to take instead. comment says dont buy -> dont. leave the wish list as it is, no checkout{please}",
    "I have written comments next to some of the things on my wish list. Those are what I want in my cart now, as many of each as stands there. If one is out of stock, do what my comment says, and if my comment does not want it bought at all, leave it out. I need the list again, so nothing may vanish from it, and I will pay myself{please}.",
    "Please prepare my cart. Source: my wish list, but only entries with a comment; the quantities are those of the list unless a comment says otherwise. For entries that are out of stock, the comments name replacements (or do not). Keep the wish list unchanged and do not check out{please}.",
    "Could you do the shopping from my wish list, up to the cart? Only what has a coment from me. Comments may ask for something else in case it is sold out, for another number, or for not buying it. My wish list stays exactly as it is, and there is no order yet{please}.",
    sites=("shopping",),
    difficulty=("recovery", "reading", "restraint"),
)  # fmt: skip
def cart_from_wishes(world: t.Sampler) -> t.Draw:
    """Fill the cart from the wish list, with replacements for what is sold out."""
    rng = world.rng
    if world.rows(f"SELECT 1 FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = {ME}"):
        raise t.NothingToDraw("an empty cart")
    if world.rows(f"SELECT 1 FROM wishlist_item WHERE customer_id = {ME} AND comment != ''"):
        raise t.NothingToDraw("a wish list without comments")
    query = f"""SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 9
        AND product_id NOT IN (SELECT product_id FROM wishlist_item WHERE customer_id = {ME}) ORDER BY product_id"""
    shelves: dict[int, list[t.Row]] = {}
    for row in findable(world, world.rows(GOODS + query), "product"):
        shelves.setdefault(row["category_id"], []).append(row)
    chosen = rng.sample([shelf for _, shelf in sorted(shelves.items()) if len(shelf) > 2], 7)
    (one, *_), (only, *_), (unwanted, *_) = (rng.sample(shelf, 1) for shelf in chosen[:3])
    (gone, first), (other, fourth), (fewer, fifth) = (rng.sample(shelf, 2) for shelf in chosen[3:6])
    gone_too, second, third = rng.sample(chosen[6], 3)
    friend = rng.choice(("Jo", "my aunt", "Sam from upstairs"))
    entries = [
        # What is wished for, how many, whether it is sold out, the comment, and what is bought in the end.
        (one, 2, False, rng.choice(("for the kitchen", "green paper, please", "finally")), [(one, 2)]),
        (gone, 3, True, f"if sold out, the {first['name']} will do", [(first, 3)]),
        (gone_too, 2, True, f"otherwise the {second['name']}, and if that is gone as well, the {third['name']}", [(third, 2)]),
        (only, 1, True, "this one or nothing", []),
        (unwanted, 1, False, f"do not buy, {friend} has got me one", []),
        (other, 2, False, f"should it be out of stock, take the {fourth['name']}", [(other, 2)]),
        (fewer, 4, True, f"instead: the {fifth['name']}, but a single one is enough then", [(fifth, 1)]),
    ]
    rng.shuffle(entries)
    for place, (row, quantity, is_gone, comment, _) in enumerate(entries):
        world.plant(
            "wishlist_item",
            customer_id=ME,
            product_id=row["product_id"],
            quantity=quantity,
            comment=comment,
            added_at=ago(world, days=20 - place),
        )
        if is_gone:
            world.alter("product", {"product_id": row["product_id"]}, is_in_stock=0)
    world.alter("product", {"product_id": second["product_id"]}, is_in_stock=0)
    steps: list[Step] = open_account("My Wish List")
    bought = [(row, quantity) for *_, lines in entries for row, quantity in lines]
    for row, quantity in bought:
        if row is third:
            steps += open_product(second["name"])
        steps += [
            *open_product(row["name"]),
            *([t.type_text("Qty", str(quantity))] if quantity > 1 else []),
            t.click("Add to Cart"),
        ]
    return t.Draw(
        {"please": rng.choice(("", ", please", ", thank you"))},
        t.all_of(
            cart_holds(*((row["sku"], {}, quantity) for row, quantity in bought)),
            t.state(WISHES, expected=[list(row) for row in world.rows(WISHES)]),
        ),
        [*steps, t.click("My Cart"), t.leave("", "The cart holds what I want.")],
        evidence=[row["name"] for row, *_ in entries],
    )
