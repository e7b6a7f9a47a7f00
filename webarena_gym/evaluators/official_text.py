"""Text comparisons of the public evaluators, with the parsing of their references (see `official`)."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import OR, Judge, as_texts, compare_meaning, shorten

Clean = Callable[[str], str]
MatchResult = tuple[bool, str]
"""True if a text matches its reference, and the name of the comparison or judge that decided."""

_SPACES = re.compile(" {2,}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NUMBER_OR_INITIAL = re.compile(r"(?:^|\s)(?:-?[.,]?\d[\d,.-]*|[^\W\d_])\.$")
_CONTINUES = re.compile(r"[a-z;:,.!?]")
_OPERATORS = ("<=", ">=", "==", "<", ">")  # in this order, so that "<=" is not read as "<"
_LONGEST_NUMBER = 40  # characters
_TOLERANCE = 1e-8
_NOT_AVAILABLE = "N/A"


class ComparisonInput(NamedTuple):
    """Input of a comparison.

    Attributes:
        text: the answer, or a text of a page.
        intent: the goal of the task.
        note: the task's string_note, which explains an unachievable task; empty without one.
        judge: judge of fuzzy matches, if any.

    """

    text: str
    intent: str
    note: str
    judge: Judge | None


class Comparison(NamedTuple):
    """A kind of text comparison.

    Attributes:
        read: validates references: (JSON value, its name for errors) -> references. Raises EvaluationError.
        decide: compares: (normalization of texts, references, input) -> result.

    """

    read: Callable[[Any, str], Any]
    decide: Callable[[Clean, Any, ComparisonInput], MatchResult]


def strip_quotes(text: str) -> str:
    """Return a text in lower case without quotes around it (vab, r1)."""
    for quote in ("'", '"'):
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1].lower()
    return text.lower()


@lru_cache(maxsize=8)
def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a text by NLTK's word tokenizer, applied to each sentence.

    Sentences are split as by NLTK's Punkt model (see `_sentences`), which would need a download. Unlike Punkt, the dot of a known
    abbreviation ("dr.") becomes a token. Runs of spaces are reduced to one space, because NLTK before 3.10 takes quadratic time for
    them.

    Raises:
        EvaluationError: without NLTK, and if NLTK exceeds the time limit that it has since 3.10.

    """
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise EvaluationError("the rules webarena, vab and r1 need NLTK to split words: pip install nltk") from error
    tokenizer = NLTKWordTokenizer()
    try:
        return tuple(token for sentence in _sentences(text) for token in tokenizer.tokenize(_SPACES.sub(" ", sentence)))
    except TimeoutError as error:
        raise EvaluationError(f"NLTK failed to split a text of {len(text):,} characters into words: {error}") from error


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in lower case. A sentence ends at ".", "!" or "?" before white space.

    A dot after a number or a single letter does not end a sentence if a lower-case word or punctuation follows, as in "2. there".
    """
    start = 0
    for gap in _SENTENCE_END.finditer(text):
        before = text[max(start, gap.start() - _LONGEST_NUMBER) : gap.start()]
        if _NUMBER_OR_INITIAL.search(before) and _CONTINUES.match(text, gap.end()):
            continue
        yield text[start : gap.start()]
        start = gap.end()
    yield text[start:]


# Parsing of references. `where` names the value in errors.


def read_text(value: object, where: str) -> str:
    """Return a reference that must be a single string. Raises EvaluationError."""
    if not isinstance(value, str):
        raise EvaluationError(f"{where} is {shorten(value)}; expected a string")
    return value


def read_texts_without_choices(value: object, where: str) -> list[str]:
    """Return excluded texts. Raises EvaluationError for choices, which the public evaluators do not support here."""
    texts = as_texts(value, where)
    if any(OR in text for text in texts):
        raise EvaluationError(f"{where} has choices ({OR.strip()}); expected strings without choices")
    return texts


def read_bounds(value: object, where: str) -> list[list[tuple[str, float]]]:
    """Return bounds such as "> 3" or "== 5 |OR| == 7" as pairs of operator and number.

    The outer list holds bounds that must all be met, so that a range is two bounds; each inner list holds the choices of one bound.
    Raises EvaluationError.
    """

    def read(text: str) -> tuple[str, float]:
        operator = next((operator for operator in _OPERATORS if operator in text), "")
        try:
            before, number = text.split(operator) if operator else ("?", text)
            if before.strip():
                raise ValueError(text)  # noqa: TRY301 - one message for all errors
            return operator, float(number)
        except ValueError as error:
            raise EvaluationError(f"{where} is {shorten(text)}; expected a bound such as '>= 3'") from error

    return [[read(choice) for choice in text.split(OR)] for text in as_texts(value, where)]


# Comparisons. They return True with the name of the comparison.


def equal(clean: Clean, reference: str, inputs: ComparisonInput) -> MatchResult:
    """Return True if the texts are equal."""
    return clean(inputs.text) == clean(reference), "equal text"


def include_substrings(clean: Clean, references: list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if the answer contains each reference (webarena). A single reference of one character must be a token."""
    text = clean(inputs.text)
    if len(references) == 1 and len(clean(references[0])) == 1:
        return clean(references[0]) in tokens(text), "token"
    return all(clean(reference) in text for reference in references), "part of the text"


