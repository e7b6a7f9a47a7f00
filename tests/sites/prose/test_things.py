"""Things of reviews: aspects, materials and groups."""

import re
from itertools import product

import pytest

from tests.errors import expect_error
from tests.sites.prose.drawn import HALVES, NOUNS
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import grammar, reviews, things


@HALVES
def test_every_thing_can_be_praised_and_blamed_for_each_of_its_aspects(is_held_out):
    known = grammar.pool("aspects", is_held_out)
    for noun, kind in things.kinds().items():
        for family, side in product(kind.families, ("good", "bad")):
            slots = {**grammar.NUMBERS[kind.number], "pet": "the cat"}
            assert any(phrasing.suits(slots) for phrasing in known[f"{family} {side}"]), (noun, family, side)
            assert family in things.names()


@HALVES
@pytest.mark.parametrize(("material", "never"), [("Glass", r"rust|\bbend|\bbent|warp|dent\b|flimsy"), ("Walnut", r"rust|tire shop"),
                                                 ("Tritan", "rust")])  # fmt: skip
def test_clauses_fit_the_material(material, never, is_held_out):
    for noun in NOUNS:
        thing = things.Thing(noun, attributes=(("Material", material),))
        for family, side in product(thing.families.values(), ("good", "bad")):
            known = {**thing.slots, "pet": "the cat"}
            suiting = [line for line in grammar.pool("aspects", is_held_out)[f"{family} {side}"] if line.suits(known)]
            assert suiting, (noun, family, side)
            if family.startswith(("durable", "size", "sturdy", "smell", "taste", "cleaning")):
                assert [line.text for line in suiting if re.search(never, line.text)] == []


def test_things_that_nobody_put_into_a_group_have_what_suits_anything():
    for noun, pronoun in (("Zither", "it"), ("Reading Glasses", "they")):
        thing = things.Thing(noun)
        assert thing.slots["it"] == pronoun
        for number in range(30):
            facts = reviews.draw_review(Dice(f"{noun}/{number}"), thing, number % 5 + 1)
            assert reviews.compose_review(facts, Dice(str(number)), is_held_out=number % 2 == 0).body
    assert dict(things.Thing("Water Bottle", aspects=("leak", "sound")).families) == {"leak": "leak.vessel", "sound": "sound"}
    with expect_error(ValueError, ["speed"]):
        things.Thing("Water Bottle", aspects=("speed",)).families  # noqa: B018
    shelf = things.Thing("Bookshelf", attributes=(("Assembly", "None needed"),))
    assert {"setup", "instruction"} & set(shelf.families) == set()
    assert {"setup", "instruction"} <= set(things.Thing("Bookshelf").families)
