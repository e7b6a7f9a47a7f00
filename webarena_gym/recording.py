"""Episodes played and recorded: `play`, the loop over `env.step`, and a wrapper that writes a GIF of each episode."""

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy

from webarena_gym.errors import RenderModeError


class PlayedStep(NamedTuple):
    """A reply, the info that it was given for, and what the env returned."""

    before: Mapping[str, Any]
    reply: str
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def play(
    env: gymnasium.Env[str, str], agent: Callable[[str, Mapping[str, Any]], str | None], observation: str, info: dict[str, Any]
) -> Iterator[PlayedStep]:
    """Yield the steps of an episode from what `env.reset` returned, until it is over or the agent returns None for a reply."""
    while (reply := agent(observation, info)) is not None:
        seen, reward, terminated, truncated, after = env.step(reply)
        step = PlayedStep(info, reply, seen, float(reward), terminated, truncated, after)
        yield step
        if step.terminated or step.truncated:
            return
        observation, info = step.observation, step.info


_WIDTH = 960  # pixels of a GIF
_BAR = 34  # pixels of a line of text in it
_INK, _GROUND = (255, 255, 255), (29, 33, 41)


class RecordGif(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes each episode as a GIF: the page before each action with the goal above and the action below, then the last page.

    Args:
        env: made with `render_mode="rgb_array"`, which needs `browser="chromium"`.
        path: the file. `{number}` in it becomes the number of the episode, from 0; without it, only the newest episode is kept.
        seconds: how long each page is shown.

    An episode is written when it is over, when the next one begins, and when the env is closed. Raises RenderModeError for an env that
    renders no pictures, and ImportError where Pillow is missing.

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
        self._frames: list[tuple[Any, str]] = []  # a picture, and the action that followed; the last page has none

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the one before is written if it was not."""
        self._write()
        observation, info = self.env.reset(**options)
        self._goal = str(info.get("goal", ""))
        self._picture = self.env.render()
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Act, and keep the page that it was done on."""
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
        frames = [(pixels, text) for pixels, text in self._frames if pixels is not None]  # a browser that failed has none
        self._frames = []
        if not frames:
            return
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - comes with the extra that makes pictures

        font = ImageFont.load_default(16)
        pictures = []
        for pixels, text in frames:
            page = Image.fromarray(numpy.asarray(pixels))
            page = page.resize((_WIDTH, round(page.height * _WIDTH / page.width)))
            picture = Image.new("RGB", (_WIDTH, page.height + 2 * _BAR), _GROUND)
            picture.paste(page, (0, _BAR))
            draw = ImageDraw.Draw(picture)
            for top, line in ((0, self._goal), (_BAR + page.height, text)):
                shown = line.encode("latin-1", "replace").decode("latin-1")  # what the font that comes with Pillow can write
                draw.text((12, top + _BAR // 5), shown, fill=_INK, font=font)
            pictures.append(picture)
        path = Path(self._path.replace("{number}", str(self._number)))
        path.parent.mkdir(parents=True, exist_ok=True)
        shown_ms = round(1000 * self._seconds)
        pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=shown_ms, loop=0)
        self._number += 1
