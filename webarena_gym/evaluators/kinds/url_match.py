"""The eval kind `url_match`: the episode must end at one of the reference addresses."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.addresses import agree, shows
from webarena_gym.evaluators.kind import EvalKind
from webarena_gym.evaluators.outcome import OR, Check, Judge, Outcome, Verdict


def at_url(url: str) -> dict[str, Any]:
    """The episode must end at that place, such as `__SHOPPING__/wishlist/`."""
    return {"eval_types": ["url_match"], "reference_url": url}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the native rules: the page that one of the references leads to (see `addresses`)."""
    reference = evaluation.get("reference_url") or ""
    if not reference:
        raise EvaluationError("url_match without reference_url")
    choices = reference.split(OR)

    def check(_: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
        url = outcome.final.page.url
        if outcome.pages_say_places:
            passed = any(shows(choice, outcome.final.page, outcome.open_page) for choice in choices)
        else:
            passed = any(agree(choice, url) for choice in choices)
        return [Verdict("url_match", passed, "", "same place", choices, url)]

    return [check]


KIND = EvalKind(
    name="url_match",
    key="reference_url",
    keys={"reference_url": (str, NoneType), "url_note": (str, NoneType)},
    readers={"native": _read, **official.readers(official.place_checks)},
    looks_at="place",
)
