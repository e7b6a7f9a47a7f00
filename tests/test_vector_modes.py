"""Every vectorization mode, autoreset mode and kind of observation gives what Gymnasium's SyncVectorEnv gives; see docs/vector-environments.md."""

import pickle
import random
import zlib
from copy import copy, deepcopy
from functools import cache

import gymnasium
import numpy
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from gymnasium.wrappers import FrameStackObservation, TimeAwareObservation, TransformObservation
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from gymnasium.wrappers.vector import TransformObservation as TransformBatch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import needs
from tests.errors import expect_error
from tests.vector.test_pool import DONE, LIST, SAMPLE, plain, replies
from webarena_gym import candidates
from webarena_gym.env import WebArenaLite
from webarena_gym.observation.pictures import MAX_BOXES
from webarena_gym.spaces import MAX_OBSERVATION, picture_space, text_space
from webarena_gym.texts import MAX_GOAL
from webarena_gym.vector import WebArenaLiteVector
from webarena_gym.vector.pool import CONTEXTS

COUNT = 2
CANDIDATES = 8


class Pictures(gymnasium.ObservationWrapper):
    """Observations as with a browser that draws: pictures and boxes are noise whose seed is the text."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = picture_space(64, 64)

    def observation(self, text):
        noise = numpy.random.default_rng(zlib.crc32(text.encode()))
        return {
            "goal": text[:40], "text": text, "screenshot": noise.integers(0, 255, (64, 64, 3), numpy.uint8),
            "boxes": noise.integers(-1, 64, (MAX_BOXES, 5), numpy.int32),
        }  # fmt: skip


def make_text(**keywords):
    return WebArenaLite(**SAMPLE | keywords)


def make_pictures(**keywords):
    return Pictures(make_text(**keywords))


def make_candidates(**keywords):
    return candidates.make(CANDIDATES, **SAMPLE | keywords)


def make_flat(**keywords):
    return candidates.make(CANDIDATES, flat=True, **SAMPLE | keywords)


SPACES = {"text": make_text, "pictures": make_pictures, "candidates": make_candidates}
MODES = {
    "sync": {}, "async": {}, "async, copy=False": {"copy": False}, "async, shared_memory=False": {"shared_memory": False}, "own": {},
}  # fmt: skip


def make_vec(make_env, mode, autoreset, **vector_kwargs):
    """Return the envs of a cell of the table."""
    kind = mode.partition(",")[0]
    spec = EnvSpec("Mode-v0", entry_point=make_env, vector_entry_point=WebArenaLiteVector)
    if kind == "own":
        return gymnasium.make_vec(spec, COUNT, workers=COUNT, make_env=make_env, autoreset_mode=autoreset)
    return gymnasium.make_vec(spec, COUNT, kind, vector_kwargs={"autoreset_mode": autoreset, **MODES[mode], **vector_kwargs})


def played(envs, autoreset):
    """Play some episodes and return all that is seen, in a form that can be compared."""
    rng, history = random.Random(2), []

    def see(result):
        assert result[0] in envs.observation_space
        history.append(plain(result))
        return result

    def actions():
        is_text = isinstance(envs.single_action_space, gymnasium.spaces.Text)
        return tuple(replies(rng) if is_text else rng.randrange(CANDIDATES) for _ in range(COUNT))

    see(envs.reset(seed=5))
    for _ in range(6):
        _, _, terminated, truncated, infos = see(envs.step(actions()))
        over = terminated | truncated
        assert ("episode" in infos) == over.any()
        if autoreset is AutoresetMode.DISABLED and over.any():
            see(envs.reset(options={"reset_mask": over}))
    see(envs.reset(seed=[3, None]))
    # With shared_memory=False, the next step of an env whose episode was over starts a third one: in Gymnasium's worker, `autoreset`
    # is set back only where memory is shared.
    if autoreset is not AutoresetMode.NEXT_STEP or getattr(envs.unwrapped, "shared_memory", True):
        see(envs.step(actions()))
    return history


def without(history, *keys):
    """Return results without some entries of their infos."""
    if isinstance(history, dict):
        return {key: without(value, *keys) for key, value in history.items() if key not in keys}
    return [without(value, *keys) for value in history] if isinstance(history, list) else history


@cache
def expected(make_env, autoreset):
    envs = RecordEpisodeStatistics(make_vec(make_env, "sync", autoreset))
    try:
        return played(envs, autoreset)
    finally:
        envs.close()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", list(MODES)[1:])
@pytest.mark.parametrize("autoreset", list(AutoresetMode), ids=lambda mode: mode.name)
@pytest.mark.parametrize("space", SPACES)
def test_each_cell_of_the_table_is_equal_to_sync(opened, space, autoreset, mode):
    envs = opened(RecordEpisodeStatistics(make_vec(SPACES[space], mode, autoreset)))
    assert envs.metadata["autoreset_mode"] is autoreset
    results, left_out = expected(SPACES[space], autoreset), ["t"]  # the time of an episode
    if mode == "own" and autoreset is AutoresetMode.DISABLED:
        left_out += ["episode", "_episode"]  # which are wrong in sync: see below
    seen = played(envs, autoreset)
    assert without(seen, *left_out) == without(results[: len(seen)], *left_out)


def test_one_vector_for_each_env_is_stacked(opened):
    envs = opened(RecordEpisodeStatistics(make_vec(make_flat, "own", AutoresetMode.SAME_STEP)))
    results = expected(make_flat, AutoresetMode.SAME_STEP)
    assert without(played(envs, AutoresetMode.SAME_STEP), "t") == without(results, "t")


@pytest.mark.parametrize(("mode", "length"), [("own", 2), ("sync", 1), ("async", 1)])
def test_gymnasiums_own_vector_envs_make_statistics_forget_envs_that_a_mask_leaves_alone(opened, mode, length):
    """Gymnasium's envs take the mask out of the options, where the wrapper looks for it afterwards, and sets all counters to 0."""
    envs = opened(RecordEpisodeStatistics(make_vec(make_text, mode, AutoresetMode.DISABLED)))
    envs.reset(seed=1)
    envs.step([DONE, LIST])
    envs.reset(options={"reset_mask": numpy.array([True, False])})
    *_, infos = envs.step([LIST, DONE])
    assert infos["episode"]["l"].tolist() == [0, length]


