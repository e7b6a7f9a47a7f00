"""Trajectories: played episodes as data, with the exact tokens of every prompt and response.

On disk an episode is a line of JSON without the columns that have default values. The episode files of `webarena-gym evaluate`, which
have other columns, can be read too.

>>> import tempfile
>>> from pathlib import Path
>>> from agents.data.trajectories import Step, Trajectory, read_trajectories, write_trajectories
>>> steps = (Step(page="URL: http://shop.test/", reply='exit(message="$46.50")'),)
>>> episode = Trajectory("shopping.product_price/1000/0", "How much is it?", steps, reward=1.0, ending="exited")
>>> with tempfile.TemporaryDirectory() as folder:
...     write_trajectories(Path(folder, "episodes.jsonl"), [episode])
...     read_trajectories(Path(folder, "episodes.jsonl")) == [episode]
True
"""

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agents.settings import ENV_FIELDS, EnvSettings
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS, Action
from webarena_gym.console import DISK_FULL, writing
from webarena_gym.errors import ActionError, WebArenaGymError
from webarena_gym.evaluation.results import read_episodes
from webarena_gym.options import read_source
from webarena_gym.tasks import Task

Ids = tuple[int, ...]
"""Token ids."""
_RENDERING_KEYWORDS = (
    "browser", "observation", "dialect", "vendor", "coordinates", "window_size", "picture_format", "cursor", "viewport", "bbox", "header",
)  # fmt: skip
"""Keywords of an env that change how pages are rendered and actions are parsed, and that are not fields of `EnvSettings`."""


class Sample(NamedTuple):
    """The prompt and the response of one step, as token ids.

    Attributes:
        prompt_ids: token ids of the prompt.
        response_ids: token ids of the response.

    """

    prompt_ids: Ids
    response_ids: Ids


class EpisodeSample(NamedTuple):
    """All steps of an episode as one sequence: the first prompt, and a response that contains later pages and results of tools.

    Attributes:
        prompt_ids: token ids of the first prompt.
        response_ids: token ids of all replies, and of the pages and results of tools between them.
        loss_mask: True for the tokens that the policy sampled, which alone are trained on.
        logprobs: the sampler's log-probability of each token of the response; 0 where the mask is False.

    """

    prompt_ids: Ids
    response_ids: Ids
    loss_mask: tuple[bool, ...]
    logprobs: tuple[float, ...]


Ending = Literal["exited", "truncated", "too_long", "failed"]
"""The end of an episode: by the agent, the step limit, a prompt that is too long, or a failure of the infrastructure."""


class Candidate(NamedTuple):
    """An action that a policy could choose: its text, its probability and the id of its element, if any.

    Attributes:
        action: text of the action.
        probability: its probability, from 0 to 1.
        element: id or label of its element; None for an action without one.

    """

    action: str
    probability: float
    element: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an episode.

    Two steps that differ only in `policy_s` and `env_s` are equal. Both times include work for other episodes.

    Args:
        page: text of the observation
        reply: text of the response
        action_error: the env's error message for the reply, if any
        prompt_ids: token ids of the prompt; empty without a language model
        response_ids: token ids of the response; empty without a language model
        logprobs: the sampler's log-probability of each response token
        continuations: rewards of episodes that were forked from the state before this step
        importance: importance weight that corrects for a search which selected this reply; 1 without a search
        credit: reward of the step, if the env rewards items of a checklist
        tool: "ok" or "failed" if the reply called a tool; "" otherwise
        gain: value of the state after this reply, minus the mean over all replies tried; 0 without a search
        tokens: texts of the response tokens, if the policy was traced
        candidates: most probable actions, the best first, if the policy was traced
        policy_s: seconds from the request to the reply
        env_s: seconds from the action to the next page

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
    credit: float = 0.0
    tool: Literal["", "ok", "failed"] = ""
    tokens: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    policy_s: float = field(default=0.0, compare=False)
    env_s: float = field(default=0.0, compare=False)

    @property
    def sample(self) -> Sample:
        """The token ids of prompt and response."""
        return Sample(self.prompt_ids, self.response_ids)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode.

    The ending "failed" means that the episode failed for reasons other than the policy: its reward is undefined, and it must not be
    trained on. At the step limit ("truncated") the env computes the reward. If a prompt exceeds the model's context ("too_long"), the
    reward is 0.

    Args:
        task_id: id of the task
        goal: intent of the task
        steps: the steps, in order
        reward: 0 or 1
        ending: how the episode ended
        group: number of the group; rollouts of one task from one seed share it
        policy_version: number of updates of the oldest parameters that produced a reply
        verdicts: results of the evaluators
        failure: message of the failure, if `ending` is "failed"
        env: settings that reproduce the pages; None if `EnvSettings` cannot express them
        advantages: advantage of each step in saved rollouts of a training; empty if the rollout was not trained on

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


