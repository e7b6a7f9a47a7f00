"""Which other thing a clause names in the place of the goal's: another number of an order, month, project, person, forum."""

from collections.abc import Sequence

from webarena_gym.answers.clauses import first_word, is_claim, points_back
from webarena_gym.answers.lexicon import (
    ALIASES,
    AUXILIARIES,
    COPULAS,
    DETERMINERS,
    FIELDS,
    FUNCTION,
    JOINT,
    ORDINALS,
    PREPOSITIONS,
    word_set,
)
from webarena_gym.answers.scopes import Known, names
from webarena_gym.answers.sentences import Sentence, Token, field_end, stem, words
from webarena_gym.answers.topic import ROLES, Topic, is_mentioned, is_superlative, marks_of, words_of
from webarena_gym.answers.typed import PLACES_OF_SITE, in_label, is_source

_BESIDE = word_set(
    "before after than besides beside like unlike behind following versus vs ahead"
)  # what follows is compared with
_GOVERNING = word_set("of to from for than about")
_NO_LABELS = word_set("name id title full nickname username key number no code exact")
_TITLES = word_set("name title")


def other_mark(tokens: Sequence[Token], topic: Topic, kinds: frozenset[str]) -> str:
    """Return the typed value that stands in a clause where the goal has another of its kind: the number of another order."""
    found: dict[str, list[tuple[Token, object]]] = {}
    echoed = {word for token in tokens if token.kind in ("echo", "option") for word in (token.text, *token.text.split("/"))}
    for index, kind, value in marks_of(tokens):
        if kind not in topic.marks or _is_beside(tokens, index) or _is_opposed(tokens, index):
            continue
        if kind == "project" and not _is_topic(tokens, index):
            continue
        if kind in kinds - {"code"} or ((kind in kinds or kind in topic.wanted) and not _has_noun(tokens, index, topic)):
            continue
        found.setdefault(kind, []).append((tokens[index], value))
    for kind, said in found.items():
        wanted = topic.marks.get(kind, frozenset())
        if (
            wanted
            and wanted.isdisjoint(value for _, value in said)
            and wanted.isdisjoint(echoed)
            and not any(word in str(each) for word in echoed for each in wanted)
        ):
            return said[0][0].text
    return ""


def _has_noun(tokens: Sequence[Token], index: int, topic: Topic) -> bool:
    """Whether the word before a mark is the one that the goal has before its own, or a preposition."""
    place = index - 1
    if place >= 0 and not tokens[index].text.isdigit() and tokens[place].norm in _GOVERNING | {"in", "on"}:
        return True
    while place >= 0 and tokens[place].norm in ("#", "number", "no", ".", '"', ":"):
        place -= 1
    return place >= 0 and stem(tokens[place].norm) in topic.nouns


def _is_beside(tokens: Sequence[Token], index: int) -> bool:
    """Whether a thing is only what something is compared with: "placed before 000000023"."""
    place = index - 1
    while place >= 0 and (
        tokens[place].norm in DETERMINERS or tokens[place].norm in FIELDS or tokens[place].norm in ("#", '"', "of")
    ):
        place -= 1
    return place >= 0 and tokens[place].norm in _BESIDE


def _is_opposed(tokens: Sequence[Token], index: int) -> bool:
    """Whether a thing is named as what something is not: "in contrast to X"."""
    return any(token.norm in ("contrast", "unlike", "opposed", "instead") for token in tokens[max(0, index - 3) : index])


def compared_with(sentence: Sentence, clause: Sequence[int]) -> str:
    """Return the thing that a clause only compares with, so that "which" behind it speaks of that: "placed before 000000023"."""
    tokens = [sentence.tokens[index] for index in clause]
    return next((tokens[index].text for index, _, _ in marks_of(tokens) if _is_beside(tokens, index)), "")


