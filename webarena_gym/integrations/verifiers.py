"""verifiers (0.4, its v1): our tasks as a taskset, and an env in which the player's replies are actions.

verifiers looks for a taskset in a module of one name: a file `webarena_gym_tasks.py` with the one line
`from webarena_gym.integrations.verifiers import WebArenaGymEnv, WebArenaGymTaskset, __all__` is `vf-eval webarena-gym-tasks`. The conversation is verifiers' own: every page stays in
it whole. An episode that breaks through no fault of the model is an error of its rollout, and no reward.
"""

from collections.abc import Iterable
from contextlib import closing
from typing import Any, Literal

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarnessConfig
from verifiers.v1.runtimes import SubprocessConfig

from webarena_gym.integrations.session import Session
from webarena_gym.tasks import load

__all__ = ["WebArenaGymEnv", "WebArenaGymTaskset"]


class WebArenaGymConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which tasks there are, and how they are shown: keywords of `WebArenaLite`."""

    split: Literal["train", "validation", "test"] = "train"
    world_seed: int | None = None
    variation: Literal["content", "layout"] = "content"
    elements: Literal["id", "label"] = "id"
    observation: Literal["html", "axtree", "occam"] = "html"
    max_steps: int = 30
    window: int = 12_000

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of the env."""
        names = ("variation", "elements", "observation", "max_steps", "window")
        return {name: getattr(self, name) for name in names}


class WebArenaGymData(vf.TaskData):  # type: ignore[misc]
    """A task, and the keywords of its env."""

    env: dict[str, Any]


class WebArenaGymTask(vf.Task[WebArenaGymData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One task of this package."""


class WebArenaGymTaskset(vf.Taskset[WebArenaGymTask, WebArenaGymConfig]):  # type: ignore[misc]
    """The tasks of a split. The prompt is the goal and the first page; the system prompt tells the actions."""

    def load(self) -> Iterable[WebArenaGymTask]:
        """Yield all tasks."""
        tasks = load(self.config.split, self.config.world_seed, self.config.variation)
        env = self.config.keywords()
        with closing(Session({**env, "tasks": tasks})) as session:
            for task in tasks:
                data = WebArenaGymData(
                    id=task.task_id, name=task.task_id, prompt=session.begin(task), system_prompt=session.system_prompt, env=env
                )
                yield WebArenaGymTask(data, self.config.task)


class WebArenaGymEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The player talks, and has no tools: its replies are the actions."""

    player: vf.AgentConfig = vf.AgentConfig(harness=NullHarnessConfig(id="null"), runtime=SubprocessConfig())


class WebArenaGymEnv(vf.Env[WebArenaGymEnvConfig]):  # type: ignore[misc]
    """Plays one task: each reply of the player is done, and the page that follows is what it is told."""

    async def run(self, task: WebArenaGymTask, agents: Any) -> None:
        """Play a task; one that the player leaves is judged with an empty answer."""
        with closing(Session({**task.data.env, "tasks": [task.data.id]})) as session:
            session.begin(task.data.id)
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn()
                while not segment.terminated:
                    page = session.say(segment.last_reply)
                    if session.is_over:
                        break
                    segment = await interaction.turn(page)
            if interaction.trace.errors and not session.is_over:  # it broke, and says nothing
                return
            interaction.trace.record_reward("success", session.finish(), 1.0)
            interaction.trace.info["verdicts"] = session.verdict()["verdicts"]
