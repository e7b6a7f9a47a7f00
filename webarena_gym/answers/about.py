"""What an answer says about the asked thing, and what it says about others.

A goal tells its thing from others of its kind by constraints: the number of an order, a month, a name, "the forum food", a rank, "the
most", "closed". An answer need not repeat them. A clause that names something else in the place of a constraint ("the forum books", "in
May 2018", "the oldest") speaks of something else: it neither answers nor contradicts the answer, and is left out before the comparison.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from webarena_gym.answers.goal import Goal, options
from webarena_gym.answers.lexicon import (
    ALIASES,
    AUXILIARIES,
    BOUNDS,
    CONTRASTS,
    COPULAS,
    DETERMINERS,
    FIELDS,
    FUNCTION,
    JOINT,
    KINDS,
    OPPOSITES,
    ORDINALS,
    PREPOSITIONS,
    RANKED,
    TRAVEL,
    word_set,
)
from webarena_gym.answers.markup import Line
from webarena_gym.answers.references import Asked
from webarena_gym.answers.scopes import Known, is_dash, names, negated
from webarena_gym.answers.typed import PLACES_OF_SITE, in_label, is_source
from webarena_gym.answers.sentences import Sentence, Token, sentences, stem, words

_TYPED = frozenset(("month", "date", "email", "phone"))
_CODE = re.compile(r"0\d{5,}")
_ARTICLE = re.compile(r"[A-Z]{1,4}-\d{3,}")
_COUPON = re.compile(r"[A-Z]{3,}\d+")
_PROJECT = re.compile(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)+")
_POINT = re.compile(r"-?\d{1,3}\.\d{4,}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_BEFORE_YEARS = word_set("in of since until till during from for by year before after")
_BESIDE = word_set("before after than besides beside like unlike behind following versus vs over ahead")  # what follows is compared with
_CONTRASTING = word_set("but while whereas although though however")
_RELATIVE = word_set("which who that whose")
_GOVERNING = word_set("of to from for than about")
_SUPERLATIVES = {("most", "recent"): "latest", ("most", "expensive"): "dearest", ("least", "expensive"): "cheapest"}
_STEPS = word_set("month week year day quarter")
_RATES = word_set("day week month year hour minute second night order")
_ROLES = frozenset(("to", "from", "of", "with", "on", "at", "in"))
_NO_NOUNS = word_set("first second third fourth one other goal start end when reason count question")
_NO_LABELS = word_set("name id title full nickname username key number no code exact")
_EXCLUDED = re.compile(r"\b(\w{1,30}) (?:ones|orders) (?:left out|do not count)|(?:do not count|leave) (\w{1,30})", re.IGNORECASE)
_COMPARED = tuple({prefix for pair in OPPOSITES for side in pair for prefix in side})
_TITLES = word_set("name title")
_EXCLUDING = word_set("without excluding except not left leave leaving minus beside besides apart")


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

    def knows(self, word: str) -> bool:
        return word in self.stems or stem(word) in self.stems


def read_topic(goal: Goal, asked: Asked, reference: str, *, kind: str, is_ordered: bool) -> Topic:
    """Return the constraints of a goal, with the values of its template's slots."""
    tokens = [token for sentence in sentences([Line(goal.text.replace("\n", " "))], []) for token in sentence.tokens]
    marks: dict[str, set[object]] = {}
    for _, kind, value in _marks(tokens):
        marks.setdefault(kind, set()).add(value)
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
        if noun == "of" and farther and farther[0] in _ROLES:
            nouns[farther[0]] = roles[farther[0]] = told
        verb = next((word for word in re.findall(r"[\w-]+", goal.text.partition(text)[0])[-3:] if word.endswith("ed")), "")
        if verb:
            roles[verb] = told
        if noun in _ROLES:
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
    for index, noun, amount in _numbers(tokens):
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
        wanted=frozenset(kind for _, kind, _ in _marks([token for each in sentences([Line(reference)], []) for token in each.tokens])),
        plain=frozenset(plain),
        roles=roles,
        excluded=frozenset(stem(word) for match in _EXCLUDED.finditer(goal.text) for word in match.groups() if word),
        stems=(goal.stems | goal.words)
        - frozenset(form for _, text in asked.slots if text.count(" ") > 1 for word in words(text) for form in (word, stem(word))),
    )


