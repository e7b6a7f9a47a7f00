"""The types that all evaluators share: `Outcome`, what is judged; `Verdict`, the result of one check; `Check`, what judges."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lxml.html import Element

from webarena_gym.answers import list_matches, matches
from webarena_gym.errors import EvaluationError
from webarena_gym.pages.page import Page, Traffic
from webarena_gym.servers.accounts import Account

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
        """What was compared and why it failed, in one line."""
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
    """How an episode ended.

    `answer` is the message of the exit, empty without one. `final` is the page where the episode ended. `open_page` opens a URL
    in a tab of its own for as long as it is looked at. `database` opens the database of a site, and raises KeyError for one that
    has none here. `urls` maps placeholders such as __SHOPPING__ to base URLs. `accounts` are those with which the helper
    functions of real servers sign in, by site; the published ones where none is given. `traffic` is the record of the episode,
    None where none is kept. `pages_say_places` tells whether pages say reliably which ones they are (see `addresses`).
    """

    answer: str
    final: View
    open_page: Callable[[str], AbstractContextManager[View]]
    database: Callable[[str], sqlite3.Connection]
    urls: Mapping[str, str]
    accounts: Mapping[str, Account] = field(default_factory=dict)
    traffic: Traffic | None = None
    pages_say_places: bool = False


MOMENTS = 30
"""How many moments a page is given to come to what is wanted: the public evaluators wait 3 s before they look."""


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


def as_texts(value: Any, where: str) -> list[str]:
    """Return references as a list of texts; a lone text counts as a list of one. Raises EvaluationError."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(item, str) for item in values):
        raise EvaluationError(f"{where} is {value!r}; expected a text or a list of texts")
    return values


def check_target(target: Any) -> None:
    """Raise EvaluationError for a target of program_html that lacks something, or has what nobody knows."""
    known = {"url": str, "locator": str, "required_contents": dict, "prep_actions": list}
    check_parts("a target of program_html", target, known, optional="prep_actions")


def check_parts(what: str, value: Any, known: Mapping[str, type], *, optional: str) -> None:
    """Raise EvaluationError unless a value is an object with these parts, one of them optional, and no others."""
    if not isinstance(value, Mapping):
        raise EvaluationError(f"{what} is {value!r}; expected an object")
    for key, kind in known.items():
        if not isinstance(value.get(key), kind) and (key in value or key != optional):
            raise EvaluationError(f"{what} has {key} {value.get(key)!r}; expected a {kind.__name__}")
    unknown = [key for key in value if key not in known]
    if unknown:
        raise EvaluationError(f"{what} has no {unknown[0]!r}; expected some of {', '.join(known)}")


def judge_name(judge: Judge) -> str:
    """Return what a verdict calls a judge: its own `name`, else that of the function."""
    name = getattr(judge, "name", None) or getattr(judge, "__name__", None) or type(judge).__name__
    return f"judge {name}"


def judged(references: Sequence[str], text: str, intent: str, judge: Judge | None) -> tuple[bool, str]:
    """Say whether a text means what the references say, and who decided: the judge, or the comparison by type."""
    if judge is not None:
        return bool(judge(intent, ", ".join(references), text)), judge_name(judge)
    if len(references) == 1:
        return matches(references[0], text, intent), TYPED
    return list_matches(list(references), text, intent), TYPED
