"""The task file of the package `webarena-verified`, translated into WebArena's own schema.

What earns the reward is not copied: it is looked up in the package by the task's number and revision (`evaluators.kinds.verified`).
"""

from typing import Any

from webarena_gym.errors import TaskError
from webarena_gym.evaluators.kinds.verified import judged_by_package

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
"""How such a task is answered; it is told behind the intent."""

_KEYS = {
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
    """Return whether a record is of this schema: only there a task has several start URLs."""
    return "start_urls" in record


def translate(record: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a task in WebArena's schema, with the way to answer in its intent. Raises TaskError for what is unknown."""
    for key in sorted(_KEYS ^ record.keys()):
        raise TaskError(
            f"{where}: the key {key!r} is {'missing' if key in _KEYS else 'unknown'}; expected {', '.join(sorted(_KEYS))}"
        )
    for key in ("task_id", "revision"):
        if type(record[key]) is not int:
            raise TaskError(f"{where}: {key} is {record[key]!r}; expected a whole number")
    if not _is_list_of(str, record["start_urls"]):
        raise TaskError(f"{where}: start_urls is {record['start_urls']!r}; expected a list of texts")
    if not isinstance(record["intent"], str):
        raise TaskError(f"{where}: intent is {record['intent']!r}; expected text")
    _check_eval(record["eval"], where)
    kept = ("sites", "task_id", "intent_template_id", "intent_template", "instantiation_dict")
    return {key: record[key] for key in kept} | {
        "start_url": " |AND| ".join(record["start_urls"]),
        "intent": f"{record['intent']}\n{ANSWER}",
        "eval": judged_by_package(record["task_id"], record["revision"]),
    }


def _check_eval(checks: Any, where: str) -> None:
    if not _is_list_of(dict, checks):
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


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, kind) for item in value)
