"""Spaces of texts, replies and pictures, and texts in shared memory."""

import pickle
from multiprocessing import get_context

import numpy
import pytest
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from tests.errors import expect_error
from webarena_gym.actions import DIALECTS
from webarena_gym.observation.pictures import MAX_BOXES
from webarena_gym.spaces import CHARSET, batch_space, empty_observation, picture_space, reply_space, text_space, within_charset


@pytest.fixture(params=sorted(DIALECTS))
def space(request):
    return reply_space(DIALECTS[request.param])


def test_samples_are_actions_of_the_dialect_in_the_space(space):
    space.seed(3)
    samples = [space.sample() for _ in range(60)]
    assert all(space.contains(text) for text in samples)
    names = {space.dialect.parse(text).kind for text in samples}
    assert len(names) > 3
    space.seed(3)
    assert [space.sample() for _ in range(60)] == samples


def test_masks_give_samples_of_text():
    space = reply_space(DIALECTS["webrl"])
    assert len(space.sample(mask=(5, None))) == 5
    assert len(space.sample(probability=(4, None))) == 4


def test_copies_share_tables_and_not_their_random_numbers():
    one, other = text_space(50), text_space(50)
    assert one.character_set is other.character_set
    one.seed(1)
    other.seed(2)
    assert one.sample() != other.sample()
    assert one == other


def test_other_characters_are_replaced():
    text = "a\u0000\ud800\U0010ffff\n\t\u00e9\U0001f600"
    assert within_charset(text) == "a\ufffd\ufffd\ufffd\n\t\u00e9\U0001f600"
    assert all(char in CHARSET for char in within_charset(text))
    assert text_space(9).contains(within_charset(text))


def test_a_picture_has_the_size_of_the_window():
    parts = picture_space(30, 20)
    assert (parts["screenshot"].shape, parts["screenshot"].dtype) == ((20, 30, 3), numpy.uint8)
    assert parts["boxes"].shape == (MAX_BOXES, 5)
    batch = batch_space(parts, 3)
    assert batch["screenshot"].shape == (3, 20, 30, 3)
    assert len(batch["text"]) == 3


def test_an_empty_observation_has_the_form_of_the_space():
    empty = empty_observation(picture_space(30, 20))
    assert (empty["text"], empty["goal"], empty["screenshot"].shape, empty["boxes"].any()) == ("", "", (20, 30, 3), False)
    assert empty_observation(text_space(9)) == ""


def test_batches_are_seeded_by_the_space():
    one, same = text_space(20), text_space(20)
    one.seed(5)
    same.seed(5)
    assert batch_space(one, 2).sample() == batch_space(same, 2).sample()


def test_texts_in_shared_memory_show_later_values_and_act_like_a_tuple():
    space = text_space(6)
    memory = create_shared_memory(space, 2, get_context("spawn"))
    texts = read_from_shared_memory(space, memory, 2)
    assert texts == ("", "")
    write_to_shared_memory(space, 1, "é\U0001f600x", memory)
    write_to_shared_memory(space, 0, "longer", memory)
    write_to_shared_memory(space, 0, "ab", memory)
    assert texts == ("ab", "é\U0001f600x")
    assert isinstance(texts, tuple)
    assert (texts[1], texts[-1:], len(texts), repr(texts)) == ("é\U0001f600x", ("é\U0001f600x",), 2, repr(tuple(texts)))
    assert pickle.loads(pickle.dumps(texts)) == tuple(texts)
    with expect_error(ValueError, "7 characters"):
        write_to_shared_memory(space, 0, "1234567", memory)
    assert texts[0] == "ab"


def test_samples_have_the_types_of_their_parameters(space):
    space.seed(1)
    actions = [space.dialect.parse(space.sample()) for _ in range(300)]
    addresses = {action.argument for action in actions if action.kind.name == "GOTO"}
    examples = {
        parameter.example for form in space.dialect.forms for parameter in form.parameters if parameter.placeholder == "url"
    }
    assert addresses <= {*map(str.strip, examples), *(example.strip("\"'") for example in examples)}
    assert addresses or not examples
