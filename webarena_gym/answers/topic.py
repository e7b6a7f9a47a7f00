"""What tells the thing that a goal asks about from others of its kind: its constraints.

They are typed values (a month, the number of an order), values behind nouns ("the forum food") and prepositions, numbers of nouns
("5 stars"), a rank, and things that are asked for together.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from webarena_gym.answers.goal import Goal, options
from webarena_gym.answers.lexicon import ALIASES, DETERMINERS, FUNCTION, JOINT, ORDINALS, RANKED, word_set
from webarena_gym.answers.markup import Line
from webarena_gym.answers.references import Asked
from webarena_gym.answers.sentences import Token, sentences, stem, words

_TYPED = frozenset(("month", "date", "email", "phone"))
_CODE = re.compile(r"0\d{5,}")
_ARTICLE = re.compile(r"[A-Z]{1,4}-\d{3,}")
_COUPON = re.compile(r"[A-Z]{3,}\d+")
_PROJECT = re.compile(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)+")
_POINT = re.compile(r"-?\d{1,3}\.\d{4,}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_BEFORE_YEARS = word_set("in of since until till during from for by year before after")
_SUPERLATIVES = {("most", "recent"): "latest", ("most", "expensive"): "dearest", ("least", "expensive"): "cheapest"}
ROLES = frozenset(("to", "from", "of", "with", "on", "at", "in"))
_NO_NOUNS = word_set("first second third fourth one other goal start end when reason count question")
_EXCLUDED = re.compile(
    r"\b(\w{1,30}) (?:ones|orders) (?:left out|do not count)|(?:do not count|leave) (\w{1,30})", re.IGNORECASE
)


@dataclass(frozen=True)
class Topic:
    """What the goal's constraints are: typed values, values behind nouns, ranks, numbers of nouns, the things that it joins."""

    goal: Goal
    marks: dict[str, frozenset[object]]
    nouns: dict[str, frozenset[str]]
    numbers: dict[str, frozenset[float]]
    rank: int = 0
    joined: tuple[frozenset[str], ...] = ()
    has_choice: bool = False
    has_names: bool = False
    is_of_person: bool = False  # and asks for no name
    is_closed: bool = False  # a question of yes or no
    ranked: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()  # the kinds of marks that the reference has
    plain: frozenset[str] = frozenset()  # the nouns whose values are lower-case words
    roles: dict[str, frozenset[str]] = field(default_factory=dict)  # what stands behind prepositions
    excluded: frozenset[str] = frozenset()
    stems: frozenset[str] = field(default_factory=frozenset)


def read_topic(goal: Goal, asked: Asked, reference: str, *, kind: str, is_ordered: bool) -> Topic:
    """Return the constraints of a goal, with the values of its template's slots."""
    tokens = [token for sentence in sentences([Line(goal.text.replace("\n", " "))], []) for token in sentence.tokens]
    marks: dict[str, set[object]] = {}
    for _, mark, value in marks_of(tokens):
        marks.setdefault(mark, set()).add(value)
    nouns: dict[str, frozenset[str]] = {}
    roles: dict[str, frozenset[str]] = {}
    plain: set[str] = set()
    for name, text in asked.slots:
        told = frozenset(word for word in words(text) if word not in FUNCTION) or frozenset(words(text))
        if not told:
            continue
        if name not in _NO_NOUNS:
            nouns[stem(name)] = told
        before = [word for word in re.findall(r"[\w-]+", goal.text.partition(text)[0])[-3:] if word not in DETERMINERS][-1:]
        noun = stem(before[0]) if before else ""
        farther = re.findall(r"[\w-]+", goal.text.partition(text)[0])[-4:-3]
        if noun == "of" and farther and farther[0] in ROLES:
            nouns[farther[0]] = roles[farther[0]] = told
        verb = next((word for word in re.findall(r"[\w-]+", goal.text.partition(text)[0])[-3:] if word.endswith("ed")), "")
        if verb:
            roles[verb] = told
        if noun in ROLES:
            roles[noun] = roles.get(noun, frozenset()) | told
            nouns[noun] = roles[noun]
        elif noun.isalpha() and noun.islower() and noun not in FUNCTION and not noun.endswith(("ed", "ly")):
            nouns[noun] = nouns.get(noun, frozenset()) | told
        for known in (stem(name), noun):
            if known in ALIASES and known in nouns:
                nouns.setdefault(ALIASES[known], told)
        if text.islower() and text.isalpha():
            plain |= {stem(name), noun}
    numbers: dict[str, set[float]] = {}
    for _, noun, amount in numbers_of(tokens):
        numbers.setdefault(noun, set()).add(amount)
    joined = tuple(frozenset(words(text)) for name, text in asked.slots if name in ("first", "second", "third", "one", "other"))
    return Topic(
        goal,
        {kind: frozenset(each) for kind, each in marks.items()},
        nouns,
        {noun: frozenset(each) for noun, each in numbers.items()},
        is_of_person="person" in nouns and goal.words.isdisjoint(("who", "name", "names")),
        is_closed=kind in ("yes", "no"),
        has_names=kind != "pairs",
        rank=0 if is_ordered else _rank_asked(goal),
        joined=joined if len(joined) > 1 and not is_ordered and not JOINT.isdisjoint(goal.words) else (),
        has_choice=bool(options(goal, reference)) or (len(joined) > 1 and "or" in goal.words),
        ranked=frozenset(ORDINALS) | RANKED | {"another", "other", "before", "after"},
        wanted=frozenset(
            kind for _, kind, _ in marks_of([token for each in sentences([Line(reference)], []) for token in each.tokens])
        ),
        plain=frozenset(plain),
        roles=roles,
        excluded=frozenset(stem(word) for match in _EXCLUDED.finditer(goal.text) for word in match.groups() if word),
        stems=(goal.stems | goal.words)
        - frozenset(
            form for _, text in asked.slots if text.count(" ") > 1 for word in words(text) for form in (word, stem(word))
        ),
    )


