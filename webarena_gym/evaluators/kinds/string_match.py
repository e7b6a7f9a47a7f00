"""The eval kind `string_match`: the answer must agree with references."""

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any

from webarena_gym.answers import OR, Form, compare, is_not_available, read_form
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.outcome import TYPED, Check, EvalKind, Judge, Outcome, Verdict, as_texts, judge_name
from webarena_gym.texts import comparable

_BEFORE = re.compile(r"(?<!\w)(?!(?<=\d[.,])\d)(?!(?<=\s-)[\d$])")  # neither inside a word or number nor after a minus
_AFTER = re.compile(r"(?!\w|[.,]\d)")
_COMPARISONS = ("exact_match", "must_include", "must_exclude", "fuzzy_match")


def read_references(references: Mapping[str, Any], where: str) -> dict[str, list[str]]:
    """Return the references of each comparison as lists of strings. Raises EvaluationError for an unknown comparison."""
    for comparison in references:
        if comparison not in _COMPARISONS:
            raise EvaluationError(
                f"{where} has the unknown comparison {comparison!r}; expected one of {', '.join(_COMPARISONS)}"
            )
    return {comparison: as_texts(values, f"{comparison} of {where}") for comparison, values in references.items()}


def compare_text(
    comparison: str, references: list[str], text: str, intent: str, judge: Judge | None, check: str, form: Form | None = None
) -> list[Verdict]:
    """Return the verdicts of one comparison on a text, one for each reference.

    Without a judge, several references of fuzzy_match are compared as one list, with one verdict.

    Args:
        comparison: exact_match, must_include, must_exclude or fuzzy_match.
        references: the references.
        text: the answer, or a text of a page.
        intent: the goal of the task.
        judge: decides fuzzy_match; None compares by type.
        check: name of the check, for the verdicts.
        form: answer form that the task specifies, for comparisons by type.

    """
    if comparison == "fuzzy_match" and judge is None and len(references) > 1:
        result = compare(references, text, intent, form)
        return [Verdict(f"{check}/{comparison}", result.is_right, result.why, TYPED, references, text[:200])]
    verdicts, cleaned = [], _clean(text)
    for reference in references:
        decided_by, why = "whole words", ""
        match comparison:
            case "exact_match":
                passed, decided_by = any(_clean(choice) == cleaned for choice in reference.split(OR)), "equal text"
            case "must_include":
                passed = _contains(reference, cleaned)
            case "must_exclude":
                passed = not _contains(reference, cleaned)
                why = "" if passed else f"{reference!r} must not be there"
            case _ if judge is not None and not is_not_available(reference):
                passed, decided_by = judge(intent, reference, text), judge_name(judge)
            case _:
                (passed, why), decided_by = compare(reference, text, intent, form), TYPED
        verdicts.append(Verdict(f"{check}/{comparison}", passed, why, decided_by, reference, text[:200]))
    return verdicts


def _clean(text: str) -> str:
    text = " ".join(comparable(text).split())
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text.strip().lower()


def _contains(reference: str, cleaned: str) -> bool:
    """Return True if a clean text contains a choice of the reference as whole words, not inside a longer word or number."""
    haystack = f" {cleaned}"
    for choice in map(_clean, reference.split(OR)):
        start = haystack.find(choice)
        while start >= 0:
            if _BEFORE.match(haystack, start) and _AFTER.match(haystack, start + len(choice)):
                return True
            start = haystack.find(choice, start + 1)
    return False


def answer(**references: object) -> dict[str, Any]:
    """Require an answer: `exact_match`, `must_include`, `must_exclude` or `fuzzy_match` (by type), each with a string or a list."""
    return {"eval_types": ["string_match"], "reference_answers": references}


def with_form(block: dict[str, Any], **form: object) -> dict[str, Any]:
    """Add the answer form that the task specifies to a check: `about`, `ordered`, `labels`, `yes`, `no`, `unit` (`answers.Form`)."""
    return block | {"asked": form}


def not_achievable() -> dict[str, Any]:
    """Require the answer N/A."""
    return answer(fuzzy_match="N/A")


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the native rules. The key `asked` holds the answer form that the task specifies (see `answers.Form`)."""
    references = evaluation.get("reference_answers") or {}
    if not references:
        raise EvaluationError("string_match without reference_answers")
    comparisons = read_references(references, "string_match")
    try:
        form = read_form(evaluation.get("asked") or {})
    except ValueError as error:
        raise EvaluationError(f"asked of string_match: {error}") from error

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for comparison, values in comparisons.items():
            verdicts += compare_text(comparison, values, outcome.answer, intent, judge, "string_match", form)
        if list(comparisons) == ["must_exclude"] and not outcome.answer.strip():
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