def _is_topic(tokens: Sequence[Token], index: int) -> bool:
    """Whether a name stands where a clause says what it speaks of: behind a preposition or a noun, or as its subject."""
    place = index - 1
    while place >= 0 and (
        tokens[place].norm in DETERMINERS
        or tokens[place].norm in ('"', "(", "/")
        or (tokens[place].kind == "word" and tokens[place + 1].norm == "/")
    ):
        place -= 1
    before = tokens[place].norm if place >= 0 else ""
    after = tokens[index + 1].norm if index + 1 < len(tokens) else ""
    return (
        before in PREPOSITIONS - {"by", "with", "via"}
        or stem(before) in ("project", "branch", "repository", "repo")
        or before == ":"
        or (before in ("", ",", "and", ";", "but") and (after in AUXILIARIES or after in (":", ",")))
    )


def other_noun(tokens: Sequence[Token], topic: Topic, known: Known, *, is_row: bool) -> str:
    """What stands behind a noun in the place of the goal's value: "the forum books", "brand: X"."""
    said = words_of([token for token in tokens if token.kind != "ref"])
    for index, token in enumerate(tokens):
        if token.kind != "word":
            continue
        noun = token.norm if token.norm in ROLES else stem(token.norm)
        wanted = topic.nouns.get(noun) or (topic.nouns.get(ALIASES.get(noun, "")) if is_row else None)
        if wanted is None or (wanted & said and not is_row) or (noun in ROLES and not is_row):
            continue
        behind = tokens[index + 1 :]
        if is_row:
            label = next((place for place, each in enumerate(behind[:3]) if each.norm == ":"), -1)
            if label < 0 or any(each.norm not in _NO_LABELS for each in behind[:label]):
                continue
            if index and tokens[index - 1].norm not in (";", "of", "in", "the") and tokens[index - 1].kind != "mark":
                continue
            value = behind[label + 1 :]
            value = value[: field_end(value, 0)]
            plain = [each for each in value if each.kind != "mark"]
            if (
                plain
                and not all(each.norm in JOINT | {"total", "all"} for each in plain)
                and not any(each.kind in ("ref", "echo") for each in plain)
                and not _is_mostly(plain, wanted, known)
                and (all(word.isdigit() for word in wanted) or not all(each.text[0].isdigit() for each in plain))
                and not all(
                    (each.norm in FUNCTION and not is_superlative(each.norm)) or each.norm in ORDINALS for each in plain
                )
            ):
                return " ".join(each.text for each in plain)
            continue
        quoted = bool(behind) and behind[0].norm == '"'
        if behind and behind[0].norm in ("the", "a", "an"):
            behind = behind[1:]
        if quoted:
            close = next((place for place, each in enumerate(tokens[index + 2 :]) if each.norm == '"'), 0)
            inside = tokens[index + 2 : index + 2 + close]
            if (
                inside
                and not any(each.kind in ("ref", "echo") for each in inside)
                and not all(known.word(each.norm) or each.kind == "mark" for each in inside)
            ):
                return " ".join(each.text for each in inside)
            continue
        if not behind or behind[0].kind != "word" or behind[0].norm in FUNCTION or known.word(behind[0].norm):
            continue
        first = behind[0]
        if first.norm in FIELDS or stem(first.norm) in FIELDS or first.norm in PLACES_OF_SITE:
            continue
        is_name = first.text[0].isupper() or any(character.isdigit() or character in "-_." for character in first.text)
        follows = behind[1] if len(behind) > 1 else None
        governed = any(each.norm in PREPOSITIONS for each in tokens[max(0, index - 2) : index])
        is_plain = (
            (noun in topic.plain or governed)
            and (follows is None or follows.kind == "mark" or follows.norm in FUNCTION)
            and (
                not first.norm.endswith(("ed", "ing"))
                or (governed and (follows is None or follows.kind == "mark" or follows.norm in AUXILIARIES | PREPOSITIONS))
            )
        )
        if is_name or is_plain:
            return f"{token.text} {first.text}"
    return ""


