"""Hard templates of the shop: carts, coupons, orders and returns."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.prose.grammar import enumerate_items
from webarena_gym.sites.shopping.carts import PAYMENT_METHODS, TABLE, variants_of
from webarena_gym.sites.shopping.carts import rule_discount as discount_of
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.kit import ago, as_written, concatenate, findable, now, rows_become
from webarena_gym.templates.hard.shopping_goods import noun, own_cart, put
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.shopping import (
    GOODS,
    ME,
    MINE,
    ONE_PAGE,
    PER_PAGE,
    buy,
    cart_holds,
    months,
    open_account,
    open_category,
    open_order,
    open_product,
    open_reviews,
    sort_by_price,
)
from webarena_gym.templates.ways import nth, on_page, turn_pages

TEXTS = read_texts("hard/shopping")


def spans(world: t.Sampler, least: int, most: int) -> list[tuple[date, list[t.Row]]]:
    """Return dates since which the current user has placed `least` to `most` orders, with these orders, newest first and including
    canceled ones.
    """
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    candidates = []
    for count in range(least, min(most, len(rows) - 1) + 1):
        older, oldest = rows[count]["created_at"][:10], rows[count - 1]["created_at"][:10]
        if older < oldest:
            candidates.append((date.fromisoformat(oldest), rows[:count]))
    return candidates


def lines(world: t.Sampler, orders: list[t.Row]) -> list[t.Row]:
    """Return the lines of orders, with current prices and stock."""
    marks = ", ".join("?" * len(orders))
    query = f"""SELECT i.order_id, i.options, i.price_cents AS paid, g.* FROM order_item i JOIN goods g USING (product_id)
        WHERE i.order_id IN ({marks}) ORDER BY i.order_id DESC, i.item_id"""
    return world.rows(GOODS + query, *(row["order_id"] for row in orders))


def through(world: t.Sampler, rows: Iterable[t.Row], thought: str) -> Iterator[tuple[t.Row, list[Step]]]:
    """Yield each order of the current user with the steps that open it from the list, including the turning of pages."""
    page = 0
    for row in rows:
        own_page, place = on_page(world, row["place"], PER_PAGE)
        yield row, [*[t.click("Next", thought)] * (own_page - page), t.click(nth("View Order", place))]
        page = own_page


def cheaper_than_then(world: t.Sampler) -> t.Draw:
    """Buy the products again that cost less than at the time of the order."""
    rng = world.rng
    own_cart(world)
    candidates = []
    for day, orders in spans(world, 3, 12):
        valid = [row for row in orders if row["status"] != "canceled"]
        rows: dict[int, list[t.Row]] = {}
        for line in lines(world, valid):
            if line["is_plain"] and line["options"] == "{}":
                rows.setdefault(line["product_id"], []).append(line)
        if 4 <= len(rows) <= 9 and sum(bought[0]["is_salable"] for bought in rows.values()) >= 4:
            candidates.append((day, orders, valid, list(rows.values())))
    t.skip_if(not candidates, "orders to compare")
    day, orders, valid, products = rng.choice(candidates)
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
    looks = concatenate(*(open_order(world, row) for row in valid))
    turns = turn_pages(world, orders[-1]["place"], PER_PAGE, "There may be more.")
    visits: list[Step] = []
    for bought in products:
        visits += buy(bought[0]["name"]) if bought in lower else buy(bought[0]["name"])[:-1]
    slots = {"day": as_written(day)}
    check = cart_holds(*((bought[0]["sku"], {}, 1) for bought in lower))
    steps = [*open_account("My Orders"), *turns, *looks, *visits, t.end_task("", "What has become cheaper is in the cart.")]
    evidence = [*(row["increment_id"] for row in valid), *(money(line["paid"]) for bought in products for line in bought)]
    return t.Draw(slots, check, steps, evidence=evidence)


def bought_repeatedly(world: t.Sampler) -> t.Draw:
    """Buy the products that are in several orders since a date."""
    own_cart(world)
    candidates = []
    for day, orders in spans(world, 7, 18):
        valid = [row for row in orders if row["status"] != "canceled"]
        order_lines = lines(world, valid) if valid else []
        counts = Counter(product for product, _ in {(line["product_id"], line["order_id"]) for line in order_lines})
        usable = [line for line in order_lines if line["is_plain"] and line["is_salable"]]
        several = {line["product_id"]: line for line in usable if counts[line["product_id"]] > 1}
        if len(valid) <= 12 and 1 <= len(several) <= 4:
            candidates.append((day, orders, valid, several))
    t.skip_if(not candidates, "things that were bought twice")
    day, orders, valid, several = world.rng.choice(candidates)
    looks = concatenate(*(open_order(world, row) for row in valid))
    turns = turn_pages(world, orders[-1]["place"], PER_PAGE, "There may be more.")
    slots = {"day": as_written(day)}
    check = cart_holds(*((line["sku"], {}, 1) for line in several.values()))
    steps = [*open_account("My Orders"), *turns, *looks, *concatenate(*(buy(line["name"]) for line in several.values()))]
    steps += [t.end_task("", "It is all in the cart.")]
    evidence = [*(row["increment_id"] for row in valid), *(line["name"] for line in several.values())]
    return t.Draw(slots, check, steps, evidence=evidence)


def top_up(world: t.Sampler) -> t.Draw:
    """Add the product that raises a cart to a sum with the smallest excess."""
    rng = world.rng
    category = world.pick(GOODS + "SELECT category_id FROM goods GROUP BY 1 HAVING count(*) >= 8 ORDER BY 1")["category_id"]
    shelf = world.rows(GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY cents, product_id", category)
    stars = rng.choice((3.5, 4.0))
    fits = [place for place, row in enumerate(shelf) if _suits(row, stars)]
    fits = [place for place in fits if place >= 3 and not _suits(shelf[place - 1], stars)]
    place = rng.choice(fits)
    target = shelf[place]
    gap = shelf[place - 1]["cents"] - rng.randint(0, 30)
    lower = [row["cents"] for row in shelf[:place] if _suits(row, stars)]
    if any(cents >= gap for cents in lower) or sum(row["cents"] == target["cents"] for row in shelf) > 1:
        raise t.NothingToDraw("one product that fits best")
    fit = "is_plain AND is_salable AND quantity > 5 AND category_id != ?"
    others = world.rows(GOODS + f"SELECT * FROM goods WHERE {fit} ORDER BY product_id", category)
    held = [(row, rng.randint(1, 3)) for row in sorted(rng.sample(others, 3), key=lambda row: str(row["name"]))]
    number = own_cart(world)
    for row, quantity in held:
        world.plant("cart_item", cart_id=number, product_id=row["product_id"], options="{}", quantity=quantity)
    subtotal = sum(row["cents"] * quantity for row, quantity in held)
    visible = [row["name"] for row in shelf[max(0, place - 2) : place + 1]]
    slots = {"category": target["category"], "limit": money(subtotal + gap), "stars": f"{stars:.1f}"}
    check = cart_holds(*((row["sku"], {}, quantity) for row, quantity in held), (target["sku"], {}, 1))
    steps = [t.click("My Cart"), *open_category(target), *sort_by_price(), *turn_pages(world, place, ONE_PAGE)]
    steps += [t.click(target["name"], f"It costs {money(target['cents'])}, and {money(gap)} are missing.")]
    steps += [t.click("Add to Cart"), t.end_task("", f"That makes {money(subtotal + target['cents'])}.")]
    return t.Draw(slots, check, steps, evidence=[money(subtotal), visible[-1]])


def _suits(row: t.Row, stars: float, reviews: int = 1) -> bool:
    """Return True if a product can be bought without options, and has a number of stars from a number of reviews."""
    return bool(row["is_plain"] and row["is_salable"] and row["reviews"] >= reviews and float(f"{row['rating']:.1f}") >= stars)


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
    t.skip_if(len(chosen) < 3, "three categories")
    steps: list[Step] = []
    for shelf, place in chosen:
        row = shelf[place]
        steps += [*open_category(row), *sort_by_price(), *turn_pages(world, place, ONE_PAGE)]
        thought = f"{row['rating']:.1f} from {row['reviews']} reviews, and no options."
        steps += [t.click(row["name"], thought), t.click("Add to Cart")]
    slots = {
        "categories": enumerate_items([shelf[0]["category"] for shelf, _ in chosen]),
        "stars": f"{stars:.1f}",
        "reviews": reviews,
    }
    check = cart_holds(*((shelf[place]["sku"], {}, 1) for shelf, place in chosen))
    evidence = [shelf[place]["name"] for shelf, place in chosen]
    return t.Draw(slots, check, [*steps, t.end_task("", "All of them are in the cart.")], evidence=evidence)


def wishes_on_sale(world: t.Sampler) -> t.Draw:
    """Buy the products of a wish list that are reduced enough; the list does not show regular prices."""
    own_cart(world)
    rng, percent = world.rng, world.rng.choice((20, 25, 30))
    wish_query = f"SELECT product_id FROM wishlist_item WHERE customer_id = {ME}"
    t.skip_if(len(world.rows(f"{wish_query} ORDER BY 1")) > 3, "a short wish list")
    fit = f"is_plain AND price_cents > 1500 AND product_id NOT IN ({wish_query})"
    goods = world.rows(GOODS + f"SELECT * FROM goods WHERE {fit} ORDER BY product_id")
    salable, gone = [row for row in goods if row["is_salable"]], [row for row in goods if not row["is_salable"]]
    chosen = [*rng.sample(salable, 6), *rng.sample(gone, 1)]
    shares = [percent + 1, percent + 9, percent - 1, percent - 4, 0, rng.choice((percent + 2, percent - 2)), percent + 15]
    pairs = list(zip(chosen, shares, strict=True))
    rng.shuffle(pairs)
    for place, (row, share) in enumerate(pairs):
        special = row["price_cents"] * (100 - share) // 100 if share else None
        world.alter("product", {"product_id": row["product_id"]}, special_price_cents=special)
        world.plant("wishlist_item", customer_id=ME, product_id=row["product_id"], added_at=ago(world, days=9 + place))
    query = f"SELECT g.* FROM goods g JOIN wishlist_item w USING (product_id) WHERE w.customer_id = {ME} ORDER BY w.item_id"
    wishes = world.rows(GOODS + query)
    targets = [row for row in wishes if row["is_salable"] and row["cents"] * 100 <= row["price_cents"] * (100 - percent)]
    t.skip_if(any(not row["is_plain"] for row in targets), "wishes without options")
    whole = f"SELECT product_id, quantity, comment FROM wishlist_item WHERE customer_id = {ME} ORDER BY item_id"
    steps: list[Step] = []
    for row in wishes:
        steps += [*open_account("My Wish List"), t.click(row["name"])]
        thought = f"{money(row['cents'])} instead of {money(row['price_cents'])}."
        steps += [t.click("Add to Cart", thought)] if row in targets else []
    check = t.all_of(cart_holds(*((row["sku"], {}, 1) for row in targets)), rows_become(world, whole, changes={}))
    evidence = [money(row["price_cents"]) for row in wishes]
    return t.Draw({"percent": percent}, check, [*steps, t.end_task("", "The good offers are in the cart.")], evidence=evidence)


def sum_of_returns(world: t.Sampler) -> t.Draw:
    """Ask for the sum of all products that may still be returned."""
    rng, today = world.rng, now(world).date()
    page = world.rows("SELECT * FROM cms_page WHERE url_key = 'returns' AND is_enabled ORDER BY page_id")
    t.skip_if(not page, "a page about returns")
    mine = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    items: dict[int, list[t.Row]] = {}
    for item in world.rows("SELECT * FROM order_item ORDER BY order_id, item_id"):
        items.setdefault(item["order_id"], []).append(item)
    discounted = {row["order_id"] for row in mine if row["discount_cents"]}
    candidates = []
    for days in range(40, 241, 10):
        since = str(today - timedelta(days=days))
        within = [row for row in mine if row["created_at"][:10] >= since]
        near = {str(date.fromisoformat(since) + timedelta(days=shift)) for shift in (-1, 0, 1)}
        complete = [row for row in within if row["status"] == "complete"]
        if 3 <= len(complete) <= 7 and len(within) > len(complete) and not near & {row["created_at"][:10] for row in mine}:
            for limit in (800, 1000, 1500, 2000, 2500, 3000, 4000, 5000):
                pieces = [item for row in complete for item in items[row["order_id"]]]
                dear = [item for item in pieces if item["price_cents"] >= limit]
                is_told = not any(
                    item["qty_refunded"] or item["order_id"] in discounted for item in dear
                )  # as shown on the page
                if 3 <= len(dear) < len(pieces) and is_told:
                    candidates.append((days, limit, within, complete, dear))
    t.skip_if(not candidates, "something to return")
    days, limit, within, complete, dear = rng.choice(candidates)
    rules = TEXTS["sum_of_returns_rules"].format(days=days, limit=money(limit))
    world.alter("cms_page", {"page_id": page[0]["page_id"]}, content=rules)
    amounts = [money(item["price_cents"] * item["qty_ordered"]) for item in dear]
    total = money(sum(item["price_cents"] * item["qty_ordered"] for item in dear))
    more = money(sum(row["subtotal_cents"] for row in complete))
    everything = money(sum(row["grand_total_cents"] for row in within))
    turns = turn_pages(world, within[-1]["place"], PER_PAGE, "There may be more on the next page.")
    slots = {"answer": rng.choice(("Only the sum, please", "Answer with the amount alone", "Just the amount"))}
    steps = [t.click("Customer Service"), t.click(page[0]["title"]), *open_account("My Orders"), *turns]
    steps += [
        *concatenate(*(open_order(world, row) for row in complete)),
        t.end_task(total, f"{' + '.join(amounts)} = {total}."),
    ]
    wrong, grounds = [wrong for wrong in (more, everything) if wrong != total], {total: sum_of(*amounts)}
    evidence = ["no matter how many there are", *(row["increment_id"] for row in complete), *amounts]
    return t.Draw(slots, t.answer(fuzzy_match=total), steps, wrong_answers=wrong, grounds=grounds, evidence=evidence)


_ORDERS = """
SELECT o.customer_id, o.status, o.coupon_code, o.shipping_method, o.payment_method, a.street, i.sku, i.options, i.qty_ordered
FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'shipping' JOIN order_item i ON i.order_id = o.order_id
WHERE o.order_id > ? ORDER BY o.order_id, i.sku
"""


def order_despite_sold_out(world: t.Sampler) -> t.Draw:
    """Place an order for a cart with sold-out products, with replacements."""
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
        row = rng.choice([item for item in (good if is_gone else good[2:]) if item["product_id"] in single])
        other = next(item for item in good if item is not row)
        rivals = [item for item in shelf if item not in (row, other) and item["is_plain"] and item["is_salable"]]
        t.skip_if(any(item["cents"] <= other["cents"] for item in rivals), "one that is the cheapest, with pieces enough")
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
        row, *_ = left.pop(gone[0])
        steps += [t.click("Proceed to Checkout"), t.click(nth("Remove", gone[0]), f"{row['name']} is not available.")]
    for shelf, row, quantity in swaps:
        place = shelf.index(row)
        steps += [*open_category(row), *sort_by_price(), *turn_pages(world, place, ONE_PAGE)]
        steps += [t.click(row["name"], "It is the cheapest that is there and has no options.")]
        steps += [*([t.type_text("Qty", str(quantity))] if quantity > 1 else []), t.click("Add to Cart")]
    last = world.value("SELECT max(order_id) FROM sales_order")
    slots = {"method": TABLE, "payment": payment, "categories": enumerate_items([shelf[0]["category"] for shelf, _ in chosen])}
    columns = [ME, "pending", None, TABLE, payment, address["street"]]
    ordered = sorted([*columns, row["sku"], "{}", quantity] for row, quantity in bought)
    check = t.all_of(t.state(_ORDERS, last, expected=ordered), cart_holds())
    steps = [*steps, t.click("My Cart"), t.click("Proceed to Checkout"), t.click(f"{TABLE} {money(cents)}")]
    steps += [t.click("Next"), *([] if payment == PAYMENT_METHODS[0] else [t.click(payment)]), t.click("Place Order")]
    steps += [t.end_task("", "The shop thanks for the purchase.")]
    return t.Draw(slots, check, steps, evidence=[*(row["name"] for row, *_ in lines), *(row["name"] for row, _ in bought)])


_VALID = "is_active AND coalesce(from_date, date(value)) <= date(value) AND coalesce(to_date, date(value)) >= date(value)"


def best_coupon(world: t.Sampler) -> t.Draw:
    """Apply the best of several coupons to a cart; the shop rejects some of them."""
    goods = world.rows(GOODS + "SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 5 ORDER BY product_id")
    chosen = sorted(world.rng.sample(goods, 2), key=lambda row: row["name"])
    amounts = [world.rng.randint(1, 3) for _ in chosen]
    subtotal = sum(row["cents"] * amount for row, amount in zip(chosen, amounts, strict=True))
    query = f"""SELECT *, {_VALID} AS is_valid FROM cart_rule JOIN world ON key = 'now'
        WHERE coupon_code IS NOT NULL ORDER BY rule_id"""
    rules = world.rows(query)
    savings: dict[str, int] = {}
    for rule in rules:
        if rule["is_valid"]:
            share = (subtotal * rule["amount"] + 50) // 100
            savings[rule["coupon_code"]] = share if rule["action"] == "by_percent" else min(rule["amount"], subtotal)
    refused = [rule["coupon_code"] for rule in rules if not rule["is_valid"]]
    t.skip_if(len(savings) < 2 or not refused, "coupons to choose from")
    codes = [*world.rng.sample(sorted(savings), min(4, len(savings))), *world.rng.sample(refused, min(2, len(refused)))]
    world.rng.shuffle(codes)
    ranked = sorted((savings[code] for code in codes if code in savings), reverse=True)
    t.skip_if(ranked[0] - ranked[1] < 50, "one coupon that is best")
    best = next(code for code in codes if savings.get(code) == ranked[0])
    steps = [*put(zip(chosen, amounts, strict=True)), t.click("My Cart")]
    for code in codes:
        steps += [t.type_text("Discount Code", code), t.click("Apply Discount")]
        steps += [t.click("Cancel Coupon", f"It saves {money(savings[code])}.")] if code in savings else []
    lines = enumerate_items([f"{amount} of the {row['name']}" for row, amount in zip(chosen, amounts, strict=True)])
    check = cart_holds(*((row["sku"], {}, amount) for row, amount in zip(chosen, amounts, strict=True)), coupon=best)
    steps = [*steps, t.type_text("Discount Code", best, "This one saves most."), t.click("Apply Discount")]
    steps += [t.end_task("", f"{best} is applied.")]
    evidence = [money(cents) for code, cents in savings.items() if code in codes]
    return t.Draw({"lines": lines, "codes": enumerate_items(codes)}, check, steps, evidence=evidence)


def review_of_bought(world: t.Sampler) -> t.Draw:
    """Review a product that is identified by its kind and the time of its purchase."""
    everything = world.rows(MINE + "SELECT m.*, i.name FROM mine m JOIN order_item i USING (order_id) ORDER BY place, item_id")
    sold = {row["name"]: row for row in world.rows(GOODS + "SELECT * FROM goods ORDER BY product_id")}
    candidates = []
    for rows in months(world, "true"):
        mine = [item["name"] for item in everything if item["created_at"][:7] == rows[0]["created_at"][:7]]
        nouns = [noun(name) for name in mine]
        targets = [
            name for name in dict.fromkeys(mine) if nouns.count(noun(name)) == 1 and name in sold and len(noun(name)) > 3
        ]
        candidates += [(rows, name) for name in targets if len(rows) >= 2]
    t.skip_if(not candidates, "something that I bought")
    rows, name = world.rng.choice(candidates)
    stars, summary, text = world.rng.choice(TEXTS["verdicts"])
    looks = [step for _, way in through(world, rows, "The month is further back.") for step in (*way, t.back())]
    nickname = world.value(f"SELECT firstname FROM customer WHERE customer_id = {ME}")
    number = f"{stars} star{'s' if stars > 1 else ''}"
    slots = {"noun": noun(name), "month": f"{date.fromisoformat(rows[0]['created_at'][:10]):%B %Y}"}
    slots |= {"stars": number, "summary": summary, "text": text}
    columns, count = "product_id, customer_id, nickname, title, detail, rating", world.value("SELECT count(*) FROM review")
    expected = [[sold[name]["product_id"], ME, nickname, summary, text, stars]]
    check = t.state(f"SELECT {columns} FROM review ORDER BY review_id LIMIT -1 OFFSET ?", count, expected=expected)
    steps = [*open_account("My Orders"), *looks, *open_reviews(sold[name]), t.click(number, f"It must be the {name}.")]
    steps += [t.type_text("Summary", summary), t.type_text("Review", text), t.click("Submit Review")]
    steps += [t.end_task("", "The review is written.")]
    return t.Draw(slots, check, steps, evidence=[name, *(row["increment_id"] for row in rows)])


def cart_as_ordered(world: t.Sampler) -> t.Draw:
    """Restore the lines of an order in a cart that was changed."""
    orders = world.rows(
        MINE
        + """SELECT m.*, min(i.options = '{}') AS is_plain
        FROM mine m JOIN order_item i USING (order_id) JOIN product p USING (product_id)
        GROUP BY order_id HAVING count(*) BETWEEN 2 AND 4 AND count(DISTINCT i.product_id) = count(*) AND max(i.options = '{}')
            AND min(p.is_enabled AND p.is_in_stock AND p.quantity >= i.qty_ordered + 3) ORDER BY order_id"""
    )
    orders = [row for row in orders if row["is_plain"]] or orders
    t.skip_if(not orders, "an order that can be repeated")
    row = world.rng.choice(orders)
    query = (
        "SELECT i.*, p.name AS product, p.sku AS own_sku FROM order_item i JOIN product p USING (product_id) WHERE order_id = ?"
    )
    items = world.rows(f"{query} ORDER BY item_id", row["order_id"])
    strange_ones = (
        "is_plain AND is_salable AND quantity > 5 AND product_id NOT IN (SELECT product_id FROM order_item WHERE order_id = ?)"
    )
    others = world.rows(GOODS + f"SELECT * FROM goods WHERE {strange_ones} ORDER BY product_id", row["order_id"])
    strange = world.rng.sample(others, 2)
    wrong = world.rng.choice(items)
    missing = world.rng.choice([item for item in items if item is not wrong and item["options"] == "{}"])
    kinds = variants_of(world.connection("shopping"), [item["product_id"] for item in items])
    chosen = [(kinds.get((item["product_id"], item["options"])), item["qty_ordered"]) for item in items]
    t.skip_if(any(kind is not None and kind.available < count + 3 for kind, count in chosen), "choices that can be had again")
    cart_id = own_cart(world)
    held: list[tuple[str, bool, int]] = []  # name, whether it belongs there, how many must be there
    lines: list[tuple[int, str, int, t.Row | None]] = [
        (item["product_id"], item["product"], item["qty_ordered"] + (2 if item is wrong else 0), item)
        for item in items
        if item is not missing
    ]
    lines += [(other["product_id"], other["name"], world.rng.randint(1, 3), None) for other in strange]
    world.rng.shuffle(lines)
    for product, name, pieces, line in lines:
        options = "{}" if line is None else line["options"]
        world.plant("cart_item", cart_id=cart_id, product_id=product, options=options, quantity=pieces)
        held.append((name, line is not None, 0 if line is None else line["qty_ordered"]))
    takes: list[Step] = []
    left = list(held)
    while any(not belongs for _, belongs, _ in left):
        place = next(place for place, (_, belongs, _) in enumerate(left) if not belongs)
        takes.append(t.click(nth("Remove", place), f"{left[place][0]} is not part of the order."))
        del left[place]
    place = next(place for place, (name, _, _) in enumerate(left) if name == wrong["product"])
    quantity = [t.type_text("Qty", str(missing["qty_ordered"]))] if missing["qty_ordered"] > 1 else []
    check = cart_holds(*((item["own_sku"], json.loads(item["options"]), item["qty_ordered"]) for item in items))
    steps = [*open_order(world, row), t.click("My Cart"), *takes]
    steps += [t.type_text(nth("Qty", place), str(wrong["qty_ordered"])), t.click("Update Shopping Cart")]
    steps += [*open_product(missing["product"]), *quantity, t.click("Add to Cart"), t.click("My Cart")]
    steps += [t.end_task("", "The cart holds what the order held.")]
    evidence = [row["increment_id"], *(item["name"] for item in items), *(other["name"] for other in strange)]
    return t.Draw({"number": row["increment_id"]}, check, steps, evidence=evidence)


def pieces_before(world: t.Sampler) -> t.Draw:
    """Count the pieces of all orders of some days before an order."""
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    candidates = []
    for last in rows:
        end = date.fromisoformat(last["created_at"][:10])
        for days in (30, 45, 60, 90, 120, 180):
            start = end - timedelta(days=days)
            within = [row for row in rows if str(start) <= row["created_at"][:10] < str(end)]
            counting_draw = [row for row in within if row["status"] != "canceled"]
            if 4 <= len(counting_draw) <= 8:
                candidates.append((last, days, within, counting_draw))
    t.skip_if(not candidates, "orders to count")
    last, days, within, counting_draw = world.rng.choice(candidates)
    query = "SELECT qty_ordered FROM order_item WHERE order_id = ? ORDER BY item_id"
    amounts = [str(item["qty_ordered"]) for row in counting_draw for item in world.rows(query, row["order_id"])]
    total = str(sum(map(int, amounts)))
    looks = concatenate(*(open_order(world, row) for row in counting_draw))
    between = turn_pages(world, within[-1]["place"], PER_PAGE, "There may be more on the next page.")
    slots, check = {"number": last["increment_id"], "days": days}, t.answer(fuzzy_match=total)
    steps = [*open_account("My Orders"), *between, *looks, t.end_task(total, f"{' + '.join(amounts)} = {total}.")]
    wrong = [str(int(total) + 1), *([str(len(counting_draw))] if total != str(len(counting_draw)) else [])]
    evidence = [last["increment_id"], *(row["increment_id"] for row in counting_draw)]
    return t.Draw(slots, check, steps, wrong_answers=wrong, grounds={total: sum_of(*amounts)}, evidence=evidence)


def within_budget(world: t.Sampler) -> t.Draw:
    """Keep an order in the cart if it costs at most a limit, including shipping and discount, else only a part of it.

    Both ends are as likely.
    """
    goods = world.rows(GOODS + "SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 5 ORDER BY product_id")
    chosen = sorted(world.rng.sample(goods, 3), key=lambda row: str(row["name"]))
    amounts = [world.rng.randint(1, 3) for _ in chosen]
    rule = world.pick(
        f"SELECT * FROM cart_rule JOIN world ON key = 'now' WHERE {_VALID} AND coupon_code IS NOT NULL ORDER BY rule_id"
    )
    t.skip_if(world.rows(f"SELECT 1 FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = {ME}"), "an empty cart")
    subtotal = sum(row["cents"] * amount for row, amount in zip(chosen, amounts, strict=True))
    discount = discount_of([rule], subtotal)
    flat, table, free = (
        round(100 * float(world.value("SELECT value FROM store_config WHERE path = ?", f"carriers/{name}")))
        for name in ("flatrate/price", "tablerate/price", "freeshipping/free_shipping_subtotal")
    )
    shipping = 0 if subtotal - discount >= free else min(flat * sum(amounts), table)
    total = subtotal - discount + shipping
    fits = world.rng.random() < 0.5
    limit = (total + world.rng.randint(20, 300)) if fits else total - world.rng.randint(20, max(21, min(300, shipping + 40)))
    steps = [
        *put(zip(chosen, amounts, strict=True)),
        t.click("My Cart"),
        t.type_text("Discount Code", rule["coupon_code"]),
        t.click("Apply Discount"),
    ]
    lines = enumerate_items([f"{amount} of the {row['name']}" for row, amount in zip(chosen, amounts, strict=True)])
    extra = world.rng.randrange(len(chosen))  # the place of what is taken out again
    slots = {"lines": lines, "code": rule["coupon_code"], "limit": money(limit), "extra": chosen[extra]["name"]}
    evidence = [money(subtotal - discount), money(shipping), *(money(row["cents"]) for row in chosen)]
    held: list[tuple[str, dict[str, str], int]] = [
        (row["sku"], {}, amount) for row, amount in zip(chosen, amounts, strict=True)
    ]
    if not fits:
        del held[extra]
        steps.append(t.click(nth("Remove", extra), f"It would come to {money(total)}."))
    steps.append(t.end_task("", "It is as it should be."))
    return t.Draw(slots, cart_holds(*held, coupon=rule["coupon_code"]), steps, evidence=evidence)


def order_by_memory(world: t.Sampler) -> t.Draw:
    """Ask for the number of an order that is identified by two kinds of products in it."""
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    query = "SELECT name FROM order_item WHERE order_id = ? ORDER BY item_id"
    nouns = {row["order_id"]: [noun(name) for (name,) in world.rows(query, row["order_id"])] for row in rows}
    candidates = []
    for row in rows[4:16]:
        for first in nouns[row["order_id"]]:
            for second in nouns[row["order_id"]]:
                holding = [order for order, entries in nouns.items() if first in entries and second in entries]
                if (
                    first < second
                    and len(holding) == 1
                    and sum(first in entries or second in entries for entries in nouns.values()) > 1
                ):
                    candidates.append((row, first, second))
    t.skip_if(not candidates, "an order to remember")
    row, first, second = world.rng.choice(candidates)
    looks: list[Step] = []
    for other, way in through(world, rows[: row["place"] + 1], "It is further back."):
        looks += [*way, *([] if other["order_id"] == row["order_id"] else [t.back("Not this one.")])]
    number = row["increment_id"]
    check = t.answer(fuzzy_match=number)
    steps = [*open_account("My Orders"), *looks, t.end_task(number, "Both are in this one.")]
    wrong_answers = [other["increment_id"] for other in rows if other["order_id"] != row["order_id"]][:2]
    return t.Draw({"first": first, "second": second}, check, steps, wrong_answers=wrong_answers, evidence=[number])
