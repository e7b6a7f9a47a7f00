"""The eval kind `http`: the JSON response of a URL must contain a value at a path."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_address, check_keys, value_at


def answers_json(url: str, path: str, expected: object) -> dict[str, Any]:
    """Require that the JSON response of a URL, requested with the episode's cookies, has a value at a path such as "items.0.title"."""
    return {"eval_types": ["http"], "http": [{"url": url, "path": path, "expected": expected}]}


def _validate(evaluation: Mapping[str, Any]) -> None:
    for check in evaluation.get("http") or ():
        check_keys("a check over HTTP", check, {"url": str, "path": str, "expected": object}, optional=("path",))


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    _validate(evaluation)
    for check in evaluation.get("http") or ():
        check_address(check["url"], "the url of a check over HTTP")
    return [partial(_judge, check) for check in evaluation.get("http") or ()]


def _judge(check: Mapping[str, Any], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    with outcome.open_page(check["url"]) as view:
        text, is_reachable = view.page.root.text_content().strip(), view.is_reachable
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if not is_reachable:
            raise EvaluationError(f"the URL {check['url']} of a check cannot be reached") from None
        return [Verdict("http", False, "the response is not JSON", "equal values", check["expected"], text[:200], check["url"])]
    value, why = value_at(value, check.get("path", ""))
    passed = not why and value == check["expected"]
    return [Verdict("http", passed, why, "equal values", check["expected"], value, check["url"])]


KIND = EvalKind(
    name="http", key="http", keys={"http": (list,)}, readers={"native": _read}, looks_at="content", validate=_validate
)
