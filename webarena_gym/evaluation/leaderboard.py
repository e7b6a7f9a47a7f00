"""A leaderboard: a folder with a folder for each row, which holds the two files of a run and who it is of. Checked, never believed.

A row is `row.json`, {"name", "authors", "link", "notes"} of texts, beside the `result.json` and the `episodes.jsonl` that
`webarena-gym evaluate` wrote. Its figures must follow from its episodes, its episodes must be all of the suite, of the digest that
the installed version has, and the replies of its episodes must do the same when they are played again. A row that cannot be played
again is not ranked.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, get_args

from webarena_gym import __version__
from webarena_gym import tasks as task_suite
from webarena_gym.arguments import reason_of
from webarena_gym.console import Progress
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, ResultError, WebArenaGymError
from webarena_gym.evaluation.agents import COMMAND, Reply
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    Record,
    Trial,
    read_episodes,
    read_result,
    record_of,
    short,
    suite_digest,
    summarise,
)
from webarena_gym.evaluation.runner import EnvSeat
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task

ROW = "row.json"
MAX_STEPS = 30
_ABOUT = ("name", "authors", "link", "notes")
_LINK = re.compile(r"""https?://[^\s<>()\[\]{}"'`\\|/?#@]+([/?#][^\s<>()\[\]{}"'`\\|]*)?""")
_FREE = {
    "max_steps", "observation", "dialect", "elements", "history", "browser", "variation", "thoughts", "header", "viewport", "window", "bbox",
}  # fmt: skip


class Row(NamedTuple):
    """One row: who it is of, its figures, what is wrong with it, and why it was not played again."""

    folder: Path
    about: Mapping[str, str]
    result: Mapping[str, Any]
    faults: Sequence[str]
    unplayed: str


def show(folder: Path, *, with_replay: bool = True) -> int:
    """Print the leaderboard of a folder of rows, or of one row, and what is wrong with it; return the exit status.

    Raises ResultError where there is no row.
    """
    inner = sorted({path.parent for name in (ROW, RESULT, EPISODES) for path in folder.glob(f"*/{name}")})
    folders = [folder] if (folder / ROW).exists() else inner
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
    unplayed = "" if with_replay else "not asked for"
    try:
        about, result = _read_about(folder / ROW), read_result(folder / RESULT)
        header, records = read_episodes(folder / EPISODES)
        faults = list(_faults(header, records, result))
        if not faults:
            if header["env"].get("browser", "inprocess") != "inprocess":
                unplayed = unplayed or "played in Chromium"
            elif not all(record.has_steps for record in records):
                unplayed = unplayed or "by a program with a browser of its own"
            faults += [] if unplayed else replay(header, records)
    except ResultError as error:
        faults = [str(error)]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, WebArenaGymError) as error:
        faults = [f"the episodes are malformed: {type(error).__name__}: {error}"]
    return Row(folder, about, result, faults, unplayed)


