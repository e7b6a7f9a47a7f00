"""The envs of an arena's episodes."""

from collections.abc import Hashable
from dataclasses import replace

from webarena_gym.arena.schema import NewEpisode
from webarena_gym.env import WebArenaLite


class Envs:
    """Makes envs, and keeps some that episodes have left: a world that is open is brought to its beginning in no time.

    Args:
        most: how many are kept. Each holds a copy of the databases that its last episode has visited, some megabytes.

    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._kept: list[tuple[Hashable, WebArenaLite]] = []

    def take(self, settings: NewEpisode) -> WebArenaLite:
        """Return an env that nobody uses, to be reset to any task."""
        wanted = _kind(settings)
        for place, (kind, env) in enumerate(self._kept):
            if kind == wanted:
                del self._kept[place]
                return env
        return WebArenaLite(
            variation=settings.variation,
            scale=settings.scale,
            history=settings.history,
            observation=settings.observation,
            dialect=settings.dialect,
            elements=settings.elements,
            max_steps=settings.max_steps,
            step_budget=settings.step_budget,
            thoughts=settings.thoughts,
            header=settings.header,
            window=settings.window,
            side_effects=settings.side_effects,
        )

    def give_back(self, env: WebArenaLite, settings: NewEpisode) -> None:
        """Take an env back from an episode with these settings."""
        self._kept.append((_kind(settings), env))
        if len(self._kept) > self._most:
            self._kept.pop(0)[1].close()

    def close(self) -> None:
        """Free all that are kept."""
        for _, env in self._kept:
            env.close()
        self._kept.clear()


def _kind(settings: NewEpisode) -> Hashable:
    """Return what two episodes have in common that can be played in one env."""
    return replace(settings, task=None, split="test", seed=None, world_seed=None, mode="step")
