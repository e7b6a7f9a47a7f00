"""The comparison of oracles with tasks: goals are read, demands computed, reference solutions played.

An oracle is a function of a `Case`: the slots of the goal and the databases as the episode begins. It returns an `Outcome`: the
expected answer and all changes of rows that the goal demands. A task agrees with its oracle if its expected answer has the same
value, and if its reference solution is rewarded and makes exactly the demanded changes.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Expert, Task

WORDINGS = Path(__file__).parent / "wordings.json"
"""The wordings of each goal, slots in braces, that the author of the oracle has read. A goal of another wording is a disagreement."""

MOST_STEPS = 500
"""The step limit of the env in which solutions are played; a drawn solution may be longer than those of the split."""

_SLOT = re.compile(r"\{(\w+)\}")
_SHAPES = {
    "time": r"\d\d:\d\d",
    "hour": r"\d\d:\d\d",
    "days": r"\d+",
    "titles": r"\".+\"|.+?",
    "year": r"\d+",
    "please": ".*?",
    "decade": r"\d+",
    "need": r"[a-z].+?",
    "project": r"\S+",
    "street": ".+",
    "city": "[^,]+",
    "region": "[^,]+?",
    "postcode": r"\d+",
    "day": r"\w+ \d+, \d{4}|\w+",
}  # of slots that stand beside others


class UnclearError(Exception):
    """The goal or a text of the world has wording that the oracle's author has not read, or allows two meanings."""


def _is(value: Any, demanded: Any) -> bool:
    return bool(demanded(value)) if callable(demanded) else value == demanded


class Demand(NamedTuple):
    """A demanded change of one row: "added", "removed", "changed", or "any" of these.

    `columns` are those of the added or removed row that matter, with a value or a test of it. Of a changed row they are all that differ, with their new values,
    and `key` is the row's primary key.
    """

    site: str
    table: str
    kind: str
    columns: Mapping[str, Any]
    key: tuple[Any, ...] = ()

    def fits(self, change: Change) -> bool:
        """Return True if a change of an episode is the demanded one."""
        if (change.site, change.table) != (self.site, self.table):
            return False
        if self.kind == "any":
            return self.key in ((), change.key)
        if self.kind == "changed":
            if change.before is None or change.after is None or change.key != self.key:
                return False
            return {column: change.after[column] for column in change.columns} == self.columns
        row, other = (change.after, change.before) if self.kind == "added" else (change.before, change.after)
        return row is not None and other is None and all(_is(row.get(name), value) for name, value in self.columns.items())


def added(site: str, table: str, **columns: Any) -> Demand:
    """Demand a new row with these values."""
    return Demand(site, table, "added", columns)


def removed(site: str, table: str, **columns: Any) -> Demand:
    """Demand that the row with these values is gone."""
    return Demand(site, table, "removed", columns)


def changed(site: str, table: str, *key: Any, **columns: Any) -> Demand:
    """Demand new values in the row with this primary key."""
    return Demand(site, table, "changed", columns, key)


def consequence(site: str, table: str, *key: Any) -> Demand:
    """Allow any change of a table, or of one row of it, as what the site does by itself."""
    return Demand(site, table, "any", {}, key)


@dataclass
class Outcome:
    """The demands of a goal: an answer (None: none is asked for; a tuple: values in this order), and all changes.

    What the goal leaves open is `allowed`.

    `pages` are those on which the episode may end, by path and the parameters that matter; none: any.
    """

    answer: str | int | float | list[str] | tuple[int, ...] | None = None
    changes: list[Demand] = field(default_factory=list)
    allowed: list[Demand] = field(default_factory=list)
    pages: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


