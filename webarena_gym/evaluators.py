"""Rule-based rewards: whether the answer, the final URL, the pages and the databases came out as the task wants.

The score is the product over all checks, 0 or 1, and every check leaves a `Verdict` that says why. The checks are those of
WebArena's task files (string_match, url_match, program_html) and one of ours (state: a query over the episode's own database).
Nothing of a task is executed but its SQL, which may only read. A check that cannot be made raises EvaluationError: a broken
evaluator must never look like a failed agent.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from lxml.cssselect import CSSSelector
from lxml.etree import XPathError

from webarena_gym.answers import is_not_available, matches
from webarena_gym.errors import EvaluationError
from webarena_gym.observation import field_value, visible_text
from webarena_gym.page import Page

Judge = Callable[[str, str, str], bool]
"""Decides a fuzzy match: (intent, reference, answer) -> whether the answer is right."""

OR = " |OR| "
_DOCUMENT = re.compile(r"""document\.querySelector\((["'])(.+?)\1\)\.(outerText|innerText|textContent|value|checked)""")
_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
_FIELD_TAGS = ("input", "textarea")


class Verdict(NamedTuple):
    """What one check found: its kind, whether it passed, and what was compared."""

    check: str
    passed: bool
    reason: str


@dataclass(frozen=True)
class Outcome:
    """How an episode ended.

    `answer` is the message of the exit, empty without one. `open_page` opens a URL in a tab of its own and returns what is
    there. `database` opens the database of a site, and raises KeyError for one that has none here. `urls` maps placeholders such as __SHOPPING__ to base URLs.
    """

    answer: str
    page: Page
    open_page: Callable[[str], Page]
    database: Callable[[str], sqlite3.Connection]
    urls: Mapping[str, str]


def evaluate(evaluation: Mapping[str, Any], intent: str, outcome: Outcome, judge: Judge | None = None) -> list[Verdict]:
    """Return the verdicts of a task's `eval` block; the reward is 1 when all have passed.

    `judge` decides fuzzy matches; without one they are compared by type (see `answers`). Raises EvaluationError.
    """
    verdicts: list[Verdict] = []
    for kind in evaluation["eval_types"]:
        match kind:
            case "string_match":
                verdicts += _string_match(evaluation["reference_answers"], intent, outcome.answer, judge)
            case "url_match":
                verdicts.append(_url_match(evaluation["reference_url"], outcome))
            case "program_html":
                verdicts += [_program_html(target, intent, outcome, judge) for target in evaluation["program_html"]]
            case "state":
                verdicts += [_state(check, outcome) for check in evaluation["state"]]
            case _:
                raise EvaluationError(
                    f"there is no evaluator {kind!r}; expected string_match, url_match, program_html or state"
                )
    if not verdicts:
        raise EvaluationError("the task has no checks, so nothing could earn its reward")
    return verdicts


def resolve(text: str, urls: Mapping[str, str]) -> str:
    """Put base URLs in the place of placeholders such as __SHOPPING__."""
    for placeholder, url in urls.items():
        text = text.replace(placeholder, url)
    return text


def _clean(text: str) -> str:
    text = " ".join(text.split())
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text.strip().lower()


def _contains(reference: str, text: str) -> bool:
    """Whether the text has the reference as whole words, not inside of a longer word or number; " |OR| " separates choices."""
    choices = (_clean(choice) for choice in reference.split(OR))
    haystack = _clean(text)
    return any(re.search(rf"(?<![\w]){re.escape(choice)}(?!\w|[.,]\d)", haystack) is not None for choice in choices)


def _as_list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _compare(approach: str, references: Any, text: str, intent: str, judge: Judge | None, check: str) -> list[Verdict]:
    """The comparisons that answers and page contents share."""
    verdicts = []
    for reference in _as_list(references):
        match approach:
            case "exact_match":
                passed = any(_clean(choice) == _clean(text) for choice in reference.split(OR))
            case "must_include":
                passed = _contains(reference, text)
            case "must_exclude":
                passed = not _contains(reference, text)
            case "fuzzy_match":
                passed = _fuzzy(reference, text, intent, judge)
            case _:
                raise EvaluationError(
                    f"{check} has no comparison {approach!r}; expected exact_match, must_include, must_exclude or fuzzy_match"
                )
        verdicts.append(Verdict(f"{check}/{approach}", passed, f"{reference!r} against {text[:200]!r}"))
    return verdicts


def _fuzzy(reference: str, answer: str, intent: str, judge: Judge | None) -> bool:
    if judge is None or is_not_available(reference):
        return any(matches(choice, answer) for choice in reference.split(OR))
    return judge(intent, reference, answer)


def _string_match(references: Mapping[str, Any], intent: str, answer: str, judge: Judge | None) -> list[Verdict]:
    if not references:
        raise EvaluationError("string_match without reference_answers")
    verdicts: list[Verdict] = []
    for approach, values in references.items():
        verdicts += _compare(approach, values, answer, intent, judge, "string_match")
    if "must_exclude" in references and len(references) == 1 and not answer.strip():
        verdicts.append(Verdict("string_match/answered", False, "an empty answer excludes everything"))
    return verdicts


def _url_match(reference: str, outcome: Outcome) -> Verdict:
    """The same place: host and path are equal but for a last slash, and each query value of the reference is there."""
    choices = [resolve(choice, outcome.urls) for choice in reference.split(OR)]
    if not reference:
        raise EvaluationError("url_match without reference_url")
    return Verdict(
        "url_match", any(_same_place(choice, outcome.page.url) for choice in choices), f"{choices} against {outcome.page.url}"
    )


def _same_place(reference: str, url: str) -> bool:
    wanted, given = urlsplit(reference), urlsplit(url)
    if (wanted.netloc, wanted.path.rstrip("/")) != (given.netloc, given.path.rstrip("/")):
        return False
    values = parse_qs(given.query, keep_blank_values=True)
    return all(
        any(option in values.get(key, []) for option in options)
        for key, options in parse_qs(wanted.query, keep_blank_values=True).items()
    )


def _program_html(target: Mapping[str, Any], intent: str, outcome: Outcome, judge: Judge | None) -> Verdict:
    """One page, one place on it, and what it must hold. The locator is a CSS selector, empty for the whole page."""
    url = target["url"]
    page = outcome.page if url == "last" else outcome.open_page(resolve(url, outcome.urls))
    text = _located(page, target["locator"])
    verdicts: list[Verdict] = []
    for approach, references in target["required_contents"].items():
        verdicts += _compare(approach, references, text, intent, judge, f"program_html {page.url}")
    if not verdicts:
        raise EvaluationError(f"program_html of {url} has no required_contents")
    failed = [verdict.reason for verdict in verdicts if not verdict.passed]
    return Verdict("program_html", not failed, f"{page.url}: " + "; ".join(failed or [verdicts[0].reason]))


def _located(page: Page, locator: str) -> str:
    """The text or value of all that the locator selects; the common one-line JavaScript locators are read as selectors."""
    attribute = ""
    script = _DOCUMENT.fullmatch(locator.strip().rstrip(";"))
    if script:
        locator, attribute = script.group(2), script.group(3)
    elif "document." in locator or locator.startswith("func:"):
        raise EvaluationError(
            f"the locator {locator!r} is a script, which only a browser with scripts can answer; expected a CSS selector"
        )
    if not locator:
        return visible_text(page.root)
    try:
        found = CSSSelector(locator, translator="html")(page.root)
    except (SyntaxError, XPathError) as error:
        raise EvaluationError(f"the locator {locator!r} is no CSS selector: {error}") from error
    if script:
        found = found[:1]
    if attribute == "checked":
        return " ".join(str("checked" in element.attrib).lower() for element in found)
    return " ".join(_content(element) for element in found)


def _content(element: Any) -> str:
    if element.tag in _FIELD_TAGS:
        return field_value(element)
    if element.tag == "select":
        return " ".join(visible_text(option) for option in element.iter("option") if "selected" in option.attrib)
    return visible_text(element)


def _reading_only(action: int, *_: Any) -> int:
    """Let SQLite read and nothing else, so that no task file can write, attach or export anything."""
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _state(check: Mapping[str, Any], outcome: Outcome) -> Verdict:
    """A query over the episode's own database must return exactly the expected rows, in order."""
    try:
        database = outcome.database(check["site"])
    except KeyError as error:
        raise EvaluationError(f"the state of {check['site']!r} cannot be read here") from error
    database.set_authorizer(_reading_only)
    try:
        rows: Sequence[Any] = database.execute(check["query"], check.get("parameters", [])).fetchall()
    except sqlite3.Error as error:
        raise EvaluationError(f"the query {check['query']!r} failed: {error}") from error
    finally:
        database.set_authorizer(None)
    found = [list(row) for row in rows]
    return Verdict("state", found == check["expected"], f"{found[:5]} against {check['expected'][:5]}")
