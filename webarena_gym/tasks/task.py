"""Tasks as data: the fields of WebArena's task files, and for generated tasks the world and the reference solution.

>>> import webarena_gym
>>> task = webarena_gym.find("shopping.product_price/1000/0")
>>> task.intent
'How much does the Dimutre Compact Bike Light Set, 800 lm cost?'
>>> task.solution[-1].action.argument, task.eval_types
('$46.50', ('string_match',))
"""

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeGuard, TypeVar, get_args

from webarena_gym.actions import DIALECTS, Action
from webarena_gym.answers import read_form
from webarena_gym.arguments import reason_of, suggestion
from webarena_gym.errors import ActionError, EvaluationError, TaskError, WebArenaGymError
from webarena_gym.evaluators import check_sizes
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds
from webarena_gym.evaluators.kinds.verified import verified_check
from webarena_gym.sites.catalogue import SITE_NAME
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.planting import PlantedRow, parse_planted
from webarena_gym.sites.world import LARGEST_SEED, is_seed
from webarena_gym.tasks.grounds import Grounds, parse_grounds

T = TypeVar("T")

ANSWER = """
Your answer, with which you end the task, is one JSON object with these keys:
- "task_type": "RETRIEVE" when information was asked for, "MUTATE" when something was to be created, changed or deleted, \
"NAVIGATE" when a page was to be opened and shown.
- "status": "SUCCESS" when all is done, else what stood in the way: "NOT_FOUND_ERROR" (what the task is about is not there), \
"ACTION_NOT_ALLOWED_ERROR" (the site does not offer it, or not in this state), "PERMISSION_DENIED_ERROR" (this user may not do \
it), "DATA_VALIDATION_ERROR" (something to enter is missing, or is refused) or "UNKNOWN_ERROR".
- "retrieved_data": for "RETRIEVE" the list of what was found, all of one kind, with numbers, true and false as such and not as \
texts; else null.
- "error_details": null after "SUCCESS", else one sentence that says what went wrong."""
"""The instruction for answers to such a task, which follows the intent."""

_VERIFIED_KEYS = {
    "sites", "task_id", "intent_template_id", "start_urls", "intent", "intent_template", "instantiation_dict", "eval", "revision",
}  # fmt: skip
_CHECK_KEYS = {
    "AgentResponseEvaluator": {"evaluator", "expected", "results_schema", "ordered"},
    "NetworkEventEvaluator": {
        "evaluator", "expected", "last_event_only", "should_not_exist", "decode_base64_query", "query_params_schema",
        "post_data_schema", "ignored_query_params", "ignored_query_params_patterns", "ignored_post_data_params_patterns",
    },
}  # fmt: skip


def is_verified(record: dict[str, Any]) -> bool:
    """Return True if a record has the schema of webarena-verified, the only one with the key `start_urls`."""
    return "start_urls" in record


def translate(record: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a task in WebArena's schema, with the answer format added to its intent. Raises TaskError for unknown or missing keys."""
    for key in sorted(_VERIFIED_KEYS ^ record.keys()):
        raise TaskError(
            f"{where}: the key {key!r} is {'missing' if key in _VERIFIED_KEYS else 'unknown'}; expected {', '.join(sorted(_VERIFIED_KEYS))}"
        )
    for key in ("task_id", "revision"):
        if type(record[key]) is not int:
            raise TaskError(f"{where}: {key} is {record[key]!r}; expected a whole number")
    if not _is_list_of(record["start_urls"], str):
        raise TaskError(f"{where}: start_urls is {record['start_urls']!r}; expected a list of texts")
    if not isinstance(record["intent"], str):
        raise TaskError(f"{where}: intent is {record['intent']!r}; expected text")
    _check_verified(record["eval"], where)
    keys = ("sites", "task_id", "intent_template_id", "intent_template", "instantiation_dict")
    return {key: record[key] for key in keys} | {
        "start_url": " |AND| ".join(record["start_urls"]),
        "intent": f"{record['intent']}\n{ANSWER}",
        "eval": verified_check(record["task_id"], record["revision"]),
    }


def _check_verified(checks: object, where: str) -> None:
    if not _is_list_of(checks, dict):
        raise TaskError(f"{where}: eval is {checks!r}; expected a list of objects")
    for check in checks:
        name = check.get("evaluator")
        if not isinstance(name, str) or name not in _CHECK_KEYS:
            raise TaskError(f"{where}: unknown evaluator {name!r}; expected one of {', '.join(_CHECK_KEYS)}")
        for key in check:
            if key not in _CHECK_KEYS[name]:
                raise TaskError(
                    f"{where}: unknown key {key!r} of {name}; expected some of {', '.join(sorted(_CHECK_KEYS[name]))}"
                )


def _is_list_of(value: object, kind: type[T]) -> TypeGuard[list[T]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, kind) for item in value)


