"""Trajectories: played episodes as data, with the exact tokens of every prompt and response."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agents.settings import EnvSettings

Ids = tuple[int, ...]


class Sample(NamedTuple):
    """The prompt and the response of one step, as token ids."""

    prompt_ids: Ids
    response_ids: Ids


Ending = Literal["exited", "truncated", "too_long", "failed"]


class Candidate(NamedTuple):
    """An action that a policy could choose, in words; its probability, and the address of the element that it is done on, if any."""

    action: str
    probability: float
    element: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step: prompt and response in token ids, the sampler's log-probabilities, and both as text.

    Policies without a language model leave the ids empty. `action_error` is the env's error message for the reply, if any.
    `continuations` are the rewards of further episodes that were played from the state before this step. `importance` is the weight that
    corrects for a search which kept this reply among others, and `gain` the value of what it led to, less the mean of all that were tried;
    1 and 0 without a search.

    `tokens` are the texts of the sampled tokens and `candidates` the most probable actions, the best first, where the policy was made to
    tell them. `policy_s` and `env_s` are the seconds from the request to the reply, and from the action to the next page, with the work
    for other episodes that was done meanwhile. They are measurements, and two steps that differ in nothing else are equal.
    """

    page: str
    reply: str
    action_error: str = ""
    prompt_ids: Ids = ()
    response_ids: Ids = ()
    logprobs: tuple[float, ...] = ()
    continuations: tuple[float, ...] = ()
    importance: float = 1.0
    gain: float = 0.0
    tokens: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    policy_s: float = field(default=0.0, compare=False)
    env_s: float = field(default=0.0, compare=False)

    @property
    def sample(self) -> Sample:
        """The prompt and the response, to train on."""
        return Sample(self.prompt_ids, self.response_ids)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One played episode.

    Rollouts of one task from one seed have the same `group`. `policy_version` is the number of updates of the oldest parameters that
    replied. `env` says how the env showed its pages; it is None where settings cannot say it.

    An episode with the ending "failed" failed for reasons other than the policy, which `failure` gives: its reward has no meaning, and
    it must not be trained on. At the step limit ("truncated") the env gives the reward. A prompt that is longer than the model can
    read ("too_long") has the reward 0.
    """

    task_id: str
    goal: str
    steps: tuple[Step, ...]
    reward: float
    ending: Ending
    group: int = 0
    policy_version: int = 0
    verdicts: tuple[Mapping[str, Any], ...] = ()
    failure: str = ""
    env: EnvSettings | None = None


def grouped(trajectories: Iterable[Trajectory]) -> list[list[Trajectory]]:
    """Return the trajectories by group, without failed ones."""
    groups: dict[int, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        if trajectory.ending != "failed":
            groups[trajectory.group].append(trajectory)
    return list(groups.values())


def write_trajectories(path: Path, trajectories: Sequence[Trajectory]) -> None:
    """Write the trajectories as JSON Lines, one object each."""
    with path.open("w", encoding="utf-8") as file:
        for trajectory in trajectories:
            file.write(json.dumps(asdict(trajectory), ensure_ascii=False) + "\n")


def read_trajectories(path: Path) -> list[Trajectory]:
    """Read a file of `write_trajectories`."""
    with path.open(encoding="utf-8") as file:
        return [from_record(json.loads(line)) for line in file]


def from_record(record: dict[str, Any]) -> Trajectory:
    """Return the trajectory of a record that `dataclasses.asdict` made; the record is changed."""
    steps = []
    for step in record.pop("steps"):
        for name in ("prompt_ids", "response_ids", "logprobs", "continuations"):
            step[name] = tuple(step[name])
        step["tokens"] = tuple(step["tokens"])
        step["candidates"] = tuple(Candidate(*item) for item in step["candidates"])
        steps.append(Step(**step))
    env = record.pop("env")
    return Trajectory(
        steps=tuple(steps), verdicts=tuple(record.pop("verdicts")), env=EnvSettings(**env) if env else None, **record
    )
