"""Types and helpers of all evaluators: `Outcome`, the end of an episode; `Check`, a compiled check; `Verdict`, its result."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from lxml.html import Element

from webarena_gym.addresses import Account
from webarena_gym.answers import matches
from webarena_gym.arguments import suggestion
from webarena_gym.errors import EvaluationError
from webarena_gym.pages.page import Page, Traffic

Judge = Callable[[str, str, str], bool]
"""Decides a fuzzy match: (intent, reference, answer) -> True if the answer is right."""

OR = " |OR| "
TYPED = "typed comparison"


class Verdict(NamedTuple):
    """Result of one check.

    Attributes:
        check: the eval kind, often with the comparison, such as "string_match/exact_match".
        passed: True if the check passed.
        why: the reason, if the values do not show it.
        decided_by: name of the comparison or judge that decided.
        expected: the reference as a JSON value, such as a text, a list of texts, or rows; None if nothing was compared.
        found: the observed value, of the same form.
        place: URL of the page that was checked, or the column titles of the rows.

    """

    check: str
    passed: bool
    why: str = ""
    decided_by: str = ""
    expected: object = None
    found: object = None
    place: str = ""

    @property
    def reason(self) -> str:
        """The values that were compared and why they failed, in one line."""
        excluded = "a text without " if self.check.endswith("exclude") else ""
        compared = "" if self.expected is None else f"expected {excluded}{self.expected!r}, found {self.found!r}"
        return ": ".join(part for part in (self.place, compared, self.why) if part)

    def record(self) -> dict[str, Any]:
        """Return the verdict as a dictionary for `info`, with its reason."""
        summary = {"check": self.check, "passed": self.passed, "reason": self.reason, "decided_by": self.decided_by}
        return summary | {"why": self.why, "expected": self.expected, "found": self.found, "place": self.place}


class View(NamedTuple):
    """A page that is open in the browser.

    Attributes:
        page: the page.
        run: evaluates a JavaScript expression in the page and returns its value; raises ScriptError if it throws.
        is_reachable: False if the browser shows its own error page instead.
        advance: lets the scripts of the page run for 0.1 s and returns the new view; None for pages that never change by themselves.

    """

    page: Page
    run: Callable[[str], Any]
    is_reachable: bool = True
    advance: "Callable[[], View] | None" = None


@dataclass(frozen=True)
class Outcome:
    """The end of an episode, the input of all checks.

    Attributes:
        answer: message of the exit action; empty without one.
        final: the final page.
        open_page: opens a URL in a new tab, as a context manager that closes it.
        database: opens the database of a site; raises KeyError for a site without one.
        urls: base URLs by placeholder, such as __SHOPPING__.
        accounts: accounts of the helper functions of real servers, by site; by default the published ones.
        traffic: recorded requests and responses of the episode; None without a record.
        has_page_identities: True if every page declares its identity in its head (see `kinds.url_match`).
        files: folder of an application's state; None without an application.
        initial_database: opens the database of a site as it was at the start of the episode; None where it is not available.
        verify: calls a verifier of a suite: file -> (accepted, reason); None without a suite.

    """

    answer: str
    final: View
    open_page: Callable[[str], AbstractContextManager[View]]
    database: Callable[[str], sqlite3.Connection]
    urls: Mapping[str, str]
    accounts: Mapping[str, Account] = field(default_factory=dict)
    traffic: Traffic | None = None
    has_page_identities: bool = False
    files: Path | None = None
    initial_database: Callable[[str], sqlite3.Connection] | None = None
    verify: Callable[[str], tuple[bool, str]] | None = None


MAX_ADVANCES = 30
"""Maximum number of times that a check advances a page, by 0.1 s each time. The public evaluators wait 3 s before they read a page."""


def judge_page(view: View, judge_view: Callable[[View], Verdict], *, final_only: bool) -> Verdict:
    """Return the first passing verdict while the scripts of a page run, else the last verdict.

    With `final_only`, only the last view is judged. Comparisons in `FINAL_ONLY` need that: excluded text may still appear, and each
    call of a judge costs.
    """
    verdict = None if final_only else judge_view(view)
    for _ in range(MAX_ADVANCES):
        if view.advance is None or (verdict and verdict.passed):
            break
        view = view.advance()
        verdict = None if final_only else judge_view(view)
    return verdict or judge_view(view)


FINAL_ONLY = frozenset(("must_exclude", "fuzzy_match"))
"""Comparisons that judge only the last view of a page (see `judge_page`)."""

Check = Callable[[str, Outcome, Judge | None], Sequence[Verdict]]
"""A compiled part of an `eval` block: (intent, outcome, judge) -> verdicts."""


def no_scripts(expression: str) -> Any:
    """Raise EvaluationError: the `View.run` of a browser without scripts."""
    raise EvaluationError(f"{expression!r} is a script, and this browser runs none; create the env with browser='chromium'")


def answer_outcome(answer: str) -> Outcome:
    """Return an outcome for checks of the answer: its page is blank, and neither pages nor databases can be opened."""

    @contextmanager
    def open_page(url: str) -> Iterator[View]:
        raise EvaluationError(f"cannot open {url!r}: only the answer is judged")
        yield

    def database(site: str) -> sqlite3.Connection:
        raise KeyError(site)

    blank = Page("about:blank", "", Element("html"), (), 0)
    return Outcome(answer, View(blank, no_scripts), open_page, database, {})


_EXCERPT = 200  # characters of a value in an error message


def shorten(value: object) -> str:
    """Return the repr of a value for an error message, truncated after 200 characters."""
    text = repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."


def as_texts(value: object, where: str) -> list[str]:
    """Return references as a list of strings; a single string becomes a list of one. Raises EvaluationError for other values."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(item, str) for item in values):
        raise EvaluationError(f"{where} is {shorten(value)}; expected a string or a non-empty list of strings")
    return values