def about_asked(
    said: Sequence[Sentence], topic: Topic, known: Known, kinds: frozenset[str]
) -> tuple[list[Sentence], str]:
    """Return the sentences without the clauses that speak of something else, and what the last of those speaks of."""
    found: list[Sentence] = []
    other = ""
    is_named = any(_is_mentioned(token, topic) for sentence in said for token in sentence.tokens)
    for sentence in said:
        if sentence.is_question or any(token.norm == "=" for token in sentence.tokens):
            found.append(sentence)
            continue
        kept: list[int] = []
        before = prior = ""
        for clause in _clauses(sentence, kinds, topic):
            why = _identity(sentence, clause, topic, known, kinds)
            if why and sentence.kind == "row" and _is_field_of_record(sentence):
                return [each for each in said if each.kind != "row"], why
            why = why or _attribute(sentence, clause, topic, known, kinds, is_named=is_named)
            if not why and before and sentence.tokens[clause[0]].norm in _RELATIVE:
                why = before
            prior, before = before, why or _compared_with(sentence, clause)
            if why:
                other = why
                if not prior and _points_back(sentence, clause):
                    kept, found = [], []
            else:
                kept += clause
        if len(kept) == len(sentence.tokens):
            found.append(sentence)
        elif kept:
            tokens = [sentence.tokens[index] for index in sorted(kept)]
            if any(token.kind != "mark" for token in tokens):
                found.append(replace(sentence, tokens=tokens, depths=[]))
    return found, other


def without_other_records(
    said: Sequence[Sentence], topic: Topic, known: Known, kinds: frozenset[str]
) -> tuple[list[Sentence], str]:
    """Return the sentences without the records of something else, and what the last of those is of."""
    is_named = any(_is_mentioned(token, topic) for sentence in said for token in sentence.tokens)
    kept: list[Sentence] = []
    other = ""
    for sentence in said:
        clause = list(range(len(sentence.tokens)))
        if sentence.kind == "row" and not _labels_are_things(sentence.tokens, _fields(sentence.tokens)):
            why = _identity(sentence, clause, topic, known, kinds) or ("" if is_named else _other_title(sentence, topic, known))
            if why and _is_field_of_record(sentence):
                return [each for each in said if each.kind != "row"], why
            if not why and not _is_field_of_record(sentence):
                why = _other_name(sentence, clause, topic, known, kinds, is_named=is_named)
            if why:
                other = why
                continue
        kept.append(sentence)
    return kept, other


def _other_title(sentence: Sentence, topic: Topic, known: Known) -> str:
    """The name that a record has, if it is not the goal's."""
    tokens = sentence.tokens
    colon = next((index for index, token in enumerate(tokens[:4]) if token.norm == ":"), 0)
    if not colon or not (
        (topic.goal.has_names and tokens[0].norm in _TITLES and colon == 1)
        or (topic.goal.has_quotation and sum(token.norm == ";" for token in tokens) == 1)
    ):
        return ""
    value = tokens[colon + 1 : next((index for index, token in enumerate(tokens) if token.norm == ";"), len(tokens))]
    plain = [token for token in value if token.kind != "mark" and token.norm not in FUNCTION]
    if plain and all(token.kind == "word" and not known.word(token.norm) for token in plain) and (
        plain[0].text[0].isupper() or topic.goal.has_quotation
    ):
        return " ".join(token.text for token in plain)
    return ""


def _is_field_of_record(sentence: Sentence) -> bool:
    """Whether a row is one field, whose value says what the whole record is about."""
    norms = [token.norm for token in sentence.tokens]
    return ";" not in norms and ":" in norms[1:5]