class Case(NamedTuple):
    """A goal with its slots, and the databases as the episode begins."""

    goal: str
    slots: Mapping[str, str]
    connect: Callable[[str], sqlite3.Connection]

    def __getitem__(self, slot: str) -> str:
        return self.slots[slot]

    def rows(self, site: str, query: str, *parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        cursor = self.connect(site).execute(query, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, site: str, query: str, *parameters: Any) -> dict[str, Any]:
        """Return the only row of a query. Raises UnclearError if there is not exactly one."""
        found = self.rows(site, query, *parameters)
        if len(found) != 1:
            raise UnclearError(f"{len(found)} rows; expected one: {query} {parameters}")
        return found[0]

    def values(self, site: str, query: str, *parameters: Any) -> list[Any]:
        """Return the first column of a query."""
        return [row[0] for row in self.connect(site).execute(query, parameters)]

    def value(self, site: str, query: str, *parameters: Any) -> Any:
        """Return the only value of a query. Raises UnclearError if there is not exactly one row."""
        (value,) = list(self.row(site, query, *parameters).values())[:1]
        return value

    @property
    def now(self) -> datetime:
        """The time of the world, which stands still."""
        return datetime.fromisoformat(self.value("homepage", "SELECT value FROM world WHERE key = 'now'"))

    @property
    def today(self) -> date:
        return self.now.date()


Oracle = Callable[[Case], Outcome]


@cache
def wordings() -> dict[str, list[str]]:
    """Return the wordings that were read, by template."""
    read: dict[str, list[str]] = json.loads(WORDINGS.read_text(encoding="utf-8"))
    return read


@cache
def _pattern(wording: str) -> re.Pattern[str]:
    parts, seen = [], set()
    for index, piece in enumerate(_SLOT.split(wording)):
        if index % 2 == 0:
            parts.append(re.escape(piece))
        elif piece in seen:
            parts.append(f"(?P={piece})")
        else:
            seen.add(piece)
            parts.append(f"(?P<{piece}>{_SHAPES.get(piece, '.+?')})")
    return re.compile("".join(parts), re.DOTALL)


def read_goal(template: str, goal: str) -> dict[str, str]:
    """Return the slots of a goal. Raises UnclearError if no wording fits, or if two fit with different slots."""
    matches = (_pattern(wording).fullmatch(goal) for wording in wordings().get(template, ()))
    readings = [match.groupdict() for match in matches if match]
    if not readings:
        raise UnclearError(f"no wording of {template} that was read fits: {goal!r}")
    if any(reading != readings[0] for reading in readings):
        raise UnclearError(f"the goal can be read in {len(readings)} ways: {readings}")
    return readings[0]


def _same_answer(expected: Any, task: Task) -> bool:
    references = list((task.eval.get("reference_answers") or {}).values())
    if expected is None or not references:
        return expected is None and not references
    (reference,) = references
    if isinstance(expected, tuple):
        return [str(value) for value in expected] == [piece.strip() for piece in str(reference).split(";")]
    if isinstance(expected, list):
        return sorted(map(str, expected)) == sorted(piece.strip() for piece in re.split("[;,]", str(reference)))
    if isinstance(expected, str):
        return expected in str(reference).split(" |OR| ") or (expected in ("yes", "no") and expected.capitalize() == reference)
    number = re.sub(r"[$,]", "", str(reference))
    return bool(re.fullmatch(r"-?\d+(\.\d+)?", number)) and abs(float(number) - expected) < 1e-9


def _unmatched(outcome: Outcome, changes: Sequence[Change]) -> Iterator[str]:
    left = [change for change in changes if not any(demand.fits(change) for demand in outcome.allowed)]
    for demand in sorted(outcome.changes, key=lambda demand: -len(demand.columns)):
        match = next((change for change in left if demand.fits(change)), None)
        if match is None:
            yield f"the oracle demands, and the solution does not: {demand}"
        else:
            left.remove(match)
    for change in left:
        yield f"the solution changes, and the oracle does not demand: {change.site}.{change.table} {change.key} {change.before} -> {change.after}"


def _play(env: WebArenaLite, task: Task) -> tuple[float, str]:
    """Play the reference solution and return the reward and the URL of the last page."""
    expert, done, reward, url = Expert(task), False, 0.0, ""
    while not done:
        url = env.page.url
        _, reward, terminated, truncated, _ = env.step(expert.reply(env.page, env.observation))
        done = terminated or truncated
    return float(reward), url


def _is_page(url: str, path: str, parameters: Mapping[str, str]) -> bool:
    parts = urlsplit(url)
    return unquote(parts.path) == path and dict(parse_qsl(parts.query)).items() >= parameters.items()


def disagreements(env: WebArenaLite, task: Task, oracle: Oracle) -> list[str]:
    """Return the points in which a task and its oracle disagree; none if they agree."""
    env.reset(options={"task": task})
    try:
        case = Case(task.intent, read_goal(task.template, task.intent), env.database)
        outcome = oracle(case)
    except UnclearError as error:
        return [f"unclear: {error}"]
    points = []
    if not _same_answer(outcome.answer, task):
        points.append(f"the oracle answers {outcome.answer!r}; expected by the task: {task.eval.get('reference_answers')}")
    if outcome.changes and "state" not in task.eval_types:
        points.append(f"the oracle demands {outcome.changes}; the task checks no state")
    if not (outcome.changes or outcome.pages or outcome.answer is not None):
        points.append("the oracle demands nothing")
    if task.eval_types == ("string_match",):
        return points
    reward, url = _play(env, task)
    if reward != 1.0:
        points.append("the reference solution is not rewarded")
    if outcome.pages and not any(_is_page(url, *page) for page in outcome.pages):
        points.append(f"the solution ends on {url}; expected one of {outcome.pages}")
    return points + list(_unmatched(outcome, env.changes()))


def only(items: Collection[Any], what: str = "") -> Any:
    """Return the only item. Raises UnclearError if there is not exactly one."""
    if len(items) != 1:
        raise UnclearError(f"{len(items)} of {what or 'what is asked for'}; expected one: {list(items)[:5]}")
    return next(iter(items))
