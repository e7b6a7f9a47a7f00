"""Claims of typed values: which amounts, dates, times, distances or numbers an answer states, and which it only mentions.

A value is no claim where it echoes the goal, is an operand or the full mark of a rating, counts or measures something else than was
asked, is denied, or stands in a parenthesis behind another. What is left must be one value, the reference's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isclose

from webarena_gym.answers.goal import Goal
from webarena_gym.answers.lexicon import (
    COPULAS,
    FIELDS,
    FUNCTION,
    INEXACT,
    KINDS,
    MEASURES,
    SAME_KIND,
    SOURCES,
    TRAVEL,
    word_set,
)
from webarena_gym.answers.references import Part
from webarena_gym.answers.scopes import Known, concludes, corrects, is_dash, names, negated
from webarena_gym.answers.sentences import Sentence, Token, field_around, fold, stem
from webarena_gym.answers.values import Amount, Value

_OPERATORS = frozenset("+\u00d7÷*") | {"plus", "minus", "times"}
_RATES = word_set("second minute hour day night week month quarter year")
_SPOKEN = frozenset(("plus", "minus", "times"))
_EQUALS = frozenset("=≈")
_SCORES = word_set("star point vote upvote downvote")
_AFTER_OR = word_set("so more less fewer maybe thereabouts something longer higher lower")
_BEFORE_YEARS = word_set("in since until till during year from of by before after and")
_MARKS = (5.0, 10.0, 100.0)


@dataclass
class Candidate:
    """A value of the wanted kind that an answer names: where, and what speaks for or against its being the claim."""

    value: Value
    at: tuple[int, int]  # sentence, token
    clause: int
    is_denied: bool = False
    is_aside: bool = False  # in a parenthesis, or of another thing
    strength: int = 1  # 2: counts what was asked
    is_bare: bool = True  # no noun behind it
    is_inexact: bool = False
    other_label: bool = False  # named as something that the goal does not ask for


def same(kind: str, wanted: Amount, given: Value, unit: str = "") -> bool:
    """Whether a value is the wanted one."""
    if kind == "money" and given.kind == "money" and given.unit != (unit or "usd"):
        return False
    if isinstance(wanted, float | int) and isinstance(given.amount, float | int):
        return isclose(float(wanted), float(given.amount), rel_tol=1e-9, abs_tol=1e-6)
    return wanted == given.amount


def candidates(sentences: Sequence[Sentence], part: Part, goal: Goal, wanted: Sequence[Amount] = ()) -> list[Candidate]:
    """Return all that an answer names of the kind of a part, with what is known about each; echoes and operands are left out.

    What is `wanted`, by default the part's value, is never an echo.
    """
    found: list[Candidate] = []
    bare: list[Candidate] = []
    is_offered_any = False  # a bare number is offered beside another value
    computed = operands(sentences)
    is_year = len(part.source) == 4 and part.source.isdigit()
    for number, sentence in enumerate(sentences):
        if sentence.is_question:
            continue
        denied, clauses = negated(sentence), clause_numbers(sentence)
        equation = any(token.norm in _EQUALS for token in sentence.tokens)
        if part.kind == "number":
            found += _zeros(sentence, number, goal)
        for index, token in enumerate(sentence.tokens):
            value = token.value and _as_kind(token.value, part.kind)
            if part.kind == "url" and token.kind == "word" and "." in token.norm:
                value = Value("url", token.norm, 0, 0)
            if value is None or token.kind not in ("value", "word"):
                continue
            if value.kind == "number" and not is_year and _is_year(sentence.tokens, index):
                continue
            is_bare_number = value.kind == "number" and part.kind not in ("number", "code")
            if value.kind != part.kind:
                if not is_bare_number or not part.scale:
                    continue
                value = value._replace(amount=round(float(value.amount) * part.scale, 6))  # type: ignore[arg-type]
            if _digits(token.text) in computed:
                continue
            if is_operand(sentence, index, equation=equation) or _is_full_mark(sentence.tokens, index, goal):
                continue
            if _is_bare_echo(sentence.tokens, index):
                pass
            elif (
                not any(same(part.kind, each, value) for each in wanted or ([part.value.amount] if part.value else ()))
                and (part.kind, value.amount) in goal.values
                and part.kind not in ("number",)
            ):
                continue
            candidate = Candidate(value, (number, index), clauses[index], denied[index], sentence.depths[index] > 0)
            if value.kind == "number":
                _count(candidate, sentence.tokens, index, goal, is_count=part.kind == "number")
                if candidate.strength == 0:
                    continue
            candidate.is_inexact = is_inexact(sentence.tokens, index) and not (
                "within" in goal.words and sentence.tokens[index - 1].norm == "to"
            )
            candidate.other_label = _has_other_label(sentence, index, clauses, goal)
            is_offered_any |= (
                is_bare_number and candidate.is_bare and index > 0 and sentence.tokens[index - 1].norm in ("or", "/")
            )
            (bare if is_bare_number else found).append(candidate)
    live = [each for each in found if not each.is_aside]
    if not is_offered_any and (len(live) >= max(1, len(wanted)) or not bare):
        return found
    return sorted([*found, *(each for each in bare if each.is_bare)], key=lambda each: each.at)


def _zeros(sentence: Sentence, number: int, goal: Goal) -> list[Candidate]:
    """The candidates that "no open issues" gives where issues are counted."""
    tokens = sentence.tokens
    found: list[Candidate] = []
    for index, token in enumerate(tokens):
        if token.norm != "no":
            continue
        for following in tokens[index + 1 : index + 4]:
            if following.kind != "word" or following.norm in FUNCTION or following.norm in ("other", "further", "more"):
                break
            if stem(following.norm) in goal.counted and stem(following.norm) in goal.plurals:
                found.append(Candidate(Value("number", 0.0, 0, 0), (number, index), 0, strength=2, is_bare=False))
                break
    return found


def _is_year(tokens: Sequence[Token], index: int) -> bool:
    """Whether a number is a year by its place: "in 2002"."""
    text = tokens[index].norm
    return len(text) == 4 and text[:2] in ("18", "19", "20") and index > 0 and tokens[index - 1].norm in _BEFORE_YEARS


def _is_bare_echo(tokens: Sequence[Token], index: int) -> bool:
    """Whether a value stands alone between marks or as what "it is": then it is claimed, even when the goal has it."""
    before = tokens[index - 1].norm if index else ""
    after = tokens[index + 1].norm if index + 1 < len(tokens) else ""
    alone = ("", ",", "/", "|", ";", "or", ".")
    return (before in alone or before in COPULAS) and (after in alone or after in COPULAS)


def _as_kind(value: Value, kind: str) -> Value | None:
    """The value as it may be meant when a kind is asked for."""
    if kind == "duration" and value.kind == "time" and value.unit == "clock":
        return value._replace(kind="duration", amount=60 * float(value.amount))  # type: ignore[arg-type]
    if kind == "duration" and value.kind == "distance" and value.unit == "m":
        return None
    if kind == "phone" and value.kind == "number" and value.end - value.start == 10:
        return value._replace(kind="phone", amount=f"{value.amount:.0f}".zfill(10))
    if kind == "hours" and value.kind == "time":
        return value._replace(kind="hours")
    if kind == "time" and value.kind == "duration" and value.unit == "h min":
        return value._replace(kind="time", amount=float(value.amount) / 60)  # type: ignore[arg-type]
    if kind == "code" and value.kind == "number":
        return None
    return value


def is_operand(sentence: Sentence, index: int, *, equation: bool) -> bool:
    """Whether a value stands beside a sign of arithmetic."""
    tokens = sentence.tokens
    after = _skip_noun(tokens, index + 1)
    before_mark = tokens[index - 1].norm if index > 1 else ""
    after_mark = tokens[after].norm if after + 1 < len(tokens) else ""
    if before_mark in _OPERATORS and tokens[index - 2].norm != "the":
        return before_mark not in _SPOKEN or tokens[index - 2].kind == "value"
    if after_mark in _OPERATORS and (after_mark not in _SPOKEN or tokens[after + 1].kind == "value"):
        return True
    if equation and _is_left_of_result(sentence, index):
        return True
    if equation and ((before_mark == "-" and index > 1) or after_mark in ("-", "/") or before_mark == "/"):
        return True
    # "3 + 2 = 5": the result is behind the sign, unless the sum is.
    return after_mark in _EQUALS and not _is_sum(tokens, after + 1)


def _is_left_of_result(sentence: Sentence, index: int) -> bool:
    """Whether a value is one of several before the last "=", behind which there is one alone."""
    tokens = sentence.tokens
    start, end = field_around(tokens, index)
    equals = [place for place in range(start, end) if tokens[place].norm in _EQUALS]
    if not equals or index > equals[-1]:
        return False
    last, tokens = equals[-1] - start, tokens[start:end]
    behind = sum(token.kind == "value" for token in tokens[last:])
    before = sum(token.kind == "value" for token in tokens[:last])
    return behind == 1 < before


def operands(sentences: Sequence[Sentence]) -> frozenset[str]:
    """Return the digits of what the computations of an answer compute with, but not of what comes out in the end."""
    found: set[str] = set()
    last: set[str] = set()
    for sentence in sentences:
        equals = [index for index, token in enumerate(sentence.tokens) if token.norm in _EQUALS]
        for index, token in enumerate(sentence.tokens):
            if equals and token.value is not None:
                if is_operand(sentence, index, equation=True):
                    found.add(_digits(token.text))
                elif index > equals[-1]:
                    last = {_digits(token.text)}
    return frozenset(found - last)


def _digits(text: str) -> str:
    """The digits of a value, without what stands around them."""
    return "".join(character for character in text if character.isdigit() or character == ".")


def _is_sum(tokens: Sequence[Token], index: int) -> bool:
    after = _skip_noun(tokens, index + 1)
    return after < len(tokens) and tokens[after].norm in (*_OPERATORS, "-", "/")


def _skip_noun(tokens: Sequence[Token], index: int) -> int:
    """The place behind at most three words that may name what a value counts."""
    end = index
    while end < len(tokens) and end < index + 3 and tokens[end].kind == "word" and tokens[end].norm not in FUNCTION:
        end += 1
    if end < len(tokens) and (tokens[end].norm in _OPERATORS or tokens[end].norm in _EQUALS):
        return end
    if end < len(tokens) and tokens[end].norm == "(":  # 2 (Ann) + 1 (Bo)
        close = end
        while close < len(tokens) and close < end + 12 and tokens[close].norm != ")":
            close += 1
        if close + 1 < len(tokens) and (tokens[close + 1].norm in _OPERATORS or tokens[close + 1].norm in _EQUALS):
            return close + 1
    return index


def _is_full_mark(tokens: Sequence[Token], index: int, goal: Goal) -> bool:
    """Whether a number is the second of "4 out of 5", or of "4/5" where stars are asked for."""
    if index < 2:
        return False
    before, earlier = tokens[index - 1].norm, tokens[index - 2]
    if before == "of" and earlier.norm == "out":
        return True
    if before == "of" and earlier.value is not None:
        return True
    if before == "the" and earlier.norm == "of" and index > 2 and tokens[index - 3].value is not None:
        return True
    value = tokens[index].value
    return (
        before == "/"
        and earlier.value is not None
        and value is not None
        and value.amount in _MARKS
        and bool(goal.words & {"star", "stars", "rating", "rate"})
    )


def _count(candidate: Candidate, tokens: Sequence[Token], index: int, goal: Goal, *, is_count: bool) -> None:
    """Set the strength of a number by the noun behind it: 0 is no claim."""
    text = tokens[index].norm
    if is_count and ((text[0] == "0" and text.isdigit() and len(text) > 1) or (index and tokens[index - 1].norm == "#")):
        candidate.strength = 0  # the number of an order
        return
    place = index - 1
    while place >= 0 and tokens[place].norm in ("#", '"', "(", ":"):
        place -= 1
    labelled = place >= 0 and place < index - 1 and tokens[index - 1].norm == ":"
    before = tokens[place].norm if place >= 0 else ""
    behind = [token.norm for token in tokens[index + 1 : index + 4]]
    following = behind[:1]
    is_of_goal = text in goal.words and (
        (len(text) > 3 and before not in COPULAS)
        or (labelled and stem(before) not in goal.counted)
        or before in ("top", "first", "last", "latest", "these", "those", "all")
    )
    scale = tokens[index + 3].value if behind[:2] == ["out", "of"] and len(behind) == 3 else None
    if (
        is_of_goal
        or (behind[:2] == ["of", "them"] and before == "the")
        or (behind[:2] == ["out", "of"] and behind[2:3] in (["10"], ["100"]) and goal.words & {"rating", "star", "stars"})
        or (scale is not None and isinstance(scale.amount, float) and float(candidate.value.amount) > scale.amount)  # type: ignore[arg-type]
    ):
        candidate.strength = 0
        return
    noun, place = [], index + 1
    while place < len(tokens) and place < index + 5:
        token = tokens[place]
        if token.norm == "-" and place == index + 1:
            place += 1
            continue
        if token.kind != "word" or token.norm in FUNCTION:
            break
        noun.append(stem(token.norm))
        place += 1
    if place < len(tokens) and tokens[place].norm == "each" and "each" not in goal.words:
        candidate.is_denied = True
    if following_value(tokens, index):
        candidate.is_denied = True
    if (
        place + 1 < len(tokens)
        and tokens[place].norm in ("a", "an", "per", "every", "each")
        and tokens[place + 1].norm in _RATES
        and tokens[place + 1].norm not in goal.words
    ):
        candidate.is_denied = True
    if goal.counted and not goal.counted.isdisjoint(noun):
        candidate.strength, candidate.is_bare = 2, False
        return
    if (
        (following and (text, following[0]) in goal.pairs and following[0] not in FUNCTION)
        or (before not in FUNCTION and before not in ("", ",", ":", "=") and (before, text) in goal.pairs)
        or ((before, text) in goal.pairs and following and (text, following[0]) in goal.pairs)
        or (
            is_count
            and noun
            and goal.counted
            and _names_other(noun, goal, is_other_plural=_is_other_plural(tokens, index, goal))
        )
    ):
        candidate.strength = 0
    candidate.is_bare = not noun


def following_value(tokens: Sequence[Token], index: int) -> bool:
    """Whether a time follows a number directly: "2 an hour"."""
    following = tokens[index + 1].value if index + 1 < len(tokens) else None
    return following is not None and following.kind == "duration"


def _is_other_plural(tokens: Sequence[Token], index: int, goal: Goal) -> bool:
    """Whether a number counts other things than the goal: a plural behind it that neither the goal nor grammar knows."""
    if index + 1 >= len(tokens) or tokens[index + 1].kind != "word":
        return False
    word, base = tokens[index + 1].norm, stem(tokens[index + 1].norm)
    return (
        base != word
        and tokens[index + 1].text.islower()
        and base not in goal.counted
        and word not in FUNCTION
        and (goal.knows(word) or not any(known[:4] == word[:4] for known in goal.words))
        and base not in KINDS
        and base not in _NOT_NOUNS
    )


_NOT_NOUNS = word_set(
    "entry result match hit record row unit time other them such so this thus as plus minus is was has across"
)


def _names_other(noun: list[str], goal: Goal, *, is_other_plural: bool) -> bool:
    """Whether the noun behind a number is one that the goal knows but does not ask for."""
    if not MEASURES.isdisjoint(noun) and MEASURES.isdisjoint(goal.counted):
        return True
    asked = [kind for kind in SAME_KIND if not kind.isdisjoint(goal.counted)]
    for word in noun:
        if any(word in kind for kind in asked):
            return False
    if asked and any(word in kind for word in noun for kind in SAME_KIND):
        return True
    if is_other_plural:
        return True
    head = noun[0] if len(noun) == 1 else noun[-1]
    return head in _SCORES or head in goal.plurals


def is_inexact(tokens: Sequence[Token], index: int) -> bool:
    """Whether a value is a bound or half a choice: "at least 5", "more than 5", "5 or so"."""
    place = index - 1
    while place >= 0 and tokens[place].norm in ("$", "€", "£", "a", "the", "of", "about", "total"):
        place -= 1
    before = tokens[place].norm if place >= 0 else ""
    earlier = tokens[place - 1].norm if place > 0 else ""
    if before in INEXACT or (before == "than" and (earlier in ("more", "less") or earlier.endswith("er"))):
        return True
    if before in ("before", "after") and _kind_of(tokens[index]) in ("date", "month", "time"):
        return True
    if index + 2 < len(tokens) and tokens[index + 1].norm == "|" and tokens[index + 2].kind == "word":
        return True
    if before in ("least", "most") and earlier == "at":
        return True
    if (
        before in ("/", "|", "or")
        and place > 0
        and tokens[place - 1].kind == "word"
        and earlier not in FUNCTION
        and earlier not in FIELDS
    ):
        return True
    if before == "to" and earlier in ("up", "close", "next"):
        first = tokens[place - 2].norm if place > 1 else ""
        return not first.startswith(("add", "com", "sum", "total"))
    after = index + 1
    while after < len(tokens) and after < index + 4 and tokens[after].kind == "word" and tokens[after].norm not in FUNCTION:
        after += 1
    following = [token.norm for token in tokens[after : after + 2]]
    if following[:1] == ["or"]:
        return (
            len(following) < 2
            or following[1] in _AFTER_OR
            or (tokens[after + 1].kind == "word" and following[1] not in FUNCTION)
        )
    if [token.norm for token in tokens[index + 1 : index + 3]] == ["-", "ish"] or following[:1] == ["ish"]:
        return True
    return following[:1] == ["+"] and (len(following) == 1 or not following[1][:1].isdigit())


def _kind_of(token: Token) -> str:
    return token.value.kind if token.value else ""


def clause_numbers(sentence: Sentence) -> list[int]:
    """Number the clauses of a sentence, token by token."""
    numbers: list[int] = []
    current = 0
    for index, token in enumerate(sentence.tokens):
        if (
            token.norm in (",", ";", "(", ")", "|")
            or is_dash(sentence, index)
            or token.norm in ("and", "or", "but", "so", "while", "whereas", "because", "which", "plus", "vs", "versus", "with")
        ):
            current += 1
        numbers.append(current)
    return numbers


def _has_other_label(sentence: Sentence, index: int, clauses: list[int], goal: Goal) -> bool:
    """Whether the words of a value's clause name a field or a way of travel that the goal does not ask for, and none that it does."""
    tokens = sentence.tokens
    around: list[Token] = []
    place = index - 1
    while place >= 0 and clauses[place] == clauses[index] and tokens[place].kind != "value":
        around.append(tokens[place])
        place -= 1
    place = index + 1
    behind: list[Token] = []
    while place < len(tokens) and clauses[place] == clauses[index] and tokens[place].kind != "value":
        behind.append(tokens[place])
        place += 1
    ways = {way for way, known in TRAVEL.items() if any(token.norm in known for token in (*around, *behind))}
    if ways and goal.ways and not ways & goal.ways:
        return True
    words = [token for token in around if token.kind == "word" and token.norm not in FUNCTION]
    if any(goal.knows(token.norm) for token in words) or any(token.kind == "ref" for token in around):
        return False
    return any(token.norm in _OTHER_FIELDS for token in words)


