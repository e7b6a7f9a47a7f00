"""What holds for the words of a sentence: negation, doubt, and names that neither the goal nor the reference has."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from webarena_gym.answers.goal import Goal
from webarena_gym.answers.lexicon import (
    AUXILIARIES,
    BE_CONTRACTED,
    CALENDAR,
    CONCLUDING,
    CONCLUDING_PAIRS,
    COPULAS,
    CORRECTIONS,
    DETERMINERS,
    EXCLUDED_BY_BUT,
    FIELD_QUALIFIERS,
    FIELDS,
    FUNCTION,
    HEDGES,
    NEGATIONS,
    PLATFORMS,
    PRONOUNS,
    RETRACTED,
    RETRACTIONS,
    SOFT,
    TITLES,
    TRAVEL,
    UNTRUE,
    VERIFY,
)
from webarena_gym.answers.sentences import Sentence, Token, field_around, stem, words


class Known:
    """The words that an answer may repeat: those of the goal, of each part of the reference, of each name that may be mentioned."""

    def __init__(self, goal: Goal, texts: Iterable[str] = ()) -> None:
        self._goal = goal
        self._sets = [frozenset(words(text)) for text in texts]
        self._all = frozenset(word for each in self._sets for word in each)
        self._stems = frozenset(map(stem, self._all))
        self._heads = frozenset(word[:5] for word in goal.words if len(word) > 4)

    def word(self, norm: str) -> bool:
        """Whether a folded word is one of them."""
        return norm in self._all or stem(norm) in self._stems or self._goal.knows(norm)

    def asks(self, norm: str) -> bool:
        """Whether a folded word is the goal's."""
        return self._goal.knows(norm)

    def value(self, token: Token) -> bool:
        """Whether a token is a typed value of the goal."""
        return token.value is not None and (token.value.kind, token.value.amount) in self._goal.values

    def like(self, norm: str) -> bool:
        """Whether a folded word is one of them, or of the same family: "director" for "directed"."""
        return self.word(norm) or (len(norm) > 4 and norm[:5] in self._heads)

    def name(self, norms: Sequence[str]) -> bool:
        """Whether a name's words all come from one place; those from several would make another name."""
        return self._goal.names(norms) or any(each.issuperset(norms) for each in self._sets)


_COMMON_ENDINGS = (
    "tion", "sion", "ment", "ing", "ity", "ness", "ance", "ence", "age", "ly", "ed", "ery", "ship", "ings", "tions", "ments",
)  # fmt: skip
_BREAKS = frozenset(",;:()|>") | {
    "but",
    "so",
    "because",
    "since",
    "while",
    "whereas",
    "although",
    "though",
    "which",
    "who",
    "hence",
    "therefore",
}


def negated(sentence: Sentence, *, after_colon: bool = True) -> list[bool]:
    """Say for each token whether a negation before it in its clause, or one that follows it as its predicate, denies it.

    A colon ends the reach of a negation, but behind the label of what is denied; `after_colon` makes it do so always when false.
    """
    tokens = sentence.tokens
    flags: list[bool] = []
    active = False
    outside = False  # what is denied is left out: "without those"
    joined = False  # "and" was read in a negated clause: a verb behind it begins another
    for index, token in enumerate(tokens):
        norm = token.norm
        if (
            norm in ("but", "except")
            and index
            and (
                tokens[index - 1].norm in EXCLUDED_BY_BUT
                or (index > 1 and tokens[index - 2].norm in ("any", "every", "all", "no"))
            )
        ):
            active = True
        elif norm in _BREAKS and token.kind == "word" and active and index and is_negation(tokens, index - 1):
            pass  # "not since X"
        elif norm in _BREAKS or (norm == "-" and _is_spaced(sentence, index)):
            if norm == ":" and _denies_following(tokens, index):
                pass
            elif norm != ":" or ((not after_colon or not _is_label_of_denied(tokens, index)) and not _refers_on(tokens, index)):
                active = joined = False
        elif token.kind == "word" and is_negation(tokens, index):
            active, joined, outside = True, False, norm in ("without", "excluding", "except")
        elif (
            norm == "than"
            and index > 1
            and tokens[index - 1].norm not in ("other", "rather")
            and _compares_before(tokens, index)
        ):
            active = not active  # "more than X" leaves X behind, "no other has more than X" does not
        elif active and outside and (norm in BE_CONTRACTED or norm in COPULAS):
            active = False  # "without those it's 5"
        elif active and norm == "and":
            joined = True
        elif joined and norm in AUXILIARIES:
            active = joined = False
        flags.append(active)
    for index in range(len(tokens)):
        if denied_after(tokens, index):
            flags[index] = True
    return flags


