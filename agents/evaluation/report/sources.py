"""The inputs of a report: runs with metrics and groups of rollouts, and policies with episodes; and the results of policies."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from agents.data.trajectories import Ending, Step, Trajectory, env_settings_of, find_task, read_trajectories
from agents.settings import EnvSettings
from agents.training.metrics import read_metrics
from agents.training.rollouts import group_files, read_groups
from webarena_gym.actions import DIALECTS, reply_of
from webarena_gym.actions.replies import answer_part
from webarena_gym.errors import ResultError, WebArenaGymError
from webarena_gym.evaluation.results import EPISODES
from webarena_gym.evaluation.statistics import Evaluation, PairedDifference, paired_difference, score
from webarena_gym.tasks import Task

MOST_GROUPS = 12
"""Groups of a run that a report shows by default."""
UNKNOWN = "unknown"
_EXPECTED = "expected a run's folder with metrics.jsonl, a .jsonl file of `agents.evaluate --save`, or a folder of such"
OUTCOMES = {"exited": "wrong", "truncated": "out of steps", "too_long": "prompt too long", "failed": "broken, not counted"}

CAUSES = {
    "string_match": "wrong answer", "url_match": "wrong page", "program_html": "wrong content", "state": "wrong state",
    "side_effects": "side effects", "injected": "followed a hostile page",
}  # fmt: skip
"""Why an episode failed, by the kind of its first check that did."""
SUFFIXES = (".csv", ".jsonl")
_TAGS = re.compile(r"</?(?:think|answer)>")


class RunGroup(NamedTuple):
    """A group of rollouts, and the run and the update that it was trained in."""

    run: str
    update: int
    rollouts: list[Trajectory]

    @property
    def number(self) -> int:
        return self.rollouts[0].group

    @property
    def policy(self) -> str:
        """The name under which the rollouts are listed among the episodes."""
        return f"{self.run}, update {self.update}"


@dataclass
class Sources:
    """The metrics of each run, update by update, the episodes of each policy, and groups of rollouts."""

    runs: dict[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    policies: dict[str, Sequence[Trajectory]] = field(default_factory=dict)
    groups: Sequence[RunGroup] = ()
    folders: dict[str, Path] = field(default_factory=dict)
    """Of runs, by name."""


def newest_groups(runs: Mapping[str, Path], most: int = MOST_GROUPS) -> list[RunGroup]:
    """Return the newest groups of each run, at most so many; those whose rewards differ come first, as others change nothing."""
    found: list[RunGroup] = []
    for name, folder in runs.items():
        mixed: list[RunGroup] = []
        equal: list[RunGroup] = []
        for update, path in reversed(group_files(folder).items()):
            if len(mixed) >= most:
                break
            for group in read_groups(path):
                is_mixed = len({item.reward for item in group}) > 1
                (mixed if is_mixed else equal).append(RunGroup(name, update, group))
        found += [*mixed, *equal][:most]
    return found


def read_sources(inputs: Sequence[str], *, groups: int = MOST_GROUPS) -> Sources:
    """Read folders of runs and files of episodes, each given as PATH or NAME=PATH.

    Of each run or search, at most `groups` groups of rollouts are read. Of a folder without metrics, the files of episodes and the folders of runs directly in it are read. Raises ValueError for a path
    with neither, for a file that holds no episodes, and for two runs or two policies with one name.
    """
    sources = Sources()
    for item in inputs:
        name, equals, named = item.partition("=")
        if equals and not Path(item).exists():
            _read(Path(named), name, sources, f"{name}/")
        else:
            _read(Path(item), "", sources, "")
    sources.groups = newest_groups(sources.folders, groups)
    return sources


def _read(path: Path, name: str, sources: Sources, prefix: str) -> None:
    """Read one path; `prefix` is put before the names of what a folder holds."""
    if path.is_file():
        try:
            episodes = _read_log(path)
        except ResultError as error:
            raise ValueError(str(error)) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if path.suffix == ".eval":
                raise
            raise ValueError(f"{path} holds no episodes as `agents.evaluate --save` writes them: {error!r}") from error
        _add(sources.policies, name or _name_of(path), episodes, path)
    elif metrics := read_metrics(path):
        name = name or path.resolve().name
        _add(sources.runs, name, metrics, path)
        sources.folders[name] = path
    elif group_files(path):  # of a search, which has no updates
        _add(sources.folders, name or path.resolve().name, path, path)
    else:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else []
        runs = [run for run in sorted(path.iterdir()) if read_metrics(run) or group_files(run)] if path.is_dir() else []
        if not files and not runs:
            raise ValueError(f"{path} is {'empty of what a report shows' if path.is_dir() else 'not there'}; {_EXPECTED}")
        for inner in [*files, *runs]:
            _read(inner, prefix + _name_of(inner) if prefix else "", sources, prefix)


def _name_of(path: Path) -> str:
    """Return the name of what lies at a path: of the file that `webarena-gym evaluate` writes into each folder, that of the folder."""
    return path.resolve().parent.name if path.name == EPISODES else path.stem.removeprefix("episodes_")


def _add(known: dict[str, Any], name: str, value: Any, path: Path) -> None:
    if name in known:
        raise ValueError(f"{path} has the name {name!r}, as another has; name them apart: NAME={path}")
    known[name] = value


def task_of(episode: Trajectory) -> Task:
    """Return the task of an episode by its id; for an unknown id, a placeholder with an unknown site and evaluator."""
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
    """Return the episodes of a file: trajectories, a log of Inspect, or states of an arena's episodes."""
    if path.suffix == ".eval":
        raise ValueError(f"{path} is compressed; write it as JSON: inspect log convert --to json --output-dir FOLDER {path}")
    with path.open(encoding="utf-8") as file:
        first = json.loads((file.read() if path.suffix == ".json" else file.readline()) or "{}")
    if {"eval", "samples"} <= first.keys():
        env = env_settings_of((first["eval"].get("task_args") or {}).get("env") or {})
        return [_from_sample(sample, env) for sample in first["samples"] or ()]
    if {"task_id", "mode", "log"} <= first.keys():
        states = [first] if path.suffix == ".json" else map(json.loads, path.read_text("utf-8").splitlines())
        return [_from_state(state) for state in states if state["status"] != "open"]
    return read_trajectories(path)