_OTHER_FIELDS = word_set(
    "subtotal shipping handling tax vat fee delivery discount coupon savings regular original previous before reduced formerly rating average balance refunded paid invoiced"
)


def foreign_names(sentences: Sequence[Sentence], claims: Iterable[Candidate], known: Known, *, is_closed: bool) -> list[str]:
    """Return the names that are no part of the goal in the sentences of some claims.

    What follows a claim behind a comma is a detail, unless the task has said which names an answer may have (`is_closed`). What
    an answer gives as its source is none.
    """
    found: list[str] = []
    seen: set[int] = set()
    for claim in claims:
        number, index = claim.at
        if number in seen:
            continue
        seen.add(number)
        sentence = sentences[number]
        clauses = clause_numbers(sentence)
        for start, end in names(sentence, known):
            if is_source(sentence, start, end) or (start and sentence.tokens[start - 1].norm == '"'):
                continue
            if sentence.kind == "row" and in_label(sentence.tokens, end):
                continue
            if sentence.depths[start] and not is_closed:
                continue
            if start > index and clauses[start] != clauses[index] and not is_closed:
                continue
            found.append(" ".join(token.text for token in sentence.tokens[start:end]))
    return found


def in_label(tokens: Sequence[Token], end: int) -> bool:
    """Whether what ends at a token belongs to the label of a field: at most three words before its colon."""
    return any(token.norm == ":" for token in tokens[end : end + 4]) and not any(
        token.norm == ";" or (token.kind != "word" and token.norm not in ":?")
        for token in tokens[
            end : end + next((place for place, token in enumerate(tokens[end : end + 4]) if token.norm == ":"), 0)
        ]
    )