# The parts of a sentence.


def _clauses(sentence: Sentence, kinds: frozenset[str], topic: Topic) -> list[list[int]]:
    """The indices of the tokens of each clause, marks at its beginning included."""
    tokens = sentence.tokens
    if sentence.kind == "row":
        return _fields(tokens)
    ours = {value for each in topic.marks.values() for value in each}
    pieces: list[tuple[bool, list[int]]] = []  # whether a strong mark parts it from the one before
    is_quoted = False
    for index, token in enumerate(tokens):
        depth = sentence.depths[index]
        is_quoted ^= token.norm == '"'
        if is_quoted and pieces:
            pieces[-1][1].append(index)
            continue
        strong = token.norm in (";", "(", "[") or (token.norm in _CONTRASTING and not _is_number(tokens, index + 1)) or is_dash(sentence, index)
        strong = strong or (index > 0 and sentence.depths[index - 1] > depth) or (depth == 0 and index > 0 and sentence.depths[index - 1] > 0)
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
        has_claim = any(_is_claim(tokens[index], kinds) for index in piece)
        if pending and not is_list and all(tokens[index].kind in ("value", "mark") for index in pending) and first is not None:
            if (has_claim and not _is_bare(tokens, piece)) or (
                not has_claim and first.norm not in PREPOSITIONS and any(tokens[index].norm in AUXILIARIES for index in piece)
            ):
                merged.append(pending)
                pending = []
        if pending and (codes := _codes(tokens, piece)) and (before := _codes(tokens, pending)) and codes.isdisjoint(before) and not codes | before <= ours:
            merged.append(pending)
            pending = []
        last = place + 1 == len(pieces) or pieces[place + 1][0]
        if not has_claim or _is_bare(tokens, piece):
            if merged and not pending and any(ORDINALS.get(tokens[index].norm, 0) > 1 or tokens[index].norm == "runner-up" for index in piece):
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
    return {value for _, kind, value in _marks([tokens[index] for index in piece]) if kind in ("code", "article", "coupon")}


def _fields(tokens: Sequence[Token]) -> list[list[int]]:
    """The fields of a row."""
    parts: list[list[int]] = [[]]
    for index, token in enumerate(tokens):
        if token.norm == ";":
            parts.append([])
        parts[-1].append(index)
    return parts


def _labels_are_things(tokens: Sequence[Token], parts: Sequence[Sequence[int]]) -> bool:
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


def _is_claim(token: Token, kinds: frozenset[str]) -> bool:
    return token.kind in ("ref", "option") or (token.value is not None and token.value.kind in kinds) or token.norm == '"'


def _is_bare(tokens: Sequence[Token], piece: Sequence[int]) -> bool:
    return all(tokens[index].kind in ("ref", "value", "mark", "option") or tokens[index].norm in DETERMINERS | {"and", "or", "it", "is", "both"} for index in piece)


# What a clause speaks of.


def _points_back(sentence: Sentence, clause: Sequence[int]) -> bool:
    """Whether a clause says of what stands before it that it is something else: "that is for another order"."""
    norms = [sentence.tokens[index].norm for index in clause if sentence.tokens[index].kind != "mark"][:3]
    if norms and norms[0] in ("but", "and", "no", "sorry", "oh"):
        norms = norms[1:]
    return bool(norms) and (
        norms[0] in ("that's", "this's")
        or (norms[0] in ("that", "this", "these", "those") and (norms[1:2] == ["one's"] or any(norm in AUXILIARIES for norm in norms[1:])))
    )


def _words_of(tokens: Sequence[Token]) -> set[str]:
    return {word for token in tokens for word in ([token.norm] if token.kind == "word" else words(token.text))}


def _is_mentioned(token: Token, topic: Topic) -> bool:
    return token.kind in ("echo", "option") or token.norm in topic.goal.subjects