def _denies_following(tokens: Sequence[Token], index: int) -> bool:
    """Whether a clause of denial before a colon is said of the texts behind it: "None of these is near enough: X"."""
    following = next((token for token in tokens[index + 1 :] if token.kind != "mark" and token.norm not in DETERMINERS), None)
    return following is not None and following.kind == "ref" and any(token.norm in AUXILIARIES for token in tokens[:index])


def _refers_on(tokens: Sequence[Token], index: int) -> bool:
    """Whether what is before a colon means what is behind it: "None of these: X"."""
    return index > 0 and tokens[index - 1].norm in ("these", "those", "them", "following")


def _is_label_of_denied(tokens: Sequence[Token], index: int) -> bool:
    """Whether a colon stands behind the label of what is denied: "It is not walking: 5 min", unlike "No discount: $0.00"."""
    if index and (
        tokens[index - 1].norm in ("wrong", "false", "incorrect", "untrue")
        or any(tokens[index - 1].norm in known for known in TRAVEL.values())
    ):
        return True
    before = [token.norm for token in tokens[max(0, index - 3) : index - 1]]
    return bool(before) and (
        before[-1] in COPULAS or before[-1] in ("not", "but", "except", "never", "neither", "nor") or before[-1].endswith("n't")
    )


def _compares_before(tokens: Sequence[Token], index: int) -> bool:
    return any(
        token.norm in ("more", "less", "fewer") or (token.norm.endswith("er") and token.text.islower())
        for token in tokens[max(0, index - 6) : index]
    )


