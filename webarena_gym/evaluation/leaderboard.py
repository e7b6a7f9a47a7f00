"""A leaderboard whose rows are checked and replayed.

A leaderboard is a folder with one folder per row. A row's folder contains `row.json`, an object with the strings "name", "authors",
"link" and "notes", and the files `result.json` and `episodes.jsonl` of `webarena-gym evaluate`. Its results must follow from its
episodes. The episodes must be complete, for the suite of the installed version. Replaying their replies must give the same rewards,
steps and verdicts. A row that cannot be replayed is not ranked.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, get_args

from webarena_gym import __version__
from webarena_gym import suite as task_suite
from webarena_gym.arguments import reason_of
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, ResultError, WebArenaGymError
from webarena_gym.evaluation.agents import COMMAND, Reply
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    Record,
    Trial,
    make_record,
    read_episodes,
    read_result,
    shorten_json,
    suite_digest,
    summarise,
)
from webarena_gym.evaluation.runner import EnvWorker
from webarena_gym.progress import Progress
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.vector import ResetMonitor

ROW = "row.json"
MAX_STEPS = 30
_ROW_KEYS = ("name", "authors", "link", "notes")
_LINK = re.compile(r"""https?://[^\s<>()\[\]{}"'`\\|/?#@]+([/?#][^\s<>()\[\]{}"'`\\|]*)?""")
_ALLOWED_ENV = {
    "max_steps", "observation", "dialect", "elements", "history", "browser", "variation", "thoughts", "header", "viewport", "window", "bbox",
}  # fmt: skip


class LeaderboardRow(NamedTuple):
    """A checked row of a leaderboard.

    Attributes:
        folder: folder of the row.
        about: content of `row.json`.
        result: results of the run.
        faults: failed checks; a row with any is not shown.
        no_replay: reason why the row was not replayed; "" if it was.

    """

    folder: Path
    about: Mapping[str, str]
    result: Mapping[str, Any]
    faults: Sequence[str]
    no_replay: str


def print_leaderboard(folder: Path, *, with_replay: bool = True) -> int:
    """Print the leaderboard of a folder of rows, or of one row, with all failed checks. Return the exit status: 1 for failed checks.

    Raises ResultError for a folder without rows.
    """
    subfolders = sorted({path.parent for name in (ROW, RESULT, EPISODES) for path in folder.glob(f"*/{name}")})
    folders = [folder] if (folder / ROW).exists() else subfolders
    if not folders:
        raise ResultError(f"no {ROW} in {folder} or its subfolders")
    rows = [check_row(row_folder, with_replay=with_replay) for row_folder in folders]
    print(table(row for row in rows if not row.faults))
    for row in rows:
        for fault in row.faults:
            print(f"{row.folder}: {fault}")
    return 1 if any(row.faults for row in rows) else 0


def check_row(folder: Path, *, with_replay: bool = True) -> LeaderboardRow:
    """Return the row in a folder, with its failed checks."""
    about: Mapping[str, str] = {}
    result: Mapping[str, Any] = {}
    no_replay = "" if with_replay else "not requested"
    try:
        about, result = _read_about(folder / ROW), read_result(folder / RESULT)
        header, records = read_episodes(folder / EPISODES)
        faults = list(_faults(header, records, result))
        if not faults:
            if header["env"].get("browser", "inprocess") != "inprocess":
                no_replay = no_replay or "played in Chromium"
            elif not all(record.has_steps for record in records):
                no_replay = no_replay or "played by a program with its own browser"
            faults += [] if no_replay else replay(header, records)
    except ResultError as error:
        faults = [str(error)]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, WebArenaGymError) as error:
        faults = [f"the episodes are malformed: {type(error).__name__}: {error}"]
    return LeaderboardRow(folder, about, result, faults, no_replay)


