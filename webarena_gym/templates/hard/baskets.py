"""Carts to be filled with what was bought before, or with the best of several shelves."""

from datetime import date

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import ago, joined, listed
from webarena_gym.templates.shopping.buying import buy, cart_holds
from webarena_gym.templates.shopping.routes import (
    GOODS,
    ME,
    MINE,
    PER_PAGE,
    open_account,
    open_category,
    open_order,
    sort_by_price,
)
from webarena_gym.templates.shopping.shelves import ONE_PAGE
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")


def spans(world: t.Sampler, least: int, most: int) -> list[tuple[date, list[t.Row]]]:
    """Return the days since which I have placed so many orders, the canceled ones included, with these orders, the newest first."""
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    found = []
    for count in range(least, min(most, len(rows) - 1) + 1):
        older, oldest = rows[count]["created_at"][:10], rows[count - 1]["created_at"][:10]
        if older < oldest:
            found.append((date.fromisoformat(oldest), rows[:count]))
    return found


def lines(world: t.Sampler, orders: list[t.Row]) -> list[t.Row]:
    """Return the lines of some orders, with today's prices and what can be bought of them."""
    marks = ", ".join("?" * len(orders))
    return world.rows(
        GOODS
        + f"""SELECT i.order_id, i.options, i.price_cents AS paid, g.* FROM order_item i JOIN goods g USING (product_id)
        WHERE i.order_id IN ({marks}) ORDER BY i.order_id DESC, i.item_id""",
        *(row["order_id"] for row in orders),
    )


def own_cart(world: t.Sampler) -> int:
    """Return the number of my cart, planted if there is none. Raises NothingToDraw where something is in it."""
    cart = world.rows(f"SELECT cart_id FROM cart WHERE customer_id = {ME}")
    if not cart:
        return world.plant("cart", customer_id=ME)
    if world.rows("SELECT 1 FROM cart_item WHERE cart_id = ?", cart[0]["cart_id"]):
        raise t.NothingToDraw("an empty cart")
    return int(cart[0]["cart_id"])


def cart_of(world: t.Sampler, held: list[tuple[t.Row, int]]) -> None:
    """Plant things into my cart, which must be empty."""
    number = own_cart(world)
    for row, quantity in held:
        world.plant("cart_item", cart_id=number, product_id=row["product_id"], options="{}", quantity=quantity)


def as_written(day: date) -> str:
    """Return a day as people write it."""
    return f"{day:%B} {day.day}, {day.year}"


