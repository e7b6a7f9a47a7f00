"""The types that all evaluators share: `Outcome`, what is judged; `Verdict`, the result of one check; `Check`, what judges."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from lxml.html import Element

from webarena_gym.answers import matches
from webarena_gym.errors import EvaluationError
from webarena_gym.pages.page import Page, Traffic
from webarena_gym.servers.logins import Account

Judge = Callable[[str, str, str], bool]
"""Decides a fuzzy match: (intent, reference, answer) -> whether the answer is right."""

OR = " |OR| "
TYPED = "typed comparison"


class Verdict(NamedTuple):
    """Data of what one check found: its kind, whether it passed, why not, which comparison or judge decided, and what was compared.

    `expected` and `found` are JSON values: texts, lists of texts, or rows; `expected` is None where nothing was compared. `place` is
    the address of the page that was looked at, or the titles of the columns of rows.
    """

    check: str
    passed: bool
    why: str = ""
    decided_by: str = ""
    expected: Any = None
    found: Any = None
    place: str = ""

    @property
    def reason(self) -> str:
        """The values that were compared and why they failed, in one line."""
        compared = "" if self.expected is None else f"{self.expected!r} against {self.found!r}"
        return ": ".join(part for part in (self.place, compared, self.why) if part)

    def record(self) -> dict[str, Any]:
        """Return the verdict as it stands in `info`, with its reason."""
        told = {"check": self.check, "passed": self.passed, "reason": self.reason, "decided_by": self.decided_by}
        return told | {"why": self.why, "expected": self.expected, "found": self.found, "place": self.place}


class View(NamedTuple):
    """A page that is open in the browser, and what asks it for more.

    `run` returns the value of a JavaScript expression in that page, and raises ScriptError when it throws. `reached` is False
    when there was nothing at the address but the browser's own word that it cannot be reached. `later` lets the page go on by
    itself for a moment of 0.1 s and returns it as it is then; None for pages that do nothing by themselves.
    """

    page: Page
    run: Callable[[str], Any]
    reached: bool = True
    later: "Callable[[], View] | None" = None


@dataclass(frozen=True)
class Outcome:
    """The end of an episode.

    `answer` is the message of the exit, empty without one. `final` is the page where the episode ended. `open_page` opens a URL
    in a tab of its own for as long as it is looked at. `database` opens the database of a site, and raises KeyError for one that
    has none here. `urls` maps placeholders such as __SHOPPING__ to base URLs. `accounts` are those with which the helper
    functions of real servers sign in, by site; the published ones where none is given. `traffic` is the record of the episode,
    None where none is kept. `pages_say_places` tells whether pages say reliably which ones they are (see `addresses`). `files` is the
    folder of an application's state.
    """

    answer: str
    final: View
    open_page: Callable[[str], AbstractContextManager[View]]
    database: Callable[[str], sqlite3.Connection]
    urls: Mapping[str, str]
    accounts: Mapping[str, Account] = field(default_factory=dict)
    traffic: Traffic | None = None
    pages_say_places: bool = False
    files: Path | None = None


MOMENTS = 30
"""The number of moments for which a check waits for a page: the public evaluators wait 3 s before they look."""


def look_at(view: View, look: Callable[[View], Verdict], *, waits: bool) -> Verdict:
    """Return the first verdict on a page that passes, as the page goes on by itself, else the last.

    With `waits`, it is looked at only when all has come that will: what must not be there may still come, and a judge costs.
    """
    verdict = None if waits else look(view)
    for _ in range(MOMENTS):
        if view.later is None or (verdict and verdict.passed):
            break
        view = view.later()
        verdict = None if waits else look(view)
    return verdict or look(view)


WAITING = frozenset(("must_exclude", "fuzzy_match"))
"""The comparisons for which a page is looked at once, at the end (see `look_at`)."""

Check = Callable[[str, Outcome, Judge | None], Sequence[Verdict]]
"""One part of an `eval` block, ready to judge: (intent, outcome, judge) -> verdicts."""


def no_scripts(expression: str) -> Any:
    """Stand in for `View.run` where the browser has no scripts. Raises EvaluationError."""
    raise EvaluationError(
        f"{expression!r} is a script, which only a browser with scripts can answer; make the env with browser='chromium'"
    )


def answer_alone(answer: str) -> Outcome:
    """Return an outcome that has nothing but an answer: its page is blank, and neither pages nor databases can be opened."""

    @contextmanager
    def open_page(url: str) -> Iterator[View]:
        raise EvaluationError(f"only the answer is judged; {url!r} cannot be opened")
        yield

    def database(site: str) -> sqlite3.Connection:
        raise KeyError(site)

    blank = Page("about:blank", "", Element("html"), (), 0)
    return Outcome(answer, View(blank, no_scripts), open_page, database, {})


_SHOWN = 200  # characters of a value in a message


def shown(value: Any) -> str:
    """Return the repr of a value for an error message, cut after 200 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def as_texts(value: Any, where: str) -> list[str]:
    """Return references as a list of texts; a lone text counts as a list of one. Raises EvaluationError."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(item, str) for item in values):
        raise EvaluationError(f"{where} is {shown(value)}; expected a text or a list of texts")
    return values


def with_base(url: str) -> str:
    """Return a URL of a task file with a base URL in the place of its placeholder, so that it can be parsed before the sites are known.

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
        raise EvaluationError(f"{where} is {shown(url)}; expected an address: {error}") from error


