"""The rules of the public evaluators, as they are known from their code: WebArena's, VisualAgentBench's and WebAgent-R1's.

| | webarena | vab | r1 |
|---|---|---|---|
| blanks around a text | dropped | kept | kept |
| must_include in an answer | a part of it; a lone character must be a token | a token, if it is one ("a/b" has "a" and "b" too); else a part | as vab |
| choices with " |OR| " | in pages and addresses | in must_include, required_values and addresses | as vab |
| fuzzy_match of several | each by itself; an empty answer fails | as one reference | as vab |
| url_match without a note | "GOLD in PRED" by host, path and query | EXACT, but for one last "/" | as vab |
| "GOLD in PRED" | host and path contained, one value of each query key | the whole address contained | as vab |
| entities such as &amp; in a page | decoded | kept | kept |
| must_exclude, required_values | unknown | known | known |
| one_of in an answer, fuzzy_match in a page, locators that begin with "lambda:" | unknown | known | known |

Faults that are kept: among webarena's choices of address the query keys of all are wanted at once; "<" and ">" let the bound pass.

Where the public code leaves a choice open, this is what is done: "last" and __last_url__ always mean the page where the episode
ended, whatever was opened since (no task of the benchmark tells the difference); a lone text where a list belongs is a list of
one; url_note null is no note, as r1 has it (the others fail on it); of several kinds of required contents the first of those that
the rules list counts, as there. A script that throws, or finds nothing to read from, gives an empty text, and null gives "None", as
there. Where the public code waits 3 s for a page to come to rest, a page is looked at until it is as wanted or the 3 s are over.
"""

import ast
import html
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators.outcome import (
    OR,
    WAITING,
    Check,
    Judge,
    Outcome,
    Reader,
    Verdict,
    View,
    as_texts,
    check_address,
    check_target,
    judged,
    look_at,
    shown,
)
from webarena_gym.servers.helpers import HELPERS, HelperContext

UrlRule = Callable[[Sequence[str], str], bool]
"""(references, address) -> whether the address is one of them."""

EXACT = "EXACT"
CONTAINED = "GOLD in PRED"


def is_exact(references: Sequence[str], url: str) -> bool:
    """Say whether the address is one of the references, but for one last "/" (vab, r1).

    >>> is_exact(["http://a.test/x/"], "http://a.test/x"), is_exact(["http://a.test/x"], "http://a.test/x?y=1")
    (True, False)
    """
    return _one_name(url) in map(_one_name, references)


def contains(references: Sequence[str], url: str) -> bool:
    """Say whether the address has one of the references in it, letter by letter (vab, r1).

    >>> contains(["http://a.test/x"], "http://a.test/xy?z=1"), contains(["http://a.test/x?b=2"], "http://a.test/x?a=1&b=2")
    (True, False)
    """
    whole = _one_name(url)
    return any(_one_name(reference) in whole for reference in references)


def contains_path_and_query(references: Sequence[str], url: str) -> bool:
    """Say whether host and path have those of a reference in them, and the query one value of each key (webarena).

    >>> contains_path_and_query(["http://a.test/x?b=2"], "http://a.test/xy?a=1&b=2")
    True
    >>> contains_path_and_query(["http://a.test/x?b=2", "http://a.test/y?b=3"], "http://a.test/x?b=3")
    True
    """
    path, query = _parts(url)
    bases = [_parts(reference) for reference in references]
    wanted: dict[str, set[str]] = {}
    for _, values in bases:
        for key, options in values.items():
            wanted.setdefault(key, set()).update(options)
    return any(base in path for base, _ in bases) and all(
        not options.isdisjoint(query.get(key, ())) for key, options in wanted.items()
    )


def _parts(url: str) -> tuple[str, dict[str, list[str]]]:
    try:
        parts = urlsplit(url.rstrip("/"))  # before the query, a "/" counts
    except ValueError as error:
        raise EvaluationError(f"{shown(url)} is no address: {error}") from error
    return parts.netloc + parts.path, parse_qs(parts.query)


def _one_name(url: str) -> str:
    return url.replace("localhost", "127.0.0.1").removesuffix("/")