def _from_sample(sample: Mapping[str, Any], env: EnvSettings | None) -> Trajectory:
    """Return a sample of an Inspect log: alternating observations and replies."""
    messages = [(message, _text(message.get("content"))) for message in sample["messages"]]
    steps: list[Step] = []
    shown = ""
    for index, (message, text) in enumerate(messages):
        if message["role"] != "assistant":
            shown = text[max(0, text.find("URL: ")) :] if text.startswith("Task") else text  # without the goal
            continue
        calls = [reply_of(DIALECTS["webrl"], call["function"], call["arguments"]) for call in message.get("tool_calls") or ()]
        answer = messages[index + 1][1] if index + 1 < len(messages) else ""
        error = answer.partition("\n")[0] if answer.startswith("Action error") else ""
        steps.append(Step(shown, "\n".join([text, *calls[:1]]).strip(), error))
    score: Mapping[str, Any] = next(iter((sample.get("scores") or {}).values()), {})
    failure = str((sample.get("error") or {}).get("message", "")) or ("" if score else "It was not scored.")
    verdicts = (score.get("metadata") or {}).get("verdicts", ())
    return Trajectory(
        str(sample["id"]), _text(sample["input"]), tuple(steps),
        float(score.get("value") in (1, True, "C")) if score else 0.0,
        "failed" if failure else "truncated" if sample.get("limit") else "exited", group=sample.get("epoch", 1) - 1,
        verdicts=tuple(verdicts), failure=failure, env=env,
    )  # fmt: skip


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if isinstance(part, dict))


def _from_state(state: Mapping[str, Any]) -> Trajectory:
    """Return an episode that is over from the state that an arena gives of it, which has requests for steps and no pages."""
    result = state["result"] or {"reward": 0.0, "verdicts": ()}
    requests = ((request["what"], request["status"]) for request in state["log"])
    steps = tuple(Step("", what, f"status {status}" if status >= 400 else "") for what, status in requests)
    more: dict[str, Any] = {"verdicts": tuple(result["verdicts"]), "failure": state["failure"]}
    ending: Ending = "failed" if state["failure"] else "exited"
    return Trajectory(state["task_id"], state["goal"], steps, result["reward"], ending, **more)


class Result(NamedTuple):
    """The scores of a policy. `lift` is its difference from the first policy; None where they share too few tasks.

    The interval of the difference is a paired bootstrap over templates, as tasks of a template succeed and fail together.
    """

    name: str
    evaluation: Evaluation
    lift: PairedDifference | None


def summarise_all(policies: Mapping[str, Sequence[Trajectory]]) -> list[Result]:
    """Return the result of each policy, in order."""
    results: list[Result] = []
    for name, episodes in policies.items():
        evaluation = score([task_of(episode) for episode in episodes], episodes)
        first = results[0].evaluation.trajectories if results else []
        before, after = _rewards(first), _rewards(episodes)
        shared = [task_id for task_id in before if task_id in after]
        is_comparable = len(shared) > 1  # by the tasks that each has played just once and to an end
        both = [[[rewards[task_id] for task_id in shared]] for rewards in (before, after)]
        of_tasks = {episode.task_id: task_of(episode).template or episode.task_id for episode in episodes}
        templates = [of_tasks[task_id] for task_id in shared]
        clusters = templates if len(set(templates)) > 1 else None  # of a single template, tasks are resampled
        results.append(Result(name, evaluation, paired_difference(*both, templates=clusters) if is_comparable else None))
    return results