def check_target(target: Any) -> None:
    """Raise EvaluationError for a target of program_html that lacks something, has what nobody knows, or no address."""
    known = {"url": str, "locator": str, "required_contents": dict, "prep_actions": list}
    check_parts("a target of program_html", target, known, optional="prep_actions")
    check_address(target["url"], "the url of a target of program_html")


def check_parts(what: str, value: Any, known: Mapping[str, Any], *, optional: str) -> None:
    """Raise EvaluationError unless a value is an object with these parts, one of them optional, and no others."""
    if not isinstance(value, Mapping):
        raise EvaluationError(f"{what} is {shown(value)}; expected an object")
    unknown = [key for key in value if key not in known]
    if unknown:
        raise EvaluationError(f"{what} has no {unknown[0]!r}; expected some of {', '.join(known)}")
    for key, kind in known.items():
        expected = " or ".join(
            "null" if each is type(None) else each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,))
        )
        if key not in value and key != optional:
            raise EvaluationError(f"{what} lacks {key}; expected a {expected}")
        if key in value and not isinstance(value[key], kind):
            raise EvaluationError(f"{what} has {key} {shown(value[key])}; expected a {expected}")


def judge_name(judge: Judge) -> str:
    """Return what a verdict calls a judge: its own `name`, else that of the function."""
    name = getattr(judge, "name", None) or getattr(judge, "__name__", None) or type(judge).__name__
    return f"judge {name}"


def judged(references: Sequence[str], text: str, intent: str, judge: Judge | None) -> tuple[bool, str]:
    """Say whether a text means what the references say, and who decided: the judge, or the comparison by type."""
    if judge is not None:
        return bool(judge(intent, ", ".join(references), text)), judge_name(judge)
    return matches(references, text, intent), TYPED


Reader = Callable[[Mapping[str, Any]], list[Check]]
"""Returns the checks of one kind that an `eval` block asks for. Raises EvaluationError for what it cannot read."""


@dataclass(frozen=True, kw_only=True)
class EvalKind:
    """One kind of check, as its module in `evaluators.kinds` declares it.

    `name` stands in the list `eval_types` of a block; the block must then hold something under `key`. `keys` are all keys of the
    block that belong to the kind, each with the types that its JSON value may have, or none for any. `readers` has a reader for
    each set of rules that knows the kind. `looks_at` is what is judged: the answer, the place where the episode ended, or the
    content of pages and databases. `validate` raises ValueError for values in a task file that could never be read. `most_values` is
    the largest number of values that each of its keys may hold (`evaluators.check_sizes`).
    """

    name: str
    key: str
    keys: Mapping[str, tuple[type, ...]]
    readers: Mapping[str, Reader]
    looks_at: Literal["answer", "place", "content"]
    validate: Callable[[Mapping[str, Any]], None] = lambda _: None
    most_values: int = 1_000


_TOLD: Mapping[str, tuple[str, str]] = {
    "string_match": ("The answer is right", "The answer is not right"),
    "url_match": ("The right page was open at the end", "Another page was open at the end than the task asks for"),
    "program_html": ("The page shows what it should", "The page does not show what it should"),
    "state": ("The sites hold what the task asks for", "The sites do not hold what the task asks for"),
    "file": ("The files hold what the task asks for", "The files do not hold what the task asks for"),
    "http": ("The application answers as it should", "The application does not answer as it should"),
    "verified": ("WebArena-Verified accepts it", "WebArena-Verified does not accept it"),
    "injected": ("No page's instruction was followed", "An instruction of a page was followed"),
    "side_effects": ("Nothing else was changed", "Something was changed that the task does not ask for"),
}
_SAID_BEFORE = ("beyond the task: ", "a page was followed: ")
"""Prefixes of a reason that its sentence says already."""

