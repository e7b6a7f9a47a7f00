"""What a goal asks for, as far as the reading of an answer needs it: its words, its numbers, and the kind of thing counted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from webarena_gym.answers.lexicon import AUXILIARIES, CALENDAR, FUNCTION, PREPOSITIONS, TRAVEL
from webarena_gym.answers.markup import Line
from webarena_gym.answers.sentences import Pattern, Token, fold, has_part, pattern, sentences, stem, words
from webarena_gym.answers.values import read

_ASKED = re.compile(r"\b(?:how many|(?:the )?number of|count of)\s+(?:of\s+(?:the|my|our|all|these)\s+)?", re.IGNORECASE)
_QUOTATION = re.compile(r'"([^"\n]{1,300})"')
_PATH = re.compile(r"\b[\w.-]+/[\w./-]*\w")
_NAME = re.compile(
    r"\b[A-Z][\w'&-]*(?:\.\w+)*(?:,? (?:(?:of|the|and|in|for|with|&|x) (?=[A-Z\d]))?(?:[A-Z][\w'&-]*(?:\.\w+)*|\d[\w.]*(?: (?:x \d+ )?(?:mm|cm|inch|oz|lb|lm|ft|gallon|psi|gph|kg|[A-Z])\b)?))*"
)
_SPAN = 7  # words of the goal over which a name may reach
_EXAMPLE = re.compile(
    r"\b(?:like|form|format|such as|as|say|answer)\s+(?:\"[^\"]{1,200}\"(?:\s+or\s+\"[^\"]{1,200}\")?|[$\d][\w:.,-]*)",
    re.IGNORECASE,
)
_MEASURES = {
    "kilometre": "km", "kilometer": "km", "km": "km", "metre": "m", "meter": "m", "mile": "mi",
    "minute": "min", "hour": "h", "day": "d", "week": "w", "second": "s", "dollar": "usd",
}  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """The words of a goal, folded; the pairs of neighbours in it; its values; the nouns that it asks to count, and their unit."""

    text: str
    words: frozenset[str]
    stems: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    values: frozenset[tuple[str, object]]
    counted: frozenset[str]
    unit: str
    ways: frozenset[str]
    sequence: tuple[str, ...] = ()
    phrases: tuple[Pattern, ...] = ()
    plurals: frozenset[str] = frozenset()
    preposition: str = ""
    subjects: frozenset[str] = frozenset()  # the words that only this goal has: of names, quotations, numbers of orders
    has_names: bool = False
    has_quotation: bool = False
    has_code: bool = False
    has_identifier: bool = False

    def knows(self, word: str) -> bool:
        """Whether a folded word stands in the goal, in singular or plural."""
        return word in self.words or stem(word) in self.stems

    def names(self, folded_words: Sequence[str]) -> bool:
        """Whether some words stand in the goal in this order and close together: a name, or a name cut short."""
        if len(folded_words) == 1:
            return self.knows(folded_words[0])
        for start, word in enumerate(self.sequence):
            if word != folded_words[0]:
                continue
            place = start + 1
            for wanted in folded_words[1:]:
                while place < len(self.sequence) and place <= start + _SPAN and self.sequence[place] != wanted:
                    place += 1
                if place >= len(self.sequence) or place > start + _SPAN:
                    break
                place += 1
            else:
                return True
        return False


@lru_cache(maxsize=1024)  # all episodes of a task have its goal
def read_goal(text: str) -> Goal:
    """Return what a goal says.

    >>> sorted(read_goal("How many new accounts were opened in July 2022?").counted)
    ['account', 'new']
    """
    told = _EXAMPLE.sub(" ", text.replace("\n", " "))
    tokens: list[Token] = [token for sentence in sentences([Line(told)], []) for token in sentence.tokens]
    folded = words(text)
    plain = [token.norm for token in tokens if token.kind != "mark"]
    counted = _counted(text)
    unit = next((_MEASURES[word] for word in counted if word in _MEASURES), "")
    if not unit and re.search(r"\bhow old\b", text, re.IGNORECASE):
        unit = "y"
    return _with_subjects(
        Goal(
            text,
            frozenset(folded),
            frozenset(map(stem, folded)),
            frozenset(pairwise(plain)),
            frozenset((token.value.kind, token.value.amount) for token in tokens if token.value),
            frozenset(counted),
            unit,
            frozenset(way for way, names in TRAVEL.items() if names & set(folded)),
            tuple(folded),
            tuple(_phrases(text)),
            frozenset(stem(word) for word in folded if (word.endswith("s") and not word.endswith("ss")) or word == "people"),
            next(
                (
                    match[1].lower()
                    for match in re.finditer(
                        r"\b(to|at|in|on|under|along|from|by)\s+(?:which|what|whom)\b", text, re.IGNORECASE
                    )
                ),
                "",
            ),
        )
    )


def _with_subjects(goal: Goal) -> Goal:
    """The goal with what it is about."""
    told = _EXAMPLE.sub(" ", goal.text).replace("N/A", " ")
    quoted = {word for quotation in _QUOTATION.findall(told) for word in words(quotation) if word not in FUNCTION}
    codes = set(re.findall(r"\b0\d{5,}\b", told))
    identifiers = {
        fold(word) for word in re.findall(r"\b[a-z0-9.]+(?:[-/][a-z0-9.]+)+\b", told) if word not in ("e-mail", "to-dos")
    }
    proper = {
        fold(match.group())
        for match in re.finditer(r"(?<![.?!:] )(?<!^)\b[A-Z][\w'-]+", told)
        if match.group().lower() not in CALENDAR and match.group().lower() not in FUNCTION and not match.group().isupper()
    }
    return replace(
        goal,
        subjects=frozenset(quoted | codes | identifiers | proper),
        has_names=bool(proper - quoted),
        has_quotation=bool(quoted),
        has_code=bool(codes),
        has_identifier=bool(identifiers),
    )


def _phrases(text: str) -> list[Pattern]:
    """What a goal names: quotations, paths, and runs of capitalised words with their numbers, whole and in parts."""
    text = _EXAMPLE.sub(" ", text).replace("N/A", " ")
    found = [*_QUOTATION.findall(text), *_PATH.findall(text)]
    for match in _NAME.finditer(text):
        name = match.group().strip(" ,")
        before = text[: match.start()].rstrip()
        if not before or before.endswith((".", "?", "!")):
            name = name.partition(" ")[2]
        found += [name, *re.split(r",\s|\sand\s", name)]
    values = {text[value.start : value.end] for value in read(text)}
    patterns = [pattern(each) for each in dict.fromkeys(found) if each and each not in values]
    return [each for each in patterns if len(each.words) > 1]


def _counted(text: str) -> list[str]:
    asked = _ASKED.search(text)
    if not asked:
        return ["time", "use"] if re.search(r"\bhow often\b", text, re.IGNORECASE) else []
    nouns: list[str] = []
    for word in re.findall(r"[\w'-]+", text[asked.end() :])[:6]:
        if word.lower() in FUNCTION or word.lower() in AUXILIARIES or word.lower() in PREPOSITIONS:
            break
        if word[0].isupper():
            break
        nouns.append(stem(fold(word)))
        if word.lower().endswith("s") or word.lower() == "people":
            break  # the noun itself; before it are its adjectives
    return nouns


def options(goal: Goal, reference: str) -> list[str]:
    """Return what a goal offers to choose from beside the reference: "B" for "Which is larger, A or B?" and "A".

    >>> options(read_goal("Who was born first, Ann Lee or Bo Chen?"), "Bo Chen")
    ['Ann Lee']
    """
    wanted = words(reference)
    for match in re.finditer(r"\bor\b", goal.text):
        left, right = goal.text[: match.start()], re.split(r"[?]|\.\s", goal.text[match.end() :])[0]
        start = left.rfind(": ")
        if start < 0:
            commas = [each.end() for each in re.finditer(r"\b[a-z]\w*,", left)]
            start = commas[-1] if commas else -1
        if start < 0:
            continue
        both = [left[start:].strip(" ,:"), right.strip()]
        offered = [_bare(piece) for side in both for piece in (side, *re.split(r",\s+", side))]
        if any(words(each) == wanted for each in offered):
            return [
                each
                for each in dict.fromkeys(offered)
                if each and words(each) != wanted and not has_part(wanted, words(each)) and not has_part(words(each), wanted)
            ]
    return []


def _bare(text: str) -> str:
    """A name without its article and the lower-case words before it."""
    return re.sub(r"^(?:[a-z]+\s+)+(?=[A-Z0-9])", "", text.strip(" ,:"))
