"""The rules of the public evaluators of WebArena ("webarena"), VisualAgentBench ("vab") and WebAgent-R1 ("r1"), read from their code.

| | webarena | vab, r1 |
|---|---|---|
| blanks around a text | removed | kept |
| must_include in an answer | a substring; a single character must be a token | a token, if it is one ("a/b" also has "a" and "b"); else a substring |
| choices with " |OR| " | in pages and URLs | in must_include, required_values and URLs |
| fuzzy_match with several references | each separately; an empty answer fails | joined to one reference |
| url_match without a note | "GOLD in PRED" by host, path and query | EXACT, except for one trailing "/" |
| "GOLD in PRED" | host and path contained, one value of each query key | the whole URL contained |
| entities such as &amp; in a page | decoded | kept |
| must_exclude, required_values | not supported | supported |
| one_of in an answer, fuzzy_match in a page, locators with the prefix "lambda:" | not supported | supported |

Two faults of the public evaluators are kept, so that verdicts agree: with several URL choices, webarena requires the query keys of all
choices at once; and the operators "<" and ">" accept the bound itself.

Where the public evaluators differ or depend on state, these rules apply:

- "last" and __last_url__ always mean the final page of the episode, whatever a check has opened since. No task of the benchmark
  depends on it.
- A single string in place of a list is a list of one.
- A url_note of null counts as no note, as in r1; the others fail on it.
- Of several required contents, only the first in the order of the rules' `contents` is checked, as in the public code.
- A script that throws or finds no element returns an empty text, and null becomes "None", as in the public code.
- The public evaluators wait 3 s for a page to settle. Here, a page is checked until it passes, for at most 3 s of its own time.
"""

import ast
import html
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators.helpers import HELPERS, HelperContext
from webarena_gym.evaluators.official_text import (
    Clean,
    Comparison,
    ComparisonInput,
    equal,
    exclude_tokens,
    include_one_of,
    include_substrings,
    include_substrings_with_choices,
    include_tokens,
    lie_within,
    mean_all,
    mean_each,
    read_bounds,
    read_fuzzy_references,
    read_text,
    read_texts_without_choices,
    strip_quotes,
)
from webarena_gym.evaluators.outcome import (
    FINAL_ONLY,
    OR,
    Check,
    Judge,
    Outcome,
    Reader,
    Verdict,
    View,
    as_texts,
    check_address,
    check_target,
    judge_page,
    shorten,
)

UrlRule = Callable[[Sequence[str], str], bool]
"""(references, URL) -> True if the URL matches one of the references."""

EXACT = "EXACT"
CONTAINED = "GOLD in PRED"


def is_exact(references: Sequence[str], url: str) -> bool:
    """Return True if the URL equals one of the references, except for one trailing "/" (vab, r1).

    >>> is_exact(["http://a.test/x/"], "http://a.test/x"), is_exact(["http://a.test/x"], "http://a.test/x?y=1")
    (True, False)
    """
    return _normalize(url) in map(_normalize, references)


def contains(references: Sequence[str], url: str) -> bool:
    """Return True if the URL contains one of the references as a substring (vab, r1).

    >>> contains(["http://a.test/x"], "http://a.test/xy?z=1"), contains(["http://a.test/x?b=2"], "http://a.test/x?a=1&b=2")
    (True, False)
    """
    normalized = _normalize(url)
    return any(_normalize(reference) in normalized for reference in references)


def contains_path_and_query(references: Sequence[str], url: str) -> bool:
    """Return True if host and path contain those of a reference, and the query has one value of each key (webarena).

    >>> contains_path_and_query(["http://a.test/x?b=2"], "http://a.test/xy?a=1&b=2")
    True
    >>> contains_path_and_query(["http://a.test/x?b=2", "http://a.test/y?b=3"], "http://a.test/x?b=3")
    True
    """
    path, query = _parts(url)
    bases = [_parts(reference) for reference in references]
    expected: dict[str, set[str]] = {}
    for _, values in bases:
        for key, options in values.items():
            expected.setdefault(key, set()).update(options)
    return any(base in path for base, _ in bases) and all(
        not options.isdisjoint(query.get(key, ())) for key, options in expected.items()
    )


def _parts(url: str) -> tuple[str, dict[str, list[str]]]:
    """Return host with path, and the query."""
    try:
        parts = urlsplit(url.rstrip("/"))  # a "/" before the query stays
    except ValueError as error:
        raise EvaluationError(f"{shorten(url)} is not a valid URL: {error}") from error
    return parts.netloc + parts.path, parse_qs(parts.query)


def _normalize(url: str) -> str:
    return url.replace("localhost", "127.0.0.1").removesuffix("/")


PREFIX = "func:"
_PAGE = "__page__"
_LAST_URL = "__last_url__"


