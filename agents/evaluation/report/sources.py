"""The inputs of a report (metrics and rollout groups of runs, episodes of policies), and the results of policies."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from agents.data.trajectories import Ending, Step, Trajectory, env_settings_of, find_task, read_trajectories
from agents.settings import EnvSettings
from agents.training.metrics import read_metrics
from agents.training.rollout_files import group_files, read_groups
from webarena_gym.actions import DIALECTS, reply_of
from webarena_gym.actions.replies import answer_part
from webarena_gym.errors import ResultError, WebArenaGymError
from webarena_gym.evaluation.results import EPISODES
from webarena_gym.evaluation.statistics import Evaluation, PairedDifference, paired_difference, score
from webarena_gym.tasks import Task

T = TypeVar("T")

MAX_GROUPS = 12
"""Default maximum number of groups of a run in a report."""
UNKNOWN = "unknown"
_EXPECTED_INPUTS = (
    "expected a run's folder with metrics.jsonl, a .jsonl file of `agents.evaluate --save`, or a folder that contains them"
)
OUTCOMES = {"exited": "wrong", "truncated": "out of steps", "too_long": "prompt too long", "failed": "broken, not counted"}

CAUSES = {
    "string_match": "wrong answer", "url_match": "wrong page", "program_html": "wrong content", "state": "wrong state",
    "side_effects": "side effects", "injected": "followed a hostile page",
}  # fmt: skip
"""Cause of a failed episode, by the kind of its first failed check."""
SUFFIXES = (".csv", ".jsonl")
_TAGS = re.compile(r"</?(?:think|answer)>")


class RunGroup(NamedTuple):
    """A group of rollouts with its run and the update that trained on it."""

    run: str
    update: int
    rollouts: list[Trajectory]

    @property
    def number(self) -> int:
        return self.rollouts[0].group

    @property
    def policy(self) -> str:
        """The policy name of the rollouts in the list of episodes."""
        return f"{self.run}, update {self.update}"


@dataclass
class Sources:
    """The metrics of each run by update, the episodes of each policy, and groups of rollouts."""

    runs: dict[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    policies: dict[str, Sequence[Trajectory]] = field(default_factory=dict)
    groups: Sequence[RunGroup] = ()
    folders: dict[str, Path] = field(default_factory=dict)
    """Folders of the runs by name."""


def newest_groups(runs: Mapping[str, Path], max_groups: int = MAX_GROUPS) -> list[RunGroup]:
    """Return the newest groups of each run, at most `max_groups`. Groups with mixed rewards come first, since others have no gradient."""
    groups: list[RunGroup] = []
    for name, folder in runs.items():
        mixed: list[RunGroup] = []
        equal: list[RunGroup] = []
        for update, path in reversed(group_files(folder).items()):
            if len(mixed) >= max_groups:
                break
            for group in read_groups(path):
                is_mixed = len({item.reward for item in group}) > 1
                (mixed if is_mixed else equal).append(RunGroup(name, update, group))
        groups += [*mixed, *equal][:max_groups]
    return groups


def read_sources(inputs: Sequence[str], *, groups: int = MAX_GROUPS) -> Sources:
    """Read folders of runs and files of episodes.

    Args:
        inputs: Paths, as PATH or NAME=PATH. Of a folder without metrics, its files of episodes and its runs are read.
        groups: Maximum number of groups of rollouts of each run or search.

    Raises:
        ValueError: A path has no runs or episodes, or two runs or two policies have the same name.

    """
    sources = Sources()
    for item in inputs:
        name, equals, path = item.partition("=")
        if equals and not Path(item).exists():
            _read_input(Path(path), name, sources, f"{name}/")
        else:
            _read_input(Path(item), "", sources, "")
    sources.groups = newest_groups(sources.folders, groups)
    return sources


def _read_input(path: Path, name: str, sources: Sources, prefix: str) -> None:
    """Read one path into `sources`. `prefix` starts the names of the contents of a folder."""
    if path.is_file():
        try:
            episodes = _read_log(path)
        except ResultError as error:
            raise ValueError(str(error)) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if path.suffix == ".eval":
                raise
            raise ValueError(f"{path} has no valid episodes; expected a file of `agents.evaluate --save`: {error!r}") from error
        _add_entry(sources.policies, name or _entry_name(path), episodes, path)
    elif metrics := read_metrics(path):
        name = name or path.resolve().name
        _add_entry(sources.runs, name, metrics, path)
        sources.folders[name] = path
    elif group_files(path):  # a search, which has no updates
        _add_entry(sources.folders, name or path.resolve().name, path, path)
    else:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else []
        runs = [run for run in sorted(path.iterdir()) if read_metrics(run) or group_files(run)] if path.is_dir() else []
        if not files and not runs:
            problem = "contains no runs or episodes" if path.is_dir() else "does not exist"
            raise ValueError(f"{path} {problem}; {_EXPECTED_INPUTS}")
        for inner in [*files, *runs]:
            _read_input(inner, prefix + _entry_name(inner) if prefix else "", sources, prefix)


def _entry_name(path: Path) -> str:
    """Return the name of a run or a policy: its file or folder. Files of `webarena-gym evaluate` are named after their folder."""
    return path.resolve().parent.name if path.name == EPISODES else path.stem.removeprefix("episodes_")


def _add_entry(entries: dict[str, T], name: str, value: T, path: Path) -> None:
    if name in entries:
        raise ValueError(f"the name {name!r} of {path} is used twice; expected distinct names, such as NAME={path}")
    entries[name] = value


def task_of(episode: Trajectory) -> Task:
    """Return the task of an episode, or a placeholder with an unknown site and evaluator if its id is unknown."""
    return _find_task(episode.task_id, episode.env) or Task(
        episode.task_id, (UNKNOWN,), "", episode.goal, {"eval_types": [UNKNOWN]}
    )


@cache
def _find_task(task_id: str, env: EnvSettings | None) -> Task | None:
    try:
        return find_task(task_id, env)
    except WebArenaGymError:
        return None


def _read_log(path: Path) -> list[Trajectory]:
    """Return the episodes of a file: trajectories, a log of Inspect AI, or states of an arena's episodes."""
    if path.suffix == ".eval":
        raise ValueError(f"{path} is compressed; write it as JSON: inspect log convert --to json --output-dir FOLDER {path}")
    with path.open(encoding="utf-8") as file:
        record = json.loads((file.read() if path.suffix == ".json" else file.readline()) or "{}")
    if {"eval", "samples"} <= record.keys():
        env = env_settings_of((record["eval"].get("task_args") or {}).get("env") or {})
        return [_from_sample(sample, env) for sample in record["samples"] or ()]
    if {"task_id", "mode", "log"} <= record.keys():
        states = [record] if path.suffix == ".json" else map(json.loads, path.read_text("utf-8").splitlines())
        return [_from_state(state) for state in states if state["status"] != "open"]
    return read_trajectories(path)


