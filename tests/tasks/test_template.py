"""Parts of templates: merged checks, and dice."""

from random import Random

import pytest

from tests.errors import expect_error
from webarena_gym.errors import NothingToDraw
from webarena_gym.tasks.template import Dice, all_of, answer, at_url, state


def test_blocks_merge():
    block = all_of(answer(exact_match="x"), at_url("u"), state("SELECT 1", expected=[[1]]), state("SELECT 2", expected=[[2]]))
    assert block["eval_types"] == ["string_match", "url_match", "state"]
    assert len(block["state"]) == 2
    with expect_error(ValueError, "reference_url"):
        all_of(at_url("u"), at_url("v"))


def test_dice_draw_like_random_and_raise_for_empty_populations():
    ours, usual, sizes = Dice("1"), Random("1"), Random(1)
    for _ in range(2_000):
        items, count = list(range(sizes.randrange(4))), sizes.randrange(4)
        for drawn in (
            lambda dice, items=items: dice.choice(items),
            lambda dice, items=items, count=count: dice.sample(items, count),
            lambda dice, items=items: dice.randrange(len(items)),
            lambda dice, items=items, count=count: dice.randint(count, len(items)),
            lambda dice, items=items, count=count: dice.randrange(count, len(items), 2),
        ):
            try:
                expected = drawn(usual)
            except (IndexError, ValueError):
                with pytest.raises(NothingToDraw):
                    drawn(ours)
            else:
                assert drawn(ours) == expected
    assert ours.random() == usual.random()