def include_substrings_with_choices(clean: Clean, references: list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if the page contains each reference, or one of its choices (webarena)."""
    text = clean(inputs.text)
    passed = all(any(clean(choice) in text for choice in reference.split(OR)) for reference in references)
    return passed, "part of the text"


def include_tokens(clean: Clean, references: list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if each reference, or one of its choices, is a token of the text, or a substring if it has several tokens (vab, r1).

    A token such as "a/b" also counts as the tokens "a" and "b".
    """
    text = clean(inputs.text)
    words = frozenset(tokens(text))
    words |= {part for token in words if "/" in token for part in token.split("/")}
    passed = all(any(_includes(text, words, clean(choice)) for choice in reference.split(OR)) for reference in references)
    return passed, "token or part of the text"


def exclude_tokens(clean: Clean, references: list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if no reference is a token of the text, or a substring if it has several tokens (vab, r1)."""
    text = clean(inputs.text)
    words = frozenset(tokens(text))
    return not any(_includes(text, words, clean(reference)) for reference in references), "token or part of the text"


def _includes(text: str, words: frozenset[str], reference: str) -> bool:
    """Return True if the reference is one of the words of a text, or a substring of the text if it has several tokens."""
    return reference in (words if len(tokens(reference)) == 1 else text)


def include_one_of(clean: Clean, references: list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if the text contains one of the references (vab, r1)."""
    return any(clean(reference) in inputs.text for reference in references), "part of the text"


def lie_within(_: Clean, bounds: list[list[tuple[str, float]]], inputs: ComparisonInput) -> MatchResult:
    """Return True if the text is an integer within all bounds (vab, r1)."""
    try:
        number = int(inputs.text.strip().replace(",", ""))
    except ValueError:
        return False, "no whole number"
    return all(any(_is_within(number, *bound) for bound in choices) for choices in bounds), "bounds"


def _is_within(number: int, operator: str, bound: float) -> bool:
    if operator == "==":
        return abs(number - bound) <= _TOLERANCE
    return number <= bound + _TOLERANCE if operator.startswith("<") else number >= bound - _TOLERANCE


def mean_each(clean: Clean, references: str | list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if the answer has the meaning of each reference separately; an empty answer matches only empty references (webarena)."""
    if isinstance(references, str):
        return _match_unachievable(clean, inputs)
    if not inputs.text:
        return not any(references), "an empty answer"
    if (
        inputs.judge is None
    ):  # one comparison of the whole list, because a single reference does not match an answer with several
        return compare_meaning(references, inputs.text, inputs.intent, None)
    results = [compare_meaning([reference], inputs.text, inputs.intent, inputs.judge) for reference in references]
    return all(passed for passed, _ in results), results[0][1]


def mean_all(clean: Clean, references: str | list[str], inputs: ComparisonInput) -> MatchResult:
    """Return True if the answer has the meaning of all references, joined to one (vab, r1)."""
    if isinstance(references, str):
        return _match_unachievable(clean, inputs)
    return compare_meaning(references, inputs.text, inputs.intent, inputs.judge)


def read_fuzzy_references(value: object, where: str) -> Any:
    """Return references of fuzzy_match: a list of strings, or the string N/A of an unachievable task.

    The string N/A, unlike a list with N/A, also accepts an answer with the right reason (see `_match_unachievable`).
    """
    return value if value == _NOT_AVAILABLE else as_texts(value, where)


def _match_unachievable(clean: Clean, inputs: ComparisonInput) -> MatchResult:
    """Return True if the answer is N/A, or by the judge's decision has the reason in the task's note."""
    if clean(inputs.text) == clean(_NOT_AVAILABLE):
        return True, "equal text"
    if inputs.judge is None or not inputs.note:
        return False, "equal text"
    reference = f"{_NOT_AVAILABLE}: the task cannot be done. The reason: {inputs.note}"
    return compare_meaning([reference], inputs.text, inputs.intent, inputs.judge)
