"""Trajectories: played episodes as data, with the exact tokens of every prompt and response.

On disk an episode is a line of JSON, in which columns are left out that say nothing: tokens, credit, what a policy chose from. The episodes of
`webarena-gym evaluate`, which has other columns beside these, are read as well.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agents.settings import ENV_FIELDS, EnvSettings
from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS, Action
from webarena_gym.applications.application import read_application
from webarena_gym.console import writing
from webarena_gym.errors import ActionError, WebArenaGymError
from webarena_gym.evaluation.results import read_episodes
from webarena_gym.tasks import Task

Ids = tuple[int, ...]
_SHOWING = (
    "browser", "observation", "dialect", "vendor", "coordinates", "window_size", "picture_format", "cursor", "viewport", "bbox", "header",
)  # fmt: skip
"""Keywords of an env, beside its settings, by which pages are shown and actions read."""


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
    replied. `env` says how the env showed its pages; it is None where settings cannot say it. `advantages` are of the steps, in what is kept
    of a training; none of a rollout that was not trained on.

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
    advantages: tuple[float, ...] = ()


def action_of(reply: str) -> Action | None:
    """Return the action that a reply of a trained agent has, None where it has none."""
    try:
        return DIALECTS["webrl"].parse(reply)
    except ActionError:
        return None


def write_trajectories(path: Path, trajectories: Iterable[Trajectory]) -> None:
    """Write the trajectories as JSON Lines, one object each; compressed if the name ends in .gz."""
    lines = "".join(json.dumps(_columns(item), ensure_ascii=False) + "\n" for item in trajectories).encode()
    with writing(path):
        path.write_bytes(gzip.compress(lines, 6, mtime=0) if path.suffix == ".gz" else lines)


def _columns(item: Any) -> dict[str, Any]:
    """Return the fields of a trajectory, or of a step, that differ from the defaults."""
    values = {each.name: getattr(item, each.name) for each in fields(item)}
    columns = {each.name: values[each.name] for each in fields(item) if values[each.name] != each.default}
    if isinstance(item, Trajectory):
        env = {name: value for name, value in asdict(item.env).items() if value != ()} if item.env else {}
        columns |= {"steps": [_columns(step) for step in item.steps]} | ({"env": env} if env else {})
    return columns


def read_trajectories(path: Path) -> list[Trajectory]:
    """Read a file of `write_trajectories`, or the episodes of `webarena-gym evaluate`.

    Raises ResultError for one of the latter that is malformed, and KeyError, TypeError or ValueError for another file.
    """
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        first = file.readline()
        if first and {"format", "suite"} <= json.loads(first).keys():
            return _of_evaluate(path)
        return [from_record(json.loads(line)) for line in chain([first] if first else [], file)]


def from_record(record: Mapping[str, Any]) -> Trajectory:
    """Return the trajectory of a record that `dataclasses.asdict` made, or of a line of a file."""
    steps = [
        {**_tuples(step), "candidates": tuple(Candidate(*item) for item in step.get("candidates", ()))}
        for step in record["steps"]
    ]
    env = EnvSettings(**_tuples(record["env"])) if record.get("env") else None
    return Trajectory(**{**_tuples(record), "steps": tuple(Step(**step) for step in steps), "env": env})


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def _of_evaluate(path: Path) -> list[Trajectory]:
    """Return the episodes of `webarena-gym evaluate`, whose file has neither goals nor the text of pages."""
    # A file of its own: it begins with the header of its run, is checked strictly, as anybody may submit it, and stays small.
    header, records = read_episodes(path)
    env, found = env_of(header["env"]), []
    for record in records:
        try:
            goal = find_task(record.task_id, env).intent
        except WebArenaGymError:
            goal = record.task_id
        timed = zip(record.steps, chain(record.step_seconds, repeat((0.0, 0.0))), strict=False)
        steps = (
            Step("", step["reply"], step.get("action_error", ""), policy_s=ours, env_s=theirs) for step, (ours, theirs) in timed
        )
        told: dict[str, Any] = {"verdicts": tuple(record.verdicts), "failure": record.failure, "env": env}
        reward, group = record.reward or 0.0, record.repeat
        found.append(Trajectory(record.task_id, goal, tuple(steps), reward, record.ending, group, **told))
    return found


def find_task(task_id: str, env: EnvSettings | None) -> Task:
    """Return the task of that id, of the embedded sites or of the application that an env has. Raises TaskError and ApplicationError."""
    own = env.application if env else None
    return task_suite.find(task_id, application=read_application(own) if own else None)


def env_of(arguments: Mapping[str, Any]) -> EnvSettings | None:
    """Return the settings of an env that was made with these keywords; None for worlds of another scale."""
    if "scale" in arguments:
        return None
    known = {name: arguments[name] for name in ENV_FIELDS if arguments.get(name) is not None}
    is_other = any(arguments.get(name, usual) != usual for name, usual in (("observation", "html"), ("dialect", "webrl")))
    shown = [f"{name}={json.dumps(arguments[name])}" for name in _SHOWING if name in arguments] if is_other else ()
    return EnvSettings(**{"elements": "id", **known, "keywords": tuple(shown)})
