"""Tasks as data: what WebArena's task files hold, and, for our own, the world and the reference solution."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any

from webarena_gym.actions import DIALECTS, Action
from webarena_gym.errors import ActionError, TaskError
from webarena_gym.tasks.verified import is_verified, translate

SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia", "homepage")
EVAL_TYPES = ("string_match", "url_match", "program_html", "state", "verified")
_EVAL_KEYS = {
    "eval_types", "reference_answers", "reference_url", "program_html", "state", "verified",
    "string_note", "url_note", "reference_answer_raw_annotation", "annotation_note",
}  # fmt: skip
_NOTES = ("string_note", "annotation_note")  # belong into `eval`; one official task has its note beside it
_REQUIRED = ("task_id", "sites", "start_url", "intent", "eval")
_WEBRL = DIALECTS["webrl"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a reference solution: an action that names its element by label, and why it is taken."""

    action: Action
    thought: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the step as it stands in a task file."""
        return {"action": _WEBRL.format(self.action), "thought": self.thought}


@dataclass(frozen=True)
class Task:
    """One task. The fields from `sites` to `old_task_id` are WebArena's own; `eval` is read by `evaluators.evaluate`.

    `template`, `world_seed`, `solution` and `wrong_answers` are ours and empty in tasks of others: the template that the task
    was drawn from, the world that it was drawn in, a solution that earns the reward there, and answers of the right type that
    must not.
    """

    task_id: str
    sites: tuple[str, ...]
    start_url: str
    intent: str
    eval: Mapping[str, Any]
    intent_template: str = ""
    instantiation_dict: Mapping[str, Any] = field(default_factory=dict)
    intent_template_id: int = -1
    require_login: bool = True
    storage_state: str | None = None
    geolocation: Any = None
    require_reset: bool = False
    old_task_id: int | None = None
    template: str = ""
    world_seed: int | None = None
    solution: tuple[Step, ...] = ()
    wrong_answers: tuple[str, ...] = ()

    @property
    def eval_types(self) -> tuple[str, ...]:
        """The kinds of checks, in order."""
        return tuple(self.eval["eval_types"])

    @property
    def is_achievable(self) -> bool:
        """Whether the task can be done; the right answer to one that cannot is N/A."""
        answers = self.eval.get("reference_answers") or {}
        return not any(value in ("N/A", ["N/A"]) for value in answers.values())

    def to_json(self) -> dict[str, Any]:
        """Return the task in WebArena's schema, with our own keys behind it."""
        record = {item.name: getattr(self, item.name) for item in fields(self)}
        record |= {"sites": list(self.sites), "solution": [step.to_json() for step in self.solution]}
        record["wrong_answers"] = list(self.wrong_answers)
        return record


_KEYS = tuple(item.name for item in fields(Task))


def parse_task(record: Any, where: str = "task") -> Task:
    """Read one task of WebArena's schema, or of webarena-verified's. Raises TaskError that names file, task and key at fault."""
    if not isinstance(record, dict):
        raise TaskError(f"{where}: a task is a JSON object, got {type(record).__name__}")
    where = f"{where}, task {record.get('task_id', '?')}"
    if is_verified(record):
        record = translate(record, where)
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        raise TaskError(f"{where}: the key {missing[0]!r} is missing")
    unknown = [key for key in record if key not in _KEYS and key not in _NOTES]
    if unknown:
        raise TaskError(f"{where}: unknown key {unknown[0]!r}; expected some of {', '.join(_KEYS)}")
    sites = record["sites"]
    if not isinstance(sites, list) or not sites or any(site not in SITES for site in sites):
        raise TaskError(f"{where}: sites is {sites!r}; expected a list of some of {', '.join(SITES)}")
    for key in ("intent", "start_url"):
        if not isinstance(record[key], str):
            raise TaskError(f"{where}: {key} is {record[key]!r}; expected text")
    seed = record.get("world_seed")
    if isinstance(seed, bool) or not isinstance(seed, int | None):
        raise TaskError(f"{where}: world_seed is {seed!r}; expected a whole number")
    _check_eval(record["eval"], where)
    values = {key: value for key, value in record.items() if key not in _NOTES}
    values["eval"] = {key: record[key] for key in _NOTES if key in record} | record["eval"]
    values["task_id"] = str(record["task_id"])
    values["sites"] = tuple(sites)
    values["solution"] = tuple(_parse_step(step, where) for step in record.get("solution", ()))
    values["wrong_answers"] = tuple(record.get("wrong_answers", ()))
    return Task(**values)


def _check_eval(block: Any, where: str) -> None:
    if not isinstance(block, dict) or not isinstance(block.get("eval_types"), list) or not block["eval_types"]:
        raise TaskError(f"{where}: eval is {block!r}; expected an object with a list eval_types")
    for key in block:
        if key not in _EVAL_KEYS:
            raise TaskError(f"{where}: unknown key {key!r} in eval; expected some of {', '.join(sorted(_EVAL_KEYS))}")
    needed: dict[str, tuple[str, type | UnionType]] = {
        "string_match": ("reference_answers", dict),
        "url_match": ("reference_url", str),
        "program_html": ("program_html", list),
        "state": ("state", list),
        "verified": ("verified", list | dict),
    }
    for kind in block["eval_types"]:
        if kind not in EVAL_TYPES:
            raise TaskError(f"{where}: unknown eval type {kind!r}; expected some of {', '.join(EVAL_TYPES)}")
        key, expected = needed[kind]
        if not block.get(key):
            raise TaskError(f"{where}: eval has {kind} but no {key}")
        if not isinstance(block[key], expected):
            raise TaskError(f"{where}: {key} of eval is {block[key]!r}; expected a {getattr(expected, '__name__', expected)}")


def _parse_step(record: Any, where: str) -> Step:
    try:
        return Step(_WEBRL.parse(record["action"]), record.get("thought", ""))
    except (ActionError, KeyError, TypeError) as error:
        raise TaskError(f"{where}: the step {record!r} of the solution cannot be read: {error}") from error


def read_tasks(path: str | Path) -> tuple[Task, ...]:
    """Read a task file: a JSON list of tasks, as WebArena's are. Raises TaskError."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"cannot read the task file {path}: {error}") from error
    except json.JSONDecodeError as error:
        raise TaskError(f"the task file {path} is no JSON: {error}") from error
    records = content.get("tasks") if isinstance(content, dict) else content
    if not isinstance(records, list) or not records:
        raise TaskError(f"the task file {path} must hold a list of tasks")
    tasks = tuple(parse_task(record, str(path)) for record in records)
    _check_unique(tasks, str(path))
    return tasks


def _check_unique(tasks: Iterable[Task], where: str) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.task_id in seen:
            raise TaskError(f"{where}: the task id {task.task_id!r} occurs twice")
        seen.add(task.task_id)