def _identity(sentence: Sentence, clause: Sequence[int], topic: Topic, known: Known, kinds: frozenset[str]) -> str:
    """Return which other thing a clause names as what it is about, empty when it names none."""
    tokens = [sentence.tokens[index] for index in clause]
    if all(token.kind in ("ref", "mark") for token in tokens) or (
        sentence.kind == "item" and not any(_is_claim(token, kinds) for token in tokens)
    ):
        return ""
    return _other_mark(tokens, topic, kinds) or _other_noun(tokens, topic, known, is_row=sentence.kind == "row")


def _attribute(
    sentence: Sentence, clause: Sequence[int], topic: Topic, known: Known, kinds: frozenset[str], *, is_named: bool
) -> str:
    """Return what else than the goal asks a clause says of a thing, empty when it says nothing else."""
    tokens = [sentence.tokens[index] for index in clause]
    if topic.is_closed:
        return _other_name(sentence, clause, topic, known, kinds, is_named=is_named)
    if not any(token.kind not in ("mark", "ref") and token.norm not in FUNCTION - topic.ranked for token in tokens):
        return ""
    flags = negated(sentence)
    denied = [flags[index] for index in clause]
    return (
        _other_number(tokens, topic)
        or _other_rank(tokens, topic)
        or _other_degree(tokens, denied, topic, is_row=sentence.kind == "row")
        or _other_side(tokens, denied, topic, is_row=sentence.kind == "row")
        or _other_most(tokens, topic)
        or _one_of_joined(tokens, topic, has_other=_joins_unknown_name(tokens, known))
        or _another(tokens, denied, topic)
        or _other_name(sentence, clause, topic, known, kinds, is_named=is_named)
    )


def _marks(tokens: Sequence[Token]) -> Iterator[tuple[int, str, object]]:
    """The values that tell things of one kind apart: by the index of a token, their kind and what is compared."""
    for index, token in enumerate(tokens):
        if token.kind == "value" and token.value is not None and token.value.kind in _TYPED:
            yield index, token.value.kind, token.value.amount
        elif token.norm == "/" and 0 < index < len(tokens) - 1 and tokens[index - 1].text.islower() and tokens[index + 1].text.islower():
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
        elif _PROJECT.fullmatch(token.text) and token.text not in ("e-mail", "to-dos", "to-do", "n.a", "runner-up") and token.kind == "word":
            yield index, "project", token.text


def _other_mark(tokens: Sequence[Token], topic: Topic, kinds: frozenset[str]) -> str:
    found: dict[str, list[tuple[Token, object]]] = {}
    echoed = {word for token in tokens if token.kind in ("echo", "option") for word in (token.text, *token.text.split("/"))}
    for index, kind, value in _marks(tokens):
        if kind not in topic.marks or _is_beside(tokens, index) or _is_opposed(tokens, index):
            continue
        if kind == "project" and not _is_topic(tokens, index):
            continue
        if kind in kinds - {"code"} or ((kind in kinds or kind in topic.wanted) and not _has_noun(tokens, index, topic)):
            continue
        found.setdefault(kind, []).append((tokens[index], value))
    for kind, said in found.items():
        wanted = topic.marks.get(kind, frozenset())
        if (
            wanted
            and wanted.isdisjoint(value for _, value in said)
            and wanted.isdisjoint(echoed)
            and not any(word in str(each) for word in echoed for each in wanted)
        ):
            return said[0][0].text
    return ""


def _has_noun(tokens: Sequence[Token], index: int, topic: Topic) -> bool:
    """Whether the word before a mark is the one that the goal has before its own, or a preposition."""
    place = index - 1
    if place >= 0 and not tokens[index].text.isdigit() and tokens[place].norm in _GOVERNING | {"in", "on"}:
        return True
    while place >= 0 and tokens[place].norm in ("#", "number", "no", ".", '"', ":"):
        place -= 1
    return place >= 0 and stem(tokens[place].norm) in topic.nouns


