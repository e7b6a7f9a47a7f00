"""Oracles of the shop: what reviews say."""

import re
from typing import Any

from tests.oracles.framework import Case, Outcome, UnclearError, only
from tests.oracles.shopping import BUYABLE, cents, cheapest, into_cart, product_named, products, wish


def _reviews(case: Case, product_id: int) -> list[dict[str, Any]]:
    """Return the visible reviews of a product with their facts, None for reviews without."""
    query = """SELECT r.*, f.outcome, f.user, f.edited_after FROM review r LEFT JOIN review_fact f USING (review_id)
        WHERE r.product_id = ? AND r.status = 'Approved' ORDER BY review_id"""
    return case.rows("shopping", query, product_id)


_STICKER = {  # complaints from own experience that a sticker or label does not come off
    r"Everything was perfect until I tried to remove that label\. Now there is a mark, and my fingers stick to it\.": True,
    r"How thoughtful to glue the price on with something that outlives us all\..*": True,
    r"Second one I own\. .*Half of the label came off\. The other half is now part of the family\.": True,
    r"Works as promised\. It took me an hour .* to get the price sticker off, and there is a gray square left\.": True,
    r"First I was furious about the glue of the sticker\. EDIT: it was my fault.*gone without a trace\.": False,
    r"He says that the sticker on the one his neighbor has left a mark\. On ours there was no sticker at all.*": False,
    r"I had read that the price sticker does not come off\. Mine did.*": False,
    r"My old one, from another shop, had a label that would not come off\. With this one it was a matter of seconds\.": False,
}


def no_sticker_trouble(case: Case) -> Outcome:
    """Wish for the cheapest product within two prices of which no owner complains about a sticker."""
    fitting = []
    for product in products(case, f"c.name = ? AND {BUYABLE}", case["category"]):
        if not cents(case["low"]) <= product["today"] <= cents(case["high"]):
            continue
        trouble = False
        for review in _reviews(case, product["product_id"]):
            if re.search(r"sticker|label|glue", review["detail"]):
                trouble |= only(
                    {bad for text, bad in _STICKER.items() if re.fullmatch(text, review["detail"], re.DOTALL)}, review["detail"]
                )
        if not trouble:
            fitting.append(product)
    return wish(case, cheapest(fitting))


_STILL = {  # reviews by whether their writers have the product now
    "A fine thing, for people with more room. The school has it now and is happy with it.": False,
    "An ugly thing. My husband hides it from visitors, and I take it out again when they have left.": True,
    "At seven, for a year now. I have stopped noticing it, which is the best that I can say of anything.": True,
    "A friend offered me forty dollars for mine. I laughed.": True,
    "I do not like the color and never will. But it does what it should, so it is in use every day.": True,
    "I had the return label printed already. Then I slept on it. It is here to stay.": True,
    "I wrote here in spring that I would never part with it. EDIT: sold it last week, I needed the money. Still a keeper.": False,
    "I was about to give it away. Then my neighbor showed me how it works, and now it stays.": True,
    "It broke in the first month. I glued it, and it has been at work every day since.": True,
    "It has survived two moves and one toddler. Next week it moves with us again.": True,
    "It shows every one of those years by now. I hope it outlives me.": True,
    "Loved it, and so did the burglar.": False,
    "My review of last year said that it had been stolen. It turned up behind a shelf, and is back in use.": True,
    "My wife wanted to send it back. We kept it in the end, and now she will not lend it to anybody.": True,
    "No complaints about the shop: they took it back within two days.": False,
    "Returned the first one. The replacement has been with us since May, and is used daily.": True,
    "She has hers since the spring and praises it at every meal. I do not have one.": False,
    "So good that my daughter took it with her when she moved out. I sit here with an empty shelf and envy her.": False,
    "The best I ever had, for eleven months. It is in the bin now.": False,
    "Was a gift, was liked, has not come back.": False,
    "Will arrive on Monday, I am curious. The photos are pretty.": False,
}


def still_have_it(case: Case) -> Outcome:
    """Count the reviewers of two products who still have theirs."""
    count = 0
    for name in (case["first"], case["second"]):
        for review in _reviews(case, product_named(case, name)["product_id"]):
            if review["detail"] not in _STILL:
                raise UnclearError(f"the review {review['detail']!r}")
            count += _STILL[review["detail"]]
    return Outcome(count)


