"""What else of a thing a clause tells than the goal asks: another rank or number, the opposite, forks for stars, one of two."""

from collections.abc import Sequence
from itertools import pairwise

from webarena_gym.answers.clauses import opens
from webarena_gym.answers.lexicon import (
    BOUNDS,
    CONTRASTS,
    COPULAS,
    DETERMINERS,
    FIELDS,
    FUNCTION,
    JOINT,
    OPPOSITES,
    ORDINALS,
    TRAVEL,
    word_set,
)
from webarena_gym.answers.scopes import Known
from webarena_gym.answers.sentences import Token, stem
from webarena_gym.answers.topic import Topic, degrees_of, is_superlative, numbers_of, words_of

_STEPS = word_set("month week year day quarter")
_COMPARED = tuple({prefix for pair in OPPOSITES for side in pair for prefix in side})
_EXCLUDING = word_set("without excluding except not left leave leaving minus beside besides apart")


def other_number(tokens: Sequence[Token], topic: Topic) -> str:
    """Return a number of a noun, or the side of a bound, that the goal has otherwise; empty without one."""
    said: dict[str, list[tuple[int, float]]] = {}
    for index, noun, amount in numbers_of(tokens):
        if noun not in topic.goal.counted:
            said.setdefault(noun, []).append((index, amount))
    for noun, found in said.items():
        wanted = topic.numbers.get(noun)
        if wanted and not any(amount in wanted for each in said.values() for _, amount in each):
            return f"{tokens[found[0][0]].text} {noun}"
    bound = next((side for side in BOUNDS if _has_bound(topic.goal.sequence, side)), None)
    if bound is not None:
        norms = tuple(token.norm for token in tokens)
        other = next(side for side in BOUNDS if side is not bound)
        if _has_bound(norms, other) and not _has_bound(norms, bound):
            return "the other side of the bound"
    return ""


def _has_bound(norms: Sequence[str], side: frozenset[tuple[str, ...]]) -> bool:
    """Whether some words have a bound with a number behind it: "more than 12"."""
    for index, norm in enumerate(norms):
        if not norm[:1].isdigit():
            continue
        before = tuple(each for each in norms[max(0, index - 3) : index] if each not in DETERMINERS and each != ",")
        if before[-1:] in side or before[-2:] in side:
            return True
    return False


def other_rank(tokens: Sequence[Token], topic: Topic) -> str:
    """Return the place of an order that a clause speaks of instead of the asked one, empty when it names none."""
    if not topic.rank or topic.has_choice:
        return ""
    ranks: list[tuple[int, str]] = []
    for index, token in enumerate(tokens):
        rank = ORDINALS.get(token.norm, 0)
        if not rank and token.value is not None and token.value.kind == "ordinal":
            rank = int(float(token.value.amount))  # type: ignore[arg-type]
        if token.norm == "runner-up":
            ranks.append((2, token.text))
        following = [each.norm for each in tokens[index + 1 : index + 4]]
        if (
            token.norm in ("rank", "place", "position", "no", "nr")
            and following[:1] in ([":"], ["."], ["#"])
            and following[1:2]
            and following[1] in ("1", "2", "3", "4", "5", "6")
        ):
            ranks.append((int(following[1]), token.text))
        if is_superlative(token.norm) and following[:1] == ["but"] and following[1:2] and following[1].isdigit():
            ranks.append((int(following[1]) + 1, token.text))
        if rank > 1 and (
            not following
            or is_superlative(following[0])
            or following[0] in COPULAS
            or following[0] in ("place", "one", "position", "comes", ":", "and", ",", "by", "in")
            or (following[0] in ("most", "-") and len(following) > 1)
        ):
            ranks.append((rank, token.text))
    if ranks and all(rank != topic.rank for rank, _ in ranks):
        return ranks[0][1]
    return ""


def other_degree(tokens: Sequence[Token], denied: Sequence[bool], topic: Topic, *, is_row: bool) -> str:
    """The opposite of a superlative of the goal: "the oldest" for "the latest"."""
    if topic.has_choice and any(token.kind == "option" or token.norm in ("than", "before", "after") for token in tokens):
        return ""
    asked = degrees_of(topic.goal.sequence)
    said = [
        degree
        for degree in degrees_of(["" if denied[index] else token.norm for index, token in enumerate(tokens)])
        if degree != "top" and (degree != "first" or ("last" in asked and not is_row))
    ]
    if not any(token.kind == "ref" or token.norm == "than" for token in tokens):
        said += [
            token.norm
            for token in tokens
            if token.kind == "word" and token.norm.endswith("er") and token.norm.startswith(_COMPARED)
        ]
    if not asked or not said or any(word in asked for word in said):
        return ""
    for one, opposite in (*OPPOSITES, *((opposite, one) for one, opposite in OPPOSITES)):
        is_asked = any(word.startswith(one) for word in asked) and not any(word.startswith(opposite) for word in asked)
        if is_asked and any(word.startswith(opposite) for word in said) and not any(word.startswith(one) for word in said):
            return said[0]
    return ""


