"""The spaces: short to print, cheap to copy, with samples that are actions."""

import pickle
from copy import deepcopy

import gymnasium
import pytest
from gymnasium.spaces import Text, Tuple
from gymnasium.vector.utils import batch_space as gymnasium_batch_space

from webarena_gym.actions import DIALECTS
from webarena_gym.spaces import CHARSET, MAX_OBSERVATION, MAX_REPLY, batch_space, reply_space, text_space

EVERY = [each.naming_by(naming) for each in DIALECTS.values() for naming in ("id", "label")]


@pytest.mark.parametrize("dialect", EVERY, ids=str)
def test_samples_are_actions_of_the_dialect(dialect):
    space = reply_space(dialect)
    space.seed(3)
    samples = [space.sample() for _ in range(300)]
    assert all(space.contains(sample) for sample in samples)
    kinds = {dialect.parse(sample).kind for sample in samples}
    assert {form.kind for form in dialect.forms} <= kinds
    space.seed(3)
    assert samples == [space.sample() for _ in range(300)]


def test_a_mask_is_gymnasium_s_own_matter():
    space, mask = reply_space(EVERY[0]), gymnasium.spaces.Text(1, charset=CHARSET)
    assert space.sample(mask=(0, None)) == ""
    assert len(space.sample(probability=(5, None))) == 5
    assert mask.character_set == space.character_set


@pytest.mark.parametrize("space", [text_space(MAX_OBSERVATION), reply_space(EVERY[0])], ids=["observation", "action"])
def test_spaces_print_in_a_line_and_are_gymnasium_s(space):
    assert len(repr(space)) < 100
    assert isinstance(space, Text)
    assert space == Text(space.max_length, min_length=0, charset=CHARSET)
    for other in (deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert other == space
        assert "a" * space.max_length in other
        assert "a" * (space.max_length + 1) not in other


@pytest.mark.parametrize("make", [batch_space, gymnasium_batch_space])
def test_batches_sample_apart_and_share_their_tables(make):
    space = reply_space(EVERY[0])
    space.seed(1)
    batch = make(space, 3)
    assert isinstance(batch, Tuple)
    assert batch.contains(batch.sample())
    assert len({batch.sample() for _ in range(5)}) == 5
    assert all(part.character_set is space.character_set for part in batch.spaces)
    own = [space.sample() for _ in range(5)]
    space.seed(1)
    other = deepcopy(space)
    assert own == [space.sample() for _ in range(5)] == [other.sample() for _ in range(5)]


def test_an_env_names_its_actions_in_its_own_way():
    env = gymnasium.make("WebArenaLite-v0", dialect="browsergym", elements="label")
    assert env.action_space.dialect == env.unwrapped.dialect == DIALECTS["browsergym"].naming_by("label")
    assert env.action_space.max_length == MAX_REPLY
    assert all(env.unwrapped.dialect.parse(env.action_space.sample()) for _ in range(50))
    env.close()