def _from_sample(sample: Mapping[str, Any], env: EnvSettings | None) -> Trajectory:
    """Return the episode of a sample of an Inspect log, which has alternating observations and replies."""
    messages = [(message, _message_text(message.get("content"))) for message in sample["messages"]]
    steps: list[Step] = []
    page = ""
    for index, (message, text) in enumerate(messages):
        if message["role"] != "assistant":
            page = text[max(0, text.find("URL: ")) :] if text.startswith("Task") else text  # without the goal
            continue
        calls = [reply_of(DIALECTS["webrl"], call["function"], call["arguments"]) for call in message.get("tool_calls") or ()]
        response = messages[index + 1][1] if index + 1 < len(messages) else ""
        error = response.partition("\n")[0] if response.startswith("Action error") else ""
        steps.append(Step(page, "\n".join([text, *calls[:1]]).strip(), error))
    score: Mapping[str, Any] = next(iter((sample.get("scores") or {}).values()), {})
    failure = str((sample.get("error") or {}).get("message", "")) or ("" if score else "It was not scored.")
    verdicts = (score.get("metadata") or {}).get("verdicts", ())
    return Trajectory(
        str(sample["id"]), _message_text(sample["input"]), tuple(steps),
        float(score.get("value") in (1, True, "C")) if score else 0.0,
        "failed" if failure else "truncated" if sample.get("limit") else "exited", group=sample.get("epoch", 1) - 1,
        verdicts=tuple(verdicts), failure=failure, env=env,
    )  # fmt: skip


def _message_text(content: str | Sequence[object] | None) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if isinstance(part, dict))


def _from_state(state: Mapping[str, Any]) -> Trajectory:
    """Return a finished episode from its state in an arena. Its steps are requests, without pages."""
    result = state["result"] or {"reward": 0.0, "verdicts": ()}
    requests = ((request["what"], request["status"]) for request in state["log"])
    steps = tuple(Step("", what, f"status {status}" if status >= 400 else "") for what, status in requests)
    ending: Ending = "failed" if state["failure"] else "exited"
    return Trajectory(
        state["task_id"], state["goal"], steps, result["reward"], ending, verdicts=tuple(result["verdicts"]), failure=state["failure"]
    )  # fmt: skip


class Result(NamedTuple):
    """The scores of a policy.

    `lift` is the paired difference from the first policy, or None if they have fewer than two tasks in common. Its confidence interval is
    a bootstrap over templates, since the results of tasks of one template are correlated.
    """

    name: str
    evaluation: Evaluation
    lift: PairedDifference | None


def summarise_all(policies: Mapping[str, Sequence[Trajectory]]) -> list[Result]:
    """Return the result of each policy, in order."""
    results: list[Result] = []
    for name, episodes in policies.items():
        evaluation = score([task_of(episode) for episode in episodes], episodes)
        baseline = results[0].evaluation.trajectories if results else []
        before, after = _rewards(baseline), _rewards(episodes)
        task_ids = [task_id for task_id in before if task_id in after]
        paired_rewards = [[[rewards[task_id] for task_id in task_ids]] for rewards in (before, after)]
        template_by_task = {episode.task_id: task_of(episode).template or episode.task_id for episode in episodes}
        templates = [template_by_task[task_id] for task_id in task_ids]
        clusters = templates if len(set(templates)) > 1 else None  # with a single template, tasks are resampled
        difference = paired_difference(*paired_rewards, templates=clusters) if len(task_ids) > 1 else None
        results.append(Result(name, evaluation, difference))
    return results


