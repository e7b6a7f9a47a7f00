"""The eval kind `http`: what an address answers in JSON must hold a value at a path."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_address, check_parts


def answers_json(url: str, path: str, expected: Any) -> dict[str, Any]:
    """The JSON at a URL must hold `expected` at a path such as "items.0.title", asked for with the cookies of the episode."""
    return {"eval_types": ["http"], "http": [{"url": url, "path": path, "expected": expected}]}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    for check in evaluation.get("http") or ():
        check_parts("a check over HTTP", check, {"url": str, "path": str, "expected": object}, optional="path")
        check_address(check["url"], "the url of a check over HTTP")
    return [partial(_judge, check) for check in evaluation.get("http") or ()]


def _judge(check: Mapping[str, Any], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    with outcome.open_page(check["url"]) as view:
        text, reached = view.page.root.text_content().strip(), view.reached
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        if not reached:
            raise EvaluationError(f"{check['url']} cannot be reached") from None
        return [Verdict("http", False, "the answer is no JSON", "equal values", check["expected"], text[:200], check["url"])]
    why = ""
    for part in filter(None, check.get("path", "").split(".")):
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, ValueError, TypeError):
            found, why = None, f"there is no {part!r} on the way {check['path']!r}"
            break
    passed = not why and found == check["expected"]
    return [Verdict("http", passed, why, "equal values", check["expected"], found, check["url"])]


KIND = EvalKind(name="http", key="http", keys={"http": (list,)}, readers={"native": _read}, looks_at="content")