class Call(NamedTuple):
    """A call of a helper function. In its `arguments`, __last_url__ is replaced with the URL of the final page."""

    name: str
    arguments: tuple[str, ...]

    def __call__(self, view: View, outcome: Outcome) -> str:
        """Return the result of the helper for a page. Raises EvaluationError or ServerError."""
        arguments = (argument.replace(_LAST_URL, outcome.final.page.url) for argument in self.arguments)
        return HELPERS[self.name](HelperContext(view.run, outcome.urls, outcome.accounts), *arguments)


def parse_call(text: str) -> Call:
    """Parse a call such as `func:reddit_get_post_url('__last_url__')`. Raises EvaluationError for anything else.

    >>> parse_call("func:gitlab_get_project_memeber_role(__page__, 'ann')")
    Call(name='gitlab_get_project_memeber_role', arguments=('ann',))
    """
    problem = f"{shorten(text)} is not a call of a helper function"
    try:
        node = ast.parse(text.removeprefix(PREFIX).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two for deep nesting
        raise EvaluationError(f"{problem}: {error}") from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise EvaluationError(f"{problem}; expected name('text', ...)")
    name = node.func.id
    if name not in HELPERS:
        raise EvaluationError(f"unknown helper function {name!r}; expected one of {', '.join(HELPERS)}")
    arguments = []
    for index, argument in enumerate(node.args):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            arguments.append(argument.value)
        elif not (isinstance(argument, ast.Name) and argument.id == _PAGE and index == 0):
            raise EvaluationError(f"{problem}; expected strings as arguments, the first may be {_PAGE}")
    try:
        inspect.signature(HELPERS[name]).bind(None, *arguments)
    except TypeError as error:
        raise EvaluationError(f"{problem}: {error}") from error
    return Call(name, tuple(arguments))


# Rule sets.

_LAST = "last"
_CONTENTS = ("exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match")
_WHOLE_PAGE = (
    "(document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '') + document.documentElement.outerHTML"
)


class Rules(NamedTuple):
    """Rules of one public evaluator.

    Attributes:
        clean: normalizes texts before they are compared.
        answers: comparisons of string_match, by name.
        contents: comparisons of program_html, by name.
        url_rules: comparisons of url_match, by url_note.
        default_url_rule: the url_note of a task without one.
        decode: decodes the text that a locator returns.
        allows_lambdas: True if a locator may be a JavaScript function.

    """

    clean: Clean
    answers: Mapping[str, Comparison]
    contents: Mapping[str, Comparison]
    url_rules: Mapping[str, UrlRule]
    default_url_rule: str
    decode: Callable[[str], str]
    allows_lambdas: bool


_EXACT_TEXT = Comparison(read_text, equal)
_LITE = {
    "exact_match": _EXACT_TEXT,
    "must_include": Comparison(as_texts, include_tokens),
    "must_exclude": Comparison(read_texts_without_choices, exclude_tokens),
    "required_values": Comparison(read_bounds, lie_within),
}
_WEBARENA = Rules(
    clean=lambda text: strip_quotes(text.strip()),
    answers={
        "exact_match": _EXACT_TEXT,
        "must_include": Comparison(as_texts, include_substrings),
        "fuzzy_match": Comparison(read_fuzzy_references, mean_each),
    },
    contents={"exact_match": _EXACT_TEXT, "must_include": Comparison(as_texts, include_substrings_with_choices)},
    url_rules={CONTAINED: contains_path_and_query},
    default_url_rule=CONTAINED,
    decode=html.unescape,
    allows_lambdas=False,
)
_VAB = Rules(
    clean=strip_quotes,
    answers=_LITE
    | {"one_of": Comparison(as_texts, include_one_of), "fuzzy_match": Comparison(read_fuzzy_references, mean_all)},
    contents=_LITE | {"fuzzy_match": Comparison(as_texts, mean_all)},
    url_rules={EXACT: is_exact, CONTAINED: contains},
    default_url_rule=EXACT,
    decode=str,
    allows_lambdas=True,
)
RULE_SETS: Mapping[str, Rules] = {"webarena": _WEBARENA, "vab": _VAB, "r1": _VAB}


def readers(read: Callable[[Rules, Mapping[str, Any]], list[Check]]) -> dict[str, Reader]:
    """Return the readers of one eval kind, by the name of the rules."""
    return {name: partial(read, rules) for name, rules in RULE_SETS.items()}


def answer_checks(rules: Rules, evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the checks of string_match. Raises EvaluationError."""
    references = evaluation.get("reference_answers")
    if not references:
        raise EvaluationError("string_match without reference_answers")
    note = evaluation.get("string_note") or ""

    def check(
        name: str, comparison: Comparison, references: object, intent: str, outcome: Outcome, judge: Judge | None
    ) -> list[Verdict]:
        inputs = ComparisonInput(rules.clean(outcome.answer), intent, note, judge)
        return [_verdict(rules, f"string_match/{name}", comparison, references, inputs)]

    return [partial(check, *_comparison(rules.answers, name, value, "string_match")) for name, value in references.items()]


def _comparison(comparisons: Mapping[str, Comparison], name: str, value: object, where: str) -> tuple[str, Comparison, Any]:
    """Return the name, a comparison, and its references."""
    if name not in comparisons:
        raise EvaluationError(f"{where} has the unknown comparison {name!r}; expected one of {', '.join(comparisons)}")
    return name, comparisons[name], comparisons[name].read(value, f"{name} of {where}")


def _verdict(
    rules: Rules, check: str, comparison: Comparison, references: object, inputs: ComparisonInput, place: str = ""
) -> Verdict:
    passed, decided_by = comparison.decide(rules.clean, references, inputs)
    expected = references if isinstance(references, str | list) else repr(references)
    return Verdict(check, passed, "", decided_by, expected, inputs.text[:200], place)


def url_checks(rules: Rules, evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of url_match. Raises EvaluationError."""
    reference = evaluation.get("reference_url")
    if not isinstance(reference, str) or not reference:
        raise EvaluationError(f"url_match without reference_url: it is {shorten(reference)}")
    note = evaluation.get("url_note") or rules.default_url_rule
    if note not in rules.url_rules:
        raise EvaluationError(f"url_match has the unknown url_note {note!r}; expected one of {', '.join(rules.url_rules)}")
    choices = reference.split(OR)
    for choice in choices:
        check_address(choice, "reference_url")

    def check(_: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
        url = outcome.final.page.url
        return [Verdict("url_match", rules.url_rules[note](choices, url), "", note, choices, url)]

    return [check]


def content_checks(rules: Rules, evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the checks of program_html, one for each target. Raises EvaluationError."""
    if not (targets := evaluation.get("program_html")):
        raise EvaluationError("program_html without targets")
    return [_content_check(rules, target) for target in targets]


def _content_check(rules: Rules, target: Mapping[str, Any]) -> Check:
    check_target(target)
    where = f"program_html {target['url']}"
    required = target["required_contents"]
    if not required:
        raise EvaluationError(f"{where} has no required_contents")
    unknown = [name for name in required if name not in _CONTENTS]
    name = unknown[0] if unknown else next((known for known in rules.contents if known in required), next(iter(required)))
    _, comparison, references = _comparison(rules.contents, name, required[name], where)
    locate = _locator(rules, target)
    find_url = _url_finder(target["url"])
    final_only = bool(target.get("prep_actions")) or name in FINAL_ONLY

    def judge_view(view: View, intent: str, outcome: Outcome, judge: Judge | None) -> Verdict:
        text, place = locate(view, outcome), view.page.url
        if text is None:
            return Verdict("program_html", False, "the locator found nothing", "locator", place=place)
        inputs = ComparisonInput(rules.decode(text), intent, "", judge)
        return _verdict(rules, f"program_html/{name}", comparison, references, inputs, place)

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        url, is_computed = find_url(outcome)
        if url == _LAST:
            return [judge_view(outcome.final, intent, outcome, judge)]
        with outcome.open_page(url) as view:
            if not view.is_reachable and not is_computed:
                raise EvaluationError(f"the page {url} of a check cannot be reached")
            return [judge_page(view, lambda current: judge_view(current, intent, outcome, judge), final_only=final_only)]

    return check


def _url_finder(url: str) -> Callable[[Outcome], tuple[str, bool]]:
    """Return a function that returns the URL to open, and True if a helper function computes it from the outcome."""
    if not url.startswith(PREFIX):
        return lambda _: (url, False)
    call = _call("url", url)
    return lambda outcome: (call(outcome.final, outcome), True)


def _call(field: str, text: str) -> Call:
    try:
        return parse_call(text)
    except EvaluationError as error:
        raise EvaluationError(f"the {field} of a target of program_html: {error}") from error


Locator = Callable[[View, Outcome], str | None]
"""Returns the text of a page that is compared; None if the page fails whatever the references."""


def _locator(rules: Rules, target: Mapping[str, Any]) -> Locator:
    locator: str = target["locator"]
    preparations = as_texts(target["prep_actions"], "prep_actions") if target.get("prep_actions") else []
    if not locator.strip():
        return lambda view, _: str(view.run(_WHOLE_PAGE))
    if locator.startswith(("document.", "[...document.")):
        return lambda view, _: _run_script(view, locator, preparations)
    if locator.startswith(PREFIX):
        return _call("locator", locator).__call__
    if rules.allows_lambdas and locator.startswith("lambda:"):
        return lambda view, _: _call_function(view, locator.removeprefix("lambda:"))
    raise EvaluationError(
        f"invalid locator {shorten(locator)}; expected '', a script that starts with document., or a call func:..."
    )


def _run_script(view: View, script: str, preparations: Sequence[str]) -> str:
    try:
        for preparation in preparations:
            view.run(preparation)
    except ScriptError:
        pass  # the part of the page that it opens may be open already
    try:
        return str(view.run(script))
    except ScriptError:
        return ""


def _call_function(view: View, function: str) -> str | None:
    try:
        return str(view.run(f"({function})()") or "") or None
    except ScriptError:
        return None
