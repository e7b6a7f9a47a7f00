"""Our own rules: answers by whole words or by type, exact places, and a query over the episode's own database.

string_match, url_match and program_html read what WebArena's task files hold, but firmer: a reference is found as whole words
and not inside of a longer word or number, and a page is what a person reads on it. Simple locators need no scripts.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from lxml.cssselect import CSSSelector, SelectorError
from lxml.etree import XPathError

from webarena_gym.answers import Asked, compare, is_not_available, read_asked
from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators.addresses import agree, shows
from webarena_gym.evaluators.interrupts import deferred
from webarena_gym.evaluators.outcome import (
    OR,
    TYPED,
    WAITING,
    Check,
    Judge,
    Outcome,
    Verdict,
    View,
    as_texts,
    check_parts,
    check_target,
    judge_name,
    look_at,
)
from webarena_gym.observation import field_value, visible_text

_DOCUMENT = re.compile(r"""document\.querySelector\((["'])(.+?)\1\)\.(outerText|innerText|textContent|value|checked)""")
_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
_FIELD_TAGS = ("input", "textarea")
_BEFORE = r"(?<!\w)(?!(?<=\d[.,])\d)(?!(?<=\s-)[\d$])"  # neither inside of a word or number nor behind a minus
_LONGEST_SELECTOR = 2_000  # characters
_APPROACHES = ("exact_match", "must_include", "must_exclude", "fuzzy_match")


def compile_checks(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the checks of an `eval` block, in order. Raises EvaluationError for what these rules do not know."""
    checks: list[Check] = []
    for kind in evaluation["eval_types"]:
        match kind:
            case "string_match":
                checks.append(_answer_check(evaluation.get("reference_answers") or {}, evaluation.get("asked") or {}))
            case "url_match":
                checks.append(_place_check(evaluation.get("reference_url") or ""))
            case "program_html":
                checks += [_content_check(target) for target in evaluation.get("program_html") or ()]
            case "state":
                checks += [_state_check(check) for check in evaluation.get("state") or ()]
            case _:
                raise EvaluationError(
                    f"there is no evaluator {kind!r}; expected string_match, url_match, program_html or state"
                )
    return checks


def _clean(text: str) -> str:
    text = " ".join(text.split())
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text.strip().lower()


def _contains(reference: str, text: str) -> bool:
    """Whether the text has the reference as whole words, not inside of a longer word or number; " |OR| " separates choices."""
    choices = (_clean(choice) for choice in reference.split(OR))
    haystack = " " + _clean(text)
    return any(re.search(rf"{_BEFORE}{re.escape(choice)}(?!\w|[.,]\d)", haystack) is not None for choice in choices)


def _check_approaches(references: Mapping[str, Any], where: str) -> dict[str, list[str]]:
    for approach in references:
        if approach not in _APPROACHES:
            raise EvaluationError(f"{where} has no comparison {approach!r}; expected one of {', '.join(_APPROACHES)}")
    return {approach: as_texts(values, f"{approach} of {where}") for approach, values in references.items()}


def _compare(
    approach: str, references: list[str], text: str, intent: str, judge: Judge | None, check: str, asked: Asked | None = None
) -> list[Verdict]:
    """The comparisons that answers and page contents share."""
    verdicts = []
    for reference in references:
        by, why = "whole words", ""
        match approach:
            case "exact_match":
                passed, by = any(_clean(choice) == _clean(text) for choice in reference.split(OR)), "equal text"
            case "must_include":
                passed = _contains(reference, text)
            case "must_exclude":
                passed = not _contains(reference, text)
            case _:
                passed, by, why = _fuzzy(reference, text, intent, judge, asked)
        verdicts.append(Verdict(f"{check}/{approach}", passed, f"{reference!r} against {text[:200]!r}{why}", by))
    return verdicts


def _fuzzy(reference: str, answer: str, intent: str, judge: Judge | None, asked: Asked | None) -> tuple[bool, str, str]:
    """Whether an answer means a reference, who decided, and which claim was read."""
    if judge is not None and not is_not_available(reference):
        return judge(intent, reference, answer), judge_name(judge), ""
    findings = [compare(choice, answer, intent, asked) for choice in reference.split(OR)]
    best = next((finding for finding in findings if finding.is_right), findings[0])
    return best.is_right, TYPED, f": {best.reason}"


def _answer_check(references: Mapping[str, Any], record: Any) -> Check:
    """The answer must agree with the references; `record` says what the task tells about it (see `answers.Asked`)."""
    if not references:
        raise EvaluationError("string_match without reference_answers")
    wanted = _check_approaches(references, "string_match")
    try:
        asked = read_asked(record)
    except ValueError as error:
        raise EvaluationError(f"asked of string_match: {error}") from error

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for approach, values in wanted.items():
            verdicts += _compare(approach, values, outcome.answer, intent, judge, "string_match", asked)
        if list(wanted) == ["must_exclude"] and not outcome.answer.strip():
            verdicts.append(Verdict("string_match/answered", False, "an empty answer excludes everything", "whole words"))
        return verdicts

    return check


def _place_check(reference: str) -> Check:
    """The same place as one of the references: the page that they lead to (see `addresses`)."""
    if not reference:
        raise EvaluationError("url_match without reference_url")
    choices = reference.split(OR)

    def check(_: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
        url = outcome.final.page.url
        if outcome.pages_say_places:
            passed = any(shows(choice, outcome.final.page, outcome.open_page) for choice in choices)
        else:
            passed = any(agree(choice, url) for choice in choices)
        return [Verdict("url_match", passed, f"{choices} against {url}", "same place")]

    return check


def _content_check(target: Mapping[str, Any]) -> Check:
    """One page, one place on it, and what it must hold."""
    check_target(target)
    if target.get("prep_actions"):
        raise EvaluationError("the native rules know no prep_actions; rules 'webarena', 'vab' and 'r1' do")
    url = target["url"]
    wanted = _check_approaches(target["required_contents"], f"program_html {url}")
    if not wanted:
        raise EvaluationError(f"program_html of {url} has no required_contents")
    locate = _locator(target["locator"])

    def look(view: View, intent: str, judge: Judge | None) -> Verdict:
        text, place = locate(view), view.page.url
        verdicts: list[Verdict] = []
        for approach, references in wanted.items():
            verdicts += _compare(approach, references, text, intent, judge, f"program_html {place}")
        failed = [verdict.reason for verdict in verdicts if not verdict.passed]
        by = ", ".join(dict.fromkeys(verdict.decided_by for verdict in verdicts))
        return Verdict("program_html", not failed, f"{place}: " + "; ".join(failed or [verdicts[0].reason]), by)

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        if url == "last":
            return [look(outcome.final, intent, judge)]
        with outcome.open_page(url) as view:
            if not view.reached:
                raise EvaluationError(f"{url} cannot be reached, so nothing can be said about what is there")
            return [look_at(view, lambda now: look(now, intent, judge), waits=not WAITING.isdisjoint(wanted))]

    return check


def _locator(locator: str) -> Callable[[View], str]:
    """Return what reads the text or value that a locator selects: all that a CSS selector finds, or the whole page without one.

    The common one-line scripts are read as selectors, of whose elements they take the first; others need a browser with scripts.
    """
    if not locator:
        return lambda view: visible_text(view.page.root)
    script = _DOCUMENT.fullmatch(locator.strip().rstrip(";"))
    if locator.startswith("func:"):
        raise EvaluationError(f"the locator {locator!r} is a call, which the native rules do not know; expected a CSS selector")
    if not script and "document." in locator:
        return lambda view: _ask(view, locator)
    css, attribute = (script.group(2), script.group(3)) if script else (locator, "")
    if len(css) > _LONGEST_SELECTOR:
        raise EvaluationError(f"the locator {css[:80]!r}... has {len(css)} characters; expected at most {_LONGEST_SELECTOR}")
    try:
        selector = CSSSelector(css, translator="html")
    except (SelectorError, ValueError, XPathError, RecursionError) as error:
        raise EvaluationError(f"the locator {css!r} is no CSS selector: {error}") from error

    def locate(view: View) -> str:
        try:
            found = selector(view.page.root)[: 1 if script else None]
        except XPathError as error:
            raise EvaluationError(f"the locator {css!r} cannot be looked for: {error}") from error
        if attribute == "checked":
            return " ".join(str("checked" in element.attrib).lower() for element in found)
        return " ".join(_content(element) for element in found)

    return locate


def _ask(view: View, script: str) -> str:
    """Return what a script says, and nothing where it throws, as on a page without what it looks for."""
    try:
        return str(view.run(script))
    except ScriptError as error:
        if "SyntaxError" in str(error):
            raise EvaluationError(f"the locator {script!r} is no script: {error}") from error
        return ""


def _content(element: Any) -> str:
    if element.tag in _FIELD_TAGS:
        return field_value(element)
    if element.tag == "select":
        return " ".join(visible_text(option) for option in element.iter("option") if "selected" in option.attrib)
    return visible_text(element)


MOST_STEPS = 50_000_000
"""Instructions of SQLite's machine that a query may take: some seconds, and a hundred times what any task of this package needs."""

_STEPS_AT_A_TIME = 100_000
_LONGEST_VALUE = 10_000_000  # bytes


def _reading_only(action: int, *_: Any) -> int:
    """Let SQLite read and nothing else, so that no task file can write, attach or export anything."""
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


@contextmanager
def _bounded(database: sqlite3.Connection) -> Iterator[None]:
    """Bound what queries do: they read, take a number of steps and not a time, and make no enormous values."""
    steps = count(_STEPS_AT_A_TIME, _STEPS_AT_A_TIME)
    longest = database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    database.set_authorizer(_reading_only)
    database.set_progress_handler(lambda: next(steps) > MOST_STEPS, _STEPS_AT_A_TIME)
    try:
        yield
    finally:
        database.set_progress_handler(None, 0)
        database.set_authorizer(None)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)


def _state_check(check: Any) -> Check:
    known = {"site": str, "query": str, "expected": list, "parameters": list}
    check_parts("a check of the state", check, known, optional="parameters")
    return partial(_state, check)


def _state(check: Mapping[str, Any], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    """A query over the episode's own database must return exactly the expected rows, in order."""
    query, expected = check["query"], check["expected"]
    try:
        database = outcome.database(check["site"])
    except KeyError as error:
        raise EvaluationError(f"the state of {check['site']!r} cannot be read here") from error
    try:
        with deferred(), _bounded(database):  # SQLite would take an interrupt in a callback for a fault of the query
            cursor = database.execute(query, check.get("parameters", []))
            found = [list(row) for row in cursor.fetchmany(len(expected) + 1)]
            cursor.close()
    except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
        limit = f" (it may take {MOST_STEPS:,} steps)" if str(error) == "interrupted" else ""
        raise EvaluationError(f"the query {query[:500]!r} failed: {error}{limit}") from error
    return [Verdict("state", found == expected, f"{found[:5]} against {expected[:5]}", "equal rows")]
