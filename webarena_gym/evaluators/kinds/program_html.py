"""The eval kind `program_html`: a place on a page must hold what is wanted.

The native rules read a page as a person does. Simple locators need no scripts.
"""

import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from cssselect import parse
from cssselect.parser import CombinedSelector
from lxml.cssselect import CSSSelector, LxmlHTMLTranslator, SelectorError
from lxml.etree import XPath, XPathError

from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.kinds.string_match import compare_text, read_references
from webarena_gym.evaluators.outcome import (
    WAITING,
    Check,
    EvalKind,
    Judge,
    Outcome,
    Verdict,
    View,
    check_target,
    look_at,
    shown,
)
from webarena_gym.observation import field_value, visible_text

_DOCUMENT = re.compile(r"""document\.querySelector\((["'])(.+?)\1\)\.(outerText|innerText|textContent|value|checked)""")
_FIELD_TAGS = ("input", "textarea")
_LONGEST_SELECTOR = 2_000  # characters


def page_shows(url: str, locator: str, **contents: Any) -> dict[str, Any]:
    """A page, "last" for the final one, must hold `contents` (comparisons as for `answer`) where the CSS `locator` points."""
    return {"eval_types": ["program_html"], "program_html": [{"url": url, "locator": locator, "required_contents": contents}]}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    return [_check(target) for target in evaluation.get("program_html") or ()]


def _check(target: Mapping[str, Any]) -> Check:
    """One page, one place on it, and what it must hold."""
    check_target(target)
    if target.get("prep_actions"):
        raise EvaluationError("the native rules know no prep_actions; rules 'webarena', 'vab' and 'r1' do")
    url = target["url"]
    if url.startswith("func:"):
        raise EvaluationError(
            f"program_html has url {shown(url)}, a call, which the native rules do not know; expected an address"
        )
    wanted = read_references(target["required_contents"], f"program_html {url}")
    if not wanted:
        raise EvaluationError(f"program_html of {url} has no required_contents")
    locate = _locator(target["locator"])

    def look(view: View, intent: str, judge: Judge | None) -> Verdict:
        text, place = locate(view), view.page.url
        verdicts: list[Verdict] = []
        for approach, references in wanted.items():
            verdicts += compare_text(approach, references, text, intent, judge, f"program_html {place}")
        failed = [verdict for verdict in verdicts if not verdict.passed]
        by = ", ".join(dict.fromkeys(verdict.decided_by for verdict in verdicts))
        expected = [verdict.expected for verdict in failed or verdicts if not verdict.check.endswith("must_exclude")] or [None]
        why = "; ".join(dict.fromkeys(verdict.why for verdict in failed if verdict.why))
        return Verdict("program_html", not failed, why, by, expected[0] if len(expected) == 1 else expected, text[:200], place)

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
        raise EvaluationError(
            f"the locator {shown(locator)} is a call, which the native rules do not know; expected a CSS selector"
        )
    if not script and "document." in locator:
        return lambda view: _ask(view, locator)
    css, attribute = (script.group(2), script.group(3)) if script else (locator, "")
    if len(css) > _LONGEST_SELECTOR:
        raise EvaluationError(f"the locator {css[:80]!r}... has {len(css)} characters; expected at most {_LONGEST_SELECTOR}")
    try:
        select = _selector(css)
    except (SelectorError, ValueError, XPathError, RecursionError) as error:
        raise EvaluationError(f"the locator {css!r} is no CSS selector: {error}") from error

    def locate(view: View) -> str:
        try:
            found = select(view.page.root)[: 1 if script else None]
        except XPathError as error:
            raise EvaluationError(f"the locator {css!r} cannot be looked for: {error}") from error
        if attribute == "checked":
            return " ".join(str("checked" in element.attrib).lower() for element in found)
        return " ".join(_content(element) for element in found)

    return locate


def _selector(css: str) -> Callable[[Any], list[Any]]:
    """Return a function that selects elements under a root, in document order. Raises SelectorError or XPathError.

    lxml alone takes cubic time for "li ~ li", since libxml2 merges the elements that each step finds with those found before. So
    only the parts between combinators are looked for by lxml, and the combinators are followed here, in one pass each.
    """
    whole: Callable[[Any], list[Any]] = CSSSelector(css, translator="html")
    groups = []
    for selector in parse(css):
        tree, steps = selector.parsed_tree, []
        while isinstance(tree, CombinedSelector):
            steps.append((tree.combinator, tree.subselector))
            tree = tree.selector
        steps.append(("", tree))
        translator = LxmlHTMLTranslator()
        groups.append([(kind, XPath(f"descendant-or-self::{translator.xpath(part)}")) for kind, part in reversed(steps)])
    if all(len(group) == 1 for group in groups):
        return whole

    def select(root: Any) -> list[Any]:
        elements, chosen = list(root.iter("*")), set()
        for group in groups:
            matches = set(group[0][1](root))
            for combinator, path in group[1:]:
                related = _related(elements, matches, combinator)
                matches = related.intersection(path(root)) if related else related
            chosen |= matches
        return [element for element in elements if element in chosen]

    return select


def _related(elements: list[Any], matches: set[Any], combinator: str) -> set[Any]:
    """Return the elements, of those of a tree in document order, to which a combinator leads from one of the matches."""
    found: set[Any] = set()
    for element in elements:
        near = element.getparent() if combinator in " >" else next(element.itersiblings("*", preceding=True), None)
        if near in matches or (combinator in " ~" and near in found):
            found.add(element)
    return found


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


KIND = EvalKind(
    name="program_html",
    key="program_html",
    keys={"program_html": (list, NoneType)},
    readers={"native": _read, **official.readers(official.content_checks)},
    looks_at="content",
)