def table(rows: Iterable[Row]) -> str:
    """Return the leaderboard as tables in Markdown, the best first; rows of different suites apart, and those that were not played again."""
    lines = []
    by_suite: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        by_suite.setdefault((row.result["suite"]["digest"], bool(row.unplayed)), []).append(row)
    for (digest, is_unplayed), members in sorted(by_suite.items()):
        suite = members[0].result["suite"]
        title = f"{suite['tasks']} tasks of the {suite['split']} split, {suite['variation']}, digest {digest[:12]}"
        lines += [
            f"{title}; not played again, and not ranked" if is_unplayed else title,
            "",
            "| rank | agent | success within 1.0 x steps | success (95 %) | episodes | steps | cost of an episode, as told | version | by | played again |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]

        def place(row: Row) -> tuple[float, float]:
            within = row.result["within_reference"]
            return -(within["1.0"]["success"] if within else 0.0), -row.result["success"]["success"]

        for rank, row in enumerate(sorted(members, key=place), 1):
            score, steps, cost = (row.result[key] for key in ("success", "steps", "cost"))
            name = _escaped(row.about["name"])
            cells = [
                "" if is_unplayed else str(rank),
                f"[{name}]({row.about['link']})" if row.about.get("link") else name,
                f"{100 * within['1.0']['success']:.1f} %" if (within := row.result["within_reference"]) else "",
                f"{100 * score['success']:.1f} % ({100 * score['low']:.0f} to {100 * score['high']:.0f})",
                str(score["n"]),
                f"{steps['mean']:.1f}" if steps else "",
                f"{cost['mean']:.4g}" if cost else "",
                row.result["version"],
                _escaped(row.about.get("authors", "")),
                f"no: {row.unplayed}" if is_unplayed else "yes",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Return a text that says the same in a table of Markdown, and in HTML that is made of it."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", html.escape(" ".join(plain.split())))


def replay(header: Mapping[str, Any], records: Sequence[Record]) -> list[str]:
    """Play the replies of episodes again, and return where that does not come to the same."""
    tasks = {task.task_id: task for task in tasks_of(header)}
    faults = []
    player = _Repeater()
    progress = Progress(len(records), "episodes played again")
    WebArenaLite(tasks=list(tasks.values())[:1], **header["env"]).close()  # raises where it cannot be made
    with closing(EnvSeat(player, header["env"])) as seat:
        for count, record in enumerate(records, 1):
            if record.ending == "too_long":
                continue
            where = f"{record.task_id}, repeat {record.repeat}"
            player.replies = [str(step.get("reply", "")) for step in record.steps]
            again = seat.play(Trial(tasks[record.task_id], record.repeat, header["seed"]))
            if (again.reward, again.ending) != (record.reward, record.ending):
                what = again.failure or f"{again.ending} with the reward {again.reward:g}"
                faults.append(f"{where}: {record.ending} with the reward {record.reward}; played again, {what}")
            for part in ("steps", "verdicts", "side_effects"):
                told, found = (json.dumps(getattr(each, part), ensure_ascii=False) for each in (record, again))
                if told != found:
                    faults.append(f"{where}: {part} are {told:.200}; played again, {found:.200}")
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
        f"variation is not the same of suite and env, or none of {', '.join(get_args(Variation))}": lambda: (
            header["suite"].get("variation") == header["env"].get("variation", "content") in get_args(Variation)
        ),
        "browser is neither inprocess nor chromium": lambda: header["env"].get("browser", "inprocess") in ("inprocess", "chromium"),
        f"max_steps is more than {MAX_STEPS}": lambda: header["env"]["max_steps"] <= MAX_STEPS,
        f"env has other keywords than {', '.join(sorted(_FREE))}": lambda: set(header["env"]) <= _FREE,
    }  # fmt: skip
    broken = [fault for fault, holds in rules.items() if not holds()]
    yield from broken
    if broken:
        return
    if len(header["suite"]["worlds"]) > len(records):
        yield f"{len(records)} episodes are of {len(header['suite']['worlds'])} worlds"
        return
    tasks = {task.task_id: task for task in tasks_of(header)}
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
    again = json.loads(json.dumps(summarise(header, records, command)))
    for key in sorted({*again, *result}):
        if again.get(key) != result.get(key):
            yield f"{key} of the result file does not follow from the episodes: {short(result.get(key))}, not {short(again.get(key))}"
    for record in records:
        where = f"{record.task_id}, repeat {record.repeat}"
        yield from (f"{where}: {fault}" for fault in _faults_of(record, header, tasks[record.task_id]))


def _faults_of(record: Record, header: Mapping[str, Any], task: Task) -> Iterable[str]:
    passed = bool(record.verdicts) and all(verdict.get("passed") is True for verdict in record.verdicts)
    if record.ending != "too_long" and passed != (record.reward == 1.0):
        yield f"the reward {record.reward} does not follow from the verdicts"
    if not record.has_steps and not str(header["agent"]["name"]).startswith(COMMAND):
        yield "has no steps"
    if len(record.steps) > header["env"]["max_steps"]:
        yield f"has {len(record.steps)} steps"
    true = record_of(Trial(task, record.repeat, 0), ending=record.ending, reward=record.reward)
    for part in ("sites", "checks", "reference_steps"):
        if getattr(record, part) != getattr(true, part):
            yield f"{part} is {short(getattr(record, part))}; the task has {short(getattr(true, part))}"


def tasks_of(header: Mapping[str, Any]) -> list[Task]:
    """Return the tasks of a split that a run has played, by its header. Raises TaskError."""
    suite = header["suite"]
    found = [task for world in suite["worlds"] for task in task_suite.load(suite["split"], world, suite["variation"])]
    return list({task.task_id: task for task in found}.values())


def _read_about(path: Path) -> dict[str, str]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"cannot read {path}: {reason_of(error)}") from error
    if not isinstance(about, dict) or not all(key in _ABOUT and isinstance(value, str) for key, value in about.items()):
        raise ResultError(f"{path} holds {short(about)}; expected an object of the texts {', '.join(_ABOUT)}")
    if not about.get("name", "").strip():
        raise ResultError(f"{path} has no name")
    if about.get("link") and not _LINK.fullmatch(about["link"]):
        raise ResultError(
            f"the link of {path} is {about['link']!r}; expected https://... or http://... without spaces, quotes and brackets"
        )
    return about