def _is_beside(tokens: Sequence[Token], index: int) -> bool:
    """Whether a thing is only what something is compared with: "placed before 000000023"."""
    place = index - 1
    while place >= 0 and (tokens[place].norm in DETERMINERS or tokens[place].norm in FIELDS or tokens[place].norm in ("#", '"', "of")):
        place -= 1
    return place >= 0 and tokens[place].norm in _BESIDE and not (tokens[place].norm == "over")


def _is_opposed(tokens: Sequence[Token], index: int) -> bool:
    """Whether a thing is named as what something is not: "in contrast to X"."""
    return any(token.norm in ("contrast", "unlike", "opposed", "instead") for token in tokens[max(0, index - 3) : index])


def _compared_with(sentence: Sentence, clause: Sequence[int]) -> str:
    tokens = [sentence.tokens[index] for index in clause]
    return next((tokens[index].text for index, _, _ in _marks(tokens) if _is_beside(tokens, index)), "")


def _is_topic(tokens: Sequence[Token], index: int) -> bool:
    """Whether a name stands where a clause says what it speaks of: behind a preposition or a noun, or as its subject."""
    place = index - 1
    while place >= 0 and (tokens[place].norm in DETERMINERS or tokens[place].norm in ('"', "(", "/") or tokens[place].kind == "word" and tokens[place + 1].norm == "/"):
        place -= 1
    before = tokens[place].norm if place >= 0 else ""
    after = tokens[index + 1].norm if index + 1 < len(tokens) else ""
    return (
        before in PREPOSITIONS - {"by", "with", "via"}
        or stem(before) in ("project", "branch", "repository", "repo")
        or before == ":"
        or (before in ("", ",", "and", ";", "but") and (after in AUXILIARIES or after in (":", ",")))
    )


def _other_noun(tokens: Sequence[Token], topic: Topic, known: Known, *, is_row: bool) -> str:
    """What stands behind a noun in the place of the goal's value: "the forum books", "brand: X"."""
    said = _words_of([token for token in tokens if token.kind != "ref"])
    for index, token in enumerate(tokens):
        if token.kind != "word":
            continue
        noun = token.norm if token.norm in _ROLES else stem(token.norm)
        wanted = topic.nouns.get(noun) or (topic.nouns.get(ALIASES.get(noun, "")) if is_row else None)
        if wanted is None or (wanted & said and not is_row) or (noun in _ROLES and not is_row):
            continue
        behind = tokens[index + 1 :]
        if is_row:
            label = next((place for place, each in enumerate(behind[:3]) if each.norm == ":"), -1)
            if label < 0 or any(each.norm not in _NO_LABELS for each in behind[:label]):
                continue
            if index and tokens[index - 1].norm not in (";", "of", "in", "the") and tokens[index - 1].kind != "mark":
                continue
            value = behind[label + 1 :]
            value = value[: next((place for place, each in enumerate(value) if each.norm == ";"), len(value))]
            plain = [each for each in value if each.kind != "mark"]
            if plain and not all(each.norm in JOINT | {"total", "all"} for each in plain) and not any(each.kind in ("ref", "echo") for each in plain) and not _is_mostly(plain, wanted, known) and (
                all(word.isdigit() for word in wanted) or not all(each.text[0].isdigit() for each in plain)
            ) and not all((each.norm in FUNCTION and not _is_superlative(each.norm)) or each.norm in ORDINALS for each in plain):
                return " ".join(each.text for each in plain)
            continue
        quoted = bool(behind) and behind[0].norm == '"'
        if behind and behind[0].norm in ("the", "a", "an"):
            behind = behind[1:]
        if quoted:
            close = next((place for place, each in enumerate(tokens[index + 2 :]) if each.norm == '"'), 0)
            inside = tokens[index + 2 : index + 2 + close]
            if inside and not any(each.kind in ("ref", "echo") for each in inside) and not all(known.word(each.norm) or each.kind == "mark" for each in inside):
                return " ".join(each.text for each in inside)
            continue
        if not behind or behind[0].kind != "word" or behind[0].norm in FUNCTION or known.word(behind[0].norm):
            continue
        first = behind[0]
        if first.norm in FIELDS or stem(first.norm) in FIELDS or first.norm in PLACES_OF_SITE:
            continue
        is_name = first.text[0].isupper() or any(character.isdigit() or character in "-_." for character in first.text)
        follows = behind[1] if len(behind) > 1 else None
        governed = any(each.norm in PREPOSITIONS for each in tokens[max(0, index - 2) : index])
        is_plain = (noun in topic.plain or governed) and (
            follows is None or follows.kind == "mark" or follows.norm in FUNCTION
        ) and (
            not first.norm.endswith(("ed", "ing"))
            or (governed and (follows is None or follows.kind == "mark" or follows.norm in AUXILIARIES | PREPOSITIONS))
        )
        if is_name or is_plain:
            return f"{token.text} {first.text}"
    return ""


