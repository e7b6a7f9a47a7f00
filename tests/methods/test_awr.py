"""Advantage-weighted regression: weights of replayed steps."""

import math

import pytest

from agents.methods.awr import exponential_weights


def test_weights_are_exponentials_of_the_advantages_up_to_their_cap():
    assert exponential_weights([0.0, 1.0], [0.5, -1e6], temperature=0.5, cap=20.0) == pytest.approx([1 / math.e, 20.0])
