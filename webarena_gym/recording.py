"""Running and recording episodes: `play`, the loop over `env.step`, and a wrapper that writes a GIF of each episode."""

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy

from webarena_gym.errors import RenderModeError


class StepRecord(NamedTuple):
    """One step of an episode: the info before it, the reply, and the result of `env.step`."""

    before: Mapping[str, Any]  # info of the page on which the agent replied
    reply: str
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def play(
    env: gymnasium.Env[str, str], agent: Callable[[str, Mapping[str, Any]], str | None], observation: str, info: dict[str, Any]
) -> Iterator[StepRecord]:
    """Run an agent until the episode is over or the agent returns None instead of a reply, and yield each step.

    Args:
        env: an env after `reset`.
        agent: function of an observation and its info that returns a reply.
        observation: observation of `reset`.
        info: info of `reset`.

    """
    while (reply := agent(observation, info)) is not None:
        next_observation, reward, terminated, truncated, next_info = env.step(reply)
        step = StepRecord(info, reply, next_observation, float(reward), terminated, truncated, next_info)
        yield step
        if step.terminated or step.truncated:
            return
        observation, info = step.observation, step.info


_WIDTH = 960  # pixels of a GIF
_BAR = 34  # height of a line of text, in pixels
_INK, _GROUND = (255, 255, 255), (29, 33, 41)


class RecordGif(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wrapper that writes each episode as a GIF: the page before each action, with the goal above and the action below, then the last page.

    An episode is written when it ends, at the next `reset`, and when the env is closed.

    Args:
        env: an env with `render_mode="rgb_array"`, which needs `browser="chromium"`.
        path: path of the file. `{number}` in it is replaced by the number of the episode, from 0; without it, each episode replaces the
            file of the last one.
        seconds: duration of each page.

    Raises:
        RenderModeError: for an env with another render mode.
        ImportError: if Pillow is not installed.
        ValueError: for a duration that is not positive.

    """

    def __init__(self, env: gymnasium.Env[Any, Any], path: str | Path, *, seconds: float = 1.5) -> None:
        super().__init__(env)
        if env.render_mode != "rgb_array":
            raise RenderModeError(f"render_mode is {env.render_mode!r}; expected 'rgb_array', with browser='chromium'")
        if find_spec("PIL") is None:
            raise ImportError("a GIF needs Pillow: pip install 'webarena-gym[chromium]'")
        if seconds <= 0:
            raise ValueError(f"seconds is {seconds}; expected more than 0")
        self._path = str(path)
        self._seconds = seconds
        self._number = 0
        self._goal = ""
        self._frames: list[tuple[Any, str]] = []  # a picture, and the action on it, or for the last page the reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Write the last episode if it has not been written, and start a new one."""
        self._write()
        observation, info = self.env.reset(seed=seed, options=options)
        self._goal = str(info.get("goal", ""))
        self._picture = self.env.render()
        return observation, info

    def step(self, action: object) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Perform an action, and record the page before it."""
        self._frames.append((self._picture, " ".join(str(action).split())))
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._picture = self.env.render()
        if terminated or truncated:
            self._frames.append((self._picture, f"reward {reward}"))
            self._write()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        self._write()
        super().close()

    def _write(self) -> None:
        frames = [(pixels, text) for pixels, text in self._frames if pixels is not None]  # None after a failure of the browser
        self._frames = []
        if not frames:
            return
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - comes with the extra for pictures

        font = ImageFont.load_default(16)
        pictures = []
        for pixels, text in frames:
            page = Image.fromarray(numpy.asarray(pixels))
            page = page.resize((_WIDTH, round(page.height * _WIDTH / page.width)))
            picture = Image.new("RGB", (_WIDTH, page.height + 2 * _BAR), _GROUND)
            picture.paste(page, (0, _BAR))
            draw = ImageDraw.Draw(picture)
            for top, line in ((0, self._goal), (_BAR + page.height, text)):
                printable = line.encode("latin-1", "replace").decode("latin-1")  # the characters of Pillow's bundled font
                draw.text((12, top + _BAR // 5), printable, fill=_INK, font=font)
            pictures.append(picture)
        path = Path(self._path.replace("{number}", str(self._number)))
        path.parent.mkdir(parents=True, exist_ok=True)
        duration_ms = round(1000 * self._seconds)
        pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=duration_ms, loop=0)
        self._number += 1