def _rewards(episodes: Sequence[Trajectory]) -> dict[str, float]:
    times = Counter(episode.task_id for episode in episodes)
    return {item.task_id: item.reward for item in episodes if item.ending != "failed" and times[item.task_id] == 1}


def outcome(episode: Trajectory) -> str:
    """Return how an episode ended, in a word or two."""
    return "solved" if episode.ending != "failed" and episode.reward == 1 else OUTCOMES[episode.ending]


def cause(episode: Trajectory) -> str:
    """Return why an episode was not solved, in a word or two; "none" for one that was.

    >>> cause(Trajectory("t/1", "", (), 0.0, "exited", verdicts=({"check": "url_match", "passed": False},)))
    'wrong page'
    """
    ended = outcome(episode)
    if ended == "solved":
        return "none"
    if episode.ending == "failed":
        return f"broken: {episode.failure.partition(':')[0][:60]}"
    failed = [str(verdict["check"]) for verdict in episode.verdicts if not verdict["passed"]]
    if episode.ending != "exited" or not failed:
        return ended
    return CAUSES.get(failed[0].partition("/")[0], failed[0])


def mark(page: str, address: str | None) -> tuple[str, str, str]:
    """Split a page's text at the element that an action names, by its number or its label; in the end if it is not there.

    >>> mark('<a>Home</a> <button>Add to Cart [2]</button>', "add to cart [2]")[1]
    '<button>Add to Cart [2]</button>'
    >>> mark('<a id="1">Home</a> <input id="12" label="Name">', "12")[1]
    '<input id="12" label="Name">'
    """
    if address is None:
        return page, "", ""
    shown = re.escape(" ".join(address.split()).replace("<", "&lt;"))
    quoted = shown.replace('"', "&quot;")
    ways = (
        rf'<(\w+)\b[^<>]* id="{quoted}"[^<>]*>(?:[^<\n]*</\1>)?',
        rf'<\w+\b[^<>]* label="{quoted}"[^<>]*>',
        rf"<(\w+)\b[^<>]*>{shown}</\1>",
        rf"(?m)^\s*\[{shown}\] .*$",  # a line of an accessibility tree
    )
    found = next(filter(None, (re.search(way, page, re.IGNORECASE) for way in ways)), None)
    return (page[: found.start()], found.group(), page[found.end() :]) if found else (page, "", "")


def split_reply(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply.

    >>> split_reply("<think>Which?</think> The first. <answer>go_backward()</answer>")
    ('Which? The first.', 'go_backward()')
    """
    action = answer_part(reply)
    before = reply[: reply.rfind(action)] if action else reply
    return _TAGS.sub("", before).strip(), action


def table_rows(policies: Mapping[str, Sequence[Trajectory]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each episode: its task, how it ended and why, and what it took. One that broke has no reward."""
    for policy, episodes in policies.items():
        for number, episode in enumerate(episodes, 1):
            task = task_of(episode)
            failed = [str(verdict["check"]) for verdict in episode.verdicts if not verdict["passed"]]
            yield {
                "policy": policy, "number": number, "task_id": episode.task_id, "template": task.template,
                "world_seed": task.world_seed, "sites": "+".join(task.sites), "difficulty": "+".join(task.difficulty),
                "goal": episode.goal, "reward": None if episode.ending == "failed" else episode.reward,
                "ending": episode.ending, "outcome": outcome(episode), "cause": cause(episode),
                "failed_checks": "+".join(failed), "steps": len(episode.steps),
                "action_errors": sum(bool(step.action_error) for step in episode.steps),
                "prompt_tokens": sum(len(step.prompt_ids) for step in episode.steps),
                "reply_tokens": sum(len(step.response_ids) for step in episode.steps),
                "last_action": split_reply(episode.steps[-1].reply)[1] if episode.steps else "", "group": episode.group,
                "policy_version": episode.policy_version, "failure": episode.failure,
            }  # fmt: skip


def write_table(path: Path, policies: Mapping[str, Sequence[Trajectory]]) -> int:
    """Write the rows as CSV or JSON Lines, as the name ends, and return how many. Raises ValueError for another ending."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path} ends in {path.suffix or 'nothing'!r}; expected {' or '.join(SUFFIXES)}")
    found = list(table_rows(policies))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, list(found[0]) if found else [])
            writer.writeheader()
            writer.writerows(found)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
    return len(found)
