"""`MiniWoBText-v0`: MiniWoB++, a published benchmark of small web pages, with this package's observations and actions."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from webarena_gym.arguments import suggestion
from webarena_gym.backends import miniwob as pages
from webarena_gym.backends.miniwob import DataMode, MiniWobBackend
from webarena_gym.backends.miniwob import tasks as tasks
from webarena_gym.browsers.base import Browser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import TaskError
from webarena_gym.options import MAX_STEPS
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task

_WINDOW = (600, 800)  # pixels; as large as the largest page
_OPTIONS = (
    "max_steps", "history", "observation", "dialect", "elements", "render_mode", "thoughts", "header", "window", "on_failure",
)  # fmt: skip
_REWARDED = {
    "eval_types": ["program_html"],
    "program_html": [
        {
            "url": "last",
            "locator": "document.defaultView.WOB_RAW_REWARD_GLOBAL >= 1",
            "required_contents": {"exact_match": "true"},
        }
    ],
}


def task(name: str) -> Task:
    """Return a task by its name, or one episode of it by name and seed, as in "click-test/7". Raises TaskError."""
    title, has_seed, seed = name.partition("/")
    if title not in pages.tasks() or (has_seed and not seed.isdecimal()):
        near = get_close_matches(title, pages.tasks(), n=3, cutoff=0.0)
        raise TaskError(
            f"MiniWoB++ has no task {name!r}; expected <name> or <name>/<seed>, with a name such as {', '.join(near)}"
        )
    return Task(name, ("miniwob",), pages.url(title), "", _REWARDED, template=title, world_seed=int(seed) if has_seed else None)


class MiniWobText(WebArenaLite):
    """MiniWoB++ with the observations, actions and history of `WebArenaLite`, in Chromium.

    Args:
        tasks: what `reset` draws from: a name such as "click-test", or several; None for all (see `miniwob.tasks`).
        data_mode: "train" or "test", for the few tasks whose data have these two parts.
        max_steps, history, observation, dialect, elements, render_mode, thoughts, header, window, on_failure: as in `WebArenaLite`.

    An episode ends when its page says so. The reward is 1.0 when the page gives all of its own, else 0.0;
    `info["raw_reward"]` is that of the page, without its discount for time. The pages' limits of some seconds do not hold: what
    limits an agent are its steps. One that exits, or leaves the page, ends the episode with what it has earned, which is
    nothing. What can only be seen (drawings, in SVG or on a canvas) is not in the text.

    An episode is known by `info["task_id"]`, such as "click-test/7": `reset(options={"task": "click-test/7"})` plays it again.

    """

    _backend: MiniWobBackend

    def __init__(
        self,
        *,
        tasks: str | Sequence[str | Task] | None = None,
        data_mode: DataMode = "train",
        max_steps: int = MAX_STEPS,
        **options: Any,
    ) -> None:
        if data_mode not in ("train", "test"):
            raise ValueError(f"data_mode is {data_mode!r}; expected 'train' or 'test'")
        for name in options:
            if name not in _OPTIONS:
                raise TypeError(f"MiniWobText has no keyword {name!r}: {suggestion(name, ('tasks', 'data_mode', *_OPTIONS))}")
        names = pages.tasks() if tasks is None else [tasks] if isinstance(tasks, str) else tasks
        super().__init__(
            tasks=[given if isinstance(given, Task) else task(given) for given in names],
            browser="chromium",
            max_steps=max_steps,
            side_effects="ignored",  # its pages keep no databases
            **options,
        )
        self._backend = MiniWobBackend(self._make_browser, data_mode)

    def _make_browser(self, network: Network) -> Browser:
        from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

        return ChromiumBrowser(network, headless=self.render_mode != "human", strict=True, viewport=_WINDOW)

    def _choose(self, options: dict[str, Any]) -> Task:
        if isinstance(options.get("task"), str):
            options = options | {"task": task(options["task"])}
        chosen = super()._choose(options)
        if chosen.world_seed is not None:
            return chosen
        seed = int(self.np_random.integers(2**31))
        return replace(chosen, task_id=f"{chosen.template}/{seed}", world_seed=seed)

    def _has_ended_by_itself(self) -> bool:
        return self._backend.settle()

    def _evaluate(self, answer: str) -> dict[str, Any]:
        return super()._evaluate(answer) | {"raw_reward": self._backend.raw_reward()}
