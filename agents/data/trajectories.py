"""Episodes as data: what was read, what was sampled and what came of it, token by token."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from agents.data.tokens import Ids, Sample

Ending = Literal["exited", "truncated", "too_long", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the exact prompt and response in token ids, the sampler's log-probabilities, and the texts for people.

    Policies without a language model leave the ids empty. `action_error` is what the env answered to the reply.
    `continuations` are the rewards of other endings of the episode, played from the state that the step was taken in.
    """

    page: str
    reply: str
    action_error: str = ""
    prompt_ids: Ids = ()
    response_ids: Ids = ()
    logprobs: tuple[float, ...] = ()
    continuations: tuple[float, ...] = ()

    @property
    def sample(self) -> Sample:
        """The step as something to train on."""
        return Sample(self.prompt_ids, self.response_ids)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode. `group` is shared by the rollouts of one task from one seed; `policy_version` counts updates, and
    is the oldest of those whose weights replied.

    An episode that "failed" broke through no fault of the policy: its reward means nothing and it must not be trained on; `failure`
    says what broke. The step limit ("truncated") and a prompt longer than the model can read ("too_long") score as the env says,
    or 0.
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


def grouped(trajectories: Iterable[Trajectory]) -> list[list[Trajectory]]:
    """Return the trajectories group by group, without failed ones."""
    groups: dict[int, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        if trajectory.ending != "failed":
            groups[trajectory.group].append(trajectory)
    return list(groups.values())


def write_trajectories(path: Path, trajectories: Sequence[Trajectory]) -> None:
    """Write one JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        for trajectory in trajectories:
            file.write(json.dumps(asdict(trajectory), ensure_ascii=False) + "\n")


def read_trajectories(path: Path) -> list[Trajectory]:
    """Read what `write_trajectories` wrote."""
    with path.open(encoding="utf-8") as file:
        return [from_record(json.loads(line)) for line in file]


def from_record(record: dict[str, Any]) -> Trajectory:
    """Return the trajectory that `dataclasses.asdict` made a record of; the record is used up."""
    steps = []
    for step in record.pop("steps"):
        for name in ("prompt_ids", "response_ids", "logprobs", "continuations"):
            step[name] = tuple(step[name])
        steps.append(Step(**step))
    return Trajectory(steps=tuple(steps), verdicts=tuple(record.pop("verdicts")), **record)
