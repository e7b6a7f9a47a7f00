"""Claims of yes, no and "there is no answer"."""

from collections.abc import Sequence
from itertools import pairwise

from webarena_gym.answers.chunks import chunks
from webarena_gym.answers.goal import Goal
from webarena_gym.answers.lexicon import AUXILIARIES, COPULAS, FIELDS, FUNCTION, HEDGES, PRONOUNS, word_set
from webarena_gym.answers.references import Asked
from webarena_gym.answers.scopes import Known, corrects, denies_after, is_doubtful, is_negation, names, negated
from webarena_gym.answers.sentences import Sentence, Token, has_part, words

_YES = word_set("yes yeah yep yup true affirmative y")
_NO = word_set("no nope false negative n")
_UNKNOWN = frozenset(("unknown", "unclear", "uncertain", "unconfirmed", "unverified"))
_INTERJECTIONS = word_set("oh ah wait sorry hmm oops actually correction but no")
_FOUND = word_set("found worked succeeded added")
_AVAILABLE = frozenset(("applicable", "available"))


def read_polarity(sentences: Sequence[Sentence], goal: Goal, asked: Asked) -> set[bool]:
    """Return what an answer says to a question of yes or no: both when it contradicts itself, nothing when it says neither."""
    found: set[bool] = set()
    for sentence in sentences:
        if sentence.is_question:
            continue
        flags = negated(sentence)
        tokens = sentence.tokens
        field = _field(sentence, goal, asked)
        if field is not None:
            found |= field
            continue
        for index, token in enumerate(tokens):
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            if token.norm in ("y", "n") and (index or (following is not None and following.norm == "/")):
                continue
            if token.norm in _YES and token.kind == "word":
                found |= {True, False} if flags[index] or denies_after(tokens, index) else {True}
            elif token.norm in _NO and token.kind == "word" and _is_word_of_its_own(tokens, index, following):
                found |= {True, False} if (index and flags[index - 1]) or denies_after(tokens, index) else {False}
        found |= _predicate(sentence, flags, asked)
        if not asked.yes and not asked.no:
            found |= _restated(sentence, flags, goal)
        found |= _elliptical(tokens)
    return found


def _field(sentence: Sentence, goal: Goal, asked: Asked) -> set[bool] | None:
    """What "is closed: no" says, nothing for another field; None where a sentence is no field of yes or no."""
    if sentence.kind != "row":
        return None
    norms = [token.norm for token in sentence.tokens if token.norm not in ('"', "?", "(", ")")]
    known = {word for phrase in (*asked.yes, *asked.no) for word in words(phrase)}
    said: set[bool] = set()
    is_field = False
    for part in _split(norms, ";"):
        label, _, value = _partition(part, ":")
        if not label or not value or value[0] not in _YES | _NO or (len(value) > 1 and value[1] not in (",", ".")):
            continue
        is_field = True
        contents = [word for word in label if word not in FUNCTION]
        if contents and not any(goal.knows(word) or word in known for word in contents):
            continue
        opposite = any(has_part(label, words(phrase)) for phrase in asked.no) and not any(
            has_part(label, words(phrase)) for phrase in asked.yes
        )
        said.add((value[0] in _YES) != ("not" in label or opposite))
    return said if is_field else None


