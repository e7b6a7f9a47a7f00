"""What owners write in reviews: who complains in earnest, who still has the thing, and what they took instead."""

from collections import Counter
from typing import NamedTuple

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import number_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.baskets import own_cart
from webarena_gym.templates.hard.buying import noun, wishes_are
from webarena_gym.templates.hard.ways import ago
from webarena_gym.templates.shopping.buying import cart_holds
from webarena_gym.templates.shopping.routes import GOODS, PER_PAGE, open_category, open_product, open_reviews, sort_by_price
from webarena_gym.templates.shopping.shelves import ONE_PAGE
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")

_NAMES = (
    "Quill", "Marlo B.", "the tall one", "Tess", "o_brandt", "Ivy and Co", "Fenwick", "sunday cook", "Lumen", "R. Sallow", "greta77", "Pim",
    "Anouk", "harbor rat", "Mr. Dowd", "Cleo", "two cats", "Benedikt", "Wren", "J. Ostrov", "Mabel", "k9nine", "Nora T", "Ulf",
)  # fmt: skip


class Opinion(NamedTuple):
    """A review to plant: its summary, its text, and the stars."""

    title: str
    detail: str
    rating: int


def review(world: t.Sampler, product: t.Row, nickname: str, opinion: Opinion, days: int) -> None:
    """Plant an approved review that is so many days old."""
    world.plant(
        "review",
        product_id=product["product_id"],
        nickname=nickname,
        title=opinion.title,
        detail=opinion.detail,
        rating=opinion.rating,
        status="Approved",
        created_at=ago(world, days=days),
    )


_STICKY = (
    Opinion("Fine, but", "Works as promised. It took me an hour with oil and a hair dryer to get the price sticker off, and there is a gray square left.", 4),
    Opinion("Lovely little detail", "How thoughtful to glue the price on with something that outlives us all. I have named my sticker Gerald. He stays.", 5),
    Opinion("Good product", "Second one I own. I did what it says on the box, warm water, wait, peel. Half of the label came off. The other half is now part of the family.", 4),
    Opinion("Almost five stars", "Everything was perfect until I tried to remove that label. Now there is a mark, and my fingers stick to it.", 3),
)  # fmt: skip
_NOT_STICKY = (
    Opinion("Sticker?", "I had read that the price sticker does not come off. Mine did, in one piece, with a fingernail.", 5),
    Opinion("I take it back", "First I was furious about the glue of the sticker. EDIT: it was my fault, I had tried it with cold water. Warm water, ten seconds, gone without a trace.", 4),
    Opinion("Present for my brother", "He says that the sticker on the one his neighbor has left a mark. On ours there was no sticker at all, they had put the price on the wrapping.", 4),
    Opinion("Bought because of the sticker", "My old one, from another shop, had a label that would not come off. With this one it was a matter of seconds.", 5),
)  # fmt: skip
_PLAIN = (
    Opinion("All right", "Came quickly, looks like the picture, does what it should.", 4),
    Opinion("No regrets", "I have used it for a month now and would take it again.", 5),
    Opinion("Bit dear", "Nice enough. I would have paid three dollars less for it.", 3),
    Opinion("For the cabin", "It lives in our cabin and has survived the winter there.", 4),
    Opinion("Gift", "Was a gift, was liked, has not come back.", 5),
    Opinion("Hm", "A little smaller than I thought. My own mistake, the size is given.", 3),
)


