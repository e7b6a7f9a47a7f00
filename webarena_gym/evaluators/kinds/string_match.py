"""The eval kind `string_match`: the answer must agree with references."""

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any

from webarena_gym.answers import OR, Form, compare, is_not_available, read_form
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.outcome import TYPED, Check, EvalKind, Judge, Outcome, Verdict, as_texts, judge_name

_BEFORE = re.compile(r"(?<!\w)(?!(?<=\d[.,])\d)(?!(?<=\s-)[\d$])")  # neither inside of a word or number nor behind a minus
_AFTER = re.compile(r"(?!\w|[.,]\d)")
_APPROACHES = ("exact_match", "must_include", "must_exclude", "fuzzy_match")


def read_references(references: Mapping[str, Any], where: str) -> dict[str, list[str]]:
    """Return the references of each comparison as lists of texts. Raises EvaluationError for an unknown comparison."""
    for approach in references:
        if approach not in _APPROACHES:
            raise EvaluationError(f"{where} has no comparison {approach!r}; expected one of {', '.join(_APPROACHES)}")
    return {approach: as_texts(values, f"{approach} of {where}") for approach, values in references.items()}


def compare_text(
    approach: str, references: list[str], text: str, intent: str, judge: Judge | None, check: str, asked: Form | None = None
) -> list[Verdict]:
    """Return a verdict on a text for each reference of one comparison; by type, a list of references is compared as one list."""
    if approach == "fuzzy_match" and judge is None and len(references) > 1:
        result = compare(references, text, intent, asked)
        return [Verdict(f"{check}/{approach}", result.is_right, result.why, TYPED, references, text[:200])]
    verdicts, cleaned = [], _clean(text)
    for reference in references:
        by, why = "whole words", ""
        match approach:
            case "exact_match":
                passed, by = any(_clean(choice) == cleaned for choice in reference.split(OR)), "equal text"
            case "must_include":
                passed = _contains(reference, cleaned)
            case "must_exclude":
                passed = not _contains(reference, cleaned)
                why = "" if passed else f"{reference!r} must not be there"
            case _ if judge is not None and not is_not_available(reference):
                passed, by = judge(intent, reference, text), judge_name(judge)
            case _:
                (passed, why), by = compare(reference, text, intent, asked), TYPED
        verdicts.append(Verdict(f"{check}/{approach}", passed, why, by, reference, text[:200]))
    return verdicts


def _clean(text: str) -> str:
    text = " ".join(text.split())
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text.strip().lower()


def _contains(reference: str, cleaned: str) -> bool:
    """Return True if a clean text has the reference as whole words, not inside of a longer word or number; " |OR| " separates choices."""
    haystack = f" {cleaned}"
    for choice in map(_clean, reference.split(OR)):
        start = haystack.find(choice)
        while start >= 0:
            if _BEFORE.match(haystack, start) and _AFTER.match(haystack, start + len(choice)):
                return True
            start = haystack.find(choice, start + 1)
    return False


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