def _split(norms: list[str], mark: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for norm in norms:
        if norm == mark:
            parts.append([])
        else:
            parts[-1].append(norm)
    return parts


def _partition(norms: list[str], mark: str) -> tuple[list[str], str, list[str]]:
    place = norms.index(mark) if mark in norms else len(norms)
    return norms[:place], mark, norms[place + 1 :]


def _is_word_of_its_own(tokens: Sequence[Token], index: int, following: Token | None) -> bool:
    if tokens[index].norm == "no":
        before = tokens[index - 1].norm if index else ""
        return (
            following is None
            or (following.kind == "mark" and following.norm != '"')
            or (index == 0 and following.norm in (PRONOUNS | {"the", "this", "that", "because", "since", "as", "its"}))
            or before == "yes"
        )
    return True


def _predicate(sentence: Sentence, flags: Sequence[bool], asked: Asked) -> set[bool]:
    """What the phrases say by which the task lets yes and no be told."""
    found: set[bool] = set()
    tokens = sentence.tokens
    norms = [token.norm for token in tokens]
    for phrases, meaning in ((asked.no, False), (asked.yes, True)):
        for phrase in phrases:
            wanted = words(phrase)
            for index in range(len(norms) - len(wanted) + 1):
                if (
                    norms[index : index + len(wanted)] != wanted
                    or sentence.depths[index]
                    or "whether" in norms[:index]
                    or norms[:index].count('"') % 2
                ):
                    continue
                if not (meaning and _is_inside(norms, index, asked.no)):
                    found.add(meaning != (flags[index] or _is_negated_between(tokens, index, index + len(wanted))))
    return found


def _is_inside(norms: list[str], index: int, phrases: Sequence[str]) -> bool:
    """Whether a phrase stands inside of one of others: "in stock" is no part of "not in stock", but of "out of stock"."""
    for phrase in phrases:
        wanted = words(phrase)
        for start in range(max(0, index - len(wanted) + 1), index + 1):
            if norms[start : start + len(wanted)] == wanted:
                return True
    return False


def _is_negated_between(tokens: Sequence[Token], start: int, end: int) -> bool:
    return any(is_negation(tokens, index) for index in range(start + 1, end))


def _restated(sentence: Sentence, flags: Sequence[bool], goal: Goal) -> set[bool]:
    """What a sentence says that repeats most of the question's last words."""
    content = [word for word in words(goal.text.split("?")[0]) if word not in FUNCTION]
    if not content:
        return set()
    last = content[-1]
    for index, token in enumerate(sentence.tokens):
        if token.norm == last and any(each.norm in AUXILIARIES for each in sentence.tokens[:index]):
            return {not flags[index]}
    return set()


def _elliptical(tokens: Sequence[Token]) -> set[bool]:
    """What "It is.", "It does not." say."""
    body = [token.norm for token in tokens if token.kind != "mark"]
    if len(body) in (2, 3) and body[0] in PRONOUNS and body[1] in AUXILIARIES:
        if len(body) == 2:
            return {not body[1].endswith("n't")}
        if body[2] == "not":
            return {False}
    return set()


def says_not_available(sentence: Sentence, flags: Sequence[bool]) -> list[int]:
    """Return the places in a sentence that say N/A without denial."""
    tokens = sentence.tokens
    found: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "word" or flags[index]:
            continue
        following = [each.norm for each in tokens[index + 1 : index + 3]]
        if denies_after(tokens, index + 2 if following[:1] == ["/"] else index):
            continue
        if (token.norm == "n" and following[:2] == ["/", "a"]) or (
            token.norm in ("n.a", "na") and (token.text.isupper() or token.norm != "na" or len(tokens) <= 2)
        ):
            found.append(index)
    body = [token for token in tokens if token.kind == "word"]
    if len(body) == 2 and body[0].norm == "not" and body[1].norm in _AVAILABLE:
        found.append(tokens.index(body[0]))
    return found


def claims_not_available(sentences: Sequence[Sentence], goal: Goal) -> str:
    """Return why an answer does not claim that there is no answer, empty when it does."""
    said = False
    for sentence in sentences:
        if sentence.is_question:
            continue
        if (
            said
            and (_takes_back(sentence) or (corrects(sentence) == 0 and not says_not_available(sentence, negated(sentence))))
        ) or _corrects_itself(sentence, goal):
            return "N/A is taken back"
        flags = negated(sentence, after_colon=False)
        places = says_not_available(sentence, flags)
        if places:
            said = True
            why = _is_hedged(sentence, places, goal)
            if why:
                return why
        else:
            why = _claims_other(sentence, goal)
            if why:
                return why
        if places and _is_supposed(sentence):
            return "N/A is only supposed"
    return "" if said else "N/A is not claimed"


def _corrects_itself(sentence: Sentence, goal: Goal) -> bool:
    """Whether a sentence takes back what it said for a value or a name: "N/A, actually $5.00"."""
    start = corrects(sentence)
    if start <= 0:
        return False
    flags, unknown = negated(sentence), names(sentence, Known(goal))
    if any(not flags[first] and first > start for first, _ in unknown):
        return True
    tokens = sentence.tokens
    return any(
        tokens[index].kind == "value" and not flags[index] and not _is_echo(tokens[index], goal)
        for index in range(start, len(tokens))
    )


def _is_supposed(sentence: Sentence) -> bool:
    """Whether N/A is a guess; that something could not be verified is a reason for it."""
    norms = [token.norm for token in sentence.tokens]
    guessed = any((norm in HEDGES and norm not in _UNKNOWN) or norm.startswith("doubt") for norm in norms) or any(
        one in ("might", "may", "could") and two == "be" and three in ("n", "also", "just")
        for one, two, three in zip(norms, norms[1:], norms[2:], strict=False)
    )
    guessed = guessed or ("or", "else") in pairwise(norms)
    return guessed or (is_doubtful(sentence) and not {"sure", "certain", "confident"}.isdisjoint(norms))


def _takes_back(sentence: Sentence) -> bool:
    """Whether a sentence behind N/A says that there is an answer after all."""
    norms = [token.norm for token in sentence.tokens if token.kind == "word"]
    if ("n" in norms and "a" in norms) or not {"no", "not", "false", "never"}.isdisjoint(norms[1:]):
        return False
    if (
        norms[:1]
        and norms[0] in _INTERJECTIONS
        and (norms[0] != "no" or (sentence.tokens[1:2] and sentence.tokens[1].norm == ","))
    ):
        return True
    return any(norm in _FOUND for norm in norms) and not any(
        is_negation(sentence.tokens, index) for index in range(len(sentence.tokens))
    )


def _is_hedged(sentence: Sentence, places: list[int], goal: Goal) -> str:
    """Why N/A is one of several claims of a sentence."""
    tokens = sentence.tokens
    for place in places:
        behind = place + (3 if tokens[place].norm == "n" else 2 if tokens[place].norm == "not" else 1)
        following = tokens[behind].norm if behind < len(tokens) else ""
        before = tokens[place - 1].norm if place else ""
        if following == "," and behind + 1 < len(tokens) and tokens[behind + 1].norm == "or":
            return "N/A is one of several claims"
        if following in ("or", "/", "|") or before in ("or", "/", "|", "either"):
            return "N/A is one of several claims"
        if behind < len(tokens) and tokens[behind].kind == "value" and not _is_echo(tokens[behind], goal):
            return f"{tokens[behind].text!r} is claimed as well"
        subject = [token for token in tokens[:place] if token.norm not in COPULAS and token.kind != "mark"]
        spans = names(sentence, Known(goal))
        if subject and (
            all(token.kind == "value" and not _is_echo(token, goal) for token in subject)
            or any(start == 0 and end >= len(subject) for start, end in spans)
            or (
                any(token.norm in COPULAS for token in tokens[:place])
                and len(subject) == 1
                and not _is_grammar(subject[0], goal)
            )
        ):
            return f"{subject[0].text!r} is claimed as well"
        if place and not any(token.norm in FUNCTION for token in tokens[:place]) and not _is_label_of(tokens[place - 1], goal):
            return f"{tokens[place - 1].text!r} is claimed as well"
    flags = negated(sentence, after_colon=False)
    parts = chunks(sentence)
    unknown = names(sentence, Known(goal))
    for part in parts:
        if any(part.start <= place < part.end for place in places) or (
            places and part.separator == "/" and part.start - 2 in places
        ):
            continue
        body = [token for token in tokens[part.start : part.end] if token.kind != "mark"]
        if not body or sentence.depths[part.start]:
            continue
        if all(token.kind == "value" and not _is_echo(token, goal) for token in body) and not flags[part.start]:
            return f"{body[0].text!r} is claimed as well"
        if any(start <= part.start and end >= part.end for start, end in unknown):
            return f"{body[0].text!r} is claimed as well"
        if any(_is_claimed_value(tokens, index, flags, goal) for index in range(part.start, part.end)):
            return "a value is claimed as well"
    return ""


def _is_echo(token: Token, goal: Goal) -> bool:
    return token.value is not None and ((token.value.kind, token.value.amount) in goal.values or token.norm in goal.words)


def _is_grammar(token: Token, goal: Goal) -> bool:
    return token.norm in FUNCTION or token.norm in FIELDS or goal.knows(token.norm) or token.kind not in ("word", "value")


def _is_label_of(token: Token, goal: Goal) -> bool:
    """Whether what stands directly before N/A says only what it is: "Status N/A", "**Answer** N/A", and marks."""
    return token.kind not in ("word", "value") or token.norm in FIELDS or (token.kind == "word" and goal.knows(token.norm))


def _is_claimed_value(tokens: Sequence[Token], index: int, flags: Sequence[bool], goal: Goal) -> bool:
    token = tokens[index]
    if token.kind != "value" or token.value is None or flags[index]:
        return False
    if _is_echo(token, goal):
        return False
    before = tokens[index - 1].norm if index else ""
    return before in ("is", "was", "are", "were", "be", "has", ":", "=", "costs", "cost") or (before == "$")


def _claims_other(sentence: Sentence, goal: Goal) -> str:
    """Why a sentence beside N/A claims a value."""
    flags = negated(sentence, after_colon=False)
    tokens = sentence.tokens
    body = [token for token in tokens if token.kind != "mark"]
    if len(body) == 1 and body[0].kind == "value" and not _is_echo(body[0], goal):
        return f"{body[0].text!r} is claimed as well"
    unknown = names(sentence, Known(goal))
    if any(end - start >= len(tokens) - 1 for start, end in unknown):
        return f"{body[0].text!r} is claimed as well"
    for index in range(len(tokens)):
        if _is_claimed_value(tokens, index, flags, goal):
            return f"{tokens[index].text!r} is claimed as well"
    return ""