@TEMPLATES.define(
    "I hate price stickers that do not come off. Of everything in {category} between {low} and {high} that is in stock, put the cheapest one on my wish list about which no reviewer complains, from their own experience, that the sticker or label will not come off cleanly.",
    "{category}, {low} to {high}, in stock: cheapest one w/o anybody having real trouble with a sticker/label that wont come off (read the reviews!). wish list pls",
    "Those labels that you cannot remove drive me crazy. Please look at what {category} has to offer from {low} to {high}, in stock only, and read what buyers write. The first one by price where nobody who owns it was left with glue or a mark goes on my wish list. Hearsay and complaints that were taken back do not count.",
    "Put something from {category} on my wish list, price from {low} up to {high}, available now. It should be the cheapest whose buyers had no problem of their own with a sticker that stays on. Some complain only about other products, that is all right.",
    "Wish list: the least expensive thing in {category} ({low} - {high}, in stock) with no owner who could not get the label off for good. Please read teh reviews properly, people there joke a lot.",
    sites=("shopping",),
    difficulty=("needs", "reading", "optimum"),
)
def no_sticker_trouble(world: t.Sampler) -> t.Draw:
    """Find the cheapest product of a span of prices of which no owner has a certain complaint."""
    rng = world.rng
    row = world.pick(GOODS + "SELECT category_id FROM goods WHERE is_salable GROUP BY 1 HAVING count(*) >= 7 ORDER BY 1")
    shelf = world.rows(GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY cents, product_id", row["category_id"])
    start = rng.randrange(1, len(shelf) - 5)
    low = shelf[start]["cents"] // 100 * 100
    span = [place for place, each in enumerate(shelf) if each["cents"] >= low][:6]
    high = shelf[span[-1]]["cents"] // 100 * 100 + 100
    inside = [place for place, each in enumerate(shelf) if low <= each["cents"] <= high]
    salable = [place for place in inside if shelf[place]["is_salable"]]
    if len(inside) > 9 or len(salable) < 4 or len({shelf[place]["cents"] for place in inside}) < len(inside):
        raise t.NothingToDraw("a span of prices")
    marks = ", ".join("?" * len(inside))
    known = world.value(
        f"""SELECT count(*) FROM review WHERE product_id IN ({marks})
        AND (detail LIKE '%sticker%' OR detail LIKE '%label%' OR detail LIKE '%glue%')""",
        *(shelf[place]["product_id"] for place in inside),
    )
    if known:
        raise t.NothingToDraw("reviews without stickers")
    best = rng.choice((2, 3)) if len(salable) > 4 else 2
    bad, good, plain = rng.sample(_STICKY, 4), rng.sample(_NOT_STICKY, 4), rng.sample(_PLAIN, 6)
    names = rng.sample(_NAMES, 24)
    for number, place in enumerate(salable[:6]):
        opinions = [plain[number]]
        if number < best:
            opinions += [bad[number], *([good[3]] if number == 1 else [])]
        elif number == best:
            opinions += good[:2]
        else:
            opinions += [rng.choice((bad[3], good[2]))]
        rng.shuffle(opinions)
        for opinion in opinions:
            review(world, shelf[place], names.pop(), opinion, rng.randint(5, 300))
    wanted = shelf[salable[best]]
    steps: list[Step] = []
    for place in salable[: best + 1]:
        page = [*open_category(shelf[0]), *sort_by_price(), *turn_pages(world, place, ONE_PAGE)]
        now_on = world.rows(GOODS + "SELECT * FROM goods WHERE product_id = ?", shelf[place]["product_id"])[0]
        turns = turn_pages(world, now_on["reviews"] - 1, PER_PAGE, "There are more reviews.")
        steps += [*page, t.click(shelf[place]["name"]), t.click("Reviews"), *turns]
    told = [each.detail for number in range(best) for each in [bad[number]]] + [each.detail for each in good[:2]]
    return t.Draw(
        {"category": wanted["category"], "low": _dollars(low), "high": _dollars(high)},
        wishes_are(world, [wanted["product_id"]]),
        [
            *steps,
            t.click(wanted["name"], "Nobody has trouble with this one."),
            t.click("Add to Wish List"),
            t.leave("", f"It is the {wanted['name']}."),
        ],
        evidence=told,
    )


def _dollars(cents: int) -> str:
    return f"${cents // 100}"


_KEPT = (
    Opinion("Still here", "My wife wanted to send it back. We kept it in the end, and now she will not lend it to anybody.", 4),
    Opinion("Grumble", "I do not like the color and never will. But it does what it should, so it is in use every day.", 2),
    Opinion("Back again", "Returned the first one. The replacement has been with us since May, and is used daily.", 3),
    Opinion("Three years", "It shows every one of those years by now. I hope it outlives me.", 5),
    Opinion("Thought about it", "I had the return label printed already. Then I slept on it. It is here to stay.", 4),
    Opinion("Not for sale", "A friend offered me forty dollars for mine. I laughed.", 5),
)
_GONE = (
    Opinion(
        "Wonderful",
        "So good that my daughter took it with her when she moved out. I sit here with an empty shelf and envy her.",
        5,
    ),
    Opinion("Refund was quick", "No complaints about the shop: they took it back within two days.", 4),
    Opinion("Great while it lasted", "The best I ever had, for eleven months. It is in the bin now.", 4),
    Opinion("Too much for me", "A fine thing, for people with more room. The school has it now and is happy with it.", 5),
    Opinion("I loved it", "Loved it, and so did the burglar.", 5),
    Opinion(
        "Keeper!",
        "I wrote here in spring that I would never part with it. EDIT: sold it last week, I needed the money. Still a keeper.",
        5,
    ),
)
_UNKNOWN = (
    Opinion("Ordered", "Will arrive on Monday, I am curious. The photos are pretty.", 4),
    Opinion("My mother-in-law's", "She has hers since the spring and praises it at every meal. I do not have one.", 5),
)  # fmt: skip


@TEMPLATES.define(
    "How many of the people who reviewed the {first} or the {second} still have theirs, going by what they write? Those who never owned one, or do not have it yet, do not count. Give the total over both products as a number.",
    "count reviewers of {first} + {second} who still own theirs (acc. to the text). total number only. not owners yet / never = dont count",
    "For a talk on how long things last I need a number: of all the reviewers of the {first} and of the {second}, how many still have the product that they write about? Stars do not tell it, you have to read the texts. Both products together, please.",
    "Read the reviews of the {first} and of the {second}. In how many of them does the writer still own the thing? Whoever gave it away, returned it for good, lost it or never had one is out. Answer with the sum.",
    "Whats the number of reviewers, both products together, who have kept their {first} or {second} until today as far as the texts say? If somebody got a replacement and has that, it counts as kept.",
    sites=("shopping",),
    difficulty=("reading", "exhaustive"),
)
def still_have_it(world: t.Sampler) -> t.Draw:
    """Count the reviewers who still have what they write about."""
    rng = world.rng
    rows = world.rows(
        GOODS
        + "SELECT * FROM goods g WHERE NOT EXISTS (SELECT 1 FROM review r WHERE r.product_id = g.product_id) ORDER BY product_id"
    )
    pair = rng.sample(rows, 2)
    kept, gone, unknown = rng.sample(_KEPT, rng.randint(3, 6)), rng.sample(_GONE, rng.randint(4, 6)), rng.sample(_UNKNOWN, 2)
    names = rng.sample(_NAMES, 14)
    drawn = [(opinion, name, opinion in kept) for opinion, name in zip([*kept, *gone, *unknown], names, strict=False)]
    rng.shuffle(drawn)
    for place, (opinion, name, _) in enumerate(drawn):
        review(world, pair[place % 2], name, opinion, 6 + 17 * place)
    own = [name for _, name, is_kept in drawn if is_kept]
    total = str(len(own))
    steps: list[Step] = []
    for place, product in enumerate(pair):
        turns = turn_pages(world, len(drawn[place::2]) - 1, PER_PAGE)
        steps += [*open_product(product["name"]), t.click("Reviews"), *turns]
    return t.Draw(
        {"first": pair[0]["name"], "second": pair[1]["name"]},
        t.answer(fuzzy_match=total),
        [*steps, t.leave(total, f"They are {', '.join(own)}.")],
        wrong_answers=[str(len(own) + 1), str(len(own) - 1)],
        grounds={total: number_of(*own)},
        evidence=[opinion.detail for opinion, _, _ in drawn],
    )


_LEAVING = (
    "Sent it back after a week. I have taken the {noun} by {brand} instead, let us see.",
    "Not for me. In the same shop I have found the {noun} that {brand} makes, and changed to that.",
    "It did not survive the moving. I wanted something else this time: {brand}, the {noun}.",
)
_ARRIVED = (
    "After two others I have arrived. This one stays.",
    "My search is over. I will not look at any other one again.",
    "Finally. I have stopped looking.",
)
_AWAY = (
    "Now I use the {noun} from {brand}, and that is so much better.",
    "Take the {noun} by {brand}, I did, and am happy.",
)


@TEMPLATES.define(
    "A reviewer called {name} was not content with the {product} and took something else, and perhaps something else again after that. Find out which product {name} has stayed with, and put one of it into my cart.",
    "{name} reviewed the {product} + switched to sth else (maybe more than once). add what {name} ended up with to my cart",
    "I trust {name} in matters like this. First there was the {product}, about which {name} wrote a review, and then came others; the reviews tell which. I want the one that {name} is happy with today: one piece in the cart, please.",
    "Follow the reviews of {name}, beginning with that of the {product}, to the product that {name} uses now. Add it to my cart.",
    "What does {name}, who reviewed the {product}, use in the end? Whatever it is, I would like one in my shopping cart. Other reviewers dont matter.",
    sites=("shopping",),
    difficulty=("names", "reading"),
)
def what_they_took_instead(world: t.Sampler) -> t.Draw:
    """Follow somebody's reviews from product to product, and buy the last."""
    rng = world.rng
    own_cart(world)
    goods = world.rows(GOODS + "SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 3 ORDER BY product_id")
    everything = world.rows("SELECT brand, name FROM product ORDER BY product_id")
    counts = Counter((row["brand"], noun(row["name"])) for row in everything)
    usable = [row for row in goods if counts[row["brand"], noun(row["name"])] == 1 and row["reviews"] <= 6]
    chain = rng.sample(usable, 4)
    astray = [row for row in rng.sample(usable, 8) if row not in chain][:3]
    name, *others = rng.sample(_NAMES, 5)
    if world.rows("SELECT 1 FROM review WHERE nickname = ?", name) or len(astray) < 3:
        raise t.NothingToDraw("a name that is free")
    said: list[str] = []
    for place, row in enumerate(chain):
        if place < 3:
            text = rng.choice(_LEAVING).format(noun=noun(chain[place + 1]["name"]), brand=chain[place + 1]["brand"])
            review(world, row, others[place], Opinion("Changed", rng.choice(_AWAY).format(noun=noun(astray[place]["name"]), brand=astray[place]["brand"]), 2), 3)  # fmt: skip
        else:
            text = rng.choice(_ARRIVED)
        said.append(text)
        review(
            world, row, name, Opinion(("No", "Neither", "Still not", "Yes")[place], text, (2, 3, 2, 5)[place]), 90 - 20 * place
        )
    review(world, chain[3], others[3], Opinion("Not good", rng.choice(_AWAY).format(noun=noun(astray[0]["name"]), brand=astray[0]["brand"]), 1), 2)  # fmt: skip
    steps: list[Step] = []
    for row in chain:
        fresh = world.rows(GOODS + "SELECT * FROM goods WHERE product_id = ?", row["product_id"])[0]
        steps += [*open_reviews(fresh), *turn_pages(world, fresh["reviews"] - 1, PER_PAGE, "There are more reviews.")]
    return t.Draw(
        {"name": name, "product": chain[0]["name"]},
        cart_holds((chain[3]["sku"], {}, 1)),
        [
            *steps,
            t.click(chain[3]["name"], f"{name} has stayed with it."),
            t.click("Add to Cart"),
            t.leave("", "It is in the cart."),
        ],
        evidence=said,
    )
