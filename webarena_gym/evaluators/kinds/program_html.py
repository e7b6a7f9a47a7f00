"""The eval kind `program_html`: the elements of a page that a locator selects must contain texts.

The native rules compare visible text. Simple locators need no scripts.
"""

import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from cssselect import parse
from cssselect.parser import CombinedSelector
from lxml.cssselect import CSSSelector, LxmlHTMLTranslator, SelectorError
from lxml.etree import XPath, XPathError
from lxml.html import HtmlElement

from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.kinds.string_match import compare_text, read_references
from webarena_gym.evaluators.outcome import (
    FINAL_ONLY,
    Check,
    EvalKind,
    Judge,
    Outcome,
    Verdict,
    View,
    check_target,
    judge_page,
    shorten,
)
from webarena_gym.observation import field_value, visible_text

_DOCUMENT = re.compile(r"""document\.querySelector\((["'])(.+?)\1\)\.(outerText|innerText|textContent|value|checked)""")
_FIELD_TAGS = ("input", "textarea")
_LONGEST_SELECTOR = 2_000  # characters


def page_shows(url: str, locator: str, **contents: object) -> dict[str, Any]:
    """Require texts in the elements of a page.

    Args:
        url: URL of the page; "last" for the final page.
        locator: CSS selector of the elements; "" for the whole page.
        contents: references by comparison, as for `string_match.answer`.

    """
    return {"eval_types": ["program_html"], "program_html": [{"url": url, "locator": locator, "required_contents": contents}]}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    return [_check(target) for target in evaluation.get("program_html") or ()]


def _check(target: Mapping[str, Any]) -> Check:
    """Return the check of one target: a page, a locator and the required contents."""
    check_target(target)
    if target.get("prep_actions"):
        raise EvaluationError("the native rules do not support prep_actions; use the rules 'webarena', 'vab' or 'r1'")
    url = target["url"]
    if url.startswith("func:"):
        raise EvaluationError(
            f"program_html has url {shorten(url)}, a call, which the native rules do not support; expected an address"
        )
    contents = read_references(target["required_contents"], f"program_html {url}")
    if not contents:
        raise EvaluationError(f"program_html of {url} has no required_contents")
    locate = _locator(target["locator"])

    def judge_view(view: View, intent: str, judge: Judge | None) -> Verdict:
        text, place = locate(view), view.page.url
        verdicts: list[Verdict] = []
        for comparison, references in contents.items():
            verdicts += compare_text(comparison, references, text, intent, judge, f"program_html {place}")
        failed = [verdict for verdict in verdicts if not verdict.passed]
        decided_by = ", ".join(dict.fromkeys(verdict.decided_by for verdict in verdicts))
        expected = [verdict.expected for verdict in failed or verdicts if not verdict.check.endswith("must_exclude")] or [None]
        why = "; ".join(dict.fromkeys(verdict.why for verdict in failed if verdict.why))
        reference = expected[0] if len(expected) == 1 else expected
        return Verdict("program_html", not failed, why, decided_by, reference, text[:200], place)

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        if url == "last":
            return [judge_view(outcome.final, intent, judge)]
        with outcome.open_page(url) as view:
            if not view.is_reachable:
                raise EvaluationError(f"the page {url} of a check cannot be reached")
            final_only = not FINAL_ONLY.isdisjoint(contents)
            return [judge_page(view, lambda current: judge_view(current, intent, judge), final_only=final_only)]

    return check


def _locator(locator: str) -> Callable[[View], str]:
    """Return a function that returns the text or value of the elements that a locator selects, joined by spaces.

    A CSS selector selects all its matches, and "" the whole page. Common one-line scripts such as document.querySelector("h1").outerText
    are parsed as a selector of one element; other scripts run in the browser. Raises EvaluationError for an invalid locator.
    """
    if not locator:
        return lambda view: visible_text(view.page.root)
    script = _DOCUMENT.fullmatch(locator.strip().rstrip(";"))
    if locator.startswith("func:"):
        raise EvaluationError(
            f"the locator {shorten(locator)} is a call, which the native rules do not support; expected a CSS selector"
        )
    if not script and "document." in locator:
        return lambda view: _run_script(view, locator)
    css, attribute = (script.group(2), script.group(3)) if script else (locator, "")
    if len(css) > _LONGEST_SELECTOR:
        raise EvaluationError(f"the locator {css[:80]!r}... has {len(css)} characters; expected at most {_LONGEST_SELECTOR}")
    try:
        select = _selector(css)
    except (SelectorError, ValueError, XPathError, RecursionError) as error:
        raise EvaluationError(f"the locator {css!r} is not a CSS selector: {error}") from error

    def locate(view: View) -> str:
        try:
            elements = select(view.page.root)[: 1 if script else None]
        except XPathError as error:
            raise EvaluationError(f"the locator {css!r} cannot be evaluated: {error}") from error
        if attribute == "checked":
            return " ".join(str("checked" in element.attrib).lower() for element in elements)
        return " ".join(_content(element) for element in elements)

    return locate


def _selector(css: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Return a function that selects elements under a root, in document order. Raises SelectorError or XPathError.

    The function takes linear time. CSSSelector takes cubic time for "li ~ li", because libxml2 merges the matches of each step with
    those of the steps before. Therefore lxml evaluates only the compound selectors, and one pass follows each combinator.
    """
    css_selector: Callable[[HtmlElement], list[HtmlElement]] = CSSSelector(css, translator="html")
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
        return css_selector

    def select(root: HtmlElement) -> list[HtmlElement]:
        elements, selected = list(root.iter("*")), set()
        for group in groups:
            matches = set(group[0][1](root))
            for combinator, path in group[1:]:
                related = _combine(elements, matches, combinator)
                matches = related.intersection(path(root)) if related else related
            selected |= matches
        return [element for element in elements if element in selected]

    return select


def _combine(elements: list[HtmlElement], matches: set[HtmlElement], combinator: str) -> set[HtmlElement]:
    """Return the elements that a combinator relates to one of the matches; `elements` are those of the tree in document order."""
    related: set[HtmlElement] = set()
    for element in elements:
        near = element.getparent() if combinator in " >" else next(element.itersiblings("*", preceding=True), None)
        if near in matches or (combinator in " ~" and near in related):
            related.add(element)
    return related


def _run_script(view: View, script: str) -> str:
    """Return the value of a script as text, or "" if it throws, as on a page without its elements. Raises EvaluationError for bad syntax."""
    try:
        return str(view.run(script))
    except ScriptError as error:
        if "SyntaxError" in str(error):
            raise EvaluationError(f"the locator {script!r} is not a valid script: {error}") from error
        return ""


def _content(element: HtmlElement) -> str:
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