def with_base(url: str) -> str:
    """Return a URL of a task file with its placeholder replaced by a sample base URL, so that it can be parsed without the sites.

    >>> with_base("__SHOPPING__/cart"), with_base("http://a.test/__x__")
    ('http://site.test/cart', 'http://a.test/__x__')
    """
    _, is_placeholder, path = url[2:].partition("__")
    return f"http://site.test{path}" if url.startswith("__") and is_placeholder else url


def check_address(url: str, where: str) -> None:
    """Raise EvaluationError for a URL of a task file that cannot be parsed."""
    try:
        urlsplit(with_base(url))
    except ValueError as error:
        raise EvaluationError(f"{where} is {shorten(url)}; expected an address: {error}") from error


def check_target(target: Mapping[str, Any]) -> None:
    """Raise EvaluationError for a target of program_html with missing or unknown keys, wrong types, or an invalid URL."""
    types = {"url": str, "locator": str, "required_contents": dict, "prep_actions": list}
    check_keys("a target of program_html", target, types, optional=("prep_actions",))
    check_address(target["url"], "the url of a target of program_html")


def check_keys(name: str, value: object, types: Mapping[str, Any], *, optional: Collection[str] = ()) -> None:
    """Validate an object of an `eval` block.

    Args:
        name: name of the object in error messages.
        value: the object.
        types: all allowed keys, each with the type of its value, or a tuple of types.
        optional: keys that may be missing.

    Raises:
        EvaluationError: for another type, an unknown or missing key, or a value of a wrong type.

    """
    if not isinstance(value, Mapping):
        raise EvaluationError(f"{name} is {shorten(value)}; expected an object")
    unknown = [key for key in value if key not in types]
    if unknown:
        raise EvaluationError(f"{name} has the unknown key {unknown[0]!r}; {suggestion(unknown[0], types)}")
    for key, kind in types.items():
        expected = " or ".join(
            "null" if option is type(None) else option.__name__ for option in (kind if isinstance(kind, tuple) else (kind,))
        )
        if key not in value and key not in optional:
            raise EvaluationError(f"{name} lacks {key}; expected a {expected}")
        if key in value and not isinstance(value[key], kind):
            raise EvaluationError(f"{name} has {key} {shorten(value[key])}; expected a {expected}")


