"""Matches sentences that state one value with forms, such as "there is VALUE NOUN", whose subjects must be pieces of the goal.

A goal such as "How many reviews does the Linen Scarf have?" allows "There are 13 reviews." and "The Linen Scarf has 13 reviews.".
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from webarena_gym.answers.form import UNIT_WORDS

FORMS = (
    "V", "V N", "V N T", "V T", "V P", "V is S",
    "it is V", "it is V N", "it is V T", "it is V N T", "it : V",
    "there is V", "there is V N", "there is V N T", "T there is V", "T there is V N",
    "S is V", "S is V T", "T S is V", "L : V", "S has V", "S has V N", "S has V N T", "S has F V", "S has F of V",
    "S costs V", "it costs V", "S takes V", "it takes V", "it takes V T", "S was D by V",
    "C V", "C V N", "C V N T", "C V T", "T C V", "T C V N",
)  # fmt: skip
"""Forms of a sentence. V is the value. S and T are pieces of the goal; T begins with a preposition. N is the noun that the goal counts, L a
label, F a field, P the rest of a question after "who" or "which", C the subject and verb after "did", and D a word of the goal in the past
tense. Other symbols are keys of `_WORDS`.
"""

_FIELDS = frozenset(
    """it that this they these those answer result value price cost total sum amount count number quantity time duration distance date name
    title status email e-mail mail phone address website url rating author sku code method payment population difference username user product place""".split()  # noqa: SIM905
)
"""Subjects that fit any goal."""
_WORDS = {symbol: frozenset(words.split()) for symbol, words in {
    "it": " ".join(_FIELDS), "is": "is are was were", "was": "is are was were", "has": "has have had",
    "costs": "cost costs", "takes": "take takes took", "there": "there", "by": "by", "of": "of", ":": ":",
}.items()}  # fmt: skip
_PREPOSITIONS = frozenset("in on at by from to for of with within during about".split())  # noqa: SIM905
_BARE = _PREPOSITIONS | frozenset(
    "is are was were has have had do does did can could would will i my it and or if which who what how many much there please".split()  # noqa: SIM905
)  # words with which a subject neither begins nor ends
_VAGUE = _BARE | frozenset("one most least among first second last next more less fewer".split())  # noqa: SIM905
_SAME = {"your": "my", "our": "my", "you": "i", "we": "i", "me": "i"}
_FILLER_WORDS = frozenset(["the", "a", "an", "so", "thus", "therefore", "hence"])
_PAST = {"made": "make", "gave": "give", "wrote": "write", "took": "take", "spent": "spend", "bought": "buy", "got": "get",
         "left": "leave", "written": "write", "sent": "send", "given": "give", "paid": "pay", "came": "come", "has": "have", "had": "have"}  # fmt: skip
_EXAMPLE = re.compile(r"\b(?:like|form|format|such as|as|say|answer)\s+(?:\"[^\"]{1,200}\"(?:\s+or\s+\"[^\"]{1,200}\")?|[$\d][\w:.,-]*)", re.IGNORECASE)  # fmt: skip
_CLAUSE_END = re.compile(r"(?<=[.?!:])\s|\n|[()]")
_EXCLUDES = re.compile(
    r"\b(?:not|no|none|never|except|without|excluding|left out|only|besides|else|other|another|wrong|false|[Aa]nswer)\b"
)
_QUOTED = re.compile(r'"([^"\n]+)"')
_JOINS = re.compile(r"\b(?:and|or|both|together|altogether|combined|differ\w*|than|sum|between|compare)\b", re.IGNORECASE)
_COUNTED = re.compile(r"\b(?:[Hh]ow many|[Nn]umber of|(?:\AC|c)ount(?: all)?(?: the| of)?)\s+(?=\w)")
_ASKED = re.compile(r"\b(who|which|what)\b", re.IGNORECASE)
_DONE = re.compile(r"\b(?:did|do|does|would|can)\b", re.IGNORECASE)
_LONGEST, _LONGEST_GOAL = 80, 5_000  # tokens of a sentence, characters of a goal


class Goal(NamedTuple):
    """The pieces of a goal with which sentences are matched."""

    text: str
    """Its clauses, one a line, as normalized words with spaces around each."""
    stems: frozenset[str]
    """Stems of its words."""
    counted: tuple[tuple[list[str], int], ...]
    """For each "how many": the stems of the following words, and the index of the counted noun."""
    predicates: tuple[str, ...]
    """Texts after "who" or "which NOUN"."""
    clauses: tuple[str, ...]
    """Stemmed texts after "did" and similar verbs."""
    names: frozenset[str]
    """Words that are names, quoted or contain digits."""
    is_joint: bool
    """True if it is about several things. A sentence must then mention all names."""


@lru_cache(maxsize=1024)  # all episodes of a task have its goal
def read_goal(intent: str, about: tuple[str, ...] = ()) -> Goal:
    """Return the pieces of a goal. `about` are additional names that sentences may mention."""
    text = _EXAMPLE.sub(" ", intent[:_LONGEST_GOAL])
    clauses = [(clause, _EXCLUDES.search(_QUOTED.sub("", clause))) for clause in _CLAUSE_END.split(text)]
    pieces = [piece for clause, excludes in clauses for piece in (clause.split(", ") if excludes else [clause])]
    plain = [piece for piece in pieces if not _EXCLUDES.search(_QUOTED.sub("", piece))]
    words = [norms for norms in map(_norms, [*plain, *about]) if norms]
    names = {norm for quoted in _QUOTED.findall(text) for norm in _norms(quoted)}
    for piece in pieces:
        tokens = piece.split()[1:]
        names.update(norm for token in tokens if token[:1].isupper() or any(map(str.isdigit, token)) for norm in _norms(token))
    return Goal(
        "\n".join(map(_pad, words)),
        frozenset(stem(word) for clause in words for word in clause),
        tuple(_stems_and_noun(_norms(piece[match.end() :])) for piece in plain for match in _COUNTED.finditer(piece)),
        tuple(
            _pad(rest if match[1].lower() == "who" else list(itertools.dropwhile(lambda word: word not in _WORDS["is"] | _WORDS["has"], rest)))
            for piece in plain for match in _ASKED.finditer(piece) for rest in [_norms(piece[match.end() :])]
        ),
        tuple(_stem_words(_norms(piece[match.end() :])) for piece in plain for match in _DONE.finditer(piece)),
        frozenset(names - _BARE),
        bool(_JOINS.search(_QUOTED.sub("", text))),
    )  # fmt: skip


def _stems_and_noun(words: list[str]) -> tuple[list[str], int]:
    """Return the stems of the words after "how many", and the index of the noun, which is the first plural."""
    plurals = (place for place, word in enumerate(words) if word == "people" or (word[-1:] == "s" and word not in _BARE))
    return [stem(word) for word in words], next(plurals, 0)


def values(text: str, goal: Goal, *, is_typed: bool) -> Iterator[str]:
    """Yield each text that can be the value in a sentence of some form, without repetitions and beginning with the whole text.

    Unless `is_typed`, forms with a piece of the goal after the value are skipped: the piece could be part of a longer name.
    """
    yield text
    text = re.sub(r"\b(it|that|there)['’]s(?= )", r"\1 is", text, count=1, flags=re.IGNORECASE)
    tokens = [match.span() for match in itertools.islice(re.finditer(r":(?!\S)|\S(?:[^\s:]|:(?=\S))*", text), _LONGEST + 1)]
    if not 2 <= len(tokens) <= _LONGEST:
        return
    sentence, size, spans = _Sentence([text[start:end] for start, end in tokens], goal), len(tokens), {(0, len(tokens))}
    for form in FORMS[1:]:
        lead, trail = (part.split() for part in form.split("V"))
        if trail[:1] in (["T"], ["N"]) and not is_typed:
            continue
        for place in itertools.product(sorted(sentence.ends(lead, 0)), range(1, size + 1)):
            start, end = place
            if end > start and place not in spans and size in sentence.ends(trail, end) and sentence.names_all(form, *place):
                spans.add(place)
                first, last = tokens[start][0], tokens[end - 1][1]
                if "\n" not in text[:first].rstrip() + text[last:]:
                    yield text[first:last]
                    yield re.sub(r"^the ", "", text[first:last], flags=re.IGNORECASE)


def is_label(text: str, goal: Goal) -> bool:
    """Return True if a text is a label of a value: the counted noun, words that fit any goal, or words of a goal that is not joint.

    A name in the goal, or a part of one, is not a label, because it may be the wrong one of several answers.
    """
    words = [word for word in map(_norm, text.split()) if word not in _FILLER_WORDS]
    words = words[:-1] if words and words[-1].removesuffix("s") in UNIT_WORDS else words
    is_own = not goal.is_joint and _pad(words) in goal.text
    if _EXCLUDES.search(text.lower()):
        return False
    if not goal.names.isdisjoint(words):
        return is_own and (words[0].isalpha() if len(words) == 1 else not goal.names.issuperset(words))
    stems = frozenset() if goal.is_joint else goal.stems
    is_known = all(word in _FIELDS or (stem(word) in stems and word not in _VAGUE) for word in words)
    return bool(text.strip()) and (is_known or is_own or _is_counted(words, goal))


def is_piece(text: str, goal: Goal) -> bool:
    """Return True if the goal contains a text."""
    return _pad(_norms(text)) in goal.text


class _Sentence:
    """The words of an answer, to be matched with symbols of forms."""

    def __init__(self, tokens: Sequence[str], goal: Goal) -> None:
        self.words, self.goal, self.is_lower = (
            [_norm(token) or token for token in tokens],
            goal,
            [token.islower() for token in tokens],
        )
        self._found: dict[tuple[str, int], list[int]] = {}

    def ends(self, symbols: Sequence[str], start: int) -> frozenset[int]:
        """Return the indices of words at which a sequence of symbols can end that begins at the word `start`."""
        places = {start}
        for symbol in symbols:
            for place in places:
                if (symbol, place) not in self._found:
                    self._found[symbol, place] = list(self._ends(symbol, place))
            places = {end for place in places for end in self._found[symbol, place]}
        return frozenset(places)

    def names_all(self, form: str, start: int, end: int) -> bool:
        """Return False if the goal is joint and the sentence contains pieces of it, but not all of its names."""
        if not self.goal.is_joint or not {"S", "T", "D", "C"} & set(form.split()):
            return True
        return bool(self.goal.names) and self.goal.names <= {*self.words[:start], *self.words[end:]}

    def _ends(self, symbol: str, start: int) -> Iterator[int]:
        words = self.words
        while start < len(words) and words[start] in _FILLER_WORDS and symbol != "N":
            start += 1
        if start == len(words) or (symbol == "N" and words[start] in _FILLER_WORDS):
            return
        if symbol == "S" and words[start] in self.goal.names and self.is_lower[start]:
            return  # "the drive" is not Lake Drive
        if symbol in _WORDS:
            if words[start] in _WORDS[symbol]:
                yield start + 1
                if symbol == "is" and words[start + 1 : start + 2] == [":"]:
                    yield start + 2
        elif symbol == "D":
            if stem(words[start]) in self.goal.stems and (words[start] in _PAST or words[start].endswith("ed")):
                yield start + 1
        elif symbol != "T" or words[start] in _PREPOSITIONS:
            for end in range(start + 1, len(words) + 1):
                piece = [word for word in words[start:end] if word not in _FILLER_WORDS]
                if self._is(symbol, piece) and (symbol in "NP" or not _EXCLUDES.search(" ".join(piece))):
                    yield end

    def _is(self, symbol: str, piece: list[str]) -> bool:
        goal = self.goal
        match symbol:
            case "S":
                is_noun = piece[0] not in _BARE and piece[-1] not in _BARE and any(map(str.isalpha, piece))
                return is_noun and _is_subject(piece, goal)
            case "F":
                return len(piece) == 1 and (piece[0] in _FIELDS or _pad(piece) in goal.text)
            case "L":
                return is_label(" ".join(piece), goal)
            case "T":  # "to walk" and "in total" where the goal has no preposition
                is_added = len(piece) > 1 and piece[1] not in goal.names and piece[0] in ("to", "in", "by", "for")
                end = "\n" if piece[-1][0].isdigit() else ""  # "with 4" is no piece of "with 4 stars"
                pieces = [_pad(piece) + end, *([_pad(piece[1:]) + end] if is_added else [])]
                return len(piece) > 1 and any(text in goal.text + "\n" for text in pieces)
            case "C":
                is_verb = len(piece) > 1 and piece[-1] not in goal.names | _PREPOSITIONS
                return is_verb and any(clause.startswith(_stem_words(piece)) for clause in goal.clauses)
            case "N":
                return _is_counted(piece, goal)
            case _:
                return bool(piece) and any(predicate.startswith(_pad(piece)) for predicate in goal.predicates)


def _is_subject(piece: list[str], goal: Goal) -> bool:
    """Return True for a piece of the goal, or two pieces joined by "of" or "for", of which the first may be a field such as "price"."""
    cuts = [(piece[:cut], piece[cut + (cut > 0 and piece[cut] in ("of", "for")) :]) for cut in range(len(piece))]
    return any(
        _pad(tail) in goal.text and (not head or _pad(head) in goal.text or (len(head) == 1 and head[0] in _FIELDS))
        for head, tail in cuts
    )


def _is_counted(piece: list[str], goal: Goal) -> bool:
    """Return True for the counted noun, with or without its adjectives and the words after it in the goal."""
    stems = [stem(word) for word in piece]
    return any(
        words[begin : begin + len(stems)] == stems and begin + len(stems) > noun
        for words, noun in goal.counted
        for begin in range(noun + 1)
    )


def stem(word: str) -> str:
    """Return the stem of a word, which is equal for its inflections."""
    word = _PAST.get(word, word)
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending).rstrip("e")
    return word


def _norm(token: str) -> str:
    word = token.casefold().strip("\"'“”‘’,").removesuffix(".").rstrip("\"'”’")
    return _SAME.get(word, word)


def _norms(text: str) -> list[str]:
    return [word for word in map(_norm, re.sub(r"[?!:;](?=\s|$)", "", text).split()) if word and word not in _FILLER_WORDS]


def _pad(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _stem_words(words: Sequence[str]) -> str:
    return _pad([stem(word) for word in words])
