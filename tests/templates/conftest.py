"""Samplers of a standard world, for helpers of templates."""

from contextlib import closing

import pytest

from webarena_gym.sites.world import load_world
from webarena_gym.tasks.template import Dice, Sampler


@pytest.fixture
def sampler():
    """A sampler of world 1000, whose queries go to the forum unless they name another site."""
    with closing(load_world(1000).open()) as databases:
        yield Sampler(databases, Dice("seed"), "reddit")