def is_source(sentence: Sentence, start: int, end: int) -> bool:
    """Whether a name tells where the answer was read: "according to X", "on the X page", "Sales > X"."""
    tokens = sentence.tokens
    if end < len(tokens) and (tokens[end].norm in PLACES_OF_SITE or tokens[end].norm == ">"):
        return True
    place = start - 1
    steps = 0
    while place >= 0 and steps < 6:
        norm = tokens[place].norm
        if norm in SOURCES or (norm == ">" and sentence.tokens[place].kind == "mark"):
            return True
        if tokens[place].kind in ("value", "ref") or norm in (",", ";", ":") or norm in COPULAS:
            break
        place -= 1
        steps += 1
    return False


PLACES_OF_SITE = word_set(
    "page tab section list report grid screen menu panel view dashboard admin profile tool app site website database table map service link feature option button sidebar filter tracker store shop demo"
)


def claims(sentences: Sequence[Sentence], part: Part, goal: Goal, wanted: Sequence[Amount]) -> tuple[list[Candidate], str]:
    """Return the candidates that are claimed of one part's kind, and why there are none or too many, empty when that is settled."""
    found = candidates(sentences, part, goal, wanted)
    live = [each for each in found if not each.is_denied and not each.is_aside]
    if not live:
        live = [each for each in found if not each.is_denied]
    exact = [each for each in live if not each.is_inexact]
    if exact:
        live = [each for each in live if not each.is_inexact or any(same(part.kind, amount, each.value) for amount in wanted)]
    if any(each.strength == 2 for each in live):
        live = [each for each in live if each.strength == 2 or each.is_bare]
    return live, "" if live else f"no {part.kind} is claimed"