PREFIX = "func:"
_PAGE = "__page__"
_LAST_URL = "__last_url__"


class Call(NamedTuple):
    """A call of a helper function. `arguments` are texts, in which __last_url__ stands for the address of the final page."""

    name: str
    arguments: tuple[str, ...]

    def __call__(self, view: View, outcome: Outcome) -> str:
        """Return what the helper says of a page. Raises EvaluationError or ServerError."""
        arguments = (argument.replace(_LAST_URL, outcome.final.page.url) for argument in self.arguments)
        return HELPERS[self.name](HelperContext(view.run, outcome.urls, outcome.accounts), *arguments)


def parse_call(text: str) -> Call:
    """Read a call such as `func:reddit_get_post_url('__last_url__')`. Raises EvaluationError for anything else.

    >>> parse_call("func:gitlab_get_project_memeber_role(__page__, 'ann')")
    Call(name='gitlab_get_project_memeber_role', arguments=('ann',))
    """
    problem = f"{shown(text)} is no call of a helper function"
    try:
        node = ast.parse(text.removeprefix(PREFIX).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two for what is too deep
        raise EvaluationError(f"{problem}: {error}") from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise EvaluationError(f"{problem}; expected name('text', ...)")
    name = node.func.id
    if name not in HELPERS:
        raise EvaluationError(f"there is no helper function {name!r}; expected one of {', '.join(HELPERS)}")
    arguments = []
    for place, argument in enumerate(node.args):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            arguments.append(argument.value)
        elif not (isinstance(argument, ast.Name) and argument.id == _PAGE and place == 0):
            raise EvaluationError(f"{problem}; its arguments must be texts, after {_PAGE} if it has that")
    try:
        inspect.signature(HELPERS[name]).bind(None, *arguments)
    except TypeError as error:
        raise EvaluationError(f"{problem}: {error}") from error
    return Call(name, tuple(arguments))


# Comparing texts.

Clean = Callable[[str], str]
Finding = tuple[bool, str]
"""True if a text is as wanted, and who decided."""

_SPACES = re.compile(" {2,}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NUMBER_OR_INITIAL = re.compile(r"(?:^|\s)(?:-?[.,]?\d[\d,.-]*|[^\W\d_])\.$")
_GOES_ON = re.compile(r"[a-z;:,.!?]")
_OPERATORS = ("<=", ">=", "==", "<", ">")  # in this order, so that "<=" is not read as "<"
_LONGEST_NUMBER = 40  # characters
_TOLERANCE = 1e-8
_NOT_AVAILABLE = "N/A"


class Said(NamedTuple):
    """The input of a comparison: a text, the task that it belongs to, why that cannot be done if so, and the judge."""

    text: str
    intent: str
    note: str
    judge: Judge | None


class Comparison(NamedTuple):
    """`read` makes sense of the references, or raises EvaluationError; `decide` holds a text against them."""

    read: Callable[[Any, str], Any]
    decide: Callable[[Clean, Any, Said], Finding]


def strip_quotes(text: str) -> str:
    """Return a text in lower case without the quotes around it (vab, r1)."""
    for quote in ("'", '"'):
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1].lower()
    return text.lower()


@lru_cache(maxsize=8)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words and signs of a text as NLTK's word tokenizer cuts them, sentence by sentence.

    Sentences are cut as by NLTK's own cutter (see `_sentences`), which needs data of its own; it would also leave the dot of a
    known abbreviation ("dr.") with its word. Raises EvaluationError without NLTK, or where it gives up: from 3.10 on it bounds each of
    its searches by the clock. Runs of spaces, for which earlier versions take quadratic time, are one space.
    """
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer  # noqa: PLC0415 - these rules alone need it
    except ImportError as error:
        raise EvaluationError("the rules webarena, vab and r1 cut words with NLTK: pip install nltk") from error
    tokenizer = NLTKWordTokenizer()
    try:
        return tuple(token for sentence in _sentences(text) for token in tokenizer.tokenize(_SPACES.sub(" ", sentence)))
    except TimeoutError as error:
        raise EvaluationError(f"NLTK cannot cut a text of {len(text):,} characters into words: {error}") from error


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in lower case: they end at ".", "!" or "?" before a blank.

    A number or a single letter does not end one before a lower-case word or a sign: "2. there" keeps the dot with the 2.
    """
    start = 0
    for gap in _SENTENCE_END.finditer(text):
        before = text[max(start, gap.start() - _LONGEST_NUMBER) : gap.start()]
        if _NUMBER_OR_INITIAL.search(before) and _GOES_ON.match(text, gap.end()):
            continue
        yield text[start : gap.start()]
        start = gap.end()
    yield text[start:]


# Reading references.


def read_text(value: Any, where: str) -> str:
    """Return the one text that is wanted."""
    if not isinstance(value, str):
        raise EvaluationError(f"{where} is {shown(value)}; expected a text")
    return value


def read_texts_without_choices(value: Any, where: str) -> list[str]:
    """Return texts that must not be there; the public code has no choices among these."""
    texts = as_texts(value, where)
    if any(OR in text for text in texts):
        raise EvaluationError(f"{where} has choices ({OR.strip()}), which it cannot have")
    return texts


def read_bounds(value: Any, where: str) -> list[list[tuple[str, float]]]:
    """Return bounds such as "> 3" or "== 5 |OR| == 7" as operators and numbers; a range is two bounds."""

    def read(text: str) -> tuple[str, float]:
        operator = next((operator for operator in _OPERATORS if operator in text), "")
        try:
            before, number = text.split(operator) if operator else ("?", text)
            if before.strip():
                raise ValueError(text)  # noqa: TRY301 - one message for whatever is wrong
            return operator, float(number)
        except ValueError as error:
            raise EvaluationError(f"{where} is {shown(text)}; expected a bound such as '>= 3'") from error

    return [[read(choice) for choice in text.split(OR)] for text in as_texts(value, where)]


# Deciding.


def equal(clean: Clean, wanted: str, said: Said) -> Finding:
    """The same text."""
    return clean(said.text) == clean(wanted), "equal text"


def include_any_part(clean: Clean, wanted: list[str], said: Said) -> Finding:
    """Each text is a part of what was said (webarena's answers); a lone character must be a token of it."""
    text = clean(said.text)
    if len(wanted) == 1 and len(clean(wanted[0])) == 1:
        return clean(wanted[0]) in tokens(text), "token"
    return all(clean(each) in text for each in wanted), "part of the text"


def include_any_part_with_choices(clean: Clean, wanted: list[str], said: Said) -> Finding:
    """Each text, or one of its choices, is a part of the page (webarena's pages)."""
    text = clean(said.text)
    return all(any(clean(choice) in text for choice in each.split(OR)) for each in wanted), "part of the text"


def include_tokens(clean: Clean, wanted: list[str], said: Said) -> Finding:
    """Each text, or one of its choices, is a token of what was said, or a part of it when it has several tokens (vab, r1).

    "a/b" has the tokens "a" and "b" too.
    """
    text = clean(said.text)
    words = frozenset(tokens(text))
    words |= {part for token in words if "/" in token for part in token.split("/")}
    passed = all(any(_has(clean(choice), text, words) for choice in each.split(OR)) for each in wanted)
    return passed, "token or part of the text"


def exclude_tokens(clean: Clean, unwanted: list[str], said: Said) -> Finding:
    """No text is a token of what was said, or a part of it when it has several tokens (vab, r1)."""
    text = clean(said.text)
    words = frozenset(tokens(text))
    return not any(_has(clean(each), text, words) for each in unwanted), "token or part of the text"


def _has(wanted: str, text: str, words: frozenset[str]) -> bool:
    """Return True if a text has another as one of its words, or, if that has several tokens, as a part."""
    return wanted in (words if len(tokens(wanted)) == 1 else text)


def be_one_of(clean: Clean, choices: list[str], said: Said) -> Finding:
    """One of the texts is a part of what was said (vab, r1)."""
    return any(clean(choice) in said.text for choice in choices), "part of the text"


def lie_within(_: Clean, bounds: list[list[tuple[str, float]]], said: Said) -> Finding:
    """Return True if the text is a whole number within all bounds; "<" and ">" let the bound itself pass, as in the public code."""
    try:
        number = int(said.text.strip().replace(",", ""))
    except ValueError:
        return False, "no whole number"
    return all(any(_within(number, *bound) for bound in choices) for choices in bounds), "bounds"


def _within(number: int, operator: str, bound: float) -> bool:
    if operator == "==":
        return abs(number - bound) <= _TOLERANCE
    return number <= bound + _TOLERANCE if operator.startswith("<") else number >= bound - _TOLERANCE


def mean_each(clean: Clean, wanted: Any, said: Said) -> Finding:
    """The answer means each reference, one by one; nothing means only nothing (webarena)."""
    if isinstance(wanted, str):
        return _is_unachievable(clean, said)
    if not said.text:
        return not any(wanted), "an empty answer"
    if said.judge is None:
        return judged(wanted, said.text, said.intent, None)  # as one list: each alone would refuse the others
    findings = [judged([each], said.text, said.intent, said.judge) for each in wanted]
    return all(passed for passed, _ in findings), findings[0][1]


def mean_all(clean: Clean, wanted: Any, said: Said) -> Finding:
    """The answer means all references, put together as one (vab, r1)."""
    if isinstance(wanted, str):
        return _is_unachievable(clean, said)
    return judged(wanted, said.text, said.intent, said.judge)


def read_meanings(value: Any, where: str) -> Any:
    """Return texts to be meant; the lone text N/A, unlike a list with N/A, also takes the reason why (see `mean_all`)."""
    return value if value == _NOT_AVAILABLE else as_texts(value, where)


def _is_unachievable(clean: Clean, said: Said) -> Finding:
    """The answer is N/A, or gives the reason that the task's note gives."""
    if clean(said.text) == clean(_NOT_AVAILABLE):
        return True, "equal text"
    if said.judge is None or not said.note:
        return False, "equal text"
    return judged([f"{_NOT_AVAILABLE}: the task cannot be done. The reason: {said.note}"], said.text, said.intent, said.judge)


# The sets of rules.

_LAST = "last"
_CONTENTS = ("exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match")
_WHOLE_PAGE = (
    "(document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '') + document.documentElement.outerHTML"
)


class Rules(NamedTuple):
    """The reading of a task file by one code base.

    `answers` and `contents` are the comparisons of string_match and of program_html by name, `url_rules` those of url_match by
    url_note, and `decode` is done to what a locator found. `lambdas` says whether a locator may be a JavaScript function.
    """

    clean: Clean
    answers: Mapping[str, Comparison]
    contents: Mapping[str, Comparison]
    url_rules: Mapping[str, UrlRule]
    default_url_rule: str
    decode: Callable[[str], str]
    lambdas: bool


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
        "must_include": Comparison(as_texts, include_any_part),
        "fuzzy_match": Comparison(read_meanings, mean_each),
    },
    contents={"exact_match": _EXACT_TEXT, "must_include": Comparison(as_texts, include_any_part_with_choices)},
    url_rules={CONTAINED: contains_path_and_query},
    default_url_rule=CONTAINED,
    decode=html.unescape,
    lambdas=False,
)
_VAB = Rules(
    clean=strip_quotes,
    answers=_LITE | {"one_of": Comparison(as_texts, be_one_of), "fuzzy_match": Comparison(read_meanings, mean_all)},
    contents=_LITE | {"fuzzy_match": Comparison(as_texts, mean_all)},
    url_rules={EXACT: is_exact, CONTAINED: contains},
    default_url_rule=EXACT,
    decode=str,
    lambdas=True,
)
SETS: Mapping[str, Rules] = {"webarena": _WEBARENA, "vab": _VAB, "r1": _VAB}


