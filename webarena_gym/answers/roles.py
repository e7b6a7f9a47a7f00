"""What a name does in a sentence: its subject or object, the end of an "It is ...", or what a wanted text is joined to."""

from collections.abc import Sequence

from webarena_gym.answers.choices import compares
from webarena_gym.answers.chunks import JOINING, SEPARATORS, Chunk
from webarena_gym.answers.items import OPENING, is_familiar, is_grammar, is_label_word, is_name, is_verb
from webarena_gym.answers.lexicon import (
    AUXILIARIES,
    BE_CONTRACTED,
    COPULAS,
    DETERMINERS,
    FIELDS,
    FUNCTION,
    PREPOSITIONS,
    TITLES,
    word_set,
)
from webarena_gym.answers.scopes import Known
from webarena_gym.answers.sentences import Sentence, Token

_IT = word_set("it this that he she they answer")
_BEFORE_DETAIL = frozenset(PREPOSITIONS - {"with", "besides", "between"})


def contrast_at(tokens: Sequence[Token]) -> int:
    """Where the "but" stands behind which a wanted text is claimed against what is before it; -1 without one."""
    place = next((index for index, token in enumerate(tokens) if token.norm in ("but", "whereas", "however")), -1)
    before = any(token.kind == "ref" for token in tokens[: max(place, 0)])
    return place if place > 0 and not before else -1


def joins(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token puts what follows it beside or in the place of a wanted text."""
    return index >= 0 and (
        tokens[index].norm in JOINING
        or tokens[index].norm in ("/", "|", "&", "+")
        or tokens[index].norm in COPULAS
        or tokens[index].norm in BE_CONTRACTED
    )


def says_what_it_is(body: Sequence[Token]) -> bool:
    """Whether a sentence is "It is X" with a name or an item for X."""
    place = next((index + 1 for index, token in enumerate(body) if token.norm in ("it's", "that's", "he's", "she's")), 0)
    place = place or next(
        (index + 1 for index in range(1, len(body)) if body[index].norm in COPULAS and body[index - 1].norm in _IT), 0
    )
    rest = list(body[place:])
    if not place or not rest:
        return False
    if rest[0].norm in ("a", "an", "the"):
        return False
    if rest[0].text[0].isupper():
        return True
    return len(rest) <= 3 and not any(
        token.norm in FUNCTION or token.norm.endswith(("able", "ly", "ed")) or token.kind != "word" for token in rest
    )


def is_argument(sentence: Sentence, start: int, end: int, asked: str, *, any_ref: bool) -> bool:
    """Whether a name stands as a subject, an object or an item, and not behind a preposition."""
    tokens = sentence.tokens
    place = start - 1
    while place >= 0 and (
        tokens[place].norm in DETERMINERS
        or tokens[place].norm in FIELDS
        or tokens[place].norm in ('"', "'")
        or tokens[place].norm in TITLES
    ):
        place -= 1
    if place < 0:
        following = tokens[end].norm if end < len(tokens) else ""
        return (
            any_ref
            or following in AUXILIARIES
            or following in ("", ".", ",")
            or following in JOINING
            or sentence.kind in ("item", "row")
        )
    before = tokens[place]
    if before.norm == "as" and place and tokens[place - 1].norm == "well":
        return True
    if (
        place
        and tokens[place - 1].norm in JOINING
        and any(token.kind == "ref" and index and tokens[index - 1].norm == before.norm for index, token in enumerate(tokens))
    ):
        return True  # "assigned to X and to Y"
    if before.norm == asked and not (place and tokens[place - 1].kind == "ref"):
        return True
    if (
        before.norm in COPULAS
        or before.norm in BE_CONTRACTED
        or before.norm in JOINING
        or (before.kind == "mark" and before.norm in SEPARATORS)
    ):
        if before.norm == "," and end < len(tokens) and tokens[end].kind == "word" and tokens[end].norm in PREPOSITIONS:
            return True
        return True
    return not (before.norm in _BEFORE_DETAIL or before.kind == "word") or (before.norm == "by" and any_ref is False)


def is_other_subject(tokens: Sequence[Token], part: Chunk, known: Known, *, is_alone: bool) -> bool:
    """Whether the part of a sentence with a wanted text names another thing in the same breath: "blue is red", "dark red"."""
    first = next(index for index in range(part.start, part.end) if tokens[index].kind == "ref")
    lead = [token for token in tokens[part.start : first] if token.kind != "mark"]
    tail = [token for token in tokens[first + 1 : part.end] if token.kind not in ("mark", "ref")]
    if len(tail) == 1 and is_verb(tail[0]) and first == part.start and not part.start:
        return False  # a verb: "X leads"
    if any(compares(token) for token in tail) and first == part.start:
        return False  # "X lives nearer"
    if (
        tail
        and not any(token.norm in FUNCTION for token in (*lead, *tail))
        and not any(is_familiar(token, known) or token.kind == "value" for token in tail)
    ):
        return True
    if len(tail) == 2 and tail[0].norm in ("for", "with", "of") and tail[1].kind == "word" and not is_familiar(tail[1], known):
        return True
    if not lead:
        return False
    verbs = [index for index, token in enumerate(lead) if token.norm in AUXILIARIES]
    if verbs and verbs[-1] == len(lead) - 1 and verbs[0] > 0:
        subject = lead[: verbs[0]]
        content = [token for token in subject if token.norm not in FUNCTION]
        if len(subject) > 1 and is_name(subject) and not all(is_familiar(token, known) for token in subject):
            return True  # "On Hold is Closed"
        return (
            bool(content)
            and (subject[0].norm not in FUNCTION or (subject[0] is not content[0] and subject[0].norm not in OPENING))
            and (
                not is_familiar(content[-1], known)
                or (len(content) == 1 and content[0].norm.endswith("ed") and not known.like(content[0].norm))
                or all(token.kind == "value" for token in content)
            )
        )
    is_title = (
        len(lead) > 2
        and not verbs
        and lead[0].text[0].isupper()
        and not any(is_grammar(token) for token in (lead[0], lead[-1]))
    )
    if is_title and all(token.kind != "mark" for token in tokens[part.start : first]):
        return True
    if (
        is_alone
        and first + 1 == part.end
        and all(
            not is_familiar(token, known)
            or (known.word(token.norm) and token.norm not in FUNCTION and not is_label_word(token))
            for token in lead
        )
    ):
        return True
    if not verbs and len(lead) > 1 and not is_familiar(lead[0], known) and lead[1].norm == "of":
        return True
    if len(lead) == 1 and is_verb(lead[0]) and part.start:
        return False  # a verb: "the field, once opened, shows X"
    return (
        not verbs
        and not any(token.norm in FUNCTION for token in (*lead, *tail))
        and not all(is_familiar(token, known) for token in lead)
        and not is_grammar(lead[-1])
    )
