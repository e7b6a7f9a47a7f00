"""All episodes of an arena, and the limits that they share."""

import mmap
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from webarena_gym import __version__
from webarena_gym.arena.envs import Envs
from webarena_gym.arena.episodes import Clock, Episode
from webarena_gym.arena.schema import ArenaState, Limits, NewEpisode
from webarena_gym.errors import ArenaError

_REMEMBERED = 10_000  # episodes that are closed, and why


def resident_mb() -> float:
    """Return the megabytes of memory that this process holds; 0 where the system does not tell, and memory has no limit then."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE / 1e6
    except OSError:
        return 0.0


class Arena:
    """Begins episodes, finds them, and closes those that nobody asks for any more. Its calls must not overlap.

    Args:
        limits: how much it gives to whom.
        clock: tells how long episodes are idle.
        memory_mb: tells how much memory is held.

    """

    def __init__(
        self, limits: Limits | None = None, clock: Clock = time.monotonic, memory_mb: Callable[[], float] = resident_mb
    ) -> None:
        self.limits = limits or Limits()
        self._clock = clock
        self._memory_mb = memory_mb
        self._envs = Envs()
        self._episodes: dict[str, Episode] = {}
        self._closed: OrderedDict[str, str] = OrderedDict()  # why, by id

    def expect_room(self) -> None:
        """Raise ArenaError when the limits allow no episode more."""
        if len(self._episodes) >= self.limits.episodes:
            raise ArenaError(
                f"{len(self._episodes)} episodes are open, which is the limit; delete one, or wait for one to be closed",
                status=503,
            )
        held = self._memory_mb()
        if held > self.limits.memory_mb:
            raise ArenaError(
                f"the arena holds {held:.0f} MB of memory, and begins no episode above {self.limits.memory_mb:g}; delete one,"
                " or wait for one to be closed",
                status=503,
            )

    def begin(self, settings: NewEpisode) -> Episode:
        """Begin an episode. Raises ArenaError when the limits allow none, or there is no such task."""
        self.expect_room()
        # An id is what keeps clients from each other's episodes, so it must not be guessed: the one use of the system's randomness.
        episode = Episode(secrets.token_hex(8), settings, self.limits, self._clock, self._envs)
        self._episodes[episode.id] = episode
        return episode

    def find(self, name: str) -> Episode:
        """Return an episode. Raises ArenaError for one that there is not, and says what became of one that there was."""
        episode = self._episodes.get(name)
        if episode is not None:
            return episode
        if name in self._closed:
            raise ArenaError(f"the episode {name} is closed: {self._closed[name]}", status=410)
        raise ArenaError(
            "there is no such episode", status=404, at="path.id", value=name[:100], expected="an id that POST /episodes gave"
        )

    def end(self, name: str, why: str) -> None:
        """Close an episode and free its world. Raises ArenaError for one that there is not."""
        episode = self.find(name)
        del self._episodes[name]
        self._closed[name] = why
        while len(self._closed) > _REMEMBERED:
            self._closed.popitem(last=False)
        episode.close()

    def idle(self) -> list[str]:
        """Return the ids of the episodes that nobody has asked for anything for too long."""
        return [name for name, episode in self._episodes.items() if episode.idle_s > self.limits.idle_s]

    def state(self) -> ArenaState:
        """Return all episodes in one line each, and what the limits are."""
        return ArenaState(
            __version__,
            [episode.summary() for episode in self._episodes.values()],
            self.limits.episodes,
            round(self._memory_mb(), 1),
            self.limits.memory_mb,
        )

    def close(self) -> None:
        """Close all episodes."""
        for name in list(self._episodes):
            self.end(name, "the arena was closed")
        self._envs.close()
