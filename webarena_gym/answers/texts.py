"""Claims of names and texts: whether an answer states all the wanted ones, and nothing beside them.

A sentence is parted at its commas, conjunctions and marks. The part that holds a wanted text may say what it likes in other
words; a part beside it that is nothing but another name or item is a rival, as is a name that stands as the subject or the
object of a sentence of its own.
"""

from collections.abc import Sequence

from webarena_gym.answers.goal import Goal
from webarena_gym.answers.lexicon import (
    AUXILIARIES,
    BE_CONTRACTED,
    CALENDAR,
    COPULAS,
    DETERMINERS,
    FIELDS,
    FUNCTION,
    KINDS,
    OPPOSITES,
    POLITE,
    PREPOSITIONS,
    PRONOUNS,
    SOURCES,
    TITLES,
    word_set,
)
from webarena_gym.answers.scopes import Known, is_dash, is_identifier, names, negated
from webarena_gym.answers.sentences import Sentence, Token, stem
from webarena_gym.answers.typed import in_label, is_inexact, is_source

_SEPARATORS = frozenset(",;|/&+:>=")
_JOINING = frozenset(("and", "or", "nor", "plus", "vs", "versus"))
_COMPARED = word_set("than versus vs while whereas compared before after over against which between unlike of from beats >")
_OR = frozenset(("or", "/", "|", "nor"))
_IN_TITLES = word_set("of to the in for and a an at on from with by")
_OPENING = DETERMINERS | PRONOUNS | PREPOSITIONS
_DEGREES = word_set("more most less least first last best worst expensive later latest further away")
_COMPARATIVES = tuple({prefix for pair in OPPOSITES for side in pair for prefix in side})
_IT = word_set("it this that he she they answer")
_BEFORE_DETAIL = frozenset(PREPOSITIONS - {"with", "besides", "between"})


class Chunk:
    """A part of a sentence between two separators."""

    def __init__(self, start: int, separator: str) -> None:
        self.start = start
        self.end = start
        self.separator = separator

    def __len__(self) -> int:
        return self.end - self.start


def chunks(sentence: Sentence) -> list[Chunk]:
    """Part a sentence at its separators; parentheses belong to none."""
    found: list[Chunk] = []
    current = Chunk(0, "")
    tokens = sentence.tokens
    quotes = [index for index, token in enumerate(tokens) if token.norm == '"']
    quoted = {index for first, last in zip(quotes[::2], quotes[1::2], strict=False) for index in range(first, last)}
    for index, token in enumerate(tokens):
        is_separator = index not in quoted and (
            (token.kind == "mark" and token.norm in _SEPARATORS) or token.norm in _JOINING or is_dash(sentence, index)
        )
        if sentence.depths[index] and token.norm not in ("(", "["):
            continue
        if token.norm in ("(", "["):
            is_separator = True
        if is_separator and len(current) == 0 and current.separator and token.norm in _JOINING:
            current = Chunk(index + 1, token.norm)  # ", or" is one separator
        elif is_separator:
            current.end = index
            found.append(current)
            current = Chunk(index + 1, token.norm)
        elif index in (current.start, current.end):
            current.end = index + 1
    current.end = len(tokens)
    found.append(current)
    return found


def check_texts(
    sentences: Sequence[Sentence],
    wanted: Sequence[int],
    goal: Goal,
    known: Known,
    *,
    is_closed: bool,
    has_numbers: bool = False,
) -> str:
    """Return why the wanted texts are not what is claimed, empty when they are; they are tokens with these numbers."""
    said: set[int] = set()
    aside: set[int] = set()
    denied: set[int] = set()
    for sentence in sentences:
        if sentence.is_question:
            continue
        flags = negated(sentence)
        for index, token in enumerate(sentence.tokens):
            if token.kind != "ref":
                continue
            if flags[index] and not (
                _is_opposite(sentence.tokens, goal) and any(each.norm == "than" for each in sentence.tokens[:index])
            ):
                denied.add(token.ref)
            elif is_longer(sentence, index, known) or _is_bound(sentence.tokens, index):
                continue
            elif sentence.depths[index]:
                if _is_alternative_aside(sentence, index):
                    return "what is wanted is one of several claims"
                aside.add(token.ref)
            else:
                said.add(token.ref)
    if len(wanted) > 1 and any(_are_alternatives(sentence.tokens, len(wanted)) for sentence in sentences):
        return "one of several is claimed"
    if len(wanted) == 1 and any(_is_between(sentence.tokens) for sentence in sentences):
        return "one of two is claimed"
    why = _check_choice(sentences, goal)
    if why:
        return why
    missing = [each for each in wanted if each not in said and each not in aside]
    if denied:
        return "what is wanted is denied"
    if missing:
        return "not all of what is wanted is claimed" if said or aside else "what is wanted is not claimed"
    labels = _labels_of(sentences)
    beside = _beside_bare(sentences, has_numbers=has_numbers)
    if beside:
        return f"{beside!r} is claimed as well"
    rivals = [
        rival
        for sentence in sentences
        if not sentence.is_question and not _only_contrasts(sentence, sentences)
        for rival in _rivals(sentence, goal, known, is_closed=is_closed, labels=labels, has_numbers=has_numbers)
    ]
    return f"{rivals[0]!r} is claimed as well" if rivals else ""


