"""Ensembles on disk: a list of trained agents, and the weight of each agent in each situation.

After LLM-Ens (Song et al., arXiv 2505.15306): states are classified into situations, each agent's mean reward is measured in each
situation, and the best agent of the current situation acts. In the paper a large language model writes the situations of a task. Here a
situation is a site, identified by the host of the current page.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from agents.data.trajectories import Trajectory
from agents.data.workflows import site_of
from agents.models.checkpoints import ENSEMBLE, CheckpointError, agent_record
from agents.models.packages import AGENT

_PRIOR_EPISODES = 8.0  # number of pseudo-episodes with the agent's overall mean reward, added to each situation


@dataclass(frozen=True)
class EnsembleWeights:
    """The weight of each agent by situation, which is the host of a page. `general` applies to all situations not in `by_situation`."""

    general: tuple[float, ...]
    by_situation: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        for values in (self.general, *self.by_situation.values()):
            if len(values) != len(self.general) or min(values) < 0 or sum(values) <= 0:
                raise ValueError(f"weights are {values}; expected {len(self.general)} values, none below 0 and not all 0")

    def for_situation(self, situation: str) -> tuple[float, ...]:
        """Return the weight of each agent in a situation."""
        return self.by_situation.get(situation, self.general)


@dataclass(frozen=True)
class Ensemble:
    """Agents, by their folders, and their weights."""

    members: tuple[str, ...]
    weights: EnsembleWeights

    def __post_init__(self) -> None:
        if len(self.members) != len(self.weights.general):
            raise ValueError(
                f"expected one weight per agent, got {len(self.members)} agents and {len(self.weights.general)} weights"
            )

    def save(self, folder: Path) -> None:
        """Write the ensemble to a folder for `agents.evaluate --policy`. Raises ValueError if the agent records of the members differ."""
        record = shared_record(self.members)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / AGENT).write_text(json.dumps(record), encoding="utf-8")
        (folder / ENSEMBLE).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def load_ensemble(folder: Path) -> Ensemble:
    """Return the ensemble in a folder. Raises CheckpointError if its file is not a valid ensemble."""
    try:
        record = json.loads((folder / ENSEMBLE).read_text(encoding="utf-8"))
        weights = record["weights"]
        by_situation = {name: tuple(values) for name, values in weights["by_situation"].items()}
        return Ensemble(tuple(record["members"]), EnsembleWeights(tuple(weights["general"]), by_situation))
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise CheckpointError(
            f"{folder / ENSEMBLE} is not a valid ensemble: {error!r}; expected a file written by agents.ensemble"
        ) from error


def shared_record(members: Sequence[str]) -> dict[str, Any]:
    """Return the agent record that all members share. Raises ValueError if their records differ."""
    records = [agent_record(member) for member in members]
    for member, record in zip(members[1:], records[1:], strict=True):
        if differing := [name for name in {**records[0], **record} if record.get(name) != records[0].get(name)]:
            name = differing[0]
            raise ValueError(
                f"{member} has {name}={record.get(name)!r}; expected {records[0].get(name)!r}, the value of {members[0]}: "
                "all members read the same observations"
            )
    return records[0]


def uniform_weights(count: int) -> EnsembleWeights:
    """Return equal weights for `count` agents."""
    return EnsembleWeights((1.0,) * count, {})


def fit_weights(episodes: Sequence[Sequence[Trajectory]], *, switch: bool = False) -> EnsembleWeights:
    """Return weights by situation, fitted to the rewards of each agent's episodes on the same tasks.

    An agent's weight in a situation is the mean reward of its episodes with a page of this situation. Eight pseudo-episodes with its
    overall mean reward are added, since some situations are rare.

    Args:
        episodes: Trajectories of each agent. Failed ones are ignored.
        switch: Give the best agent of a situation all the weight, as the paper does.

    Raises:
        ValueError: An agent has no finished episode.

    """
    finished_episodes = [[item for item in trajectories if item.ending != "failed"] for trajectories in episodes]
    if not all(finished_episodes):
        counts = ", ".join(str(len(trajectories)) for trajectories in finished_episodes)
        raise ValueError(f"the agents have {counts} finished episodes; expected at least one of each agent")
    general = tuple(fmean(item.reward for item in trajectories) for trajectories in finished_episodes)
    visits = [
        [(item.reward, {site_of(step.page) for step in item.steps}) for item in trajectories]
        for trajectories in finished_episodes
    ]
    by_situation = {}
    for name in sorted({name for agent_visits in visits for _, situations in agent_visits for name in situations if name}):
        rewards = [[reward for reward, situations in agent_visits if name in situations] for agent_visits in visits]
        means = [
            (sum(values) + _PRIOR_EPISODES * mean) / (len(values) + _PRIOR_EPISODES)
            for values, mean in zip(rewards, general, strict=True)
        ]
        by_situation[name] = _weights_of_means(means, switch=switch)
    return EnsembleWeights(_weights_of_means(general, switch=switch), by_situation)


def _weights_of_means(means: Sequence[float], *, switch: bool) -> tuple[float, ...]:
    """Return weights proportional to mean rewards, or equal weights if all means are 0. With `switch`, the best has all the weight."""
    if not any(means):
        return (1.0,) * len(means)
    if switch:
        best = max(means)
        return tuple(float(index == list(means).index(best)) for index in range(len(means)))
    return tuple(means)
