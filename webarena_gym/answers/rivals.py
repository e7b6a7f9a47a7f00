"""Rivals: the names and items that an answer claims beside or instead of the wanted ones."""

from collections.abc import Sequence

from webarena_gym.answers.choices import is_opposite
from webarena_gym.answers.chunks import Chunk, chunks, norms_of, text_of
from webarena_gym.answers.goal import Goal
from webarena_gym.answers.items import begins_item, is_item, is_known_item, is_label_word
from webarena_gym.answers.lexicon import FUNCTION, POLITE
from webarena_gym.answers.roles import contrast_at, is_argument, is_other_subject, joins, says_what_it_is
from webarena_gym.answers.scopes import Known, is_identifier, names, negated
from webarena_gym.answers.sentences import Sentence, Token
from webarena_gym.answers.typed import in_label, is_source

_OR = frozenset(("or", "/", "|", "nor"))


def rivals_in(
    sentence: Sentence, goal: Goal, known: Known, *, is_closed: bool, labels: frozenset[str], has_numbers: bool
) -> list[str]:
    """The names and items of a sentence that are claimed beside or instead of the wanted ones."""
    tokens = sentence.tokens
    parts = chunks(sentence)
    has_ref = [any(token.kind == "ref" for token in tokens[part.start : part.end]) for part in parts]
    any_ref = any(has_ref)
    found: list[str] = []
    flags = negated(sentence)
    contrast = contrast_at(tokens) if any_ref else -1
    if (sentence.kind == "heading" and not any_ref) or (
        sentence.kind == "row"
        and not any_ref
        and (any(token.norm in ("no", "false") for token in tokens) or is_opposite(tokens, goal))
    ):
        return []
    for start, end in names(sentence, known):
        if (sentence.depths[start] and not is_closed) or flags[start] or start < contrast:
            continue
        if is_source(sentence, start, end) or (start and tokens[start - 1].norm == '"' and not joins(tokens, start - 2)):
            continue
        if sentence.kind == "row" and in_label(tokens, end):
            continue
        if has_numbers and any(is_identifier(token.text) for token in tokens[start:end]):
            found.append(text_of(tokens, start, end))
        if is_closed or is_argument(sentence, start, end, goal.preposition, any_ref=any_ref):
            found.append(text_of(tokens, start, end))
    found += [
        text_of(tokens, start, end) for start, end in _quoted(sentence, known) if not flags[start] and joins(tokens, start - 2)
    ]
    for place, part in enumerate(parts):
        if has_ref[place]:
            first = next(index for index in range(part.start, part.end) if tokens[index].kind == "ref")
            if (
                part.separator == "or"
                and any(has_ref[:place])
                and any(token.kind == "word" and not known.word(token.norm) for token in tokens[part.start : first])
            ):
                found.append(text_of(tokens, part.start, part.end))
            if is_other_subject(tokens, part, known, is_alone=len(parts) == 1):
                found.append(text_of(tokens, part.start, part.end))
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
        item = is_item(body, known, has_numbers=has_numbers)
        after_label = part.separator in (":", "=") and place > 0
        if _is_alternative(tokens, parts, place):
            rival = not all(token.norm in FUNCTION for token in body)
        elif after_label and (norms_of(tokens, parts[place - 1]) in labels or _labels_goal(tokens, parts[place - 1], goal)):
            rival = item or norms_of(tokens, parts[place - 1]) in labels
        elif (
            any_ref
            and part.separator == "and"
            and place
            and has_ref[place - 1]
            and place + 1 == len(parts)
            and is_known_item(body)
        ):
            rival = True
        elif any_ref and place == 0 and body[0].norm == "the" and not has_ref[place + 1]:
            rival = False
        elif any_ref:
            rival = (
                item
                or says_what_it_is(body)
                or (begins_item(body, known) and has_ref[place - 1] and place > 0 and part.separator in (",", "and", "&", "+"))
            )
        else:
            rival = (len(parts) == 1 and item and sentence.kind != "heading" and tokens[-1].norm not in "!:") or (
                says_what_it_is(body)
            )
        if rival:
            found.append(text_of(tokens, part.start, part.end))
    return found


def beside_bare(sentences: Sequence[Sentence], *, has_numbers: bool) -> str:
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
        return text_of(sentence.tokens, 0, len(sentence.tokens))
    return ""


def labels_of(sentences: Sequence[Sentence]) -> frozenset[str]:
    """The labels that stand before wanted texts: "Name" in "Name: Ann Lee; Role: Owner"."""
    found: set[str] = set()
    for sentence in sentences:
        parts = chunks(sentence)
        for place, part in enumerate(parts[1:], start=1):
            if part.separator == ":" and any(token.kind == "ref" for token in sentence.tokens[part.start : part.end]):
                found.add(norms_of(sentence.tokens, parts[place - 1]))
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
            and not all(each.kind == "mark" or known.word(each.norm) or is_label_word(each) for each in inside)
        ):
            found.append((opened + 1, index))
        opened = -1
    return found


def _labels_goal(tokens: Sequence[Token], label: Chunk, goal: Goal) -> bool:
    return any(
        token.kind == "word" and goal.knows(token.norm) and token.norm not in FUNCTION
        for token in tokens[label.start : label.end]
    )