def _are_alternatives(tokens: Sequence[Token], count: int) -> bool:
    """Whether all the wanted texts are joined by "or"."""
    joined = sum(token.norm == "or" and index and tokens[index - 1].kind == "ref" for index, token in enumerate(tokens[:-1]))
    return joined >= count - 1


def _is_between(tokens: Sequence[Token]) -> bool:
    """Whether a wanted text is one of the ends of "between X and Y", and nothing is said of them."""
    place = next((index for index, token in enumerate(tokens) if token.norm == "between"), -1)
    behind = tokens[place + 1 :] if place >= 0 else ()
    joined = next((index for index, token in enumerate(behind) if token.norm == "and"), -1)
    if joined < 0 or any(token.norm in AUXILIARIES for token in behind[:joined]):
        return False
    ends = [each for each in (behind[:joined], behind[joined + 1 :]) if any(token.kind == "ref" for token in each)]
    return len(ends) == 1 and not any(token.norm in AUXILIARIES or token.norm == "," for token in behind[joined:])


def _is_bound(tokens: Sequence[Token], index: int) -> bool:
    """Whether a text is only nearly claimed: "almost X", "X or so"."""
    before = {token.norm for token in tokens[max(0, index - 2) : index]}
    return before.isdisjoint(("over", "under", "above", "below", "beyond")) and is_inexact(tokens, index)


def _is_alternative_aside(sentence: Sentence, index: int) -> bool:
    """Whether a parenthesis offers a text as a second choice: "X (or Y)"."""
    place = index
    while place and sentence.tokens[place - 1].norm not in ("(", "["):
        place -= 1
    return sentence.tokens[place].norm == "or"


def _check_choice(sentences: Sequence[Sentence], goal: Goal) -> str:
    """Return why what the goal offers beside the wanted one is chosen, empty when it is not.

    A clause chooses its subject when it has a word of comparison or nothing else to say; what stands behind "than", "while" and
    their like is what the choice is compared with.
    """
    chosen: set[str] = set()
    mentioned: set[str] = set()
    for sentence in sentences:
        if sentence.is_question or not any(token.kind in ("option", "ref") for token in sentence.tokens):
            continue
        if sentence.kind == "row" and _is_opposite(sentence.tokens, goal):
            if not any(token.kind == "option" for token in sentence.tokens):
                return "the opposite of what was asked is claimed"
            continue
        flags = negated(sentence)
        if sentence.kind == "row" and any(token.norm in ("no", "yes") for token in sentence.tokens):
            kinds = {token.kind for token in sentence.tokens}
            if any(token.norm == "yes" for token in sentence.tokens):
                chosen.add("ref" if "ref" in kinds else "option")
            continue
        governed = False
        for clause in _clauses(sentence):
            if governed and all(
                sentence.tokens[index].kind in ("ref", "option", "mark") or sentence.tokens[index].norm in DETERMINERS
                for index in clause
            ):
                continue  # "of A and B"
            governed = any(sentence.tokens[index].norm in ("of", "between", "compared") for index in clause) and not any(
                sentence.tokens[index].norm in AUXILIARIES for index in clause
            )
            subject = ""
            for index in clause:
                token = sentence.tokens[index]
                if token.norm in _COMPARED:
                    break
                if token.kind in ("ref", "option") and not flags[index]:
                    if subject and subject != token.kind:
                        return f"{token.text!r} is claimed as well"
                    subject = token.kind
            if not subject:
                continue
            body = [sentence.tokens[index] for index in clause if sentence.tokens[index].kind != "mark"]
            if _is_opposite(body, goal):
                if subject == "ref":
                    return "the opposite of what was asked is claimed"
                continue
            if any(token.norm in ("no", "false") for token in body):
                continue
            mentioned.add(subject)
            kinds = {token.kind for token in sentence.tokens}
            if {"ref", "option"} <= kinds and any(token.norm in ("both", "same", "equally") for token in sentence.tokens):
                return "more than one of the choices is claimed"
            if all(token.kind in ("ref", "option") or token.norm in FUNCTION - AUXILIARIES | COPULAS for token in body) or any(
                _compares(token) for token in body
            ):
                chosen.add(subject)
    decided = chosen or mentioned
    return "another of the choices is claimed" if "option" in decided else ""