def _is_mostly(value: Sequence[Token], wanted: frozenset[str], known: Known) -> bool:
    """Whether at least half of the words of a field's value are of the goal's value, or all are known."""
    told = words(" ".join(token.text for token in value))
    return 2 * sum(word in wanted for word in told) >= len(told) or (bool(told) and all(known.word(word) for word in told) and len(told) == 1)


def _numbers(tokens: Sequence[Token]) -> Iterator[tuple[int, str, float]]:
    """The numbers that stand with a noun: "5 stars", "exactly 7" as ("exactly", 7)."""
    for index, token in enumerate(tokens):
        value = token.value
        if value is None or not isinstance(value.amount, float | int):
            continue
        if index and tokens[index - 1].norm == "exactly":
            yield index, "exactly", float(value.amount)
        if value.kind == "number" and index + 1 < len(tokens) and tokens[index + 1].norm in ("star", "stars"):
            yield index, "star", float(value.amount)


def _other_number(tokens: Sequence[Token], topic: Topic) -> str:
    said: dict[str, list[tuple[int, float]]] = {}
    for index, noun, amount in _numbers(tokens):
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


def _rank_asked(goal: Goal) -> int:
    """Which one of an order is asked for, 0 where the goal has no order."""
    for index, word in enumerate(goal.sequence):
        if word in ORDINALS and ORDINALS[word] > 1 and any(_is_superlative(each) for each in goal.sequence[index + 1 : index + 3]):
            return ORDINALS[word]
    return 1 if any(_is_superlative(word) and goal.sequence[max(0, index - 1)] != "at" for index, word in enumerate(goal.sequence)) else 0


def ranks_things(goal: Goal) -> bool:
    """Whether a goal asks for one at a place of an order, such as the latest or the second best."""
    return _rank_asked(goal) > 0


def _is_superlative(norm: str) -> bool:
    return (len(norm) > 4 and norm.endswith("est") and norm not in ("request", "forest", "guest", "interest", "latest-")) or norm in RANKED or ("-" in norm and norm != norm.partition("-")[0] and _is_superlative(norm.partition("-")[0]))


def _other_rank(tokens: Sequence[Token], topic: Topic) -> str:
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
        if token.norm in ("rank", "place", "position", "no", "nr") and following[:1] in ([":"], ["."], ["#"]) and following[1:2] and following[1] in ("1", "2", "3", "4", "5", "6"):
            ranks.append((int(following[1]), token.text))
        if _is_superlative(token.norm) and following[:1] == ["but"] and following[1:2] and following[1].isdigit():
            ranks.append((int(following[1]) + 1, token.text))
        if rank > 1 and (
            not following
            or _is_superlative(following[0])
            or following[0] in COPULAS
            or following[0] in ("place", "one", "position", "comes", ":", "and", ",", "by", "in")
            or (following[0] in ("most", "-") and len(following) > 1)
        ):
            ranks.append((rank, token.text))
    if ranks and all(rank != topic.rank for rank, _ in ranks):
        return ranks[0][1]
    return ""


