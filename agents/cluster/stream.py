"""Groups of rollouts in a stream: begun as there is room, finished in any order, dropped when they are too old."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory
from agents.rollouts.collector import Collector, Stage, group_episodes
from agents.rollouts.groups import Group, RolloutError
from agents.rollouts.players import Players
from webarena_gym.tasks import Task


class RolloutBatch(NamedTuple):
    """The groups for one update, and what it took to get them."""

    groups: list[Group]
    stale: int  # groups that were dropped
    shares: dict[Stage, float]  # where the envs' time went


class GroupStream:
    """A stream of groups, batch by batch.

    `draw` chooses the task of a group by its number; `load` brings the learner's newest parameters, of the given version, to whoever
    samples. `begun` is how many groups there were before, in a run that goes on. `args` has the sizes, `staleness` and `overlap`.

    The stream is bounded: with staleness 0 a batch's groups are begun after the update before it and none is left over, so a run
    can be resumed exactly; with more, groups go on across updates and whichever are finished first make a batch.
    """

    def __init__(
        self,
        collector: Collector | Players,
        draw: Callable[[int], Task],
        load: Callable[[int], None],
        args: Any,
        *,
        begun: int = 0,
    ) -> None:
        if args.overlap and not args.staleness:
            raise ValueError("overlap learns from rollouts of the weights before; expected a staleness of 1 or more, not 0")
        self.begun = begun
        self._collector, self._draw, self._load, self._args = collector, draw, load, args
        # How many groups may be under way, or finished and not yet learned from.
        self._room = args.tasks_per_update * (1 + args.staleness - args.overlap)
        self._open: dict[int, tuple[Task, int | None, dict[int, Trajectory]]] = {}  # by group; the last are episodes by number
        self._max_steps: int | None = None
        self._ahead: Future[RolloutBatch] | None = None
        self._thread = ThreadPoolExecutor(1, "rollouts") if args.overlap else None

    def batch(self, version: int, max_steps: int | None = None) -> RolloutBatch:
        """Return the groups for the update of this version of the weights. With `overlap`, begin to collect the next meanwhile.

        Groups that are begun from now on have episodes of at most `max_steps`.
        Raises RolloutError when all of its rollouts failed.
        """
        batch = self._ahead.result() if self._ahead else None
        self._max_steps = max_steps
        self._load(version)
        if batch is None:
            batch = self._collect(version)
        if self._thread:
            self._ahead = self._thread.submit(self._collect, version + 1)
        failures = [item.failure for group in batch.groups for item in group.trajectories]
        if all(failures):
            raise RolloutError(f"all {len(failures)} rollouts failed; the last one: {failures[-1]}")
        return batch

    def close(self) -> None:
        """Stop what is under way."""
        self._collector.stop()
        if self._thread:
            self._thread.shutdown()

    def _collect(self, version: int) -> RolloutBatch:
        """Play until there are enough groups for the update of this version."""
        wanted, size = self._args.tasks_per_update, self._args.group_size
        groups: list[Group] = []
        stale = replaced = 0
        self._begin(0)
        for episode, trajectory in self._collector.play():
            task, max_steps, over = self._open[episode.group]
            over[episode.number] = trajectory
            if len(over) == size:
                del self._open[episode.group]
                group = Group(episode.group, task, [item for _, item in sorted(over.items())], max_steps)
                if group.is_stale(version, self._args.staleness):
                    stale += 1
                else:
                    groups.append(group)
                    # Equal ones, for which dynamic sampling plays others, tell nothing apart, but how the policy does.
                    replaced += group.is_equal and replaced < wanted * (self._args.dynamic_sampling - 1)
            if len(groups) - replaced == wanted:
                break
            self._begin(len(groups) - replaced)
        return RolloutBatch(sorted(groups, key=lambda group: group.number), stale, self._collector.take_time_fractions())

    def _begin(self, finished: int) -> None:
        """Begin groups while envs are free and there is room for what is under way and what is finished."""
        while self._collector.has_room and len(self._open) + finished < self._room:
            number, self.begun = self.begun, self.begun + 1
            task = self._draw(number)
            self._open[number] = task, self._max_steps, {}
            self._collector.begin(group_episodes(task, number, self._args.group_size, self._max_steps))