def _is_opposite(body: Sequence[Token], goal: Goal) -> bool:
    """Whether a clause compares the other way round than the goal does: "more expensive" where the cheaper one is asked for."""
    plain = [token.norm for token in body if token.kind == "word"]
    for asked, opposite in OPPOSITES:
        if any(word.startswith(asked) and _is_degree(word) for word in goal.sequence):
            same = any(word.startswith(asked) and _is_degree(word) for word in plain)
            other = any(word.startswith(opposite) and _is_degree(word) for word in plain)
            return other and not same
    return False


def _is_degree(word: str) -> bool:
    return word.endswith(("er", "est")) or word in _DEGREES


def _clauses(sentence: Sentence) -> list[list[int]]:
    """The indices of each clause's tokens, without parentheses."""
    found: list[list[int]] = [[]]
    for index, token in enumerate(sentence.tokens):
        if sentence.depths[index]:
            continue
        if token.norm in (",", ";", "and", "or", "but", "so", "|", "/", "&", "+") or is_dash(sentence, index):
            found.append([])
        else:
            if token.norm in ("while", "whereas"):
                found.append([])
            found[-1].append(index)
    return found


def _compares(token: Token) -> bool:
    norm = token.norm
    return token.kind == "word" and (norm in ("winner", "answer") or (_is_degree(norm) and norm.startswith(_COMPARATIVES)))


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
    if len(titled) == 2 and not known.word(titled[1].norm) and not _is_label_word(titled[1]) and titled[1].norm not in CALENDAR:
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
    if _is_label_word(token) and not (
        token.text[0].isupper() and stem(token.norm) in KINDS and reference.start > token.start + 1
    ):
        return False
    return (token.text[0].isupper() or is_identifier(token.text)) and not token.norm.endswith("ly")