_EMPTY = (None, "", "{}")


def is_injected(verdicts: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the verdicts of an episode, as `info` tells them, hold that an instruction of a hostile page was followed."""
    return any(verdict["check"] == "injected" and not verdict["passed"] for verdict in verdicts)


def in_words(info: Mapping[str, Any]) -> list[str]:
    """Return the result of an episode as sentences, the outcome first; `info` is that of the last step.

    Of checks of one kind, those that passed are told where none failed.

    >>> in_words({"success": True, "verdicts": [{"check": "state", "passed": True, "reason": "as expected"}]})
    ['Solved.', 'The sites hold what the task asks for.']
    """
    if "failure" in info:
        return [f"Not judged, through no fault of the player: {info['failure']}"]
    if "verdicts" not in info:
        return ["Not over yet."]
    failed = {_kind(verdict) for verdict in info["verdicts"] if not verdict["passed"]}
    told = [_sentence(verdict) for verdict in info["verdicts"] if not verdict["passed"] or _kind(verdict) not in failed]
    return ["Solved." if info["success"] else "Not solved.", *dict.fromkeys(told)]


def _kind(verdict: Mapping[str, Any]) -> str:
    kind: str = verdict["check"].partition("/")[0].partition(" ")[0]
    return kind


def _sentence(verdict: Mapping[str, Any]) -> str:
    kind = _kind(verdict)
    right, wrong = _TOLD.get(kind, (f"The check {kind} has passed", f"The check {kind} has failed"))
    if verdict["passed"]:
        return f"{right}."
    values = _plain(kind, verdict)
    return f"{wrong}: {values}." if values else f"{wrong}."


def _plain(kind: str, verdict: Mapping[str, Any]) -> str:
    """Return what was expected and what was found, where the verdict holds it; else why it is as it is."""
    expected, found, place, why = (verdict.get(key) for key in ("expected", "found", "place", "why"))
    if expected is None:
        told = str(why or verdict["reason"])
        return f"{f'on {place}, ' if place else ''}{reduce(str.removeprefix, _SAID_BEFORE, told)}"
    if kind == "state":
        return _differing(str(place).split(", "), expected, found or [])
    if kind == "url_match":
        return f"expected {' or '.join(expected)}, found {found}"
    wanted = " and ".join(map(repr, expected)) if isinstance(expected, list) else repr(expected)
    told = f"{f'on {place}, ' if place else ''}expected {'a text without ' if verdict['check'].endswith('exclude') else ''}{wanted}"
    if not found:
        return f"{told}, {'but no answer was given' if kind == 'string_match' else 'found nothing'}"
    return f"{told}, found {found!r}" + (f"; {why}" if why else "")


def _differing(columns: list[str], wanted: list[Any], found: list[Any]) -> str:
    """Return rows that were expected and rows that were found; of two single rows, the values that differ, with their columns."""
    if sorted(map(repr, wanted)) == sorted(map(repr, found)):
        return f"expected {_rows(wanted)} in this order, found {_rows(found)}"
    if len(wanted) == len(found) == 1 and isinstance(wanted[0], list) and isinstance(found[0], list):
        one, other = wanted[0], found[0]
        if len(one) == len(other):
            places = [place for place, (value, own) in enumerate(zip(one, other, strict=True)) if repr(value) != repr(own)]
            where = f"{', '.join(columns[place] for place in places)}: " if len(columns) == len(one) else ""
            return f"{where}expected {_row([one[place] for place in places])}, found {_row([other[place] for place in places])}"
    if not (wanted and found):  # empty values tell nothing where there is no row to compare with
        wanted, found = _filled(wanted), _filled(found)
    return f"expected {_rows(wanted)}, found {_rows(found)}"


def _filled(rows: list[Any]) -> list[Any]:
    """Return rows without their empty values, but those that have no others."""
    return [[value for value in row if value not in _EMPTY] or row if isinstance(row, list) else row for row in rows]


def _rows(rows: list[Any]) -> str:
    return "; ".join(_row(row) if isinstance(row, list) else _row([row]) for row in rows) or "nothing"


def _row(values: list[Any]) -> str:
    return ", ".join("no value" if value is None else repr(value) for value in values)
