"""Groups of rollouts in a stream: begun as there is room, finished in any order, dropped when they are too old."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from agents.data.trajectories import Trajectory
from agents.rollouts.collector import Collector, Stage, group_episodes
from agents.rollouts.players import Players
from agents.rollouts.settings import RolloutSettings
from webarena_gym.tasks import Task


class Group(NamedTuple):
    """All rollouts of one task from one seed, with the step limit that they were given, if it was another than the env's."""

    number: int
    task: Task
    trajectories: list[Trajectory]
    max_steps: int | None = None

    @property
    def valid(self) -> list[Trajectory]:
        """The rollouts that did not break through no fault of the policy."""
        return [trajectory for trajectory in self.trajectories if trajectory.ending != "failed"]

    @property
    def is_equal(self) -> bool:
        """Whether all rewards are equal, so that there is nothing to compare."""
        return len({trajectory.reward for trajectory in self.valid}) < 2

    def is_stale(self, version: int, staleness: int) -> bool:
        """Whether some reply is older than `staleness` updates before this version."""
        return any(trajectory.policy_version < version - staleness for trajectory in self.valid)


class RolloutBatch(NamedTuple):
    """The groups for one update, and what it took to get them."""

    groups: list[Group]
    replaced: list[Group]  # equal ones, for which dynamic sampling played others
    stale: int  # groups that were dropped
    shares: dict[Stage, float]  # where the envs' time went

    @property
    def trajectories(self) -> list[Trajectory]:
        """The rollouts to learn from."""
        return [trajectory for group in self.groups for trajectory in group.trajectories]

    @property
    def played(self) -> list[Group]:
        """All groups whose outcome says something about the policy as it is."""
        return self.groups + self.replaced


class RolloutError(Exception):
    """No rollout of a whole batch could be played to its end, so training would learn nothing."""


class GroupStream:
    """A stream of groups, batch by batch.

    `draw_task` chooses the task of a group by its number; `load_weights` brings the learner's newest weights, of the given version,
    to whoever samples. `begun` is how many groups there were before, in a run that goes on.

    The stream is bounded: with staleness 0 a batch's groups are begun after the update before it and none is left over, so a run
    can be resumed exactly; with more, groups go on across updates and whichever are finished first make a batch.
    """

    def __init__(
        self,
        collector: Collector | Players,
        draw_task: Callable[[int], Task],
        load_weights: Callable[[int], None],
        settings: RolloutSettings,
        *,
        begun: int = 0,
    ) -> None:
        if settings.overlap and not settings.staleness:
            raise ValueError("overlap learns from rollouts of the weights before; expected a staleness of 1 or more, not 0")
        self.begun = begun
        self._collector = collector
        self._draw_task = draw_task
        self._load_weights = load_weights
        self._settings = settings
        self._open: dict[int, tuple[Task, int | None, dict[int, Trajectory]]] = {}  # by group; the last are episodes by number
        self._max_steps: int | None = None
        self._ahead: Future[RolloutBatch] | None = None
        self._thread = ThreadPoolExecutor(1, "rollouts") if settings.overlap else None

    def batch(self, version: int, max_steps: int | None = None) -> RolloutBatch:
        """Return the groups for the update of this version of the weights. With `overlap`, begin to collect the next meanwhile.

        Groups that are begun from now on have episodes of at most `max_steps`.
        Raises RolloutError when all of its rollouts failed.
        """
        batch = self._ahead.result() if self._ahead else None
        self._max_steps = max_steps
        self._load_weights(version)
        if batch is None:
            batch = self._collect(version)
        if self._thread:
            self._ahead = self._thread.submit(self._collect, version + 1)
        failures = [trajectory.failure for trajectory in batch.trajectories]
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
        wanted = self._settings.tasks_per_update
        groups: list[Group] = []
        replaced: list[Group] = []
        stale = 0
        self._begin(len(groups))
        for episode, trajectory in self._collector.play():
            _, _, over = self._open[episode.group]
            over[episode.number] = trajectory
            if len(over) == self._settings.group_size:
                group = self._close_group(episode.group)
                if group.is_stale(version, self._settings.staleness):
                    stale += 1
                elif group.is_equal and len(replaced) < wanted * (self._settings.dynamic_sampling - 1):
                    replaced.append(group)
                else:
                    groups.append(group)
            if len(groups) == wanted:
                break
            self._begin(len(groups))
        return RolloutBatch(sorted(groups), sorted(replaced), stale, self._collector.take_time_fractions())

    def _begin(self, finished: int) -> None:
        """Begin groups while envs are free and there is room for what is under way and what is finished."""
        while self._collector.has_room and len(self._open) + finished < self._settings.room:
            number, self.begun = self.begun, self.begun + 1
            task = self._draw_task(number)
            self._open[number] = task, self._max_steps, {}
            self._collector.begin(group_episodes(task, number, self._settings.group_size, self._max_steps))

    def _close_group(self, number: int) -> Group:
        task, max_steps, over = self._open.pop(number)
        return Group(number, task, [trajectory for _, trajectory in sorted(over.items())], max_steps)