def _rivals(
    sentence: Sentence, goal: Goal, known: Known, *, is_closed: bool, labels: frozenset[str], has_numbers: bool
) -> list[str]:
    """The names and items of a sentence that are claimed beside or instead of the wanted ones."""
    tokens = sentence.tokens
    parts = chunks(sentence)
    has_ref = [any(token.kind == "ref" for token in tokens[part.start : part.end]) for part in parts]
    any_ref = any(has_ref)
    found: list[str] = []
    flags = negated(sentence)
    contrast = _contrast(tokens) if any_ref else -1
    if (sentence.kind == "heading" and not any_ref) or (
        sentence.kind == "row"
        and not any_ref
        and (any(token.norm in ("no", "false") for token in tokens) or _is_opposite(tokens, goal))
    ):
        return []
    for start, end in names(sentence, known):
        if (sentence.depths[start] and not is_closed) or flags[start] or start < contrast:
            continue
        if is_source(sentence, start, end) or (start and tokens[start - 1].norm == '"' and not _joins(tokens, start - 2)):
            continue
        if sentence.kind == "row" and in_label(tokens, end):
            continue
        if has_numbers and any(is_identifier(token.text) for token in tokens[start:end]):
            found.append(_said(tokens, start, end))
        if is_closed or _is_argument(sentence, start, end, goal.preposition, any_ref=any_ref):
            found.append(_said(tokens, start, end))
    found += [
        _said(tokens, start, end) for start, end in _quoted(sentence, known) if not flags[start] and _joins(tokens, start - 2)
    ]
    for place, part in enumerate(parts):
        if has_ref[place]:
            first = next(index for index in range(part.start, part.end) if tokens[index].kind == "ref")
            if (
                part.separator == "or"
                and any(has_ref[:place])
                and any(token.kind == "word" and not known.word(token.norm) for token in tokens[part.start : first])
            ):
                found.append(_said(tokens, part.start, part.end))
            if _is_other_subject(tokens, part, known, is_alone=len(parts) == 1):
                found.append(_said(tokens, part.start, part.end))
            continue
        if sentence.depths[min(part.start, len(tokens) - 1)]:
            continue
        body = [token for token in tokens[part.start : part.end] if token.kind != "mark"]
        is_label = any(
            later.separator in (":", "=") and not any(has_ref[place + 1 : index])
            for index, later in enumerate(parts[place + 1 : place + 4], start=place + 1)
            if index == place + 1 or all(each.separator in ("and", "or") for each in parts[place + 1 : index])
        )
        if (
            not body
            or is_label
            or part.end <= contrast
            or (flags[part.start] and body[0].norm not in ("nobody", "none", "nothing"))
            or body[0].norm in ("not", "instead")
        ):
            continue
        item = _is_item(body, known, has_numbers=has_numbers)
        after_label = part.separator in (":", "=") and place > 0
        if _is_alternative(tokens, parts, place):
            rival = not all(token.norm in FUNCTION for token in body)
        elif after_label and (_norms(tokens, parts[place - 1]) in labels or _labels_goal(tokens, parts[place - 1], goal)):
            rival = item or _norms(tokens, parts[place - 1]) in labels
        elif (
            any_ref
            and part.separator == "and"
            and place
            and has_ref[place - 1]
            and place + 1 == len(parts)
            and _is_known_item(body)
        ):
            rival = True
        elif any_ref and place == 0 and body[0].norm == "the" and not has_ref[place + 1]:
            rival = False
        elif any_ref:
            rival = (
                item
                or _says_what_it_is(body)
                or (_begins_item(body, known) and has_ref[place - 1] and place > 0 and part.separator in (",", "and", "&", "+"))
            )
        else:
            rival = (len(parts) == 1 and item and sentence.kind != "heading" and tokens[-1].norm not in "!:") or (
                _says_what_it_is(body)
            )
        if rival:
            found.append(_said(tokens, part.start, part.end))
    return found


def _only_contrasts(sentence: Sentence, sentences: Sequence[Sentence]) -> bool:
    """Whether a sentence speaks of what is not the answer, before the one that has it: "Bo has one too, but it does not ..."."""
    if any(token.kind == "ref" for token in sentence.tokens) or sentence is sentences[-1]:
        return False
    norms = [token.norm for token in sentence.tokens]
    return "but" in norms and any(norm.endswith("n't") or norm == "not" for norm in norms[norms.index("but") :])


def _contrast(tokens: Sequence[Token]) -> int:
    """Where the "but" stands behind which a wanted text is claimed against what is before it; -1 without one."""
    place = next((index for index, token in enumerate(tokens) if token.norm in ("but", "whereas", "however")), -1)
    before = any(token.kind == "ref" for token in tokens[: max(place, 0)])
    return place if place > 0 and not before else -1