def table(rows: Iterable[LeaderboardRow]) -> str:
    """Return the leaderboard as Markdown tables, sorted by success.

    There is one table per suite for replayed rows, and one for rows without a replay.
    """
    lines = []
    by_suite: dict[tuple[str, bool], list[LeaderboardRow]] = {}
    for row in rows:
        by_suite.setdefault((row.result["suite"]["digest"], bool(row.no_replay)), []).append(row)
    for (digest, has_no_replay), members in sorted(by_suite.items()):
        suite = members[0].result["suite"]
        title = f"{suite['tasks']} tasks of the {suite['split']} split, {suite['variation']}, digest {digest[:12]}"
        lines += [
            f"{title}; not replayed, and not ranked" if has_no_replay else title,
            "",
            "| rank | agent | success within 1.0 x steps | success (95 %) | episodes | steps | reported cost per episode | version | by | replayed |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]

        def sort_key(row: LeaderboardRow) -> tuple[float, float]:
            within = row.result["within_reference"]
            return -(within["1.0"]["success"] if within else 0.0), -row.result["success"]["success"]

        for rank, row in enumerate(sorted(members, key=sort_key), 1):
            score, steps, cost = (row.result[key] for key in ("success", "steps", "cost"))
            name = _escape(row.about["name"])
            cells = [
                "" if has_no_replay else str(rank),
                f"[{name}]({row.about['link']})" if row.about.get("link") else name,
                f"{100 * within['1.0']['success']:.1f} %" if (within := row.result["within_reference"]) else "",
                f"{100 * score['success']:.1f} % ({100 * score['low']:.0f} to {100 * score['high']:.0f})",
                str(score["n"]),
                f"{steps['mean']:.1f}" if steps else "",
                f"{cost['mean']:.4g}" if cost else "",
                row.result["version"],
                _escape(row.about.get("authors", "")),
                f"no: {row.no_replay}" if has_no_replay else "yes",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Return a text for a cell of a Markdown table, in which Markdown and HTML are escaped."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", html.escape(" ".join(plain.split())))


def replay(header: Mapping[str, Any], records: Sequence[Record]) -> list[str]:
    """Replay the replies of episodes, and return descriptions of all differences."""
    tasks = {task.task_id: task for task in load_tasks(header)}
    faults = []
    agent = _ReplayAgent()
    progress = Progress(len(records), "episodes replayed")
    WebArenaLite(tasks=list(tasks.values())[:1], **header["env"]).close()  # raises for invalid keywords
    with closing(EnvWorker(agent, header["env"], ResetMonitor())) as worker:
        for count, record in enumerate(records, 1):
            if record.ending == "too_long":
                continue
            where = f"{record.task_id}, repeat {record.repeat}"
            agent.replies = [str(step.get("reply", "")) for step in record.steps]
            replayed = worker.play(Trial(tasks[record.task_id], record.repeat, header["seed"]))
            if (replayed.reward, replayed.ending) != (record.reward, record.ending):
                ending = replayed.failure or f"{replayed.ending} with the reward {replayed.reward:g}"
                faults.append(f"{where}: {record.ending} with the reward {record.reward}; replayed, {ending}")
            for part in ("steps", "verdicts", "side_effects"):
                before, after = (json.dumps(getattr(item, part), ensure_ascii=False) for item in (record, replayed))
                if before != after:
                    faults.append(f"{where}: {part} are {before:.200}; replayed, {after:.200}")
            progress.update(count)
    progress.clear()
    return faults


class _ReplayAgent:
    """Agent that repeats recorded replies."""

    replies: Sequence[str] = ()

    def start_episode(self, _: Trial, __: WebArenaLite) -> None:
        self._remaining = iter(self.replies)

    def reply(self, *_: object) -> Reply:
        try:
            return Reply(next(self._remaining))
        except StopIteration as error:
            raise AgentError("the episode continues after the last recorded reply") from error


def _faults(header: Mapping[str, Any], records: Sequence[Record], result: Mapping[str, Any]) -> Iterable[str]:
    command = result.get("command")
    if not isinstance(command, list) or "evaluate" not in command:
        yield f"command is {command!r}; expected a command line of webarena-gym evaluate"
        return
    rules: Mapping[str, Callable[[], bool]] = {
        f"version is {header.get('version')!r}, and this is {__version__}; check the row with its own version": (
            lambda: header["version"] == __version__
        ),
        "the test split is incomplete: expected split test, templates null and limit null": lambda: (
            header["suite"].get("split"), header["suite"]["templates"], header["suite"]["limit"]
        ) == ("test", None, None),
        f"suite and env must have the same variation, one of {', '.join(get_args(Variation))}": lambda: (
            header["suite"].get("variation") == header["env"].get("variation", "content") in get_args(Variation)
        ),
        "browser is neither inprocess nor chromium": lambda: header["env"].get("browser", "inprocess") in ("inprocess", "chromium"),
        f"max_steps is more than {MAX_STEPS}": lambda: header["env"]["max_steps"] <= MAX_STEPS,
        f"env has other keywords than {', '.join(sorted(_ALLOWED_ENV))}": lambda: set(header["env"]) <= _ALLOWED_ENV,
    }  # fmt: skip
    faults = [fault for fault, is_met in rules.items() if not is_met()]
    yield from faults
    if faults:
        return
    if len(header["suite"]["worlds"]) > len(records):
        yield f"there are {len(records)} episodes for {len(header['suite']['worlds'])} worlds; expected at least one per world"
        return
    tasks = {task.task_id: task for task in load_tasks(header)}
    suite = {"tasks": len(tasks), "digest": suite_digest(list(tasks.values()))}
    for key, value in suite.items():
        if header["suite"][key] != value:
            yield f"the {key} of the suite is {header['suite'][key]}; this version has {value}"
    if len(records) != len(tasks) * header["repeats"]:
        yield f"there are {len(records)} episodes; expected {header['repeats']} of each of {len(tasks)} tasks"
        return
    expected = {(name, repeat) for name in tasks for repeat in range(header["repeats"])}
    judged = {record.key for record in records if record.is_judged}
    if judged != expected:
        yield f"{len(expected - judged)} episodes of {len(expected)} were not judged, and {len(judged - expected)} are not of the suite"
        return
    recomputed = json.loads(json.dumps(summarise(header, records, command)))
    for key in sorted({*recomputed, *result}):
        if recomputed.get(key) != result.get(key):
            values = f"it is {shorten_json(result.get(key))}, expected {shorten_json(recomputed.get(key))}"
            yield f"{key} of the result file does not follow from the episodes: {values}"
    for record in records:
        where = f"{record.task_id}, repeat {record.repeat}"
        yield from (f"{where}: {fault}" for fault in _episode_faults(record, header, tasks[record.task_id]))


def _episode_faults(record: Record, header: Mapping[str, Any], task: Task) -> Iterable[str]:
    passed = bool(record.verdicts) and all(verdict.get("passed") is True for verdict in record.verdicts)
    if record.ending != "too_long" and passed != (record.reward == 1.0):
        yield f"the reward {record.reward} does not follow from the verdicts"
    if not record.has_steps and not str(header["agent"]["name"]).startswith(COMMAND):
        yield "has no steps"
    if len(record.steps) > header["env"]["max_steps"]:
        yield f"has {len(record.steps)} steps; expected at most {header['env']['max_steps']}"
    expected = make_record(Trial(task, record.repeat, 0), ending=record.ending, reward=record.reward)
    for part in ("sites", "checks", "reference_steps"):
        if getattr(record, part) != getattr(expected, part):
            yield f"{part} is {shorten_json(getattr(record, part))}; the task has {shorten_json(getattr(expected, part))}"


def load_tasks(header: Mapping[str, Any]) -> list[Task]:
    """Return the tasks of the split and worlds in the header of a run. Raises TaskError."""
    suite = header["suite"]
    tasks = [task for world in suite["worlds"] for task in task_suite.load(suite["split"], world, suite["variation"])]
    return list({task.task_id: task for task in tasks}.values())


def _read_about(path: Path) -> dict[str, str]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"cannot read {path}: {reason_of(error)}") from error
    if not isinstance(about, dict) or not all(key in _ROW_KEYS and isinstance(value, str) for key, value in about.items()):
        raise ResultError(f"{path} contains {shorten_json(about)}; expected an object of the strings {', '.join(_ROW_KEYS)}")
    if not about.get("name", "").strip():
        raise ResultError(f"{path} has no name")
    if about.get("link") and not _LINK.fullmatch(about["link"]):
        raise ResultError(
            f"the link of {path} is {about['link']!r}; expected https://... or http://... without spaces, quotes and brackets"
        )
    return about
