"""The clauses of a sentence: the parts that each make a claim of their own, with what stands around the claim."""

from collections.abc import Sequence

from webarena_gym.answers.lexicon import AUXILIARIES, DETERMINERS, FIELDS, KINDS, ORDINALS, PREPOSITIONS, word_set
from webarena_gym.answers.scopes import is_dash
from webarena_gym.answers.sentences import Sentence, Token, stem
from webarena_gym.answers.topic import Topic, marks_of

_CONTRASTING = word_set("but while whereas although though however")


def clauses_of(sentence: Sentence, kinds: frozenset[str], topic: Topic) -> list[list[int]]:
    """The indices of the tokens of each clause, marks at its beginning included."""
    tokens = sentence.tokens
    if sentence.kind == "row":
        return fields_of(tokens)
    ours = {value for each in topic.marks.values() for value in each}
    pieces: list[tuple[bool, list[int]]] = []  # whether a strong mark parts it from the one before
    is_quoted = False
    for index, token in enumerate(tokens):
        depth = sentence.depths[index]
        is_quoted ^= token.norm == '"'
        if is_quoted and pieces:
            pieces[-1][1].append(index)
            continue
        strong = (
            token.norm in (";", "(", "[")
            or (token.norm in _CONTRASTING and not _is_number(tokens, index + 1))
            or is_dash(sentence, index)
        )
        strong = (
            strong
            or (index > 0 and sentence.depths[index - 1] > depth)
            or (depth == 0 and index > 0 and sentence.depths[index - 1] > 0)
        )
        weak = token.norm in (",", "and") and depth == 0
        if not pieces or strong or weak:
            pieces.append((strong, []))
        pieces[-1][1].append(index)
    is_list = sum(tokens[index].kind == "ref" for index in range(len(tokens))) > 1
    merged: list[list[int]] = []
    pending: list[int] = []
    for place, (strong, piece) in enumerate(pieces):
        if strong and pending:
            merged.append(pending)
            pending = []
        first = next((tokens[index] for index in piece if tokens[index].norm not in (",", "and")), None)
        has_claim = any(is_claim(tokens[index], kinds) for index in piece)
        if pending and not is_list and all(tokens[index].kind in ("value", "mark") for index in pending) and first is not None:
            tells = any(tokens[index].norm in AUXILIARIES for index in piece)
            is_other = not _is_bare(tokens, piece) if has_claim else first.norm not in PREPOSITIONS and tells
            if is_other:
                merged.append(pending)
                pending = []
        if (
            pending
            and (codes := _codes(tokens, piece))
            and (before := _codes(tokens, pending))
            and codes.isdisjoint(before)
            and not codes | before <= ours
        ):
            merged.append(pending)
            pending = []
        last = place + 1 == len(pieces) or pieces[place + 1][0]
        if not has_claim or _is_bare(tokens, piece):
            if (
                merged
                and not pending
                and any(ORDINALS.get(tokens[index].norm, 0) > 1 or tokens[index].norm == "runner-up" for index in piece)
            ):
                merged.append(piece)
            elif merged and not strong and not pending and (last or first is None or first.norm not in PREPOSITIONS):
                if first is None or _is_bare(tokens, piece) or first.norm in PREPOSITIONS:
                    merged[-1] += piece
                else:
                    merged.append(piece)
            else:
                pending += piece
                if last:
                    merged.append(pending)
                    pending = []
        else:
            merged.append([*pending, *piece])
            pending = []
    if pending:
        merged.append(pending)
    return merged


def _is_number(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].norm.isdigit()


def _codes(tokens: Sequence[Token], piece: Sequence[int]) -> set[object]:
    return {value for _, kind, value in marks_of([tokens[index] for index in piece]) if kind in ("code", "article", "coupon")}


def fields_of(tokens: Sequence[Token]) -> list[list[int]]:
    """The fields of a row."""
    parts: list[list[int]] = [[]]
    for index, token in enumerate(tokens):
        if token.norm == ";":
            parts.append([])
        parts[-1].append(index)
    return parts


def labels_are_things(tokens: Sequence[Token], parts: Sequence[Sequence[int]]) -> bool:
    """Whether the labels of the fields of a row name things, such as persons, and not what is told of one thing."""
    labels = []
    if len(parts) < 2:
        return False
    for part in parts:
        colon = next((place for place, index in enumerate(part) if tokens[index].norm == ":"), -1)
        if colon < 0:
            return False
        labels.append([tokens[index] for index in part[:colon] if tokens[index].kind != "mark"])
    return all(
        any(
            token.kind in ("echo", "value")
            or (token.text[:1].isupper() and token.norm not in FIELDS | KINDS and stem(token.norm) not in FIELDS | KINDS)
            for token in label
        )
        for label in labels
    )


def is_claim(token: Token, kinds: frozenset[str]) -> bool:
    """Whether a token may be a claim: a wanted text, another choice, a value of the asked kinds, a quotation where texts are asked."""
    return (
        token.kind in ("ref", "option")
        or (token.value is not None and token.value.kind in kinds)
        or (token.norm == '"' and "text" in kinds)
    )


def _is_bare(tokens: Sequence[Token], piece: Sequence[int]) -> bool:
    return all(
        tokens[index].kind in ("ref", "value", "mark", "option")
        or tokens[index].norm in DETERMINERS | {"and", "or", "it", "is", "both"}
        for index in piece
    )


def first_word(tokens: Sequence[Token], clause: Sequence[int]) -> int:
    """Return the index of the first word of a clause, -1 without one."""
    return next((index for index in clause if tokens[index].kind != "mark" and tokens[index].norm not in _CONTRASTING), -1)


def points_back(sentence: Sentence, clause: Sequence[int]) -> bool:
    """Whether a clause says of what stands before it that it is something else: "that is for another order"."""
    norms = [sentence.tokens[index].norm for index in clause if sentence.tokens[index].kind != "mark"][:3]
    if norms and norms[0] in ("but", "and", "no", "sorry", "oh"):
        norms = norms[1:]
    return bool(norms) and (
        norms[0] in ("that's", "this's")
        or (
            norms[0] in ("that", "this", "these", "those")
            and (norms[1:2] == ["one's"] or any(norm in AUXILIARIES for norm in norms[1:]))
        )
    )


def opens(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token is the first word of its clause."""
    return all(token.kind == "mark" or token.norm in ("and", "but", "while") for token in tokens[:index])
