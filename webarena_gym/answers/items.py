"""What some words are by themselves: a name, a title, an item of a list, the label of a value, or grammar."""

from collections.abc import Sequence

from webarena_gym.answers.lexicon import (
    AUXILIARIES,
    CALENDAR,
    DETERMINERS,
    FIELDS,
    FUNCTION,
    KINDS,
    PREPOSITIONS,
    PRONOUNS,
    SOURCES,
    TITLES,
    word_set,
)
from webarena_gym.answers.scopes import Known, is_identifier
from webarena_gym.answers.sentences import Sentence, Token, stem

_IN_TITLES = word_set("of to the in for and a an at on from with by")
OPENING = DETERMINERS | PRONOUNS | PREPOSITIONS


def is_longer(sentence: Sentence, index: int, known: Known) -> bool:
    """Whether a reference is only a part of a longer name."""
    tokens = sentence.tokens
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if before is not None and _continues(before, tokens[index], known):
        starts = index - 1 == 0 or tokens[index - 2].kind == "mark"
        if not (starts and not is_identifier(before.text) and not tokens[index].text[0].isupper()):
            return True
    if after is not None and _continues(after, tokens[index], known):
        return True
    titled = [
        token
        for token in tokens[index + 1 : index + 3]
        if token.kind == "word" and token.text[0].isupper() and token.text != "I"
    ]
    if len(titled) == 2 and not known.word(titled[1].norm) and not is_label_word(titled[1]) and titled[1].norm not in CALENDAR:
        return True  # "Canceled On Hold"
    return (
        after is not None
        and after.kind == "value"
        and after.value is not None
        and after.value.kind == "number"
        and not _known_number(after, known)
    )


def _known_number(token: Token, known: Known) -> bool:
    return known.word(token.norm)


def _continues(token: Token, reference: Token, known: Known) -> bool:
    """Whether a neighbour of a reference belongs to the same name."""
    if (
        token.kind != "word"
        or token.norm in FUNCTION
        or token.norm in TITLES
        or token.norm in CALENDAR
        or known.word(token.norm)
    ):
        return False
    if is_label_word(token) and not (
        token.text[0].isupper() and stem(token.norm) in KINDS and reference.start > token.start + 1
    ):
        return False
    return (token.text[0].isupper() or is_identifier(token.text)) and not token.norm.endswith("ly")


def _is_title(body: Sequence[Token], known: Known) -> bool:
    """Whether some tokens are capitalised as a title is, with an unknown word that no sentence begins with."""
    if (
        not all(token.kind == "word" for token in body)
        or body[0].norm in OPENING
        or body[0].norm in AUXILIARIES
        or body[0].norm in SOURCES
        or body[0].norm.endswith(("ed", "ing"))
    ):
        return False
    if not all(token.text[0].isupper() or token.norm in _IN_TITLES for token in body) or not body[-1].text[0].isupper():
        return False
    return any(
        token.text[0].isupper()
        and token.norm not in FUNCTION
        and token.norm not in CALENDAR
        and not is_label_word(token)
        and not known.word(token.norm)
        for token in body[1:]
    )


def is_known_item(body: Sequence[Token]) -> bool:
    """Whether some tokens are at most three plain words, as a short item is."""
    return len(body) <= 3 and not any(token.kind != "word" or token.norm in FUNCTION or is_label_word(token) for token in body)


def begins_item(body: Sequence[Token], known: Known) -> bool:
    """Whether a part begins as a title does: with a capital where no sentence begins."""
    first = body[0]
    return (
        first.kind == "word"
        and first.text[0].isupper()
        and first.norm not in FUNCTION
        and first.norm not in CALENDAR
        and not is_label_word(first)
        and not known.word(first.norm)
    )


def is_label_word(token: Token) -> bool:
    """Whether a word names a field or a kind of thing."""
    return token.norm in FIELDS or stem(token.norm) in FIELDS or stem(token.norm) in KINDS


def is_item(body: Sequence[Token], known: Known, *, has_numbers: bool) -> bool:
    """Whether some tokens are nothing but an item: one to six words, none of which has a function, but for an article, and not all known."""
    if body and body[0].norm in ("a", "an", "the", "not", "maybe", "then", "also"):
        body = body[1:]
    if not 1 <= len(body) <= 6:
        return False
    if _is_title(body, known):
        return True
    titled = len(body) > 1 and is_name(body)
    for token in body:
        if token.kind == "value" and has_numbers:
            continue
        if token.kind != "word":
            return False
        if (
            (token.norm in FUNCTION and not titled)
            or token.norm in CALENDAR
            or (token.norm.endswith("ly") and token is body[-1])
        ):
            return False
    return not all(known.word(token.norm) or known.value(token) or is_label_word(token) for token in body)


def is_name(body: Sequence[Token]) -> bool:
    """Whether each of some tokens is a word with a capital."""
    return all(token.kind == "word" and token.text[0].isupper() for token in body)


def is_verb(token: Token) -> bool:
    """Whether a lone word beside a wanted text may be its verb: "X leads"."""
    return token.text.isalpha() and token.text.islower() and token.norm.endswith("s")


def is_grammar(token: Token) -> bool:
    """Whether a word has a function in a sentence or labels a value."""
    return token.norm in FUNCTION or is_label_word(token)


def is_familiar(token: Token, known: Known) -> bool:
    """Whether a word is grammar, an echo of the goal, known, or an adverb or participle."""
    norm = token.norm
    return (
        token.kind == "echo"
        or norm in FUNCTION
        or is_label_word(token)
        or known.like(norm)
        or norm.endswith(("ly", "ed"))
        or norm in TITLES
    )
