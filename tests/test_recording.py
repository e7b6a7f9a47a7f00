"""GIFs of episodes, and what a notebook shows."""

from contextlib import closing

import gymnasium
import numpy
import pytest

import webarena_gym
from tests import needs
from tests.errors import expect_error
from webarena_gym.errors import RenderModeError
from webarena_gym.suite import load

HOSTILE = "</pre><script>alert(1)</script>"


class Pictures(gymnasium.Env):
    """An env whose pictures are of random colours, few enough for a fast GIF, and whose episodes take three steps; some pictures are missing, as of a browser that failed."""

    def __init__(self, missing=()):
        self.render_mode, self.missing, self.step_number = "rgb_array", missing, 0

    def reset(self, **_):
        self.step_number = 0
        return "", {"goal": "Find Zürich \u2192 \U0001f600 " * 9}

    def step(self, action):
        self.step_number += 1
        return "", 1.0, self.step_number == 3, False, {}

    def render(self):
        if self.step_number in self.missing:
            return None
        colours = numpy.random.default_rng(self.step_number).integers(0, 255, (2, 4, 3), dtype=numpy.uint8)
        return colours.repeat(36, axis=0).repeat(32, axis=1)


def frames_of(path):
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as gif:
        return gif.n_frames, gif.info["duration"]


@pytest.mark.parametrize(
    "missing",
    [pytest.param((), marks=pytest.mark.slow), (0,), *(pytest.param(some, marks=pytest.mark.slow) for some in ((3,), (1, 2)))],
)
def test_an_episode_is_a_picture_of_each_page(tmp_path, missing):
    pytest.importorskip("PIL")
    env = webarena_gym.RecordGif(Pictures(missing), tmp_path / "new" / "episode-{number}.gif", seconds=0.5)
    for _ in range(2):
        env.reset()
        for number in range(3):
            env.step(f"click {number}\u200b")
    env.reset()
    env.step("left early")
    env.close()
    pictures = sorted((tmp_path / "new").iterdir())
    assert [path.name for path in pictures][:2] == ["episode-0.gif", "episode-1.gif"]
    assert len(pictures) == 2 + (0 not in missing)
    assert frames_of(pictures[0]) == (4 - len(missing), 500)


def test_the_goal_is_above_the_page_and_the_action_below_it(tmp_path):
    image = pytest.importorskip("PIL.Image")
    env = Pictures()
    env.render = lambda: numpy.full((90, 160, 3), 255, numpy.uint8)
    with closing(webarena_gym.RecordGif(env, tmp_path / "episode.gif")) as recorded:
        recorded.reset()
        recorded.step("click gy")
    with image.open(tmp_path / "episode.gif") as gif:
        picture = numpy.asarray(gif.convert("L")).astype(int)
    white = (picture > 250).all(axis=1)
    top, bottom = white.argmax(), len(white) - white[::-1].argmax()
    assert white[top:bottom].all(), "no text on the page"
    for bar in (picture[:top], picture[bottom:]):
        inked = numpy.flatnonzero((bar != bar[0, 0]).any(axis=1))
        assert len(inked)
        assert inked[0] > 1
        assert inked[-1] < len(bar) - 2


def test_unrecordable_envs_and_durations_are_rejected(tmp_path):
    with closing(gymnasium.make("WebArenaLite-v0")) as env, expect_error(RenderModeError, "'rgb_array'"):
        webarena_gym.RecordGif(env, tmp_path / "a.gif")
    pytest.importorskip("PIL")
    with expect_error(ValueError, "seconds", 0):
        webarena_gym.RecordGif(Pictures(), tmp_path / "a.gif", seconds=0)


@needs.chromium
def test_an_episode_in_chromium_is_a_gif(tmp_path):
    pytest.importorskip("PIL")
    made = gymnasium.make("WebArenaLite-v0", browser="chromium", render_mode="rgb_array", tasks=load("test")[:1])
    with closing(webarena_gym.RecordGif(made, tmp_path / "episode.gif")) as env:
        env.reset(seed=0)
        env.step('do(action="Wait")')
        env.step('exit(message="x")')
    assert frames_of(tmp_path / "episode.gif")[0] == 3


def test_an_env_shows_itself_in_a_notebook():
    with closing(gymnasium.make("WebArenaLite-v0", elements="label")) as env:
        assert "WebArenaLite" in env.unwrapped._repr_html_()
        _, info = env.reset(seed=0)
        *_, info = env.step(HOSTILE)
        shown = env.unwrapped._repr_html_()
    assert info["url"] in shown
    assert "<b>Error</b>" in shown
    assert "<script>" not in shown
