"""The eval kind `verified`: the package `webarena-verified` evaluates its own tasks by a structured answer and the HTTP traffic.

A task is identified by its number in the package, and must have the same revision. An error of the package's evaluator raises
EvaluationError, with one exception. The package also fails on certain wrong answers, such as a status that is not a string. If it
evaluates the same episode without an answer, the answer is wrong and the check fails.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from types import NoneType
from typing import Any
from urllib.parse import urljoin

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Outcome, Verdict, check_keys
from webarena_gym.pages.page import Exchange, Traffic

NAME = "webarena-verified"
_EXCERPT = 600  # characters of the expected and of the actual value in a verdict
_ERROR = "error"


def verified_check(task_id: int, revision: int) -> dict[str, Any]:
    """Require that the package evaluates its task with this number and revision as successful."""
    return {"eval_types": ["verified"], "verified": {"task_id": task_id, "revision": revision}}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the rules `verified`. Raises EvaluationError for a task of another suite or revision."""
    kinds = list(evaluation["eval_types"])
    if kinds != ["verified"]:
        raise EvaluationError(
            f"the rules 'verified' expect tasks of the file of {NAME}, with the eval type verified; got {', '.join(map(str, kinds))}"
        )
    part = evaluation.get("verified") or {}
    check_keys("verified", part, {"task_id": int, "revision": int})
    number, revision = part["task_id"], part["revision"]
    try:
        package_revision = _package(()).get_task(number).revision
    except ValueError as error:
        raise EvaluationError(f"{NAME} {version(NAME)} has no task {number}") from error
    if package_revision != revision:
        raise EvaluationError(
            f"the file has revision {revision} of task {number}, {NAME} {version(NAME)} has revision {package_revision}"
        )
    return [lambda _, outcome, __: _judge(number, outcome)]


@cache
def _package(urls: tuple[tuple[str, str], ...]) -> Any:
    """Return the package's facade, for pairs of placeholder and base URL. Raises EvaluationError if the package is not installed."""
    try:
        from webarena_verified import WebArenaVerified  # noqa: PLC0415 - heavy, and an optional extra
        from webarena_verified.types.config import WebArenaVerifiedConfig  # noqa: PLC0415
    except ImportError as error:
        raise EvaluationError(f"the rules 'verified' need {NAME}: pip install 'webarena-gym[verified]'") from error
    environments = {placeholder: {"urls": [url]} for placeholder, url in urls}
    return WebArenaVerified(config=WebArenaVerifiedConfig.model_validate({"environments": environments}))


def _judge(number: int, outcome: Outcome) -> list[Verdict]:
    package, trace = _package(tuple(outcome.urls.items())), har_entries(outcome.traffic)
    result = package.evaluate_task(task_id=number, agent_response=outcome.answer, network_trace=trace)
    if result.status == _ERROR:
        without_answer = package.evaluate_task(task_id=number, agent_response="", network_trace=trace)
        if without_answer.status == _ERROR or not result.evaluators_results:
            errors = [result.error_msg, *(evaluator.error_msg for evaluator in result.evaluators_results)]
            raise EvaluationError(f"{NAME} cannot evaluate task {number}: {'; '.join(filter(None, errors))}")
    return [_verdict(evaluator) for evaluator in result.evaluators_results]


def _verdict(result: Any) -> Verdict:
    # Without the normalized answer, which may be nested too deeply for pydantic.
    record = result.model_copy(update={"actual_normalized": None}).model_dump(mode="json")
    messages = [message for assertion in record["assertions"] or () for message in assertion["assertion_msgs"] or ()]
    problem = "; ".join([*messages, record["error_msg"] or ""]).strip("; ")
    values = f"expected {str(record['expected'])[:_EXCERPT]}, got {str(record['actual'])[:_EXCERPT]}"
    reason = f"{problem}: {values}" if problem else values
    return Verdict(f"verified/{result.evaluator_name}", result.score == 1.0, reason, f"{NAME} {version(NAME)}")


def har_entries(traffic: Traffic | None) -> list[dict[str, Any]]:
    """Return recorded traffic as entries of an HTTP archive (HAR 1.2), with the fields that the package uses.

    Raises EvaluationError for missing or truncated traffic.
    """
    if traffic is None or not traffic.exchanges:
        raise EvaluationError("the rules 'verified' need the traffic with the servers, but none was recorded")
    if not traffic.is_complete:
        raise EvaluationError("the recorded traffic of the episode is truncated, so the rules 'verified' cannot evaluate it")
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
    fields = dict(headers)
    cookies = [value.partition(";")[0].partition("=") for name, value in headers if name == "set-cookie"]
    response = {
        "status": exchange.status,
        "headers": [{"name": name, "value": value} for name, value in headers],
        "cookies": [{"name": name.strip(), "value": value.strip()} for name, _, value in cookies],
        "redirectURL": urljoin(exchange.url, fields["location"]) if fields.get("location") else "",
        "content": {"mimeType": fields.get("content-type", ""), "text": _text(exchange.response_body)},
    }
    return {"request": request, "response": response}


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


KIND = EvalKind(
    name="verified", key="verified", keys={"verified": (list, dict, NoneType)}, readers={"verified": _read}, looks_at="content"
)