def _other_degree(tokens: Sequence[Token], denied: Sequence[bool], topic: Topic, *, is_row: bool) -> str:
    """The opposite of a superlative of the goal: "the oldest" for "the latest"."""
    if topic.has_choice and any(token.kind == "option" or token.norm in ("than", "before", "after") for token in tokens):
        return ""
    asked = _degrees(topic.goal.sequence)
    said = [
        degree
        for degree in _degrees(["" if denied[index] else token.norm for index, token in enumerate(tokens)])
        if degree != "top" and (degree != "first" or ("last" in asked and not is_row))
    ]
    if not any(token.kind == "ref" or token.norm == "than" for token in tokens):
        said += [token.norm for token in tokens if token.kind == "word" and token.norm.endswith("er") and token.norm.startswith(_COMPARED)]
    if not asked or not said or any(word in asked for word in said):
        return ""
    for one, opposite in (*OPPOSITES, *((opposite, one) for one, opposite in OPPOSITES)):
        if any(word.startswith(one) for word in asked) and not any(word.startswith(opposite) for word in asked):
            if any(word.startswith(opposite) for word in said) and not any(word.startswith(one) for word in said):
                return said[0]
    return ""


def _degrees(norms: Sequence[str]) -> list[str]:
    """The superlatives among some words; "most recent" is "latest"."""
    found: list[str] = []
    for index, norm in enumerate(norms):
        following = norms[index + 1] if index + 1 < len(norms) else ""
        if not _is_superlative(norm) or (index and norms[index - 1] in ("at", "not", "no")):
            continue
        found.append(_SUPERLATIVES.get((norm, following), norm))
    return found


def _other_most(tokens: Sequence[Token], topic: Topic) -> str:
    """Another thing of which there is "the most" than the goal asks."""
    if "most" not in topic.goal.words and "fewest" not in topic.goal.words and "least" not in topic.goal.words:
        return ""
    for one, two in zip(tokens, tokens[1:], strict=False):
        if one.norm in ("most", "fewest") and two.kind == "word" and stem(two.norm) != two.norm and not topic.goal.knows(two.norm):
            return f"{one.text} {two.text}"
    return ""


def _opens(tokens: Sequence[Token], index: int) -> bool:
    return all(token.kind == "mark" or token.norm in ("and", "but", "while") for token in tokens[:index])


