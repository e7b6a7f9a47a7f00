"""The eval kind `verified`: the package `webarena-verified` judges its own task by a structured answer and the record of the traffic.

A task is the package's own, by its number, and must be of the revision that the package has. An evaluator that fails raises
EvaluationError. One case is not the evaluator's fault: the package also stumbles over answers that cannot be right, such as a
status that is no text, or data where it expects none. If it judges the same episode without an answer, the answer was wrong.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from types import NoneType
from typing import Any
from urllib.parse import urljoin

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Outcome, Verdict, check_parts
from webarena_gym.pages.page import Exchange, Traffic

NAME = "webarena-verified"
_SHOWN = 600  # characters of what a verdict tells of each side
_ERROR = "error"


def judged_by_package(task_id: int, revision: int) -> dict[str, Any]:
    """The package must find the task of that number done; it must have the same revision of the task."""
    return {"eval_types": ["verified"], "verified": {"task_id": task_id, "revision": revision}}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the rules `verified`. Raises EvaluationError for a task of another file or revision."""
    kinds = list(evaluation["eval_types"])
    if kinds != ["verified"]:
        raise EvaluationError(
            f"the rules 'verified' judge tasks of the file of {NAME}, not one with {', '.join(map(str, kinds))}"
        )
    part = evaluation.get("verified") or {}
    check_parts("verified", part, {"task_id": int, "revision": int}, optional="")
    number, revision = part["task_id"], part["revision"]
    try:
        known = _package(()).get_task(number).revision
    except ValueError as error:
        raise EvaluationError(f"{NAME} {version(NAME)} has no task {number}") from error
    if known != revision:
        raise EvaluationError(f"the file has revision {revision} of task {number}, {NAME} {version(NAME)} has revision {known}")
    return [lambda _, outcome, __: _judge(number, outcome)]


@cache
def _package(urls: tuple[tuple[str, str], ...]) -> Any:
    """Return the package's facade for servers by placeholder. Raises EvaluationError when it is not installed."""
    try:
        from webarena_verified import WebArenaVerified  # noqa: PLC0415 - heavy, and an optional extra
        from webarena_verified.types.config import WebArenaVerifiedConfig  # noqa: PLC0415
    except ImportError as error:
        raise EvaluationError(f"the rules 'verified' need {NAME}: pip install 'webarena-gym[verified]'") from error
    places = {placeholder: {"urls": [url]} for placeholder, url in urls}
    return WebArenaVerified(config=WebArenaVerifiedConfig.model_validate({"environments": places}))


def _judge(number: int, outcome: Outcome) -> list[Verdict]:
    package, trace = _package(tuple(outcome.urls.items())), har_entries(outcome.traffic)
    result = package.evaluate_task(task_id=number, agent_response=outcome.answer, network_trace=trace)
    if result.status == _ERROR:
        silent = package.evaluate_task(task_id=number, agent_response="", network_trace=trace)
        if silent.status == _ERROR or not result.evaluators_results:
            errors = [result.error_msg, *(each.error_msg for each in result.evaluators_results)]
            raise EvaluationError(f"{NAME} cannot judge task {number}: {'; '.join(filter(None, errors))}")
    return [_verdict(each) for each in result.evaluators_results]


def _verdict(result: Any) -> Verdict:
    said = result.model_copy(update={"actual_normalized": None}).model_dump(mode="json")  # which an answer may nest too deeply
    messages = [message for each in said["assertions"] or () for message in each["assertion_msgs"] or ()]
    problem = "; ".join([*messages, said["error_msg"] or ""]).strip("; ")
    reason = f"expected {str(said['expected'])[:_SHOWN]}, got {str(said['actual'])[:_SHOWN]}"
    told = f"{problem}: {reason}" if problem else reason
    return Verdict(f"verified/{result.evaluator_name}", result.score == 1.0, told, f"{NAME} {version(NAME)}")


def har_entries(traffic: Traffic | None) -> list[dict[str, Any]]:
    """Return a record as the entries of an HTTP archive (HAR 1.2), with what the package reads. Raises EvaluationError."""
    if traffic is None or not traffic.exchanges:
        raise EvaluationError("the rules 'verified' judge the traffic with the servers, but none was recorded")
    if not traffic.is_complete:
        raise EvaluationError("the traffic of the episode is too much to be recorded whole, so nothing can be said about it")
    return [_entry(exchange) for exchange in traffic.exchanges]


def _entry(exchange: Exchange) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": exchange.method,
        "url": exchange.url,
        "headers": [{"name": name, "value": value} for name, value in exchange.headers.items()],
    }
    if exchange.body:
        request["postData"] = {"mimeType": exchange.headers.get("content-type", ""), "text": _text(exchange.body)}
    headers = [(name.lower(), value) for name, value in exchange.response_headers]
    one = dict(headers)
    cookies = [value.partition(";")[0].partition("=") for name, value in headers if name == "set-cookie"]
    response = {
        "status": exchange.status,
        "headers": [{"name": name, "value": value} for name, value in headers],
        "cookies": [{"name": name.strip(), "value": value.strip()} for name, _, value in cookies],
        "redirectURL": urljoin(exchange.url, one["location"]) if one.get("location") else "",
        "content": {"mimeType": one.get("content-type", ""), "text": _text(exchange.response_body)},
    }
    return {"request": request, "response": response}


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


KIND = EvalKind(
    name="verified", key="verified", keys={"verified": (list, dict, NoneType)}, readers={"verified": _read}, looks_at="content"
)
