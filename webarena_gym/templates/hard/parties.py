"""Purchases in which something comes in between: goods that are sold out at checkout, and friends who tell what they need."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping.ordering import PAYMENT_METHODS
from webarena_gym.sites.shopping.pricing import TABLE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.baskets import own_cart
from webarena_gym.templates.hard.buying import NEEDS, look_through, things_needed
from webarena_gym.templates.hard.threads import plant_post, strangers
from webarena_gym.templates.hard.ways import ago, findable, listed, of_site
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.shopping.buying import cart_holds
from webarena_gym.templates.shopping.routes import GOODS, ME, open_category, sort_by_price
from webarena_gym.templates.shopping.shelves import ONE_PAGE
from webarena_gym.templates.ways import nth, turn_pages

TEMPLATES = t.Templates("hard")

_ORDERS = """
SELECT o.customer_id, o.status, o.coupon_code, o.shipping_method, o.payment_method, a.street, i.sku, i.options, i.qty_ordered
FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'shipping' JOIN order_item i ON i.order_id = o.order_id
WHERE o.order_id > ? ORDER BY o.order_id, i.sku
"""


@TEMPLATES.define(
    "Order what is in my cart: to my default address, by {method}, paid by {payment}. Should something be sold out meanwhile, take in its place the cheapest thing from the same category ({categories}) that is in stock and comes without options, as many as there were of the other.",
    "pls check out my cart (default address, {method}, {payment}). if the shop says smth is not available: throw it out and take the cheapest in-stock product of its category without any options instead, same qty. my stuff is from {categories}",
    "My cart has been lying around for a while, and I finally want to order it. Ship to my usual address by {method}; I pay with {payment}. I fear that not everything is available any more. For whatever is gone, buy the cheapest available product from the same category, one where nothing has to be chosen, in the same number. The things are from {categories}.",
    "Check out for me: {method}, {payment}, default shipping address. Products in my cart that have sold out (they are from {categories}) are each to be replaced by the product with the lowest price in their category that is in stock and has no options; quantities stay. One order in the end, please.",
    "Place an order for my cart with {method} and {payment}, sent to the default address. Anything that the shop no longer has is replaced: same category (of {categories}), in stock, no choice of size or color to make, cheapest of these, same quantaty.",
    sites=("shopping",),
    difficulty=("recovery", "optimum"),
)  # fmt: skip
def order_despite_sold_out(world: t.Sampler) -> t.Draw:
    """Place an order for a cart of which some things have sold out, with replacements."""
    rng, cart = world.rng, own_cart(world)
    shelves: dict[int, list[t.Row]] = {}
    for row in world.rows(GOODS + "SELECT * FROM goods g ORDER BY category_id, cents, product_id"):
        shelves.setdefault(row["category_id"], []).append(row)
    single = {row["product_id"] for row in findable(world, world.rows("SELECT product_id, name FROM product"), "product")}
    fit = []
    for _, shelf in sorted(shelves.items()):
        good = [row for row in shelf if row["is_plain"] and row["is_salable"] and row["quantity"] > 9]
        if len(good) > 4 and good[0]["cents"] < good[1]["cents"] < good[2]["cents"] and shelf.index(good[1]) < 2 * ONE_PAGE:
            fit.append((shelf, good))
    chosen = rng.sample(fit, 4)
    plan = ["gone", "gone", "there", "there"]
    rng.shuffle(plan)
    lines: list[tuple[t.Row, int, bool]] = []
    bought: list[tuple[t.Row, int]] = []
    swaps: list[tuple[list[t.Row], t.Row, int]] = []
    for fate, (shelf, good) in zip(plan, chosen, strict=True):
        quantity = rng.randint(1, 3)
        is_gone = fate == "gone"
        row = rng.choice([each for each in (good if is_gone else good[2:]) if each["product_id"] in single])
        other = next(each for each in good if each is not row)
        if any(each["cents"] == other["cents"] for each in shelf if each is not other):
            raise t.NothingToDraw("one that is the cheapest")
        world.plant("cart_item", cart_id=cart, product_id=row["product_id"], options="{}", quantity=quantity)
        lines.append((row, quantity, is_gone))
        if is_gone:
            world.alter("product", {"product_id": row["product_id"]}, is_in_stock=0)
            swaps.append((shelf, other, quantity))
        bought.append((other if is_gone else row, quantity))
    address = world.pick(f"SELECT * FROM customer_address WHERE customer_id = {ME} AND is_default_shipping")
    payment = rng.choice(PAYMENT_METHODS)
    cents = world.value("SELECT CAST(round(100 * value) AS INTEGER) FROM store_config WHERE path = 'carriers/tablerate/price'")
    steps: list[Step] = [t.click("My Cart")]
    left = list(lines)
    while gone := [place for place, (_, _, is_gone) in enumerate(left) if is_gone]:
        steps += [
            t.click("Proceed to Checkout"),
            t.click(nth("Remove", gone[0]), f"{left[gone[0]][0]['name']} is not available."),
        ]
        del left[gone[0]]
    for shelf, row, quantity in swaps:
        place = shelf.index(row)
        steps += [
            *open_category(row),
            *sort_by_price(),
            *turn_pages(world, place, ONE_PAGE),
            t.click(row["name"], "It is the cheapest that is there and has no options."),
            *([t.type_text("Qty", str(quantity))] if quantity > 1 else []),
            t.click("Add to Cart"),
        ]
    last = world.value("SELECT max(order_id) FROM sales_order")
    return t.Draw(
        {"method": TABLE, "payment": payment, "categories": listed([shelf[0]["category"] for shelf, _ in chosen])},
        t.all_of(
            t.state(
                _ORDERS,
                last,
                expected=sorted(
                    [ME, "pending", None, TABLE, payment, address["street"], row["sku"], "{}", quantity] for row, quantity in bought
                ),
            ),
            cart_holds(),
        ),
        [
            *steps,
            t.click("My Cart"),
            t.click("Proceed to Checkout"),
            t.click(f"{TABLE} {money(cents)}"),
            t.click("Next"),
            *([] if payment == PAYMENT_METHODS[0] else [t.click(payment)]),
            t.click("Place Order"),
            t.leave("", "The shop thanks for the purchase."),
        ],
        evidence=[*(row["name"] for row, *_ in lines), *(row["name"] for row, _ in bought)],
    )  # fmt: skip


@TEMPLATES.define(
    'In the forum thread "{title}" my friends tell me what they wish for. Put into my cart at the shop, for everyone who still wishes for something in the end, the cheapest thing in stock that is what they need. One of each, no checkout.',
    'wishes of my friends: forum thread "{title}". for each wish that still stands: cheapest in-stock product from the shop that fits -> my cart (1x). dont order',
    'I asked my friends in the forum ("{title}") what I should bring. Some have changed their minds since, so read what each has written last. For the wishes that are left, find in the category they name the least expensive thing that does what they want and is in stock, and add one of it to my cart. I will order tomorrow.',
    'Please turn the wishes from "{title}" in the forum into a cart: one product a wish, from the category in question, available, meeting the need, and as cheap as possible. Wishes that have been taken back are not bought.',
    'Have a look at "{title}" (forum). Everyone there names a category of the shop and what the thing must be like. For each wish that was not withdrawn, the cheapest availible product that fits goes into my cart. Nothing else, and no order.',
    sites=("shopping", "reddit"),
    difficulty=("needs", "several_sites", "optimum"),
)  # fmt: skip
def wishes_of_friends(world: t.Sampler) -> t.Draw:
    """Put into the cart the cheapest thing that meets each need of a thread that still stands."""
    rng, forum = world.rng, world.at("reddit")
    own_cart(world)
    plain = [
        (shelf, need, first)
        for shelf, need, first in things_needed(world, 1, 5)
        if shelf[first]["is_plain"]
    ]  # fmt: skip
    by_shelf = {shelf[0]["category"]: (shelf, need, first) for shelf, need, first in rng.sample(plain, len(plain))}
    one, two, three, four = rng.sample([each for _, each in sorted(by_shelf.items())], 4)

    def wish(thing: tuple[list[t.Row], tuple[str, str], int], start: str) -> str:
        shelf, need, _ = thing
        return f"{start} something from {shelf[0]['category']} {NEEDS[need]}."

    people = strangers(forum, 6)
    title = f"What shall I bring from the {word(forum)} trip?"
    talk = [
        (0, wish(one, rng.choice(("I would love", "Since you ask:", "If it is not too much,")))),
        (1, wish(three, rng.choice(("For me, please,", "I need", "Maybe")))),
        (2, "Nothing, thank you. Just come."),
        (3, wish(four, rng.choice(("My wish is", "What I miss is")))),
        (1, rng.choice(("Forget mine, I have been given one.", "I take that back, there is no room for it in my flat."))),
        (3, wish(two, "I have thought about it, and would like in its place")),
        (4, f"Is {people[0]['username']} serious? I would not give away anything from {one[0][0]['category']}."),
    ]  # fmt: skip
    board = forum.pick("SELECT * FROM forum ORDER BY forum_id")
    post = plant_post(
        forum, board, people[5]["user_id"], title, "Tell me what you wish for, and I shall see what I can do.", 120
    )
    for place, (person, text) in enumerate(talk):
        forum.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=people[person]["user_id"],
            body=text,
            created_at=ago(world, hours=110 - 9 * place),
        )
    steps: list[Step] = [turn_to(1), *open_post(title), turn_to(0)]
    for shelf, _, first in (one, two):
        steps += [*look_through(world, shelf, first), t.click(shelf[first]["name"]), t.click("Add to Cart")]
    count = "SELECT count(*) FROM comment"
    return t.Draw(
        {"title": title},
        t.all_of(
            cart_holds(*((shelf[first]["sku"], {}, 1) for shelf, _, first in (one, two))),
            of_site("reddit", t.state(count, expected=[[forum.value(count)]])),
        ),
        [*steps, t.leave("", "The wishes that still stand are in the cart.")],
        start_url=tabs("shopping", "reddit"),
        evidence=[*(text for _, text in talk), one[1][1], two[1][1]],
    )
