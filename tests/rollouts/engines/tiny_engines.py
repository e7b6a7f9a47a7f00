"""Tiny engines and models."""

import random

from agents.rollouts.engines.decoding import BLOCK
from agents.rollouts.engines.inprocess import InProcessEngine
from tests.engine_contract import MAX_NEW_TOKENS, STOP_IDS


def engine(model, **options):
    return InProcessEngine(model, STOP_IDS, **{"max_new_tokens": MAX_NEW_TOKENS, **options})


def trunk_prompts(count=6, seed=0):
    """Prompts of a common trunk, of unlike ends, some equal."""
    rng = random.Random(seed)
    trunk = tuple(rng.randrange(5, 300) for _ in range(3 * BLOCK + 5))
    ends = [tuple(rng.randrange(5, 300) for _ in range(rng.randrange(1, 40))) for _ in range(count)]
    return [trunk + end for end in [*ends, *ends[:3], *ends[:1]]]
