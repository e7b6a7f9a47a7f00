"""A leaderboard: a folder with a folder for each row, which holds the two files of a run and who it is of. Checked, never believed.

A row is `row.json`, {"name", "authors", "link", "notes"} of texts, beside the `result.json` and the `episodes.jsonl` that
`webarena-gym evaluate` wrote. Its figures must follow from its episodes, its episodes must be all of the suite, of the digest that
the installed version has, and the replies of its episodes must earn the same rewards when they are played again.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym import __version__
from webarena_gym import tasks as task_suite
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, ResultError, TaskError
from webarena_gym.evaluation.agents import COMMAND, Reply
from webarena_gym.evaluation.plan import Trial, suite_digest
from webarena_gym.evaluation.results import EPISODES, RESULT, Record, read_episodes, read_result, summarise
from webarena_gym.evaluation.runner import EnvSeat
from webarena_gym.progress import Progress
from webarena_gym.tasks import Task

ROW = "row.json"
MAX_STEPS = 30
_ABOUT = ("name", "authors", "link", "notes")
_FREE = {
    "max_steps", "observation", "dialect", "elements", "history", "browser", "variation", "thoughts", "header", "viewport", "window", "bbox",
}  # fmt: skip


class Row(NamedTuple):
    """One row: who it is of, its figures, and what is wrong with it."""

    folder: Path
    about: Mapping[str, str]
    result: Mapping[str, Any]
    faults: Sequence[str]


def show(folder: Path, *, with_replay: bool = True) -> int:
    """Print the leaderboard of a folder of rows, or of one row, and what is wrong with it; return the exit status.

    Raises ResultError where there is no row.
    """
    folders = [folder] if (folder / ROW).exists() else sorted(path.parent for path in folder.glob(f"*/{ROW}"))
    if not folders:
        raise ResultError(f"there is no {ROW} in {folder}, nor in a folder in it")
    rows = [check(each, with_replay=with_replay) for each in folders]
    print(table(row for row in rows if not row.faults))
    for row in rows:
        for fault in row.faults:
            print(f"{row.folder}: {fault}")
    return 1 if any(row.faults for row in rows) else 0


def check(folder: Path, *, with_replay: bool = True) -> Row:
    """Return a row, with everything that is wrong with it."""
    about: Mapping[str, str] = {}
    result: Mapping[str, Any] = {}
    try:
        about, result = _read_about(folder / ROW), read_result(folder / RESULT)
        header, records = read_episodes(folder / EPISODES)
        faults = list(_faults(header, records, result))
        if with_replay and not faults:
            faults += replay(header, records)
    except ResultError as error:
        faults = [str(error)]
    return Row(folder, about, result, faults)


def table(rows: Iterable[Row]) -> str:
    """Return the leaderboard as a table in Markdown, the best first; rows of different suites apart."""
    lines = []
    by_suite: dict[str, list[Row]] = {}
    for row in rows:
        by_suite.setdefault(row.result["suite"]["digest"], []).append(row)
    for digest, members in by_suite.items():
        suite = members[0].result["suite"]
        lines += [
            f"{suite['tasks']} tasks of the {suite['split']} split, {suite['variation']}, digest {digest[:12]}",
            "",
            "| agent | success (95 %) | episodes | steps | cost of an episode | version | by |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for row in sorted(members, key=lambda row: -row.result["success"]["success"]):
            score, cost = row.result["success"], row.result["cost"]
            cells = [
                f"[{row.about['name']}]({row.about['link']})" if row.about.get("link") else row.about["name"],
                f"{100 * score['success']:.1f} % ({100 * score['low']:.0f} to {100 * score['high']:.0f})",
                str(score["n"]),
                f"{row.result['steps']['mean']:.1f}",
                f"{cost['mean']:.4g}" if cost else "",
                row.result["version"],
                row.about.get("authors", ""),
            ]
            lines.append(f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


def replay(header: Mapping[str, Any], records: Sequence[Record]) -> list[str]:
    """Play the replies of episodes again, and return where that does not come to the same."""
    env = header["env"]
    if env.get("browser", "inprocess") != "inprocess":
        return []  # the same episode in Chromium needs Chromium
    tasks = {task.task_id: task for task in tasks_of(header)}
    faults = []
    player = _Repeater()
    progress = Progress(len(records), "episodes played again")
    with closing(EnvSeat(player, env)) as seat:
        for count, record in enumerate(records, 1):
            if record.ending == "too_long" or not record.steps:
                continue
            task = tasks[record.task_id]
            if record.reference_steps not in {None, len(task.solution)}:
                faults.append(
                    f"{record.task_id}, repeat {record.repeat}: reference_steps is {record.reference_steps}; the task's solution has {len(task.solution)}"
                )
            player.replies = [str(step.get("reply", "")) for step in record.steps]
            again = seat.play(Trial(task, record.repeat, header["seed"]))
            if (again.reward, again.ending) != (record.reward, record.ending):
                what = again.failure or f"{again.ending} with the reward {again.reward:g}"
                faults.append(
                    f"{record.task_id}, repeat {record.repeat}: {record.ending} with the reward {record.reward}; played again, {what}"
                )
            progress.show(count)
    progress.clear()
    return faults


class _Repeater:
    """Says again what was said."""

    replies: Sequence[str] = ()

    def begin(self, _: Trial, __: WebArenaLite) -> None:
        self._left = iter(self.replies)

    def reply(self, *_: Any) -> Reply:
        try:
            return Reply(next(self._left))
        except StopIteration as error:
            raise AgentError("the episode goes on where the recorded one has ended") from error


def _faults(header: Mapping[str, Any], records: Sequence[Record], result: Mapping[str, Any]) -> Iterable[str]:
    command = result.get("command")
    if not isinstance(command, list) or "evaluate" not in command:
        yield f"command is {command!r}; expected that of webarena-gym evaluate"
        return
    rules: Mapping[str, Callable[[], bool]] = {
        f"version is {header.get('version')!r}; this is {__version__}: check it with that version": lambda: header["version"] == __version__,
        "not all of the test split was played: split, templates and limit must be test, none and none": lambda: (
            header["suite"].get("split"), header["suite"]["templates"], header["suite"]["limit"]
        ) == ("test", None, None),
        f"max_steps is more than {MAX_STEPS}": lambda: header["env"]["max_steps"] <= MAX_STEPS,
        f"env has other keywords than {', '.join(sorted(_FREE))}": lambda: set(header["env"]) <= _FREE,
    }  # fmt: skip
    try:
        broken = [fault for fault, holds in rules.items() if not holds()]
        yield from broken
        if broken:
            return
        tasks = tasks_of(header)
        again = json.loads(json.dumps(summarise(header, records, command)))
    except (AttributeError, KeyError, TypeError, TaskError) as error:
        yield f"the header of the episodes is malformed: {type(error).__name__}: {error}"
        return
    if header["suite"]["digest"] != suite_digest(tasks):
        yield f"the digest of the suite is {header['suite']['digest']}; this version has {suite_digest(tasks)}"
    expected = {(task.task_id, repeat) for task in tasks for repeat in range(header["repeats"])}
    judged = {record.key for record in records if record.is_judged}
    if judged != expected or len(records) != len(expected):
        yield f"{len(expected - judged)} episodes of {len(expected)} were not judged, and {len(judged - expected)} are not of the suite"
    for key in sorted({*again, *result}):
        if again.get(key) != result.get(key):
            yield f"{key} of the result file does not follow from the episodes: {_short(result.get(key))}, not {_short(again.get(key))}"
    for record in records:
        passed = bool(record.verdicts) and all(verdict.get("passed") is True for verdict in record.verdicts)
        if record.is_judged and record.ending != "too_long" and passed != (record.reward == 1.0):
            yield f"{record.task_id}, repeat {record.repeat}: the reward {record.reward} does not follow from the verdicts"
        if (
            record.is_judged
            and not record.steps
            and record.ending != "too_long"
            and not str(header["agent"]["name"]).startswith(COMMAND)
        ):
            yield f"{record.task_id}, repeat {record.repeat}: has no steps"
        if len(record.steps) > header["env"]["max_steps"]:
            yield f"{record.task_id}, repeat {record.repeat}: has {len(record.steps)} steps"


def tasks_of(header: Mapping[str, Any]) -> list[Task]:
    """Return the tasks of a split that a run has played, by its header. Raises TaskError."""
    suite = header["suite"]
    found = [task for world in suite["worlds"] for task in task_suite.load(suite["split"], world, suite["variation"])]
    return list({task.task_id: task for task in found}.values())


def _read_about(path: Path) -> dict[str, str]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"cannot read {path}: {error}") from error
    if not isinstance(about, dict) or not all(key in _ABOUT and isinstance(value, str) for key, value in about.items()):
        raise ResultError(f"{path} holds {_short(about)}; expected an object of the texts {', '.join(_ABOUT)}")
    if not about.get("name", "").strip():
        raise ResultError(f"{path} has no name")
    return about


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