def episode_sample(trajectory: Trajectory) -> EpisodeSample:
    """Return the steps of an episode as one sequence, for trainers that take one sample per episode.

    Each prompt must continue the previous prompt and its response, as with `history="full"` and thoughts that remain in the conversation.

    Raises:
        ValueError: for a prompt that does not continue the previous one, and for an episode without steps.

    """
    if not trajectory.steps:
        raise ValueError(f"the episode of {trajectory.task_id} has no steps; expected at least one")
    first = trajectory.steps[0].prompt_ids
    tokens, mask, logprobs = list(first), list[bool](), list[float]()
    for number, step in enumerate(trajectory.steps):
        if step.prompt_ids[: len(tokens)] != tuple(tokens):
            raise ValueError(
                f"the prompt of step {number} does not continue the previous step; expected an episode with history='full'"
            )
        inserted = step.prompt_ids[len(tokens) :]
        tokens += [*inserted, *step.response_ids]
        mask += [False] * len(inserted) + [True] * len(step.response_ids)
        logprobs += [0.0] * len(inserted) + list(step.logprobs)
    return EpisodeSample(first, tuple(tokens[len(first) :]), tuple(mask), tuple(logprobs))


def action_of(reply: str) -> Action | None:
    """Parse the action of a trained agent's reply; None if it contains none."""
    try:
        return DIALECTS["webrl"].parse(reply)
    except ActionError:
        return None


def write_trajectories(path: Path, trajectories: Iterable[Trajectory]) -> None:
    """Write the trajectories as JSON Lines, one object each; compressed if the name ends in .gz.

    The write is atomic and keeps symbolic links. Only a file that cannot be replaced is overwritten in place: a device or a pipe, a mounted
    file, or a file in a folder that is not writable.
    """
    content = _content(path, trajectories)
    with writing(path):
        target = Path(os.path.realpath(path))
        if _is_stream(path):
            path.write_bytes(content)
            return
        temporary = target.with_name(f".unfinished_{target.name}_{os.getpid()}")
        try:
            temporary.write_bytes(content)
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        except OSError as error:
            if error.errno in DISK_FULL:
                raise
            target.write_bytes(content)
        finally:  # also after Ctrl-C
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def append_trajectory(path: Path, trajectory: Trajectory, *, is_first: bool = False) -> None:
    """Append a trajectory to a file of `write_trajectories`, or replace the file by it if `is_first`.

    Devices and pipes are not written: their content could not be replaced by that of all episodes at the end.
    """
    if _is_stream(path):
        return
    if is_first:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(path, [trajectory])
        return
    with writing(path), path.open("ab") as file:
        file.write(_content(path, [trajectory]))


def _content(path: Path, trajectories: Iterable[Trajectory]) -> bytes:
    """Return the lines of the trajectories, compressed if the name of the file ends in .gz."""
    lines = "".join(json.dumps(_columns(item), ensure_ascii=False) + "\n" for item in trajectories).encode()
    return gzip.compress(lines, 6, mtime=0) if path.suffix == ".gz" else lines


