"""Ensembles on disk: trained agents that act together, and how much each counts in each situation.

After LLM-Ens (Song et al., arXiv 2505.15306): states are sorted into situations, each agent's mean reward is measured in each of them,
and the agent that is best in the present situation acts. There a large language model writes the situations of a task; here they are
the sites, by the host of the page that is shown.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from agents.data.trajectories import Trajectory
from agents.data.workflows import site_of
from agents.models.checkpoints import AGENT, ENSEMBLE, CheckpointError, agent_record

_PRIOR = 8.0  # episodes of the agent's own mean over all situations that each situation begins with


@dataclass(frozen=True)
class Weights:
    """The weight of each agent by situation, which is the host of a page; `general` is for situations that are not named."""

    general: tuple[float, ...]
    by_situation: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        for values in (self.general, *self.by_situation.values()):
            if len(values) != len(self.general) or min(values) < 0 or sum(values) <= 0:
                raise ValueError(f"weights are {values}; expected {len(self.general)}, none below 0 and not all 0")

    def of(self, situation: str) -> tuple[float, ...]:
        """Return the weights in a situation."""
        return self.by_situation.get(situation, self.general)


@dataclass(frozen=True)
class Ensemble:
    """Agents, by their folders, and their weights."""

    members: tuple[str, ...]
    weights: Weights

    def __post_init__(self) -> None:
        if len(self.members) != len(self.weights.general):
            raise ValueError(f"there are {len(self.members)} agents and {len(self.weights.general)} weights; expected as many")

    def save(self, folder: Path) -> None:
        """Write the ensemble into a folder, which `agents.evaluate --policy` plays. Raises ValueError as `shared_record` does."""
        record = shared_record(self.members)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / AGENT).write_text(json.dumps(record), encoding="utf-8")
        (folder / ENSEMBLE).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def is_ensemble(source: str | Path) -> bool:
    """Return whether a folder holds an ensemble."""
    return (Path(source) / ENSEMBLE).is_file()


def load_ensemble(folder: Path) -> Ensemble:
    """Return the ensemble of a folder. Raises CheckpointError for a file that does not hold one."""
    try:
        record = json.loads((folder / ENSEMBLE).read_text(encoding="utf-8"))
        weights = record["weights"]
        by_situation = {name: tuple(values) for name, values in weights["by_situation"].items()}
        return Ensemble(tuple(record["members"]), Weights(tuple(weights["general"]), by_situation))
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{folder / ENSEMBLE} holds no ensemble: {error!r}; expected one of agents.ensemble") from error


def shared_record(members: Sequence[str]) -> dict[str, Any]:
    """Return the agent record of agents that see the same pages. Raises ValueError where their records differ."""
    records = [agent_record(member) for member in members]
    for member, record in zip(members[1:], records[1:], strict=True):
        if wrong := [name for name in {**records[0], **record} if record.get(name) != records[0].get(name)]:
            name = wrong[0]
            raise ValueError(
                f"{member} has {name}={record.get(name)!r}; expected {records[0].get(name)!r}, as {members[0]}: agents that act together read one page"
            )
    return records[0]


def uniform(count: int) -> Weights:
    """Return equal weights of so many agents."""
    return Weights((1.0,) * count, {})


def fitted(episodes: Sequence[Sequence[Trajectory]], *, switch: bool = False) -> Weights:
    """Return weights by situation from the episodes of each agent on the same tasks.

    An agent's weight is the mean reward of its episodes that saw the situation, with eight episodes of its general mean added, as few
    episodes see some situations. With `switch` the best agent of a situation has all the weight, as in the paper.
    """
    played = [[item for item in own if item.ending != "failed"] for own in episodes]
    if not all(played):
        raise ValueError("there is an agent without an episode; expected some of each")
    general = tuple(fmean(item.reward for item in own) for own in played)
    seen = [[(item.reward, {site_of(step.page) for step in item.steps}) for item in own] for own in played]
    by_situation = {}
    for name in sorted({name for own in seen for _, situations in own for name in situations if name}):
        rewards = [[reward for reward, situations in own if name in situations] for own in seen]
        means = [(sum(own) + _PRIOR * overall) / (len(own) + _PRIOR) for own, overall in zip(rewards, general, strict=True)]
        by_situation[name] = _voices(means, switch=switch)
    return Weights(_voices(general, switch=switch), by_situation)


def _voices(values: Sequence[float], *, switch: bool) -> tuple[float, ...]:
    """Return the weights of agents with these mean rewards; equal ones where none was ever rewarded."""
    if not any(values):
        return (1.0,) * len(values)
    if switch:
        best = max(values)
        return tuple(float(place == list(values).index(best)) for place in range(len(values)))
    return tuple(values)