def _rewards(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """Return the rewards of the tasks that have exactly one episode, which has not failed."""
    times = Counter(episode.task_id for episode in episodes)
    return {item.task_id: item.reward for item in episodes if item.ending != "failed" and times[item.task_id] == 1}


def outcome(episode: Trajectory) -> str:
    """Return a label for the outcome of an episode: "solved" or a value of `OUTCOMES`."""
    return "solved" if episode.ending != "failed" and episode.reward == 1 else OUTCOMES[episode.ending]


def cause(episode: Trajectory) -> str:
    """Return a label for the cause of an unsolved episode, or "none" for a solved one.

    >>> cause(Trajectory("t/1", "", (), 0.0, "exited", verdicts=({"check": "url_match", "passed": False},)))
    'wrong page'
    """
    label = outcome(episode)
    if label == "solved":
        return "none"
    if episode.ending == "failed":
        return f"broken: {episode.failure.partition(':')[0][:60]}"
    failed_checks = [str(verdict["check"]) for verdict in episode.verdicts if not verdict["passed"]]
    if episode.ending != "exited" or not failed_checks:
        return label
    return CAUSES.get(failed_checks[0].partition("/")[0], failed_checks[0])


def mark(page: str, address: str | None) -> tuple[str, str, str]:
    """Split a page's text into the texts before, of and after an element, which is named by its id or its label.

    If the page lacks the element, the result is the whole text and two empty strings.

    >>> mark('<a>Home</a> <button>Add to Cart [2]</button>', "add to cart [2]")[1]
    '<button>Add to Cart [2]</button>'
    >>> mark('<a id="1">Home</a> <input id="12" label="Name">', "12")[1]
    '<input id="12" label="Name">'
    """
    if address is None:
        return page, "", ""
    name = re.escape(" ".join(address.split()).replace("<", "&lt;"))
    attribute = name.replace('"', "&quot;")
    patterns = (
        rf'<(\w+)\b[^<>]* id="{attribute}"[^<>]*>(?:[^<\n]*</\1>)?',
        rf'<\w+\b[^<>]* label="{attribute}"[^<>]*>',
        rf"<(\w+)\b[^<>]*>{name}</\1>",
        rf"(?m)^\s*\[{name}\] .*$",  # a line of an accessibility tree
    )
    match = next(filter(None, (re.search(pattern, page, re.IGNORECASE) for pattern in patterns)), None)
    return (page[: match.start()], match.group(), page[match.end() :]) if match else (page, "", "")


def split_reply(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply.

    >>> split_reply("<think>Which?</think> The first. <answer>go_backward()</answer>")
    ('Which? The first.', 'go_backward()')
    """
    action = answer_part(reply)
    before = reply[: reply.rfind(action)] if action else reply
    return _TAGS.sub("", before).strip(), action


def table_rows(policies: Mapping[str, Sequence[Trajectory]]) -> Iterator[dict[str, Any]]:
    """Yield a row of values for each episode: its task, outcome, cause and costs. The reward of a failed episode is None."""
    for policy, episodes in policies.items():
        for number, episode in enumerate(episodes, 1):
            task = task_of(episode)
            failed_checks = [str(verdict["check"]) for verdict in episode.verdicts if not verdict["passed"]]
            yield {
                "policy": policy, "number": number, "task_id": episode.task_id, "template": task.template,
                "world_seed": task.world_seed, "sites": "+".join(task.sites), "difficulty": "+".join(task.difficulty),
                "goal": episode.goal, "reward": None if episode.ending == "failed" else episode.reward,
                "ending": episode.ending, "outcome": outcome(episode), "cause": cause(episode),
                "failed_checks": "+".join(failed_checks), "steps": len(episode.steps),
                "action_errors": sum(bool(step.action_error) for step in episode.steps),
                "prompt_tokens": sum(len(step.prompt_ids) for step in episode.steps),
                "reply_tokens": sum(len(step.response_ids) for step in episode.steps),
                "last_action": split_reply(episode.steps[-1].reply)[1] if episode.steps else "", "group": episode.group,
                "policy_version": episode.policy_version, "failure": episode.failure,
            }  # fmt: skip


def write_table(path: Path, policies: Mapping[str, Sequence[Trajectory]]) -> int:
    """Write the rows as CSV or JSON Lines, by the suffix of the path, and return their number. Raises ValueError for another suffix."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path} has the suffix {path.suffix!r}; expected {' or '.join(SUFFIXES)}")
    rows = list(table_rows(policies))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, list(rows[0]) if rows else [])
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return len(rows)