def _is_stream(path: Path) -> bool:
    """Return True for a device, a pipe, and a descriptor of a pipe or of a deleted file, which has no path."""
    return path.exists() and not Path(os.path.realpath(path)).is_file()


def _columns(item: Step | Trajectory) -> dict[str, Any]:
    """Return the fields of a trajectory or step that differ from their defaults."""
    values = {part.name: getattr(item, part.name) for part in fields(item)}
    columns = {part.name: values[part.name] for part in fields(item) if values[part.name] != part.default}
    if isinstance(item, Trajectory):
        env = {name: value for name, value in asdict(item.env).items() if value != ()} if item.env else {}
        columns |= {"steps": [_columns(step) for step in item.steps]} | ({"env": env} if env else {})
    return columns


def read_trajectories(path: Path) -> list[Trajectory]:
    """Read a file written by `write_trajectories` or by `webarena-gym evaluate`.

    Raises ResultError for a malformed file of `webarena-gym evaluate`, and KeyError, TypeError or ValueError for any other malformed
    file.
    """
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        first_line = file.readline()
        if first_line and {"format", "suite"} <= json.loads(first_line).keys():
            return _read_evaluation(path)
        return [from_record(json.loads(line)) for line in chain([first_line] if first_line else [], file)]


def from_record(record: Mapping[str, Any]) -> Trajectory:
    """Return the trajectory of a record made by `dataclasses.asdict` or parsed from a line of a file."""
    steps = [
        {**_tuples(step), "candidates": tuple(Candidate(*item) for item in step.get("candidates", ()))}
        for step in record["steps"]
    ]
    env = EnvSettings(**_tuples(record["env"])) if record.get("env") else None
    return Trajectory(**{**_tuples(record), "steps": tuple(Step(**step) for step in steps), "env": env})


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def _read_evaluation(path: Path) -> list[Trajectory]:
    """Read a file of `webarena-gym evaluate`, which contains neither goals nor page texts."""
    # A separate format: it begins with the header of the run and is validated strictly, because anyone may submit it.
    header, records = read_episodes(path)
    env, trajectories = env_settings_of(header["env"]), []
    for record in records:
        try:
            goal = find_task(record.task_id, env).intent
        except WebArenaGymError:
            goal = record.task_id
        timed = zip(record.steps, chain(record.step_seconds, repeat((0.0, 0.0))), strict=False)
        steps = (
            Step("", step["reply"], step.get("action_error", ""), policy_s=policy_s, env_s=env_s)
            for step, (policy_s, env_s) in timed
        )
        result: dict[str, Any] = {"verdicts": tuple(record.verdicts), "failure": record.failure, "env": env}
        reward, group = record.reward or 0.0, record.repeat
        trajectories.append(Trajectory(record.task_id, goal, tuple(steps), reward, record.ending, group, **result))
    return trajectories


def find_task(task_id: str, env: EnvSettings | None) -> Task:
    """Return the task with this id, of the embedded sites or of the env's application or suite. Raises TaskError and ApplicationError."""
    return task_suite.find(task_id, **(read_source(env.application, env.suite) if env else {}))


def env_settings_of(arguments: Mapping[str, Any]) -> EnvSettings | None:
    """Return the settings of an env created with these keywords; None for worlds of another scale."""
    if "scale" in arguments:
        return None
    options = {name: arguments[name] for name in ENV_FIELDS if arguments.get(name) is not None}
    is_custom = any(
        arguments.get(name, default) != default for name, default in (("observation", "html"), ("dialect", "webrl"))
    )
    keywords = (
        [f"{name}={json.dumps(arguments[name])}" for name in _RENDERING_KEYWORDS if name in arguments] if is_custom else ()
    )
    return EnvSettings(**{"elements": "id", **options, "keywords": tuple(keywords)})