def other_most(tokens: Sequence[Token], topic: Topic) -> str:
    """Another thing of which there is "the most" than the goal asks."""
    if "most" not in topic.goal.words and "fewest" not in topic.goal.words and "least" not in topic.goal.words:
        return ""
    for one, two in pairwise(tokens):
        if (
            one.norm in ("most", "fewest")
            and two.kind == "word"
            and stem(two.norm) != two.norm
            and not topic.goal.knows(two.norm)
        ):
            return f"{one.text} {two.text}"
    return ""


def other_side(tokens: Sequence[Token], denied: Sequence[bool], topic: Topic, *, is_row: bool) -> str:
    """The other side of a contrast that the goal makes: forks for stars, "assigned" for "opened"."""
    said = {
        form: token.text
        for index, token in enumerate(tokens)
        if token.kind == "word" and not denied[index] and (is_row or token.text.islower() or opens(tokens, index))
        for form in (token.norm, stem(token.norm))
    }
    if not topic.excluded.isdisjoint(said) and _EXCLUDING.isdisjoint(token.norm for token in tokens) and "non" not in said:
        return said[next(iter(topic.excluded & said.keys()))]
    if not _EXCLUDING.isdisjoint(token.norm for token in tokens):
        return ""
    for group in (*CONTRASTS, tuple(TRAVEL.values())):
        asked = [side for side in group if not side.isdisjoint(topic.stems - topic.excluded)]
        if not asked or any(not side.isdisjoint(said) for side in asked):
            continue
        for side in group:
            if side not in asked and not side.isdisjoint(said):
                return said[next(iter(side & said.keys()))]
    return ""


def one_of_joined(tokens: Sequence[Token], topic: Topic, *, has_other: bool) -> str:
    """The one of several things that a clause speaks of, where the goal asks for all of them together."""
    if not topic.joined:
        return ""
    said = words_of(tokens)
    is_joint = not JOINT.isdisjoint(said)
    named = [each for each in topic.joined if each <= said]
    if 0 < len(named) < len(topic.joined) and (not is_joint or has_other):
        return " ".join(sorted(named[0]))
    return ""


def joins_unknown_name(tokens: Sequence[Token], known: Known) -> bool:
    """Whether "and" joins a name that is not known: "Umbrelltown and X together"."""
    return any(
        _is_unknown_name(one, known) or _is_unknown_name(two, known)
        for one, joint, two in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if joint.norm == "and"
    )


def _is_unknown_name(token: Token, known: Known) -> bool:
    return (
        token.kind == "word" and token.text[0].isupper() and token.norm not in FUNCTION | FIELDS and not known.word(token.norm)
    )


def another(tokens: Sequence[Token], topic: Topic) -> str:
    """Words that say of themselves that they are of something else: "another", "the month before"."""
    for index, token in enumerate(tokens):
        if token.kind != "word" or (index and tokens[index - 1].norm in ("no", "any", "all", "every", "each", "than", "and")):
            continue
        following = tokens[index + 1].norm if index + 1 < len(tokens) else ""
        behind = tokens[index + 2].norm if index + 2 < len(tokens) else ""
        before = tokens[index - 1].norm if index else ""
        if (
            token.norm == "another"
            and following not in ("answer", "possibility", "option", "candidate", "way", "value", "reading", "", ".")
            and behind != "than"
        ):
            return f"another {following}"
        if token.norm in ("neighbor", "neighbour", "neighbouring", "neighboring", "namesake"):
            return token.text
        if token.norm in ("different", "similar") and before in ("a", "the", "that", "") and following != "":
            return f"{token.text} {following}"
        if (
            token.norm == "next"
            and topic.rank
            and (
                following in ("one", "1", "is", ":", "comes", "was", "best", "would")
                or (following in ("", ".") and before in ("be", "comes", "is", "came"))
            )
        ):
            return token.text
        if (
            stem(token.norm) in _STEPS
            and following in ("before", "after", "earlier", "later")
            and before in ("the", "a", "one")
        ):
            return f"{token.text} {following}"
        if token.norm == "elsewhere" and "elsewhere" not in topic.goal.words:
            return token.text
        if token.norm in ("previous", "preceding") and topic.goal.knows(following) and not topic.goal.knows(token.norm):
            return f"{token.text} {following}"
        if token.norm in ("previous", "preceding", "following") and (
            stem(following) in _STEPS or (topic.rank and following in ("one", "commit", "order"))
        ):
            return f"{token.text} {following}"
        if (
            token.norm.endswith("er")
            and following in ("one", "ones", "1")
            and topic.rank
            and before in ("a", "an", "the", "")
            and not topic.has_choice
            and token.norm not in ("other",)
        ):
            return f"{token.text} {following}"
        if token.norm == "only" and following == "1" and behind == "of" and "both" in topic.goal.words:
            return token.text
        if token.norm == "alone" and topic.goal.words & JOINT:
            return token.text
    return ""