def _is_mostly(value: Sequence[Token], wanted: frozenset[str], known: Known) -> bool:
    """Whether at least half of the words of a field's value are of the goal's value, or all are known."""
    told = words(" ".join(token.text for token in value))
    return 2 * sum(word in wanted for word in told) >= len(told) or (
        bool(told) and all(known.word(word) for word in told) and len(told) == 1
    )


def other_title(sentence: Sentence, topic: Topic, known: Known) -> str:
    """The name that a record has, if it is not the goal's."""
    tokens = sentence.tokens
    colon = next((index for index, token in enumerate(tokens[:4]) if token.norm == ":"), 0)
    if not colon or not (
        (topic.goal.has_names and tokens[0].norm in _TITLES and colon == 1)
        or (topic.goal.has_quotation and sum(token.norm == ";" for token in tokens) == 1)
    ):
        return ""
    value = tokens[colon + 1 : field_end(tokens, 0)]
    plain = [token for token in value if token.kind != "mark" and token.norm not in FUNCTION]
    if (
        plain
        and all(token.kind == "word" and not known.word(token.norm) for token in plain)
        and (plain[0].text[0].isupper() or topic.goal.has_quotation)
    ):
        return " ".join(token.text for token in plain)
    return ""


def other_name(
    sentence: Sentence, clause: Sequence[int], topic: Topic, known: Known, kinds: frozenset[str], *, is_named: bool
) -> str:
    """A name in the place of the goal's, in a clause that claims something and has none of the goal's."""
    if not topic.goal.has_names:
        return ""
    tokens = sentence.tokens
    inside = set(clause)
    always = not kinds or points_back(sentence, clause)
    first = next((index for index in clause if is_claim(tokens[index], kinds)), clause[-1] + 1 if always else -1)
    if first < 0 and not topic.is_of_person:
        return ""
    is_same = any(is_mentioned(tokens[index], topic) for index in clause)
    said = words_of([tokens[index] for index in clause])
    for start, end in names(sentence, known):
        if start not in inside or sentence.depths[start] or is_source(sentence, start, end):
            continue
        if (start and tokens[start - 1].norm == '"') or (sentence.kind == "row" and end == start + 1 and in_label(tokens, end)):
            continue
        place = start - 1
        while place >= 0 and tokens[place].norm in ("the", "a", "an"):
            place -= 1
        governor = tokens[place].norm if place >= 0 else ""
        name = " ".join(token.text for token in tokens[start:end])
        if governor in topic.roles and topic.roles[governor].isdisjoint(said):
            return name
        if is_same:
            continue
        if first < 0 and not (start == first_word(tokens, clause) and end < len(tokens) and tokens[end].norm in COPULAS):
            continue
        is_subject = (
            governor not in PREPOSITIONS and end < len(tokens) and (tokens[end].norm in AUXILIARIES or tokens[end].norm in ":,")
        )
        if (
            governor in _GOVERNING
            or (is_subject and topic.has_names)
            or (
                start < first
                and (governor != "by" or tokens[min(end, len(tokens) - 1)].norm == ":")
                and not is_named
                and topic.has_names
            )
        ):
            return name
    return ""


def other_quotation(tokens: Sequence[Token], topic: Topic, known: Known, kinds: frozenset[str]) -> str:
    """A quotation in the place of the goal's, in a clause that claims something."""
    if not topic.goal.has_quotation or not any(token.norm != '"' and is_claim(token, kinds) for token in tokens):
        return ""
    marks = [index for index, token in enumerate(tokens) if token.norm == '"']
    for first, last in zip(marks[::2], marks[1::2], strict=False):
        inside = tokens[first + 1 : last]
        plain = [token for token in inside if token.kind == "word"]
        if (
            plain
            and not any(token.kind in ("ref", "echo", "value") for token in inside)
            and not all(
                known.word(token.norm) or token.norm in FUNCTION | FIELDS or stem(token.norm) in FIELDS for token in plain
            )
        ):
            return " ".join(token.text for token in inside)
    return ""
