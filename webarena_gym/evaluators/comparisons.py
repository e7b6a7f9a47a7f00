"""The comparisons of the public evaluators, as small functions: what they want, what they are given, who decided.

`webarena` is the benchmark's own code, `vab` VisualAgentBench's for WebArena-Lite (since November 2024), `r1` WebAgent-R1's, which
compares as that does. Texts are compared after `clean`, which the callers choose.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import OR, Judge, as_texts, judged

Clean = Callable[[str], str]
Finding = tuple[bool, str]
"""True if a text is as wanted, and who decided."""

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


def strip_blanks_and_quotes(text: str) -> str:
    """Return a text in lower case without the blanks around it, and then without the quotes (webarena)."""
    return strip_quotes(text.strip())


@lru_cache(maxsize=8)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words and signs of a text as NLTK's word tokenizer cuts them, sentence by sentence.

    Sentences are cut as by NLTK's own cutter (see `_sentences`), which needs data of its own; it would also leave the dot of a
    known abbreviation ("dr.") with its word. Raises EvaluationError without NLTK.
    """
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer  # noqa: PLC0415 - these rules alone need it
    except ImportError as error:
        raise EvaluationError("the rules webarena, vab and r1 cut words with NLTK: pip install nltk") from error
    tokenizer = NLTKWordTokenizer()
    return tuple(token for sentence in _sentences(text) for token in tokenizer.tokenize(sentence))


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
        raise EvaluationError(f"{where} is {value!r}; expected a text")
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
            raise EvaluationError(f"{where} is {text!r}; expected a bound such as '>= 3'") from error

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
    parts = tuple(part for token in tokens(text) if "/" in token for part in token.split("/"))
    passed = all(any(_has(clean(choice), text, parts) for choice in each.split(OR)) for each in wanted)
    return passed, "token or part of the text"


def exclude_tokens(clean: Clean, unwanted: list[str], said: Said) -> Finding:
    """No text is a token of what was said, or a part of it when it has several tokens (vab, r1)."""
    text = clean(said.text)
    return not any(_has(clean(each), text) for each in unwanted), "token or part of the text"


def _has(wanted: str, text: str, more: Iterable[str] = ()) -> bool:
    if len(tokens(wanted)) == 1:
        return wanted in tokens(text) or wanted in more
    return wanted in text


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