@TEMPLATES.define(
    "Put one piece into my cart of everything that I have ordered since {day} (that day included) and that costs less today than I paid for a piece then. Skip canceled orders, things for which one has to choose a color or the like, and what cannot be bought any more.",
    "since {day}: what did i order that is cheaper now than it was in that order? one each into the cart. not: canceled orders, stuff with options, out of stock",
    "I feel like a bargain. Go through my orders from {day} on, and compare what I paid apiece with the price today. Whatever is cheaper now, one of it goes into the cart. Canceled orders do not count, and leave out products with options (color, size, pack...) or without stock.",
    "Which of the things in my orders since {day}, cancelled orders aside, have become cheaper than what I paid for one? If there are no options to choose and it is in stock, add one of each to the cart. Do not check out.",
    "Compare prices for me: each option-free product in my orders of {day} or later (not canceled), price per piece then against the price now. Those that are lower now and avaliable: one each in my cart.",
    sites=("shopping",),
    difficulty=("time", "optimum", "exhaustive"),
)
def cheaper_than_then(world: t.Sampler) -> t.Draw:
    """Buy again what costs less than what was paid."""
    rng = world.rng
    own_cart(world)
    found = []
    for day, orders in spans(world, 3, 12):
        valid = [row for row in orders if row["status"] != "canceled"]
        own: dict[int, list[t.Row]] = {}
        for line in lines(world, valid):
            if line["is_plain"] and line["options"] == "{}":
                own.setdefault(line["product_id"], []).append(line)
        if 4 <= len(own) <= 9 and sum(bought[0]["is_salable"] for bought in own.values()) >= 4:
            found.append((day, orders, valid, list(own.values())))
    if not found:
        raise t.NothingToDraw("orders to compare")
    day, orders, valid, products = rng.choice(found)
    salable = [bought for bought in products if bought[0]["is_salable"]]
    lower = rng.sample(salable, 2)
    for bought in salable:
        least, most = min(line["paid"] for line in bought), max(line["paid"] for line in bought)
        if bought in lower:
            special: int | None = least - max(5, least * rng.randint(3, 18) // 100)
            price = max(bought[0]["price_cents"], least + 100)
        else:
            special = most + rng.choice((0, 20, 95)) if rng.random() < 0.4 else None
            price = max(bought[0]["price_cents"], most + 100)
        world.alter("product", {"product_id": bought[0]["product_id"]}, price_cents=price, special_price_cents=special)
    looks = joined(*(open_order(world, row) for row in valid))
    turns = turn_pages(world, orders[-1]["place"], PER_PAGE, "There may be more.")
    visits: list[Step] = []
    for bought in products:
        visits += buy(bought[0]["name"]) if bought in lower else buy(bought[0]["name"])[:-1]
    return t.Draw(
        {"day": as_written(day)},
        cart_holds(*((bought[0]["sku"], {}, 1) for bought in lower)),
        [*open_account("My Orders"), *turns, *looks, *visits, t.leave("", "What has become cheaper is in the cart.")],
        evidence=[*(row["increment_id"] for row in valid), *(money(line["paid"]) for bought in products for line in bought)],
    )


@TEMPLATES.define(
    "What do I keep buying? Put one of each product into my cart that I have ordered in at least two different orders since {day}. Canceled orders do not count, and several pieces in one order are still one order. What is sold out or has options to choose stays out.",
    "one of everything i ordered at least twice (= in 2+ orders, not canceled ones) since {day} into the cart pls. skip sold out things and those with options",
    "My supplies are running low. Since {day}, that day included, there are things that I have ordered again and again. Whatever is in two of my orders or more (canceled ones do not count) belongs in the cart, one piece each. Except for what is out of stock, or where one has to choose an option.",
    "Look through the orders that I have placed from {day} until today. If a product occurs in more than one of them, add one to my cart. Leave canceled orders aside. The very same product, mind you, not a similar one; and no product that has options or is not in stock.",
    "Fill my cart with one piece of each prodcut that I bought repeatedly, meaning in two or more orders since {day} that were not canceled, unless it is out of stock or comes with options.",
    sites=("shopping",),
    difficulty=("exhaustive", "time"),
)
def bought_repeatedly(world: t.Sampler) -> t.Draw:
    """Buy what is in several orders since a day."""
    own_cart(world)
    found = []
    for day, orders in spans(world, 7, 18):
        valid = [row for row in orders if row["status"] != "canceled"]
        own = lines(world, valid) if valid else []
        several = {
            line["product_id"]: line
            for line in own
            if len({other["order_id"] for other in own if other["product_id"] == line["product_id"]}) > 1
            and line["is_plain"]
            and line["is_salable"]
        }
        if len(valid) <= 12 and 1 <= len(several) <= 4:
            found.append((day, orders, valid, several))
    if not found:
        raise t.NothingToDraw("things that were bought twice")
    day, orders, valid, several = world.rng.choice(found)
    looks = joined(*(open_order(world, row) for row in valid))
    turns = turn_pages(world, orders[-1]["place"], PER_PAGE, "There may be more.")
    return t.Draw(
        {"day": as_written(day)},
        cart_holds(*((line["sku"], {}, 1) for line in several.values())),
        [
            *open_account("My Orders"),
            *turns,
            *looks,
            *joined(*(buy(line["name"]) for line in several.values())),
            t.leave("", "It is all in the cart."),
        ],
        evidence=[*(row["increment_id"] for row in valid), *(line["name"] for line in several.values())],
    )


@TEMPLATES.define(
    "My cart is nearly ready. Add one piece of one product from {category} so that the subtotal comes to {limit} or more, but as little above it as possible. The product must be in stock and rated {stars} or better.",
    "add 1 thing from {category} to my cart: subtotal has to reach {limit} with as little more as possible. in stock, rating at least {stars}",
    "With a subtotal of at least {limit} I get what I want from this shop. I am a little short. Look in {category} for the one product, in stock and with an average of {stars} stars or more, that brings my cart to that sum and goes over it by as little as possible. Add one.",
    "What single product from {category} (one piece, {stars} stars or better on average, available) brings the subtotal of my cart to {limit} with the smallest surplus? Put it in.",
    "Please top up my cart to {limit} or just above with one piece out of {category}. Unrated products or those below {stars} stars are not an option, nor is what is out of stock. Leave the other things in the cart alone.",
    sites=("shopping",),
    difficulty=("optimum", "needs"),
)
def top_up(world: t.Sampler) -> t.Draw:
    """Add what brings a cart to a sum with the least above it."""
    rng = world.rng
    category = world.pick(GOODS + "SELECT category_id FROM goods GROUP BY 1 HAVING count(*) >= 8 ORDER BY 1")["category_id"]
    shelf = world.rows(GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY cents, product_id", category)
    stars = rng.choice((3.5, 4.0))
    fits = [place for place, row in enumerate(shelf) if _suits(row, stars)]
    fits = [place for place in fits if place >= 3 and not _suits(shelf[place - 1], stars)]
    place = rng.choice(fits)
    wanted = shelf[place]
    gap = shelf[place - 1]["cents"] - rng.randint(0, 30)
    lower = [row["cents"] for row in shelf[:place] if _suits(row, stars)]
    if any(cents >= gap for cents in lower) or sum(row["cents"] == wanted["cents"] for row in shelf) > 1:
        raise t.NothingToDraw("one product that fits best")
    others = world.rows(
        GOODS + "SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 5 AND category_id != ? ORDER BY product_id",
        category,
    )
    held = [(row, rng.randint(1, 3)) for row in sorted(rng.sample(others, 3), key=lambda row: str(row["name"]))]
    cart_of(world, held)
    subtotal = sum(row["cents"] * quantity for row, quantity in held)
    seen = [row["name"] for row in shelf[max(0, place - 2) : place + 1]]
    return t.Draw(
        {"category": wanted["category"], "limit": money(subtotal + gap), "stars": f"{stars:.1f}"},
        cart_holds(*((row["sku"], {}, quantity) for row, quantity in held), (wanted["sku"], {}, 1)),
        [
            t.click("My Cart"),
            *open_category(wanted),
            *sort_by_price(),
            *turn_pages(world, place, ONE_PAGE),
            t.click(wanted["name"], f"It costs {money(wanted['cents'])}, and {money(gap)} are missing."),
            t.click("Add to Cart"),
            t.leave("", f"That makes {money(subtotal + wanted['cents'])}."),
        ],
        evidence=[money(subtotal), seen[-1]],
    )


def _suits(row: t.Row, stars: float, reviews: int = 1) -> bool:
    """Say whether something can be bought without a choice and shows so many stars from so many reviews."""
    return bool(row["is_plain"] and row["is_salable"] and row["reviews"] >= reviews and float(f"{row['rating']:.1f}") >= stars)


@TEMPLATES.define(
    "I need one product from each of {categories}: always the cheapest that is in stock, has no options to choose and shows at least {stars} stars from {reviews} reviews or more. Put these into my cart.",
    "cart: one each from {categories}. cheapest in stock w/ >= {stars} stars and >= {reviews} reviews, nothing with options",
    "We are equipping a small flat and want decent things for little money. From {categories}, take one thing each: in stock, without options, rated {stars} or better by {reviews} people at least, and the cheapest of those. Everything into the cart, please, but do not order.",
    "Fill my cart with the least expensive well-reviewed product of each of these categories: {categories}. Well-reviewed means {stars} stars or more on average and {reviews} or more reviews. Out of stock is out, and so is everything with a color or size to choose.",
    "For {categories}, add the cheapest suitable product of each to my cart. Suitable = available, no options, at least {reviews} reviews, averge of {stars} or above.",
    sites=("shopping",),
    difficulty=("optimum", "exhaustive"),
)
def well_reviewed_each(world: t.Sampler) -> t.Draw:
    """Buy the cheapest well-reviewed product of each of several categories."""
    rng = world.rng
    own_cart(world)
    stars, reviews = rng.choice((3.5, 3.8, 4.0)), rng.choice((2, 3))
    ids = [row[0] for row in world.rows("SELECT category_id FROM product GROUP BY 1 HAVING count(*) > 5 ORDER BY 1")]
    chosen: list[tuple[list[t.Row], int]] = []
    for category in rng.sample(ids, min(len(ids), 24)):
        shelf = world.rows(GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY cents, product_id", category)
        place = next((place for place, row in enumerate(shelf) if _suits(row, stars, reviews)), 0)
        alone = sum(row["cents"] == shelf[place]["cents"] for row in shelf) == 1
        same_name = world.value("SELECT count(*) FROM category WHERE name = ?", shelf[0]["category"]) > 1
        if place >= 2 and alone and not same_name:
            chosen.append((shelf, place))
        if len(chosen) == 3:
            break
    if len(chosen) < 3:
        raise t.NothingToDraw("three categories")
    steps: list[Step] = []
    for shelf, place in chosen:
        row = shelf[place]
        steps += [*open_category(row), *sort_by_price(), *turn_pages(world, place, ONE_PAGE)]
        steps += [
            t.click(row["name"], f"{row['rating']:.1f} from {row['reviews']} reviews, and no options."),
            t.click("Add to Cart"),
        ]
    return t.Draw(
        {
            "categories": listed([shelf[0]["category"] for shelf, _ in chosen]),
            "stars": f"{stars:.1f}",
            "reviews": reviews,
        },
        cart_holds(*((shelf[place]["sku"], {}, 1) for shelf, place in chosen)),
        [*steps, t.leave("", "All of them are in the cart.")],
        evidence=[shelf[place]["name"] for shelf, place in chosen],
    )


@TEMPLATES.define(
    "Some things on my wish list are on sale. Put one piece of each into my cart that is at least {percent} percent below its regular price and in stock. The wish list must stay as it is.",
    "wish list: what is >= {percent}% off right now and in stock? one each in the cart. dont change the wishlist",
    "Payday! Please look at everything on my wish list. If the special price is {percent} percent or more under the regular one, and the thing can be bought, add one to the cart. I want to keep the wish list exactly like this, so better add things from their own pages.",
    "From my wish list to my cart: one of each product with a discount of {percent} percent or more on the regular price, as far as in stock. Nothing may be taken off the list.",
    "Check the prices of the things I wish for. A reduction of {percent} % or more = one into the cart, if its available. Less than that, or no special price = no. The list itself remains untouched.",
    sites=("shopping",),
    difficulty=("optimum", "restraint", "exhaustive"),
)
def wishes_on_sale(world: t.Sampler) -> t.Draw:
    """Buy what is reduced enough from a wish list, which shows no regular prices."""
    own_cart(world)
    rng, percent = world.rng, world.rng.choice((20, 25, 30))
    own = f"SELECT product_id FROM wishlist_item WHERE customer_id = {ME}"
    if len(world.rows(f"{own} ORDER BY 1")) > 3:
        raise t.NothingToDraw("a short wish list")
    goods = world.rows(
        GOODS + f"SELECT * FROM goods WHERE is_plain AND price_cents > 1500 AND product_id NOT IN ({own}) ORDER BY product_id"
    )
    salable, gone = [row for row in goods if row["is_salable"]], [row for row in goods if not row["is_salable"]]
    chosen = [*rng.sample(salable, 6), *rng.sample(gone, 1)]
    shares = [percent + 1, percent + 9, percent - 1, percent - 4, 0, rng.choice((percent + 2, percent - 2)), percent + 15]
    pairs = list(zip(chosen, shares, strict=True))
    rng.shuffle(pairs)
    for place, (row, share) in enumerate(pairs):
        special = row["price_cents"] * (100 - share) // 100 if share else None
        world.alter("product", {"product_id": row["product_id"]}, special_price_cents=special)
        world.plant("wishlist_item", customer_id=ME, product_id=row["product_id"], added_at=ago(world, days=9 + place))
    wishes = world.rows(
        GOODS + f"SELECT g.* FROM goods g JOIN wishlist_item w USING (product_id) WHERE w.customer_id = {ME} ORDER BY w.item_id"
    )
    wanted = [row for row in wishes if row["is_salable"] and row["cents"] * 100 <= row["price_cents"] * (100 - percent)]
    if any(not row["is_plain"] for row in wanted):
        raise t.NothingToDraw("wishes without options")
    whole = f"SELECT product_id, quantity, comment FROM wishlist_item WHERE customer_id = {ME} ORDER BY item_id"
    steps: list[Step] = []
    for row in wishes:
        steps += [*open_account("My Wish List"), t.click(row["name"])]
        steps += (
            [t.click("Add to Cart", f"{money(row['cents'])} instead of {money(row['price_cents'])}.")] if row in wanted else []
        )
    return t.Draw(
        {"percent": percent},
        t.all_of(
            cart_holds(*((row["sku"], {}, 1) for row in wanted)),
            t.state(whole, expected=[list(row) for row in world.rows(whole)]),
        ),
        [*steps, t.leave("", "The good offers are in the cart.")],
        evidence=[money(row["price_cents"]) for row in wishes],
    )
