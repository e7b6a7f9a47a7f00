"""Choices: which of the things that a goal offers an answer decides for."""

from collections.abc import Sequence

from webarena_gym.answers.goal import Goal
from webarena_gym.answers.lexicon import AUXILIARIES, COPULAS, DETERMINERS, FUNCTION, OPPOSITES, word_set
from webarena_gym.answers.scopes import is_dash, negated
from webarena_gym.answers.sentences import Sentence, Token

_COMPARED = word_set("than versus vs while whereas compared before after over against which between unlike of from beats >")
_DEGREES = word_set("more most less least first last best worst expensive later latest further away")
_COMPARATIVES = tuple({prefix for pair in OPPOSITES for side in pair for prefix in side})


def check_choice(sentences: Sequence[Sentence], goal: Goal) -> str:
    """Return why what the goal offers beside the wanted one is chosen, empty when it is not.

    A clause chooses its subject when it has a word of comparison or nothing else to say; what stands behind "than", "while" and
    their like is what the choice is compared with.
    """
    chosen: set[str] = set()
    mentioned: set[str] = set()
    for sentence in sentences:
        if sentence.is_question or not any(token.kind in ("option", "ref") for token in sentence.tokens):
            continue
        if sentence.kind == "row" and is_opposite(sentence.tokens, goal):
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
            if is_opposite(body, goal):
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
                compares(token) for token in body
            ):
                chosen.add(subject)
    decided = chosen or mentioned
    return "another of the choices is claimed" if "option" in decided else ""


def is_opposite(body: Sequence[Token], goal: Goal) -> bool:
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


def compares(token: Token) -> bool:
    """Whether a word compares or decides: a comparative, a superlative, or the winner."""
    norm = token.norm
    return token.kind == "word" and (norm in ("winner", "answer") or (_is_degree(norm) and norm.startswith(_COMPARATIVES)))