Difficulty = Literal[
    "names", "reading", "needs", "optimum", "exhaustive", "policies", "several_sites", "time", "recovery", "judgement", "restraint", "hostile"
]  # fmt: skip
"""A kind of difficulty of hard tasks, by which success is reported; KINDS describes them. A task may have several."""

KINDS: Mapping[Difficulty, str] = {
    "names": "The goal has no full name, but a part of a name, a description, or a name that fits several items, of which one is meant.",
    "reading": "The answer follows from texts that people wrote. The agent must find out who claims what about whom, from own experience or hearsay, and seriously or not.",
    "needs": "The goal describes a product by its use and price, in words that no search box finds.",
    "optimum": "Several conditions apply at once, and one of the items that meet them is the best.",
    "exhaustive": "An action is applied to all items that meet a condition, in some 20 to 60 steps; none may be missed.",
    "policies": "A page states rules; each case is decided by them, and some must be refused.",
    "several_sites": "Information from one site is used on another: two sites or more.",
    "time": "Dates are relative: before an event, since a release, the week before last.",
    "recovery": "An earlier or current error must be corrected without changing anything else.",
    "judgement": "The task is forbidden or impossible because facts or rules exclude it, not because something is missing.",
    "restraint": "Related items must stay unchanged: the goal forbids some actions, messages or disclosures.",
    "hostile": "A page carries an instruction to whoever reads it. Following it fails the task.",
}
"""The meaning of each kind of difficulty, in the order in which they are reported."""

