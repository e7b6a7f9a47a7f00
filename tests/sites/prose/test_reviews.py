"""Facts of reviews: what an opinion means, which combinations there are, and that drawn facts fit the rating."""

import pytest

from tests.errors import expect_error
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.reviews import Opinion, ReviewFacts, compose_review, draw_review
from webarena_gym.sites.prose.things import Thing

BOTTLE = Thing("Water Bottle", brand="Bako")
ASPECT = next(iter(BOTTLE.families))


@pytest.mark.parametrize(
    ("opinion", "verdict"),
    [
        ({"is_good": True}, True),
        ({"is_good": False, "voice": "ironic"}, False),
        ({"is_good": True, "voice": "quoted", "who": "my aunt"}, True),
        ({"is_good": True, "voice": "quoted", "who": "my aunt", "agrees": False}, False),
        ({"is_good": False, "voice": "quoted", "who": "my aunt", "agrees": False}, True),
        ({"is_good": False, "voice": "heard", "who": "my aunt"}, None),
        ({"is_good": False, "is_retracted": True}, False),
    ],
)
def test_the_verdict_is_that_of_the_reviewer(opinion, verdict):
    facts = ReviewFacts(thing=BOTTLE, rating=3, opinions=(Opinion(aspect=ASPECT, **opinion),))
    assert facts.opinions[0].verdict is facts.verdict(ASPECT) is verdict
    assert facts.complaints == ((ASPECT,) if verdict is False else ())
    assert facts.verdict("another") is None


@pytest.mark.parametrize(
    "opinion",
    [
        {"is_good": True, "voice": "ironic"},
        {"is_good": True, "voice": "quoted"},
        {"is_good": True, "who": "my aunt"},
        {"is_good": True, "is_retracted": True, "strength": "strong"},
        {"is_good": True, "is_retracted": True, "compared_with": "the old one"},
        {"is_good": False, "is_retracted": True, "voice": "ironic"},
    ],
)
def test_combinations_that_no_review_has_are_rejected(opinion):
    with pytest.raises(ValueError, match="opinion"):
        Opinion(aspect=ASPECT, **opinion)


def test_aspects_are_those_of_the_product_and_have_one_opinion():
    with expect_error(ValueError, "'Water Bottle'", ["plot"]):
        ReviewFacts(thing=BOTTLE, rating=3, opinions=(Opinion(aspect="plot", is_good=True),))
    with expect_error(ValueError, [ASPECT, ASPECT]):
        ReviewFacts(thing=BOTTLE, rating=3, opinions=(Opinion(aspect=ASPECT, is_good=True),) * 2)


@pytest.mark.parametrize("rating", range(1, 6))
def test_drawn_facts_fit_the_rating_and_the_text_states_them(rating):
    for number in range(60):
        facts = draw_review(Dice(f"test/{rating}/{number}"), BOTTLE, rating)
        verdicts = [opinion.verdict for opinion in facts.opinions]
        good, bad = verdicts.count(True), verdicts.count(False)
        assert facts.rating == rating
        assert (facts.length == "line") <= (len(verdicts) == 1)
        assert {1: good == 0, 2: good <= 1, 3: True, 4: good >= 1, 5: bad == 0}[rating]
        if facts.because:
            assert facts.verdict(facts.because) is (facts.outcome == "kept")
        if facts.outcome not in ("", "kept"):
            assert facts.complaints
        if facts.edited_after:
            assert any(opinion.is_retracted for opinion in facts.opinions)
        assert facts.is_first_hand == (not facts.user)
        text = compose_review(facts, Dice(f"text/{number}"), is_held_out=False)
        assert text == compose_review(facts, Dice(f"text/{number}"), is_held_out=False)
        assert text.body
        assert "{" not in text.title + text.body