def _other_side(tokens: Sequence[Token], denied: Sequence[bool], topic: Topic, *, is_row: bool) -> str:
    """The other side of a contrast that the goal makes: forks for stars, "assigned" for "opened"."""
    said = {
        form: token.text
        for index, token in enumerate(tokens)
        if token.kind == "word" and not denied[index] and (is_row or token.text.islower() or _opens(tokens, index))
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


def _one_of_joined(tokens: Sequence[Token], topic: Topic, *, has_other: bool) -> str:
    """The one of several things that a clause speaks of, where the goal asks for all of them together."""
    if not topic.joined:
        return ""
    said = _words_of(tokens)
    is_joint = not JOINT.isdisjoint(said)
    named = [each for each in topic.joined if each <= said]
    if 0 < len(named) < len(topic.joined) and (not is_joint or has_other):
        return " ".join(sorted(named[0]))
    return ""


def _joins_unknown_name(tokens: Sequence[Token], known: Known) -> bool:
    return any(
        _is_unknown_name(one, known) or _is_unknown_name(two, known)
        for one, joint, two in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if joint.norm == "and"
    )


def _is_unknown_name(token: Token, known: Known) -> bool:
    return token.kind == "word" and token.text[0].isupper() and token.norm not in FUNCTION | FIELDS and not known.word(token.norm)


def _another(tokens: Sequence[Token], denied: Sequence[bool], topic: Topic) -> str:
    """Words that say of themselves that they are of something else: "another", "the month before"."""
    for index, token in enumerate(tokens):
        if token.kind != "word" or (index and tokens[index - 1].norm in ("no", "any", "all", "every", "each", "than", "and")):
            continue
        following = tokens[index + 1].norm if index + 1 < len(tokens) else ""
        behind = tokens[index + 2].norm if index + 2 < len(tokens) else ""
        before = tokens[index - 1].norm if index else ""
        if token.norm == "another" and following not in ("answer", "possibility", "option", "candidate", "way", "value", "reading", "", ".") and behind != "than":
            return f"another {following}"
        if token.norm in ("neighbor", "neighbour", "neighbouring", "neighboring", "namesake"):
            return token.text
        if token.norm in ("different", "similar") and before in ("a", "the", "that", "") and following != "":
            return f"{token.text} {following}"
        if token.norm == "next" and topic.rank and (
            following in ("one", "1", "is", ":", "comes", "was", "best", "would") or (following in ("", ".") and before in ("be", "comes", "is", "came"))
        ):
            return token.text
        if stem(token.norm) in _STEPS and following in ("before", "after", "earlier", "later") and before in ("the", "a", "one"):
            return f"{token.text} {following}"
        if token.norm == "elsewhere" and "elsewhere" not in topic.goal.words:
            return token.text
        if token.norm in ("previous", "preceding") and topic.goal.knows(following) and not topic.goal.knows(token.norm):
            return f"{token.text} {following}"
        if token.norm in ("previous", "preceding", "following") and (stem(following) in _STEPS or (topic.rank and following in ("one", "commit", "order"))):
            return f"{token.text} {following}"
        if token.norm.endswith("er") and following in ("one", "ones", "1") and topic.rank and before in ("a", "an", "the", "") and not topic.has_choice and token.norm not in ("other",):
            return f"{token.text} {following}"
        if token.norm == "only" and following == "1" and behind == "of" and "both" in topic.goal.words:
            return token.text
        if token.norm == "alone" and topic.goal.words & JOINT:
            return token.text
    return ""


def _first_word(tokens: Sequence[Token], clause: Sequence[int]) -> int:
    return next((index for index in clause if tokens[index].kind != "mark" and tokens[index].norm not in _CONTRASTING), -1)


def _other_name(
    sentence: Sentence, clause: Sequence[int], topic: Topic, known: Known, kinds: frozenset[str], *, is_named: bool
) -> str:
    """A name in the place of the goal's, in a clause that claims something and has none of the goal's."""
    if not topic.goal.has_names:
        return ""
    tokens = sentence.tokens
    inside = set(clause)
    always = not kinds or _points_back(sentence, clause)
    first = next((index for index in clause if _is_claim(tokens[index], kinds)), clause[-1] + 1 if always else -1)
    if first < 0 and not topic.is_of_person:
        return ""
    is_same = any(_is_mentioned(tokens[index], topic) for index in clause)
    said = _words_of([tokens[index] for index in clause])
    for start, end in names(sentence, known):
        if start not in inside or sentence.depths[start] or is_source(sentence, start, end):
            continue
        if (start and tokens[start - 1].norm == '"') or (end == start + 1 and in_label(tokens, end)):
            continue
        place = start - 1
        while place >= 0 and tokens[place].norm in ("the", "a", "an"):
            place -= 1
        governor = tokens[place].norm if place >= 0 else ""
        name = " ".join(token.text for token in tokens[start:end])
        if governor in topic.roles and topic.roles[governor].isdisjoint(said):
            return name
        if is_same:
            continue
        if first < 0 and not (start == _first_word(tokens, clause) and end < len(tokens) and tokens[end].norm in COPULAS):
            continue
        is_subject = governor not in PREPOSITIONS and end < len(tokens) and (tokens[end].norm in AUXILIARIES or tokens[end].norm in ":,")
        if governor in _GOVERNING or (is_subject and topic.has_names) or (start < first and governor != "by" and not is_named and topic.has_names):
            return name
    return ""