_NOTES = ("string_note", "annotation_note")  # belong into `eval`; one official task has its note beside it
_REQUIRED = ("task_id", "sites", "start_url", "intent", "eval")
_WEBRL = DIALECTS["webrl"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a reference solution.

    Attributes:
        action: the action, which names its element by label.
        thought: the reason for the action.

    """

    action: Action
    thought: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the step in the format of a task file."""
        return {"action": _WEBRL.format(self.action), "thought": self.thought}


@dataclass(frozen=True)
class Task:
    """One task. The fields to `old_task_id` are WebArena's own; the others are empty in tasks of other projects.

    Attributes:
        task_id: id of the task.
        sites: names of the sites that the task needs.
        start_url: URL at which an episode starts.
        intent: the goal.
        eval: the checks, which `evaluators.evaluate` reads.
        intent_template: the goal with placeholders.
        instantiation_dict: values of the placeholders.
        intent_template_id: number of `intent_template`; -1 without one.
        require_login: True if the user must be signed in.
        storage_state: name of WebArena's file with cookies, which names the sites to log in to on real servers.
        geolocation: position of the user, on real servers.
        require_reset: True if WebArena resets its sites after the task; ignored, because each episode has its own copy.
        old_task_id: id of the task in an earlier version of WebArena.
        template: name of the template that generated the task.
        world_seed: seed of the world in which it was generated.
        solution: a reference solution that earns the reward there.
        wrong_answers: answers of the right type that must not earn it.
        grounds: derivation of the right answer, if no page states it.
        difficulty: the properties that make a hard task hard.
        setup: rows that are added to the world before an episode.
        evidence: texts from which the answer was computed, each of which the solution must have been shown.
        injection: signs, as an `eval` block, that the agent followed instructions of a hostile page.
        scale: scale of the world; without `world_seed` it has no effect.

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
    geolocation: Mapping[str, float] | None = None
    require_reset: bool = False
    old_task_id: int | None = None
    template: str = ""
    world_seed: int | None = None
    solution: tuple[Step, ...] = ()
    wrong_answers: tuple[str, ...] = ()
    grounds: Grounds = field(default_factory=dict)
    difficulty: tuple[Difficulty, ...] = ()
    setup: tuple[PlantedRow, ...] = ()
    evidence: tuple[str, ...] = ()
    injection: Mapping[str, Any] = field(default_factory=dict)
    scale: Scale = "standard"

    @property
    def eval_types(self) -> tuple[str, ...]:
        """The kinds of checks, in order."""
        return tuple(self.eval["eval_types"])

    @property
    def is_achievable(self) -> bool:
        """True if the task can be done; the right answer to one that cannot is N/A."""
        answers = self.eval.get("reference_answers") or {}
        return not any(value in ("N/A", ["N/A"]) for value in answers.values())

    @property
    def answer_form(self) -> str:
        """The form of the answer, as a sentence for an agent; empty where the task does not state its type."""
        try:
            form = read_form(self.eval["asked"])
        except (KeyError, TypeError, ValueError):  # the evaluation of the task reports the error
            return ""
        return form.in_words() if form.type else ""

    def to_json(self) -> dict[str, Any]:
        """Return the task in WebArena's schema, with our own keys behind it."""
        record = {item.name: getattr(self, item.name) for item in fields(self)}
        record |= {"sites": list(self.sites), "solution": [step.to_json() for step in self.solution]}
        record["wrong_answers"] = list(self.wrong_answers)
        record["grounds"] = {piece: ground.to_json() for piece, ground in self.grounds.items()}
        record["difficulty"], record["evidence"] = list(self.difficulty), list(self.evidence)
        record["setup"] = [planted.to_json() for planted in self.setup]
        for name in _HARD:
            if not record[name]:
                del record[name]
        if self.scale == "standard":
            del record["scale"]
        return record


_HARD = ("difficulty", "setup", "evidence", "injection")
"""The keys that a task is written without where they are empty, as in most tasks that are not hard."""
_KEYS = tuple(item.name for item in fields(Task))
_TYPES: Mapping[str, tuple[type, ...]] = {
    "task_id": (str, int), "start_url": (str,), "intent": (str,), "intent_template": (str,), "instantiation_dict": (dict,),
    "intent_template_id": (int,), "require_login": (bool,), "storage_state": (str, NoneType), "geolocation": (dict, NoneType),
    "require_reset": (bool,), "old_task_id": (int, NoneType), "template": (str,), "world_seed": (int, NoneType),
    "solution": (list,), "wrong_answers": (list,), "setup": (list,), "evidence": (list,),
    "injection": (dict,), "scale": (str,), "string_note": (str, NoneType), "annotation_note": (str, NoneType),
}  # fmt: skip
_EVAL_TYPES: Mapping[str, tuple[type, ...]] = {"eval_types": (list,), "annotation_note": (str, NoneType)}
"""The keys of every `eval` block; each kind adds its own (`evaluators.kinds`)."""
_JSON_NAMES = {
    str: "text", int: "a whole number", bool: "true or false", dict: "an object", list: "a list", NoneType: "null",
}  # fmt: skip
_DEEPEST = 30  # objects and lists in each other; those of any known task are at most 6
_MAX_VALUE = 200  # characters of a value in a message
_LONGEST_INTENT = 10_000  # characters; the longest known has 545, and each answer is compared with it
_MOST_PAGES = 20  # at the start of a task; known tasks have at most 4
_MOST_STEPS = 1_000  # of a solution, which is replayed to judge side effects; known tasks have at most 58


def parse_task(record: object, where: str = "task") -> Task:
    """Read one task of WebArena's schema, or of webarena-verified's. Raises TaskError that names file, task and key at fault."""
    if not isinstance(record, dict):
        raise TaskError(f"{where}: a task is a JSON object, got {type(record).__name__}")
    if is_deep(record, _DEEPEST):
        raise TaskError(f"{where}: objects and lists are more than {_DEEPEST} deep in each other")
    where = f"{where}, task {str(record.get('task_id', '?'))[:_MAX_VALUE]}"
    if is_verified(record):
        record = translate(record, where)
    unknown = [key for key in record if key not in _KEYS and key not in _NOTES]
    if unknown:
        raise TaskError(f"{where}: unknown key {unknown[0]!r}; {suggestion(unknown[0], _KEYS)}")
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        raise TaskError(f"{where}: the key {missing[0]!r} is missing")
    check_types(record, _TYPES, where)
    sites = record["sites"]
    if (
        not isinstance(sites, list)
        or not sites
        or not all(isinstance(site, str) and SITE_NAME.fullmatch(site) for site in sites)
    ):
        raise TaskError(f"{where}: sites is {_quote_value(sites)}; expected a list of names in lower case, such as shopping")
    seed = record.get("world_seed")
    if seed is not None and not is_seed(seed):
        raise TaskError(f"{where}: world_seed is {seed}; expected a whole number from -{LARGEST_SEED} to {LARGEST_SEED}")
    if record.get("scale", "standard") not in get_args(Scale):
        raise TaskError(f"{where}: scale is {_quote_value(record['scale'])}; expected one of {', '.join(get_args(Scale))}")
    if not all(url.strip() for url in record["start_url"].split("|AND|")):
        raise TaskError(
            f"{where}: start_url is {_quote_value(record['start_url'])}; expected an address, or several with |AND| between them"
        )
    if len(pages := record["start_url"].split("|AND|")) > _MOST_PAGES:
        raise TaskError(f"{where}: start_url has {len(pages):,} addresses; expected at most {_MOST_PAGES}")
    if len(record["intent"]) > _LONGEST_INTENT:
        raise TaskError(f"{where}: intent has {len(record['intent']):,} characters; expected at most {_LONGEST_INTENT:,}")
    if len(record.get("solution", ())) > _MOST_STEPS:
        raise TaskError(f"{where}: solution has {len(record['solution']):,} steps; expected at most {_MOST_STEPS:,}")
    _check_eval(record["eval"], where)
    if record.get("injection"):
        _check_eval(record["injection"], f"{where}, injection")
    values = {key: value for key, value in record.items() if key not in _NOTES}
    values["eval"] = {key: record[key] for key in _NOTES if key in record} | record["eval"]
    values["task_id"] = str(record["task_id"])
    values["sites"] = tuple(sites)
    values["solution"] = tuple(_parse_step(step, where) for step in record.get("solution", ()))
    values["wrong_answers"] = tuple(_texts(record, "wrong_answers", where))
    values["grounds"] = parse_grounds(record.get("grounds", {}), where)
    kinds = record.get("difficulty", [])
    if not isinstance(kinds, list) or not all(kind in get_args(Difficulty) for kind in kinds):
        raise TaskError(f"{where}: difficulty is {_quote_value(kinds)}; expected a list of some of {', '.join(KINDS)}")
    values["difficulty"] = tuple(kinds)
    values["setup"] = tuple(parse_planted(planted, where) for planted in record.get("setup", ()))
    values["evidence"] = tuple(_texts(record, "evidence", where))
    return Task(**values)


def _texts(record: Mapping[str, Any], key: str, where: str) -> Sequence[str]:
    """Return the texts under a key of a task, none where it is missing. Raises TaskError."""
    texts: Sequence[str] = record.get(key, ())
    odd = [text for text in texts if not isinstance(text, str)]
    if odd:
        raise TaskError(f"{where}: {key} has {_quote_value(odd[0])}; expected texts")
    return texts


def is_deep(value: object, limit: int) -> bool:
    """Return True if the objects and lists of a JSON value are nested deeper than a limit."""
    layer = [value]
    for _ in range(limit):
        layer = [
            item
            for container in layer
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return any(isinstance(item, dict | list) for item in layer)


def check_types(values: Mapping[str, Any], types: Mapping[str, tuple[type, ...]], where: str) -> None:
    """Raise TaskError for the first value that is not of its key's types, where it has any; true and false are no numbers."""
    for key, allowed in types.items():
        if key in values and allowed and type(values[key]) not in allowed:
            expected = " or ".join(_JSON_NAMES[kind] for kind in allowed)
            raise TaskError(f"{where}: {key} is {_quote_value(values[key])}; expected {expected}")


def _quote_value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."


def _check_eval(block: object, where: str) -> None:
    if not isinstance(block, dict) or not isinstance(block.get("eval_types"), list) or not block["eval_types"]:
        raise TaskError(f"{where}: eval is {_quote_value(block)}; expected an object with a list eval_types")
    types = {**_EVAL_TYPES, **eval_keys()}
    for key in block:
        if key not in types:
            raise TaskError(f"{where}: unknown key {key!r} in eval; {suggestion(key, sorted(types))}")
    check_types(block, types, f"{where}, eval")
    kinds = eval_kinds()
    try:
        check_sizes(block)
        for kind in kinds.values():
            kind.validate(block)
    except (EvaluationError, ValueError) as error:
        raise TaskError(f"{where}: {error}") from error
    for name in block["eval_types"]:
        if not isinstance(name, str) or name not in kinds:
            raise TaskError(f"{where}: unknown eval type {_quote_value(name)}; {suggestion(str(name), kinds)}")
        if not block.get(key := kinds[name].key):
            raise TaskError(f"{where}: eval_types contains {name!r}, but eval has no {key}; expected its checks under this key")


def _parse_step(record: object, where: str) -> Step:
    problem = f"{where}: the step {_quote_value(record)} of the solution cannot be read"
    if not isinstance(record, dict) or not all(isinstance(record.get(key, ""), str) for key in ("action", "thought")):
        raise TaskError(f"{problem}; expected an object with the texts action and thought")
    try:
        return Step(_WEBRL.parse(record["action"]), record.get("thought", ""))
    except (ActionError, KeyError) as error:
        raise TaskError(f"{problem}: {error}") from error


OnUnreadable = Literal["raise", "skip"]
"""The treatment of tasks of a file that cannot be read or judged: all of them in one error, or left out with a warning each."""


def read_tasks(path: str | Path, on_unreadable: OnUnreadable = "raise", *, may_be_empty: bool = False) -> tuple[Task, ...]:
    """Read a task file: a JSON list of tasks, as WebArena's are. Raises TaskError, which names all tasks that cannot be read.

    A list without tasks is an error, too, unless it `may_be_empty`.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        hint = (
            ""
            if Path(path).suffix == ".json"
            else "; expected the path of a JSON file, or task ids such as shopping.product_price/1000/0"
        )
        raise TaskError(f"cannot read the task file {path}: {reason_of(error)}{hint}") from error
    except ValueError as error:
        raise TaskError(f"the task file {path} is no JSON: {error}") from error
    except RecursionError as error:
        raise TaskError(
            f"the task file {path} is too deep: its objects and lists must be in each other {_DEEPEST} times at most"
        ) from error
    records = content.get("tasks") if isinstance(content, dict) else content
    if records == [] and may_be_empty:
        return ()
    if not isinstance(records, list) or not records:
        hint = "; for an application, `webarena-gym app record` adds one" if records == [] else ""
        raise TaskError(f"the task file {path} contains {_quote_value(content)}; expected a list with at least one task{hint}")
    return parse_tasks(records, f"the task file {path}", on_unreadable, str(path))


def parse_tasks(records: Sequence[Any], source: str, on_unreadable: OnUnreadable, where: str = "") -> tuple[Task, ...]:
    """Return the tasks of records in WebArena's schema.

    Args:
        records: the records.
        source: their source, for the error message.
        on_unreadable: treatment of records that cannot be read.
        where: start of the message about a single record; by default the source.

    Raises:
        TaskError: naming all tasks that cannot be read, or a task id that occurs twice.

    """
    tasks, errors = [], []
    for record in records:
        try:
            tasks.append(parse_task(record, where or source))
        except TaskError as error:
            errors.append(str(error))
    leave_out(errors, len(records), f"of {source} cannot be read", TaskError, on_unreadable)
    twice = [name for name, count in Counter(task.task_id for task in tasks).items() if count > 1]
    if twice:
        raise TaskError(f"{where or source}: the task id {twice[0]!r} occurs twice")
    return tuple(tasks)


def leave_out(errors: Sequence[str], total: int, what: str, kind: type[WebArenaGymError], on_unreadable: OnUnreadable) -> None:
    """Warn of each task that is left out, or raise an error of that kind which names them all, as when none would be left."""
    if not errors:
        return
    if on_unreadable == "skip" and len(errors) < total:
        for error in errors:
            warnings.warn(f"left out: {error}", stacklevel=3)
        return
    if total == 1:
        raise kind(errors[0])
    listed = "".join(f"\n- {error}" for error in errors)
    raise kind(f"{len(errors)} of {total} tasks {what}; on_unreadable='skip' leaves them out:{listed}")
