"""Whether a claim is made of what the goal asks about, or of something else of its kind.

A goal names its subject: an order's number, a quotation, a person, a project, a month. An answer need not repeat it. But one that names
another thing of such a kind, and nothing of the goal's, answers another question: "Order 000000258: $113.50" where 253 was asked for.
"""

from collections.abc import Sequence

from webarena_gym.answers.goal import Goal
from webarena_gym.answers.lexicon import CALENDAR, FIELDS, FUNCTION, PREPOSITIONS, word_set
from webarena_gym.answers.scopes import Known, names, negated
from webarena_gym.answers.sentences import Sentence, Token, stem
from webarena_gym.answers.typed import in_label, is_source

_OF_SUBJECTS = word_set("of to from for than by about in")
_TIMES = frozenset(("month", "date"))
_CODE = 6  # digits of a number that is a name


def other_subject(sentences: Sequence[Sentence], goal: Goal, known: Known, kinds: frozenset[str]) -> str:
    """Return what an answer speaks of instead of the goal's subject, empty when it names none.

    `kinds` are those of the values that are asked for, which are no subjects.
    """
    said = [sentence for sentence in sentences if not sentence.is_question]
    if not goal.subjects or any(_is_mentioned(token, goal) for sentence in said for token in sentence.tokens):
        return ""
    for sentence in said:
        tokens, flags = sentence.tokens, negated(sentence)
        claims = [
            index
            for index, token in enumerate(tokens)
            if token.kind == "ref" or (token.value is not None and token.value.kind in kinds)
        ]
        if not claims and sentence.kind != "row":
            continue
        first = claims[0] if claims else len(tokens)
        for index, token in enumerate(tokens):
            if sentence.depths[index] or flags[index]:
                continue
            if _is_other_code(token, goal, kinds) or _is_other_time(token, goal, kinds):
                return token.text
        for start, end in names(sentence, known):
            if (
                sentence.depths[start]
                or flags[start]
                or is_source(sentence, start, end)
                or (sentence.kind == "row" and in_label(tokens, end))
            ):
                continue
            if goal.has_names and (start < first or _governor(tokens, start) in _OF_SUBJECTS - {"in", "by"}):
                return " ".join(each.text for each in tokens[start:end])
        if goal.has_quotation:
            other = _other_quotation(tokens, known)
            if other:
                return other
        if goal.has_identifier and tokens and _is_identifier(tokens[0]) and not known.word(tokens[0].norm) and first > 0:
            return tokens[0].text
    return ""


def _is_mentioned(token: Token, goal: Goal) -> bool:
    """Whether a token repeats something of the goal's subject."""
    return (
        token.kind in ("echo", "option")
        or token.norm in goal.subjects
        or (token.value is not None and (token.value.kind, token.value.amount) in goal.values and token.value.kind != "number")
    )


def _is_other_code(token: Token, goal: Goal, kinds: frozenset[str]) -> bool:
    return (
        goal.has_code
        and "code" not in kinds
        and token.text.isdigit()
        and len(token.text) >= _CODE
        and token.text.startswith("0")
    )


def _is_other_time(token: Token, goal: Goal, kinds: frozenset[str]) -> bool:
    return (
        token.value is not None
        and token.value.kind == "month"
        and kinds.isdisjoint(_TIMES)
        and any(kind == "month" for kind, _ in goal.values)
    )


def _governor(tokens: Sequence[Token], start: int) -> str:
    """The preposition that governs a name."""
    place = start - 1
    while place >= 0 and tokens[place].norm in ("the", "a", "an", '"'):
        place -= 1
    return tokens[place].norm if place >= 0 and tokens[place].norm in PREPOSITIONS else ""


def _other_quotation(tokens: Sequence[Token], known: Known) -> str:
    marks = [index for index, token in enumerate(tokens) if token.norm == '"']
    for first, last in zip(marks[::2], marks[1::2], strict=False):
        inside = tokens[first + 1 : last]
        plain = [token for token in inside if token.kind == "word"]
        if (
            plain
            and not any(token.kind in ("ref", "echo", "value") for token in inside)
            and not all(
                known.word(token.norm)
                or token.norm in FIELDS
                or stem(token.norm) in FIELDS
                or token.norm in FUNCTION
                or token.norm in CALENDAR
                for token in plain
            )
        ):
            return " ".join(token.text for token in inside)
    return ""


def _is_identifier(token: Token) -> bool:
    """Whether a word is a name such as projects have."""
    return token.kind == "word" and token.text.islower() and "-" in token.text