def test_memory_is_shared_also_with_processes_that_are_not_forked(opened):
    envs = opened(RecordEpisodeStatistics(make_vec(make_pictures, "async", AutoresetMode.NEXT_STEP, context=CONTEXTS[0])))
    assert without(played(envs, AutoresetMode.NEXT_STEP), "t") == without(expected(make_pictures, AutoresetMode.NEXT_STEP), "t")


WRAPPERS = {
    "stacked": (lambda env: FrameStackObservation(env, 2), None),
    "with time": (lambda env: TimeAwareObservation(env, flatten=False), None),
    "changed": (lambda env: TransformObservation(env, str.upper, None), None),
    "batch changed": (None, lambda envs: TransformBatch(envs, lambda texts: tuple(text.lower() for text in texts))),
    "infos as a list": (None, DictInfoToList),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_see_the_same_texts(opened, wrapper):
    inner, outer = WRAPPERS[wrapper]
    histories = []
    for mode, more in (("sync", {}), ("async", {}), ("async", {"copy": False})):
        envs = gymnasium.make_vec(
            "WebArenaLite-v0", COUNT, mode, more, [inner] if inner else [], max_episode_steps=9, **SAMPLE
        )  # fmt: skip
        envs = opened(outer(envs) if outer else envs)
        histories.append([plain(envs.reset(seed=1)), *(plain(envs.step([LIST, action])) for action in ("?", DONE, LIST))])
    assert histories[0] == histories[1] == histories[2]


def test_uncopied_texts_change_and_copies_stay(opened):
    envs = opened(make_vec(make_text, "async, copy=False", AutoresetMode.NEXT_STEP))
    texts, _ = envs.reset(seed=1)
    first = tuple(texts)
    copies = [copy(texts), deepcopy(texts), pickle.loads(pickle.dumps(texts)), texts[:]]
    later, *_ = envs.step([LIST, "?"])
    assert texts == later != first
    assert first != texts
    assert copies == [first] * 4
    assert {type(each) for each in copies} == {tuple}
    assert (len(texts), [*reversed(texts)], texts[-1], repr(texts)) == (2, [later[1], later[0]], later[1], repr(tuple(later)))
    assert (" ".join(texts), numpy.array(texts).tolist()) == (" ".join(tuple(later)), list(later))
    with expect_error(TypeError, "'SharedTexts'"):
        hash(texts)


LENGTH = 5
TEXTS = st.text(
    st.characters(min_codepoint=0), max_size=LENGTH
)  # surrogates and NUL as well: no text of an env, but of a wrapper's


@given(st.lists(st.tuples(st.integers(0, COUNT - 1), TEXTS)))
@settings(max_examples=300)
def test_shared_memory_holds_the_last_text_of_each_env(written):
    space = text_space(LENGTH)
    memory = create_shared_memory(space, COUNT)
    texts, expected_texts = read_from_shared_memory(space, memory, COUNT), [""] * COUNT
    for env, text in written:
        write_to_shared_memory(space, env, text, memory)
        expected_texts[env] = text
        assert texts == tuple(expected_texts)


@pytest.mark.parametrize("space", [text_space(MAX_OBSERVATION), text_space(MAX_GOAL)], ids=["text", "goal"])
def test_texts_of_full_length_fit_and_longer_ones_are_refused(space):
    memory = create_shared_memory(space, 3)
    texts, longest = read_from_shared_memory(space, memory, 3), "\U0001f600" * space.max_length
    write_to_shared_memory(space, 1, longest, memory)
    assert texts == ("", longest, "")
    with expect_error(ValueError, f"{space.max_length + 1:,}", f"{space.max_length:,}"):
        write_to_shared_memory(space, 1, longest + "x", memory)
    write_to_shared_memory(space, 1, "short", memory)
    assert texts == ("", "short", "")


DRAWN = SAMPLE | {"browser": "chromium", "observation": "text+pixels", "window_size": (320, 240)}


@pytest.mark.slow
@needs.chromium
@pytest.mark.parametrize(
    ("env_id", "options"),
    [("WebArenaLite-v0", DRAWN), pytest.param("MiniWoBText-v0", {"tasks": "click-test"}, marks=needs.miniwob)],
)
def test_async_and_sync_envs_show_equal_chromium_pages(opened, env_id, options):
    histories = []
    for mode, more in (("async", {"context": CONTEXTS[0]}), ("sync", {})):
        envs = opened(gymnasium.make_vec(env_id, COUNT, mode, more, **options))
        replies_given = (LIST, 'do(action="Scroll Down")', DONE, LIST)
        histories.append([plain(envs.reset(seed=1)), *(plain(envs.step([reply] * COUNT)) for reply in replies_given)])
    assert histories[0] == histories[1]