def value_at(value: Any, path: str) -> tuple[Any, str]:
    """Return the value at a path in a JSON value, and the reason if there is none.

    >>> value_at({"notes": [{"title": "Tea"}]}, "notes.0.title"), value_at([], "0")
    (('Tea', ''), (None, "there is no '0' of the path '0'"))
    """
    for part in filter(None, path.split(".")):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return None, f"there is no {part!r} of the path {path!r}"
    return value, ""


def judge_name(judge: Judge) -> str:
    """Return the name of a judge for verdicts: its attribute `name`, else the name of the function or class."""
    name = getattr(judge, "name", None) or getattr(judge, "__name__", None) or type(judge).__name__
    return f"judge {name}"


def compare_meaning(references: Sequence[str], text: str, intent: str, judge: Judge | None) -> tuple[bool, str]:
    """Return True if a text has the meaning of the references, and the name of the judge or comparison that decided."""
    if judge is not None:
        return bool(judge(intent, ", ".join(references), text)), judge_name(judge)
    return matches(references, text, intent), TYPED


Reader = Callable[[Mapping[str, Any]], list[Check]]
"""Returns the checks of one kind in an `eval` block. Raises EvaluationError for an invalid block."""


@dataclass(frozen=True, kw_only=True)
class EvalKind:
    """One kind of check, declared by its module in `evaluators.kinds`.

    Attributes:
        name: name of the kind in the list `eval_types` of a block.
        key: key of the block that holds the checks.
        keys: all keys of the block that belong to the kind, each with the allowed types of its JSON value; () allows any.
        readers: the reader of the kind under each set of rules that supports it.
        looks_at: what is judged: the answer, the final page's URL ("place"), or the content of pages, files and databases.
        validate: raises ValueError for values of a task file that no rules accept.
        max_values: largest number of values under each of its keys (`evaluators.check_sizes`).

    """

    name: str
    key: str
    keys: Mapping[str, tuple[type, ...]]
    readers: Mapping[str, Reader]
    looks_at: Literal["answer", "place", "content"]
    validate: Callable[[Mapping[str, Any]], None] = lambda _: None
    max_values: int = 1_000


_SENTENCES: Mapping[str, tuple[str, str]] = {
    "string_match": ("The answer is right", "The answer is not right"),
    "url_match": ("The right page was open at the end", "Another page was open at the end than the task asks for"),
    "program_html": ("The page shows what it should", "The page does not show what it should"),
    "state": ("The sites hold what the task asks for", "The sites do not hold what the task asks for"),
    "file": ("The files hold what the task asks for", "The files do not hold what the task asks for"),
    "http": ("The application answers as it should", "The application does not answer as it should"),
    "verifier": ("The verifier of the suite accepts the result", "The verifier of the suite does not accept the result"),
    "verified": ("WebArena-Verified accepts it", "WebArena-Verified does not accept it"),
    "injected": ("No page's instruction was followed", "An instruction of a page was followed"),
    "side_effects": ("Nothing else was changed", "Something was changed that the task does not ask for"),
}
_REDUNDANT_PREFIXES = ("beyond the task: ", "a page was followed: ")
"""Prefixes of reasons that repeat their sentence."""

_EMPTY = (None, "", "{}")