def is_negation(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word denies what follows it."""
    norm = tokens[index].norm
    following = tokens[index + 1].norm if index + 1 < len(tokens) else ""
    if norm == "no":  # "No, ..." answers, "no. 5" is a number
        return following not in (",", ".", ":", ";", "-", "!") and index + 1 < len(tokens)
    if norm in ("other", "rather", "else") and following == "than":
        return True
    if (
        norm in RETRACTED
        or (norm == "first" and (following in ("i", "glance") or (index and tokens[index - 1].norm == "i")))
        or (norm in ("used", "going") and following == "to")
    ):
        return index + 1 < len(tokens)
    if norm in ("would", "should") and following == "have":
        return True
    if norm.startswith("differ") and following == "from":
        return True
    if norm == "another" and any(token.norm == "than" for token in tokens[index : index + 5]):
        return True
    if norm == "instead" and following == "of":
        return True
    if norm == "not" and following == "only":
        return False
    if norm == "far" and following == "from" and (not index or tokens[index - 1].norm in COPULAS):
        return True
    return norm in NEGATIONS or norm.endswith("n't")


def denied_after(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token's own predicate denies it: "X is not the answer", "X is wrong", "X? No."."""
    return tokens[index].kind in ("ref", "value") and denies_after(tokens, index)


def denies_after(tokens: Sequence[Token], index: int) -> bool:
    """Whether a predicate of denial follows a token."""
    rest = [token.norm for token in tokens[index + 1 : index + 12]]
    if ("another" in rest and "than" in rest[rest.index("another") :]) or ("no", "longer") in pairwise(rest):
        return True
    place, auxiliary = index + 1, False  # "X is not", "X was never"
    while place < len(tokens) and tokens[place].norm == '"':
        place += 1
    while place < len(tokens) and place <= index + 4:
        norm = tokens[place].norm
        if norm in AUXILIARIES and not norm.endswith("n't") and norm != "cannot":
            auxiliary = True
        elif (norm.endswith("n't") and norm in AUXILIARIES) or norm == "cannot":
            return True
        elif auxiliary:
            return (
                norm in UNTRUE
                or norm in ("another", "dead", "different")
                or any(
                    token.norm == "no" and following.norm == "longer"
                    for token, following in pairwise(tokens[place : place + 8])
                )
            )
        elif tokens[place].kind != "word" or norm in FUNCTION:
            return norm == "not" and place + 1 == len(tokens)
        place += 1
    return False


def is_doubtful(sentence: Sentence) -> bool:
    """Whether a sentence says that its speaker does not know, or only guesses.

    A guess holds as far as the next semicolon, and where there is something to guess at.
    """
    tokens = sentence.tokens
    for index, token in enumerate(tokens):
        if token.kind != "word":
            continue
        following = tokens[index + 1].norm if index + 1 < len(tokens) else ""
        if token.norm in ("alternative", "alternatively", "otherwise"):
            return True
        if token.norm in SOFT and any(each.kind in ("ref", "value", "option") for each in tokens):
            return True
        if token.norm == "something" and following == "like":
            return True
        if token.norm == "say" and index and tokens[index - 1].norm in ("let", "let's", "lets"):
            return True
        if token.norm == "or" and index and tokens[index - 1].norm == "(":
            return True
        if token.norm in HEDGES and (
            not _guesses_at_something(tokens, index) or (token.norm == "unless" and sentence.depths[index])
        ):
            continue
        if (
            token.norm in HEDGES
            or (token.norm == "or" and index + 1 < len(tokens) and tokens[index + 1].norm == "else")
            or (token.norm.startswith("doubt") and (not index or tokens[index - 1].norm not in ("no", "without")))
        ):
            return True
        following = tokens[index + 1].norm if index + 1 < len(tokens) else ""
        if token.norm in ("might", "may", "could") and following and token.text != "May" and _supposes(tokens, index + 1):
            return True
        if token.norm == "if" and (
            (following in ("i", "i'm") and "know" not in (each.norm for each in tokens[:index]))
            or any(each.norm == "then" for each in tokens[index:])
        ):
            return True
        if token.norm == "else" and index and tokens[index - 1].norm in (";", ",", "."):
            return True
        ahead = [each.norm for each in tokens[index + 1 : index + 4]]
        if (
            token.norm in ("1", "one")
            and ahead[:2] == ["of", "them"]
            and ahead[2:] in ([], ["."])
            and index
            and tokens[index - 1].norm == ","
        ):
            return True
        if token.norm == "other" and ahead[:1] == ["way"]:
            return True
        if token.norm == "half" and following == "by":
            return True
        if token.norm in VERIFY and index and _is_negated_near(tokens, index):
            return True
        if token.norm == "no" and following in ("idea", "clue", "way"):
            return True
    return False


def _supposes(tokens: Sequence[Token], index: int) -> bool:
    """Whether what "may" or "might" holds for is a value or a name: "it may be X", unlike "it may be sent back"."""
    for token in tokens[index : index + 4]:
        if token.kind in ("ref", "value", "option") or (token.kind == "word" and token.text[0].isupper()):
            return True
        if token.norm == "more":
            return True
        if (
            token.norm not in FUNCTION
            and token.norm not in ("cost", "take", "well", "also", ":", '"')
            and not any(token.norm in known for known in TRAVEL.values())
        ):
            return False
    return False


def _guesses_at_something(tokens: Sequence[Token], index: int) -> bool:
    start, end = field_around(tokens, index)
    within = tokens[start:end]
    return len(tokens) == len(within) or any(token.kind in ("ref", "value", "option") for token in within)


def _is_negated_near(tokens: Sequence[Token], index: int) -> bool:
    for place in range(max(0, index - 4), index):
        norm = tokens[place].norm
        if norm in _BREAKS:
            continue
        if norm in (
            "not",
            "cannot",
            "never",
            "unable",
            "without",
            "hardly",
            "difficult",
            "impossible",
            "hard",
            "failed",
        ) or norm.endswith("n't"):
            return not any(tokens[between].norm in _BREAKS for between in range(place, index))
    return False


def names(sentence: Sentence, known: Known) -> list[tuple[int, int]]:
    """The names in a sentence that are not known, as spans of tokens."""
    tokens = sentence.tokens
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(tokens):
        if not _is_proper(tokens[index]):
            index += 1
            continue
        end = index + 1
        while end < len(tokens) and (
            _is_proper(tokens[end])
            or (
                tokens[end].kind == "word"
                and tokens[end].text[0].isupper()
                and end + 1 < len(tokens)
                and _is_proper(tokens[end + 1])
            )
            or (
                end + 1 < len(tokens)
                and _is_proper(tokens[end + 1])
                and (tokens[end].norm in ("of", "the", "&") or (tokens[end].norm == "." and len(tokens[end - 1].text) == 1))
            )
        ):
            end += 1
        if _is_unknown_name(tokens, index, end, known, begins=_begins(tokens, index)):
            found.append((index, end))
        index = end
    return found


def _is_proper(token: Token) -> bool:
    if (
        token.kind != "word"
        or token.norm in FUNCTION
        or token.norm.isdigit()
        or token.norm.partition("'")[0] in PRONOUNS
        or token.norm in CALENDAR
        or token.norm in PLATFORMS
        or token.norm in TITLES
    ):
        return False
    return token.text[0].isupper() or is_identifier(token.text)


def is_identifier(text: str) -> bool:
    """Whether a word is a name of the kind that machines use: with digits, capitals or underscores inside."""
    if len(text) < 3 or text.isdigit():
        return False
    inner = text[1:]
    has_letter = any(character.isalpha() for character in text)
    return has_letter and (
        "_" in inner
        or any(character.isdigit() for character in text)
        or (any(character.isupper() for character in inner) and any(character.islower() for character in text))
    )


def _begins(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token begins a sentence or stands behind a mark that lets a capital follow."""
    if index and tokens[index - 1].norm == '"':
        return True
    while index and tokens[index - 1].norm in ('"', "'", "(", "[", "*", "#", "-"):
        index -= 1
    return index == 0 or tokens[index - 1].norm in (":", ".")


def _is_unknown_name(tokens: Sequence[Token], start: int, end: int, known: Known, *, begins: bool) -> bool:
    run = [token for token in tokens[start:end] if token.kind == "word"]
    proper = [token for token in run if token.norm not in ("of", "the") and (known.word(token.norm) or not _is_label(token))]
    if (
        not proper
        or all(map(_is_label, run))
        or known.name([token.norm for token in proper])
        or all(
            "_" in token.norm and all(known.word(piece) or piece in FIELDS for piece in token.norm.split("_"))
            for token in proper
        )
    ):
        return False
    unknown = [token for token in proper if not known.word(token.norm)] or proper
    if _is_label(run[-1]) and not known.word(run[-1].norm) and not any(is_identifier(token.text) for token in unknown):
        return False
    if all(token.text.isupper() and len(token.text) < 5 and not is_identifier(token.text) for token in unknown):
        return False
    if len(run) == 1 and begins and not is_identifier(run[0].text):
        following = tokens[end].norm if end < len(tokens) else ""
        if run[0].text.lower().endswith("'s"):
            return True
        return following in AUXILIARIES and not run[0].norm.endswith(_COMMON_ENDINGS)
    return True


def _is_label(token: Token) -> bool:
    norm = token.norm
    return norm in FIELDS or stem(norm) in FIELDS or norm in FIELD_QUALIFIERS


def concludes(sentence: Sentence) -> int:
    """Return where the last conclusion of a sentence begins ("so", "in total", "actually"), -1 without one."""
    tokens = sentence.tokens
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token.kind != "word" or sentence.depths[index]:
            continue
        following = tokens[index + 1].norm if index + 1 < len(tokens) else ""
        begins = index == 0 or tokens[index - 1].norm in (",", ";", "-", ".", "and", ":", "(", "but", "wait")
        if begins and (
            token.norm in CONCLUDING
            or token.norm in CORRECTIONS
            or _withdraws(tokens, index)
            or (token.norm, following) in CONCLUDING_PAIRS
        ):
            if token.norm == "so" and following in ("far", "that", "many", "much"):
                continue
            if token.norm == "rather" and following == "than":
                continue
            return index
        if token.norm in ("therefore", "thus", "hence") and index and tokens[index - 1].norm in COPULAS:
            return 0
    return -1


def corrects(sentence: Sentence) -> int:
    """Return where a sentence last takes back what was said before it, -1 where it does not."""
    tokens = sentence.tokens
    for index in range(len(tokens) - 1, -1, -1):
        begins = index == 0 or tokens[index - 1].kind == "mark" or tokens[index - 1].norm in ("and", "but", "oh", "ah")
        if (
            begins
            and not sentence.depths[index]
            and (tokens[index].norm in CORRECTIONS or tokens[index].norm == "actually" or _withdraws(tokens, index))
        ):
            return index
    return -1


def _withdraws(tokens: Sequence[Token], index: int) -> bool:
    """Whether "no, ..." or "on second thought" takes back what was said before."""
    norms = [token.norm for token in tokens[index : index + 3]]
    return (
        (norms[0] == "no" and norms[1:2] == [","])
        or norms == ["on", "second", "thought"]
        or norms[:2] == ["my", "mistake"]
        or norms[:2] == ["oh", "wait"]
        or (norms[0].endswith("ing") and norms[1:2] == ["again"])
        or norms[:2] in (["on", "closer"], ["on", "reflection"], ["make", "that"], ["come", "to"])
        or tuple(norms) in RETRACTIONS
        or tuple(norms[:2]) in RETRACTIONS
        or (norms[0] == "wrong" and norms[1:2] != ["answer"] and len(norms) > 2 and norms[2] in (",", ".", ";", ":", "!"))
    )


def _is_spaced(sentence: Sentence, index: int) -> bool:
    """Whether a dash stands between blanks."""
    tokens = sentence.tokens
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    return (before is None or before.start + len(before.text) < tokens[index].start) and (
        after is None or after.start > tokens[index].start + 1
    )


def is_dash(sentence: Sentence, index: int) -> bool:
    """Whether a token is a dash that parts a sentence."""
    return sentence.tokens[index].norm == "-" and _is_spaced(sentence, index)