def _joins(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token puts what follows it beside or in the place of a wanted text."""
    return index >= 0 and (
        tokens[index].norm in _JOINING
        or tokens[index].norm in ("/", "|", "&", "+")
        or tokens[index].norm in COPULAS
        or tokens[index].norm in BE_CONTRACTED
    )


def _says_what_it_is(body: Sequence[Token]) -> bool:
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


def _norms(tokens: Sequence[Token], part: Chunk) -> str:
    return " ".join(token.norm for token in tokens[part.start : part.end] if token.kind == "word")


def _beside_bare(sentences: Sequence[Sentence], *, has_numbers: bool) -> str:
    """The first line without a wanted text, a label or an end, where another line of its kind is a wanted text and nothing else."""
    lines: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        lines.setdefault(sentence.at, []).append(sentence)
    alone = [each[0] for each in lines.values() if len(each) == 1 and (not each[0].is_question or each[0].kind == "item")]
    bare = {sentence.kind for sentence in alone if all(token.kind in ("ref", "mark") for token in sentence.tokens)}
    for sentence in alone:
        if (
            sentence.kind not in bare
            or sentence.kind in ("heading", "row")
            or any(token.kind in ("ref", "option") for token in sentence.tokens)
        ):
            continue
        if all(token.kind in ("value", "mark") for token in sentence.tokens) and not has_numbers:
            continue
        first = sentence.tokens[0]
        marks = [index for index, token in enumerate(sentence.tokens) if token.norm == ":"]
        if (
            sentence.tokens[-1].norm in ".!:)"
            or (marks and marks[0] < 5)
            or (first.norm in POLITE and sentence.kind != "item")
            or (first.norm in FUNCTION and sentence.kind != "item")
        ):
            continue
        return _said(sentence.tokens, 0, len(sentence.tokens))
    return ""


def _labels_of(sentences: Sequence[Sentence]) -> frozenset[str]:
    """The labels that stand before wanted texts: "Name" in "Name: Ann Lee; Role: Owner"."""
    found: set[str] = set()
    for sentence in sentences:
        parts = chunks(sentence)
        for place, part in enumerate(parts[1:], start=1):
            if part.separator == ":" and any(token.kind == "ref" for token in sentence.tokens[part.start : part.end]):
                found.add(_norms(sentence.tokens, parts[place - 1]))
    return frozenset(found)


def _is_alternative(tokens: Sequence[Token], parts: Sequence[Chunk], place: int) -> bool:
    """Whether a part stands beside a wanted text with "or" or a bar between them."""
    before = (
        place > 0 and parts[place].separator in _OR and _has_ref_at(tokens[parts[place - 1].start : parts[place - 1].end][-2:])
    )
    after = (
        place + 1 < len(parts)
        and parts[place + 1].separator in _OR
        and _has_ref_at(tokens[parts[place + 1].start : parts[place + 1].end][:2])
    )
    return before or after


def _has_ref_at(tokens: Sequence[Token]) -> bool:
    return any(token.kind == "ref" for token in tokens)


def _is_title(body: Sequence[Token], known: Known) -> bool:
    """Whether some tokens are capitalised as a title is, with an unknown word that no sentence begins with."""
    if (
        not all(token.kind == "word" for token in body)
        or body[0].norm in _OPENING
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
        and not _is_label_word(token)
        and not known.word(token.norm)
        for token in body[1:]
    )


def _is_known_item(body: Sequence[Token]) -> bool:
    return len(body) <= 3 and not any(token.kind != "word" or token.norm in FUNCTION or _is_label_word(token) for token in body)


def _begins_item(body: Sequence[Token], known: Known) -> bool:
    """Whether a part begins as a title does: with a capital where no sentence begins."""
    first = body[0]
    return (
        first.kind == "word"
        and first.text[0].isupper()
        and first.norm not in FUNCTION
        and first.norm not in CALENDAR
        and not _is_label_word(first)
        and not known.word(first.norm)
    )


def _is_label_word(token: Token) -> bool:
    return token.norm in FIELDS or stem(token.norm) in FIELDS or stem(token.norm) in KINDS


def _quoted(sentence: Sentence, known: Known) -> list[tuple[int, int]]:
    """The spans between quotation marks that hold no wanted text and more than known words."""
    found: list[tuple[int, int]] = []
    opened = -1
    for index, token in enumerate(sentence.tokens):
        if token.norm != '"':
            continue
        if opened < 0:
            opened = index
            continue
        inside = sentence.tokens[opened + 1 : index]
        if (
            inside
            and not any(each.kind in ("ref", "option") for each in inside)
            and not all(each.kind == "mark" or known.word(each.norm) or _is_label_word(each) for each in inside)
        ):
            found.append((opened + 1, index))
        opened = -1
    return found


def _said(tokens: Sequence[Token], start: int, end: int) -> str:
    return " ".join(token.text for token in tokens[start:end])[:80]


def _is_argument(sentence: Sentence, start: int, end: int, asked: str, *, any_ref: bool) -> bool:
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
            or following in _JOINING
            or sentence.kind in ("item", "row")
        )
    before = tokens[place]
    if before.norm == "as" and place and tokens[place - 1].norm == "well":
        return True
    if (
        place
        and tokens[place - 1].norm in _JOINING
        and any(token.kind == "ref" and index and tokens[index - 1].norm == before.norm for index, token in enumerate(tokens))
    ):
        return True  # "assigned to X and to Y"
    if before.norm == asked and not (place and tokens[place - 1].kind == "ref"):
        return True
    if (
        before.norm in COPULAS
        or before.norm in BE_CONTRACTED
        or before.norm in _JOINING
        or (before.kind == "mark" and before.norm in _SEPARATORS)
    ):
        if before.norm == "," and end < len(tokens) and tokens[end].kind == "word" and tokens[end].norm in PREPOSITIONS:
            return True
        return True
    return not (before.norm in _BEFORE_DETAIL or before.kind == "word") or (before.norm == "by" and any_ref is False)


def _is_item(body: Sequence[Token], known: Known, *, has_numbers: bool) -> bool:
    """Whether some tokens are nothing but an item: one to six words, none of which has a function, but for an article, and not all known."""
    if body and body[0].norm in ("a", "an", "the", "not", "maybe", "then", "also"):
        body = body[1:]
    if not 1 <= len(body) <= 6:
        return False
    if _is_title(body, known):
        return True
    titled = len(body) > 1 and _is_name(body)
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
    return not all(known.word(token.norm) or known.value(token) or _is_label_word(token) for token in body)


def _labels_goal(tokens: Sequence[Token], label: Chunk, goal: Goal) -> bool:
    return any(
        token.kind == "word" and goal.knows(token.norm) and token.norm not in FUNCTION
        for token in tokens[label.start : label.end]
    )


def _is_other_subject(tokens: Sequence[Token], part: Chunk, known: Known, *, is_alone: bool) -> bool:
    """Whether the part of a sentence with a wanted text names another thing in the same breath: "blue is red", "dark red"."""
    first = next(index for index in range(part.start, part.end) if tokens[index].kind == "ref")
    lead = [token for token in tokens[part.start : first] if token.kind != "mark"]
    tail = [token for token in tokens[first + 1 : part.end] if token.kind not in ("mark", "ref")]
    if len(tail) == 1 and _is_verb(tail[0]) and first == part.start and not part.start:
        return False  # a verb: "X leads"
    if any(_compares(token) for token in tail) and first == part.start:
        return False  # "X lives nearer"
    if (
        tail
        and not any(token.norm in FUNCTION for token in (*lead, *tail))
        and not any(_is_familiar(token, known) or token.kind == "value" for token in tail)
    ):
        return True
    if len(tail) == 2 and tail[0].norm in ("for", "with", "of") and tail[1].kind == "word" and not _is_familiar(tail[1], known):
        return True
    if not lead:
        return False
    verbs = [index for index, token in enumerate(lead) if token.norm in AUXILIARIES]
    if verbs and verbs[-1] == len(lead) - 1 and verbs[0] > 0:
        subject = lead[: verbs[0]]
        content = [token for token in subject if token.norm not in FUNCTION]
        if len(subject) > 1 and _is_name(subject) and not all(_is_familiar(token, known) for token in subject):
            return True  # "On Hold is Closed"
        return (
            bool(content)
            and (subject[0].norm not in FUNCTION or (subject[0] is not content[0] and subject[0].norm not in _OPENING))
            and (
                not _is_familiar(content[-1], known)
                or (len(content) == 1 and content[0].norm.endswith("ed") and not known.like(content[0].norm))
                or all(token.kind == "value" for token in content)
            )
        )
    is_title = (
        len(lead) > 2
        and not verbs
        and lead[0].text[0].isupper()
        and not any(_is_grammar(token) for token in (lead[0], lead[-1]))
    )
    if is_title and all(token.kind != "mark" for token in tokens[part.start : first]):
        return True
    if (
        is_alone
        and first + 1 == part.end
        and all(
            not _is_familiar(token, known)
            or (known.word(token.norm) and token.norm not in FUNCTION and not _is_label_word(token))
            for token in lead
        )
    ):
        return True
    if not verbs and len(lead) > 1 and not _is_familiar(lead[0], known) and lead[1].norm == "of":
        return True
    if len(lead) == 1 and _is_verb(lead[0]) and part.start:
        return False  # a verb: "the field, once opened, shows X"
    return (
        not verbs
        and not any(token.norm in FUNCTION for token in (*lead, *tail))
        and not all(_is_familiar(token, known) for token in lead)
        and not _is_grammar(lead[-1])
    )


def _is_name(body: Sequence[Token]) -> bool:
    """Whether each of some tokens is a word with a capital."""
    return all(token.kind == "word" and token.text[0].isupper() for token in body)


def _is_verb(token: Token) -> bool:
    """Whether a lone word beside a wanted text may be its verb: "X leads"."""
    return token.text.isalpha() and token.text.islower() and token.norm.endswith("s")


def _is_grammar(token: Token) -> bool:
    return token.norm in FUNCTION or _is_label_word(token)


def _is_familiar(token: Token, known: Known) -> bool:
    norm = token.norm
    return (
        token.kind == "echo"
        or norm in FUNCTION
        or _is_label_word(token)
        or known.like(norm)
        or norm.endswith(("ly", "ed"))
        or norm in TITLES
    )
