"""The eval kind `string_match`: the answer must agree with references."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from webarena_gym.answers import read_form
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.kind import EvalKind
from webarena_gym.evaluators.outcome import Check, Judge, Outcome, Verdict
from webarena_gym.evaluators.references import compare_text, read_references


def answer(**references: Any) -> dict[str, Any]:
    """The answer must agree: `exact_match`, `must_include`, `must_exclude` or `fuzzy_match` (by type), each text or a list."""
    return {"eval_types": ["string_match"], "reference_answers": references}


def told(block: dict[str, Any], **asked: Any) -> dict[str, Any]:
    """Add to a check of the answer what the task tells about it: `about`, `ordered`, `labels`, `yes`, `no`, `unit` (`answers.Form`)."""
    return block | {"asked": asked}


def not_achievable() -> dict[str, Any]:
    """The right answer is N/A."""
    return answer(fuzzy_match="N/A")


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the native rules; the key `asked` says what the task tells about the answer (see `answers.Form`)."""
    references = evaluation.get("reference_answers") or {}
    if not references:
        raise EvaluationError("string_match without reference_answers")
    wanted = read_references(references, "string_match")
    try:
        asked = read_form(evaluation.get("asked") or {})
    except ValueError as error:
        raise EvaluationError(f"asked of string_match: {error}") from error

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for approach, values in wanted.items():
            verdicts += compare_text(approach, values, outcome.answer, intent, judge, "string_match", asked)
        if list(wanted) == ["must_exclude"] and not outcome.answer.strip():
            verdicts.append(Verdict("string_match/answered", False, "an empty answer excludes everything", "whole words"))
        return verdicts

    return [check]


def _validate(evaluation: Mapping[str, Any]) -> None:
    try:
        read_form(evaluation.get("asked", {}))
    except ValueError as error:
        raise ValueError(f"asked of eval: {error}") from error


KIND = EvalKind(
    name="string_match",
    key="reference_answers",
    keys={
        "reference_answers": (dict, NoneType),
        "reference_answer_raw_annotation": (),
        "string_note": (str, NoneType),
        "asked": (),
    },
    readers={"native": _read, **official.readers(official.answer_checks)},
    looks_at="answer",
    validate=_validate,
)