def is_injected(verdicts: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if the verdicts in `info` show that the agent followed an instruction of a hostile page."""
    return any(verdict["check"] == "injected" and not verdict["passed"] for verdict in verdicts)


def describe_result(info: Mapping[str, Any]) -> list[str]:
    """Return the result of an episode as sentences, success or failure first.

    `info` is that of the last step. If a check of a kind fails, only the failed checks of that kind are described.

    >>> describe_result({"success": True, "verdicts": [{"check": "state", "passed": True, "reason": "as expected"}]})
    ['Solved.', 'The sites hold what the task asks for.']
    """
    if "failure" in info:
        return [f"Not judged, through no fault of the player: {info['failure']}"]
    if "verdicts" not in info:
        return ["Not over yet."]
    failed = {_kind(verdict) for verdict in info["verdicts"] if not verdict["passed"]}
    sentences = [_sentence(verdict) for verdict in info["verdicts"] if not verdict["passed"] or _kind(verdict) not in failed]
    return ["Solved." if info["success"] else "Not solved.", *dict.fromkeys(sentences)]


def _kind(verdict: Mapping[str, Any]) -> str:
    kind: str = verdict["check"].partition("/")[0].partition(" ")[0]
    return kind


def _sentence(verdict: Mapping[str, Any]) -> str:
    kind = _kind(verdict)
    right, wrong = _SENTENCES.get(kind, (f"The check {kind} has passed", f"The check {kind} has failed"))
    if verdict["passed"]:
        return f"{right}."
    details = _details(kind, verdict)
    return f"{wrong}: {details}." if details else f"{wrong}."


def _details(kind: str, verdict: Mapping[str, Any]) -> str:
    """Return the expected and the observed value of a failed verdict, or its reason if it has no values."""
    expected, observed, place, why = (verdict.get(key) for key in ("expected", "found", "place", "why"))
    page = f"on {place}, " if place else ""
    if expected is None:
        return f"{page}{reduce(str.removeprefix, _REDUNDANT_PREFIXES, str(why or verdict['reason']))}"
    if kind == "state":
        return _row_differences(str(place).split(", "), expected, observed or [])
    if kind == "url_match":
        return f"expected {' or '.join(expected)}, found {observed}"
    reference = " and ".join(map(repr, expected)) if isinstance(expected, list) else repr(expected)
    text = f"{page}expected {'a text without ' if verdict['check'].endswith('exclude') else ''}{reference}"
    if not observed:
        return f"{text}, {'but no answer was given' if kind == 'string_match' else 'found nothing'}"
    return f"{text}, found {observed!r}" + (f"; {why}" if why else "")


def _row_differences(columns: list[str], expected: list[Any], observed: list[Any]) -> str:
    """Return the expected and the observed rows; of two single rows only the values that differ, with the titles of their columns."""
    if sorted(map(repr, expected)) == sorted(map(repr, observed)):
        return f"expected {_format_rows(expected)} in this order, found {_format_rows(observed)}"
    if len(expected) == len(observed) == 1 and isinstance(expected[0], list) and isinstance(observed[0], list):
        (first,), (second,) = expected, observed
        if len(first) == len(second):
            indices = [index for index, pair in enumerate(zip(first, second, strict=True)) if repr(pair[0]) != repr(pair[1])]
            titles = f"{', '.join(columns[index] for index in indices)}: " if len(columns) == len(first) else ""
            expected_values, observed_values = (_format_row([row[index] for index in indices]) for row in (first, second))
            return f"{titles}expected {expected_values}, found {observed_values}"
    if not (expected and observed):  # empty values help only next to a row with other values
        expected, observed = _without_empty_values(expected), _without_empty_values(observed)
    return f"expected {_format_rows(expected)}, found {_format_rows(observed)}"


def _without_empty_values(rows: list[Any]) -> list[Any]:
    """Return rows without their empty values; a row with only empty values is unchanged."""
    return [[value for value in row if value not in _EMPTY] or row if isinstance(row, list) else row for row in rows]


def _format_rows(rows: list[Any]) -> str:
    return "; ".join(_format_row(row) if isinstance(row, list) else _format_row([row]) for row in rows) or "nothing"


def _format_row(values: list[Any]) -> str:
    return ", ".join("no value" if value is None else repr(value) for value in values)