def readers(read: Callable[[Rules, Mapping[str, Any]], list[Check]]) -> dict[str, Reader]:
    """Return the reader of one eval kind under each of these rules, by the name of the rules."""
    return {name: partial(read, rules) for name, rules in SETS.items()}


def answer_checks(rules: Rules, evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the checks of string_match. Raises EvaluationError."""
    references = evaluation.get("reference_answers")
    if not references:
        raise EvaluationError("string_match without reference_answers")
    note = evaluation.get("string_note") or ""

    def check(
        name: str, comparison: Comparison, wanted: Any, intent: str, outcome: Outcome, judge: Judge | None
    ) -> list[Verdict]:
        answer = rules.clean(outcome.answer)
        return [_verdict(rules, f"string_match/{name}", comparison, wanted, Said(answer, intent, note, judge))]

    return [partial(check, *_comparison(rules.answers, name, value, "string_match")) for name, value in references.items()]


def _comparison(known: Mapping[str, Comparison], name: str, value: Any, where: str) -> tuple[str, Comparison, Any]:
    if name not in known:
        raise EvaluationError(f"{where} has no comparison {name!r}; expected one of {', '.join(known)}")
    return name, known[name], known[name].read(value, f"{name} of {where}")


def _verdict(rules: Rules, check: str, comparison: Comparison, wanted: Any, said: Said, place: str = "") -> Verdict:
    passed, by = comparison.decide(rules.clean, wanted, said)
    expected = wanted if isinstance(wanted, str | list) else repr(wanted)
    return Verdict(check, passed, "", by, expected, said.text[:200], place)


def place_checks(rules: Rules, evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of url_match. Raises EvaluationError."""
    reference = evaluation.get("reference_url")
    if not isinstance(reference, str) or not reference:
        raise EvaluationError(f"url_match without reference_url: it is {shown(reference)}")
    note = evaluation.get("url_note") or rules.default_url_rule
    if note not in rules.url_rules:
        raise EvaluationError(f"url_match has no rule {note!r}; expected one of {', '.join(rules.url_rules)}")
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
    _, comparison, wanted = _comparison(rules.contents, name, required[name], where)
    locate = _locator(rules, target)
    address = _address(target["url"])
    waits = bool(target.get("prep_actions")) or name in WAITING

    def look(view: View, intent: str, outcome: Outcome, judge: Judge | None) -> Verdict:
        text, place = locate(view, outcome), view.page.url
        if text is None:
            return Verdict("program_html", False, "the locator found nothing", "locator", place=place)
        return _verdict(rules, f"program_html/{name}", comparison, wanted, Said(rules.decode(text), intent, "", judge), place)

    def check(intent: str, outcome: Outcome, judge: Judge | None) -> list[Verdict]:
        url, is_computed = address(outcome)
        if url == _LAST:
            return [look(outcome.final, intent, outcome, judge)]
        with outcome.open_page(url) as view:
            if not view.reached and not is_computed:
                raise EvaluationError(f"{url} cannot be reached, so nothing can be said about what is there")
            return [look_at(view, lambda now: look(now, intent, outcome, judge), waits=waits)]

    return check


def _address(url: str) -> Callable[[Outcome], tuple[str, bool]]:
    """Return what says which address to open, and whether it follows from where the episode ended."""
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
"""Reads a text from a page; None when the page is wrong whatever is wanted."""


def _locator(rules: Rules, target: Mapping[str, Any]) -> Locator:
    locator: str = target["locator"]
    preparations = as_texts(target["prep_actions"], "prep_actions") if target.get("prep_actions") else []
    if not locator.strip():
        return lambda view, _: str(view.run(_WHOLE_PAGE))
    if locator.startswith(("document.", "[...document.")):
        return lambda view, _: _ask(view, locator, preparations)
    if locator.startswith(PREFIX):
        return _call("locator", locator).__call__
    if rules.lambdas and locator.startswith("lambda:"):
        return lambda view, _: _apply(view, locator.removeprefix("lambda:"))
    raise EvaluationError(f"the locator {shown(locator)} is neither empty nor a script that begins with document, nor a call")


def _ask(view: View, script: str, preparations: Sequence[str]) -> str:
    try:
        for preparation in preparations:
            view.run(preparation)
    except ScriptError:
        pass  # what it was to open may be open already
    try:
        return str(view.run(script))
    except ScriptError:
        return ""


def _apply(view: View, function: str) -> str | None:
    try:
        return str(view.run(f"({function})()") or "") or None
    except ScriptError:
        return None
