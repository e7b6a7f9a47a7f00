"""Claims of names and texts: whether an answer states all the wanted ones, and nothing beside them.

A sentence is parted at its commas, conjunctions and marks (`chunks`). The part that holds a wanted text may say what it likes in
other words; a part beside it that is nothing but another name or item is a rival (`rivals`), as is a name that stands as the subject
or the object of a sentence of its own. Where the goal offers several, one is chosen (`choices`).
"""

from collections.abc import Sequence

from webarena_gym.answers.choices import check_choice, is_opposite
from webarena_gym.answers.goal import Goal
from webarena_gym.answers.items import is_longer
from webarena_gym.answers.lexicon import AUXILIARIES
from webarena_gym.answers.rivals import beside_bare, labels_of, rivals_in
from webarena_gym.answers.scopes import Known, negated
from webarena_gym.answers.sentences import Sentence, Token
from webarena_gym.answers.typed import is_inexact


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
                is_opposite(sentence.tokens, goal) and any(each.norm == "than" for each in sentence.tokens[:index])
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
    why = check_choice(sentences, goal)
    if why:
        return why
    missing = [each for each in wanted if each not in said and each not in aside]
    if denied:
        return "what is wanted is denied"
    if missing:
        return "not all of what is wanted is claimed" if said or aside else "what is wanted is not claimed"
    labels = labels_of(sentences)
    beside = beside_bare(sentences, has_numbers=has_numbers)
    if beside:
        return f"{beside!r} is claimed as well"
    rivals = [
        rival
        for sentence in sentences
        if not sentence.is_question and not _only_contrasts(sentence, sentences)
        for rival in rivals_in(sentence, goal, known, is_closed=is_closed, labels=labels, has_numbers=has_numbers)
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


def _only_contrasts(sentence: Sentence, sentences: Sequence[Sentence]) -> bool:
    """Whether a sentence speaks of what is not the answer, before the one that has it: "Bo has one too, but it does not ..."."""
    if any(token.kind == "ref" for token in sentence.tokens) or sentence is sentences[-1]:
        return False
    norms = [token.norm for token in sentence.tokens]
    return "but" in norms and any(norm.endswith("n't") or norm == "not" for norm in norms[norms.index("but") :])