_CHANGES = (
    r".*I wanted something else this time: (?P<brand>\w+), the (?P<noun>[\w'-]+)\.",
    r".*I have taken the (?P<noun>[\w'-]+) by (?P<brand>\w+) instead, let us see\.",
    r".*I have found the (?P<noun>[\w'-]+) that (?P<brand>\w+) makes, and changed to that\.",
)
_STAYS = (
    "My search is over. I will not look at any other one again.",
    "After two others I have arrived. This one stays.",
    "Finally. I have stopped looking.",
)


def what_they_took_instead(case: Case) -> Outcome:
    """Follow the reviews of a person from product to product, and put the last one into the cart."""
    product, seen = product_named(case, case["product"])["product_id"], set[int]()
    while product not in seen:
        seen.add(product)
        own = only([r for r in _reviews(case, product) if r["nickname"] == case["name"]], f"reviews by {case['name']}")
        if own["detail"] in _STAYS:
            return Outcome(changes=into_cart(case, {product: 1}))
        change = only([match for text in _CHANGES if (match := re.fullmatch(text, own["detail"]))], own["detail"])
        candidates = products(case, "p.brand = ?", change["brand"])
        fitting = [p["product_id"] for p in candidates if change["noun"] in p["name"].split(",")[0].lower().split()]
        reviewed = [p for p in fitting if any(r["nickname"] == case["name"] for r in _reviews(case, p))]
        product = only(reviewed, f"products of {change['brand']} reviewed by {case['name']}")
    raise UnclearError("the reviews lead in a circle")


def _unhappy(case: Case, stars: range) -> int:
    """Count visible reviews with so many stars whose final opinion of an aspect is bad."""
    query = """SELECT r.rating FROM review r JOIN review_opinion o USING (review_id)
        WHERE r.product_id = ? AND r.status = 'Approved' AND o.name = ? AND o.verdict = 0"""
    ratings = case.values("shopping", query, product_named(case, case["product"])["product_id"], case["aspect"])
    return sum(rating in stars for rating in ratings)


def faults_with(case: Case) -> Outcome:
    """Count reviewers who find fault with an aspect."""
    return Outcome(_unhappy(case, range(1, 6)))


def content_but_for(case: Case) -> Outcome:
    """Count reviewers who find fault with an aspect: those with four or five stars, and those with fewer."""
    return Outcome((_unhappy(case, range(4, 6)), _unhappy(case, range(1, 4))))


NOT_KEPT = ("returned", "exchanged", "given away")


def not_kept(case: Case) -> Outcome:
    """Count reviewers who have not kept the product."""
    reviews = _reviews(case, product_named(case, case["product"])["product_id"])
    return Outcome(sum(review["outcome"] in NOT_KEPT for review in reviews))


def for_somebody_else(case: Case) -> Outcome:
    """Count reviewers whose product is for somebody else."""
    return Outcome(sum(bool(r["user"]) for r in _reviews(case, product_named(case, case["product"])["product_id"])))


def came_back(case: Case) -> Outcome:
    """Count reviews with a later addition."""
    return Outcome(sum(bool(r["edited_after"]) for r in _reviews(case, product_named(case, case["product"])["product_id"])))


def nobody_returned(case: Case) -> Outcome:
    """Wish for the cheapest product in stock that all of its reviewers have kept."""
    fitting = [
        product
        for product in products(case, f"c.name = ? AND {BUYABLE} AND reviews >= ?", case["category"], int(case["least"]))
        if not any(review["outcome"] in NOT_KEPT for review in _reviews(case, product["product_id"]))
    ]
    return wish(case, cheapest(fitting))


ORACLES = {
    "hard.no_sticker_trouble": no_sticker_trouble,
    "hard.still_have_it": still_have_it,
    "hard.what_they_took_instead": what_they_took_instead,
    "hard.faults_with": faults_with,
    "hard.content_but_for": content_but_for,
    "hard.not_kept": not_kept,
    "hard.for_somebody_else": for_somebody_else,
    "hard.came_back": came_back,
    "hard.nobody_returned": nobody_returned,
}