def reduce(live: list[Candidate], sentences: Sequence[Sentence]) -> list[Candidate]:
    """Leave out what is named as something else, or what the last value is the sum or difference of."""
    if _are_equal(live):
        return live
    asked = [each for each in live if not each.other_label]
    if asked and len(asked) < len(live):
        live = asked
    if _are_equal(live):
        return live
    result = _result(live, sentences)
    if result:
        return result
    by_line = [each for each in live if _is_total(sentences[each.at[0]], each.at[1])]
    others = [each for each in live if each not in by_line]
    if by_line and _are_equal(by_line) and others and all(other.at[0] < by_line[0].at[0] for other in others):
        return by_line
    return live


def _is_total(sentence: Sentence, index: int) -> bool:
    return any(
        token.norm in ("total", "together", "altogether", "sum", "combined", "overall", "difference", "answer", "result")
        for token in sentence.tokens[max(0, index - 8) : index + 4]
    )


def _are_equal(live: Sequence[Candidate]) -> bool:
    return len({str(_key(each.value)) for each in live}) <= 1


def _key(value: Value) -> object:
    return (
        value.unit if value.kind == "money" else "",
        round(value.amount, 6) if isinstance(value.amount, float) else value.amount,
    )


def _result(live: list[Candidate], sentences: Sequence[Sentence]) -> list[Candidate]:
    """The last value, or the first, when it stands in a sentence of its own or is called a total, and the others make it.

    The others are all of its operands: they add up to it, or two of them differ by it.
    """
    amounts: list[float] = []
    distinct: list[Candidate] = []
    for each in live:
        if not isinstance(each.value.amount, float | int):
            return []
        if not distinct or each.value.amount != distinct[-1].value.amount or each.at[0] != distinct[-1].at[0]:
            distinct.append(each)
            amounts.append(float(each.value.amount))
    if len(distinct) < 3 or len(distinct) > 40:
        return []
    for place in (-1, 0):
        total = distinct[place]
        others_of = [each for each in distinct if each is not total]
        if any(each.at[0] == total.at[0] and each.clause == total.clause for each in others_of):
            continue
        if any(each.at[0] == total.at[0] for each in others_of) and not _is_total(sentences[total.at[0]], total.at[1]):
            continue
        others = [amount for index, amount in enumerate(amounts) if index != (place % len(amounts))]
        amount = amounts[place]
        if isclose(sum(others), amount, abs_tol=0.005) or (
            len(others) == 2
            and (place or _is_total(sentences[total.at[0]], total.at[1]))
            and isclose(abs(others[0] - others[1]), abs(amount), abs_tol=0.005)
        ):
            return [each for each in live if each.value.amount == total.value.amount]
    return []


def last_conclusion(sentences: Sequence[Sentence]) -> tuple[int, int] | None:
    """Where the last conclusion of an answer begins, as sentence and token."""
    for number in range(len(sentences) - 1, -1, -1):
        index = concludes(sentences[number])
        if index >= 0 and (number or index) and (number or index > 0):
            return number, index
    return None


def last_correction(sentences: Sequence[Sentence]) -> tuple[int, int] | None:
    """Where an answer last takes back what it said before, as sentence and token."""
    for number in range(len(sentences) - 1, -1, -1):
        index = corrects(sentences[number])
        if index >= 0 and (number or index):
            return number, index
    return None


def folded(words: Iterable[str]) -> frozenset[str]:
    """Return some words as they are compared."""
    return frozenset(map(fold, words))