def marks_of(tokens: Sequence[Token]) -> Iterator[tuple[int, str, object]]:
    """The values that tell things of one kind apart: by the index of a token, their kind and what is compared."""
    for index, token in enumerate(tokens):
        if token.kind == "value" and token.value is not None and token.value.kind in _TYPED:
            yield index, token.value.kind, token.value.amount
        elif (
            token.norm == "/"
            and 0 < index < len(tokens) - 1
            and tokens[index - 1].text.islower()
            and tokens[index + 1].text.islower()
        ):
            if tokens[index - 1].start + len(tokens[index - 1].text) == token.start == tokens[index + 1].start - 1:
                yield index, "project", f"{tokens[index - 1].text}/{tokens[index + 1].text}"
        elif token.kind not in ("word", "value"):
            continue
        elif _CODE.fullmatch(token.text):
            yield index, "code", token.text
        elif _ARTICLE.fullmatch(token.text):
            yield index, "article", token.text
        elif _COUPON.fullmatch(token.text):
            yield index, "coupon", token.text
        elif _POINT.fullmatch(token.text):
            yield index, "point", token.text.lstrip("-")
        elif _YEAR.fullmatch(token.text) and index and tokens[index - 1].norm in _BEFORE_YEARS:
            yield index, "year", token.text
        elif (
            _PROJECT.fullmatch(token.text)
            and token.text not in ("e-mail", "to-dos", "to-do", "n.a", "runner-up")
            and token.kind == "word"
        ):
            yield index, "project", token.text


def numbers_of(tokens: Sequence[Token]) -> Iterator[tuple[int, str, float]]:
    """The numbers that stand with a noun: "5 stars", "exactly 7" as ("exactly", 7)."""
    for index, token in enumerate(tokens):
        value = token.value
        if value is None or not isinstance(value.amount, float | int):
            continue
        if index and tokens[index - 1].norm == "exactly":
            yield index, "exactly", float(value.amount)
        if value.kind == "number" and index + 1 < len(tokens) and tokens[index + 1].norm in ("star", "stars"):
            yield index, "star", float(value.amount)


def _rank_asked(goal: Goal) -> int:
    """Which one of an order is asked for, 0 where the goal has no order."""
    for index, word in enumerate(goal.sequence):
        if (
            word in ORDINALS
            and ORDINALS[word] > 1
            and any(is_superlative(each) for each in goal.sequence[index + 1 : index + 3])
        ):
            return ORDINALS[word]
    return (
        1
        if any(is_superlative(word) and goal.sequence[max(0, index - 1)] != "at" for index, word in enumerate(goal.sequence))
        else 0
    )


def ranks_things(goal: Goal) -> bool:
    """Whether a goal asks for one at a place of an order, such as the latest or the second best."""
    return _rank_asked(goal) > 0


def is_superlative(norm: str) -> bool:
    """Whether a word is a superlative, also in a compound: "best-selling"."""
    return (
        (len(norm) > 4 and norm.endswith("est") and norm not in ("request", "forest", "guest", "interest", "latest-"))
        or norm in RANKED
        or ("-" in norm and norm != norm.partition("-")[0] and is_superlative(norm.partition("-")[0]))
    )


def degrees_of(norms: Sequence[str]) -> list[str]:
    """The superlatives among some words; "most recent" is "latest"."""
    found: list[str] = []
    for index, norm in enumerate(norms):
        following = norms[index + 1] if index + 1 < len(norms) else ""
        if not is_superlative(norm) or (index and norms[index - 1] in ("at", "not", "no")):
            continue
        found.append(_SUPERLATIVES.get((norm, following), norm))
    return found


def words_of(tokens: Sequence[Token]) -> set[str]:
    """Return the folded words of some tokens."""
    return {word for token in tokens for word in ([token.norm] if token.kind == "word" else words(token.text))}


def is_mentioned(token: Token, topic: Topic) -> bool:
    """Whether a token repeats a name, a quotation or a number of the goal."""
    return token.kind in ("echo", "option") or token.norm in topic.goal.subjects
