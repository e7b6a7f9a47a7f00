"""The judge of answers: an answer is right when its value is the reference's and everything else in it is explained.

Explained are the words of the goal, grammar, and the names that the task allows. All else refuses: what cannot be decided is never
guessed. A reason says what was found and how an answer is to be given.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isclose
from typing import NamedTuple

from webarena_gym.answers.form import REFUSED, UNITS, Form, Unfolding, stem, unwrap
from webarena_gym.answers.values import Amount, Value, in_digits, read, split_minutes


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUNCTION = _words(
    """
    a an the this that these those it its they their theirs them he she his her hers i me my mine we our us you your yours there here which who whose whom
    what where when is are was were be been being am has have had having do does did can will of in on at by for from
    to with as via per between among into onto and also both all each every so then thus therefore hence only just now currently today
    already still altogether together overall exactly please sure ok okay yet during since because while long away
    """
)
_STATING = _words(
    """
    answer answers result results value values total totals name names named called title titled list lists listed item items find finds found finding see
    seen show shows showing shown say says said read reads give gives giving given get gets got come comes coming make makes made making equal equals
    amount amounts cost costs price priced number numbers count counts counted date dated time times e mail email address final finally one ones last following according based checked checking looked looking asked requested want wanted need needs needed
    state states stated stand stands standing lie lies lying mark marked call calls display displayed displays return returns returned appear appears
    take takes taking took taken go goes going run runs lead leads leading reach reaches reached belong belongs place placed put write writes wrote written
    page site website store shop phone day way far gave came chose chosen spent moment bought contain contains work works
    latitude longitude lat lon id ids sum quantity
    """
)
_STATING_OF_VALUES = _words(
    "sell sells sold buy bought pay pays paid live lives living people person persons user users customer customers product products"
)
_CONTRACTED = _words("s re ve ll d m")  # as in "it's" and "I'm"
_GRAMMAR = _FUNCTION | _STATING | _CONTRACTED
_ORDINALS = _words("first second third fourth fifth")
_DAYS = _words("monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun")
_BOUNDS = _words("about more less fewer least most over under above below almost nearly around before than")
_PER = _words("a an per each every")
_EXCLUDED = _words("not no except without excluding left only besides")
_JOINING = _words("and also as both each from to between by with was here there together along x")
_JOINT = _words("together altogether combined differ differs difference sum both added total")
_ABSENT = _words("not no none never cannot nothing nobody neither nor without unable missing absent unavailable")
_NEGATING = _words("non un in of existing existent")  # pieces of words such as "non-existent"
_OPEN = _words("if or but else however though although instead unless maybe perhaps")
_SEPARATORS = frozenset(",;|\n")
_MARKS = frozenset(",;|\n.:()[]{}\"'-*_#>=•→°")
_LIGHT = frozenset("'.-/\"():!?’")  # marks that may stand between the words of a text where its reference has none
_HARD = frozenset("+#%$~<>=*@^\\")  # marks of a text that its answer must have
_TOKEN = re.compile(r"\w+|\n|[^\w\s]")
_SAME_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "‑": "-", "×": "x", "\u00a0": " ", "\t": " ", "\r": "\n"})  # fmt: skip
_NOT = re.compile(r"(?<=\w)n't\b", re.IGNORECASE)
_GLUED = re.compile(r"(?<=[^\d\s]),(?=\d)")
_ANGLES = re.compile(
    r"<(?:mailto:)?([\w.+-]{1,80}@[\w.-]{1,80}|https?://[^<>\s]{1,300})>|\bmailto:(?=\w)|\bNo\.\s?(?=\d)|/?\bu/(?=\w)|(?<=\d) ?USD\b(?=\W*\Z)"
)
_RULE = re.compile(r"^[ |:+-]{3,}$", re.MULTILINE)
_BULLET = re.compile(r"^[ ]{0,12}(?:[-*•+]|\(?(\d{1,3})[.)]) +", re.MULTILINE)
_EXAMPLE = re.compile(
    r"\b(?:like|form|format|such as|as|say|answer)\s+(?:\"[^\"]{1,200}\"(?:\s+or\s+\"[^\"]{1,200}\")?|[$\d][\w:.,-]*)", re.IGNORECASE
)  # fmt: skip
_PATH = re.compile(r"\b[\w.-]+/[\w./-]*\w")
_NAME = re.compile(r"\b[A-Z][\w'&-]*(?: (?:of |the |and |with )?[A-Z\d][\w'&.-]*)+(?:, \d[\w.]*(?: (?:x )?[\w.]+)?)?")
_NAMED_NOT = re.compile(r"\bNot [A-Z]\w*")  # the name of a status, which leaves nothing out
_GOAL = "Goalphrase"  # stands for what the goal names
_QUOTED = re.compile(r'"[^"\n]{1,300}"')
_COUNTED = re.compile(r"\b(?:how many|number of|count of)\s+((?:\w+ ){0,5}\w+)|\b(how old)\b", re.IGNORECASE)
_MEASURES = {"kilometre": "km", "kilometer": "km", "km": "km", "metre": "m", "meter": "m", "mile": "mi", "minute": "min", "hour": "h",
             "day": "d", "week": "w", "second": "s", "dollar": "usd"}  # fmt: skip
_LABELLED = re.compile(r"([^:;\n]{1,80}):\s+(\S.*)")
_LONGEST_NUMBER = 9  # digits; a longer one, such as the number of a parcel, is a code
_FORM = "give the value alone"


_TRUTH = _words("answer true correct right case")
_HYPHENED = re.compile(r"\b[^\W_]{2,}(?:[-_][^\W_]{2,})+")
_YES, _NO = _words("yes yep yup yeah true y"), _words("no nope false n")


class Finding(NamedTuple):
    """A judgement of an answer: the value that was read in it, and why it is wrong, empty for a right one."""

    is_right: bool
    found: str
    why: str


class Part(NamedTuple):
    """One part of a reference: a text as `words` (with `label` in front of it, or none), or a value of type `kind`."""

    source: str
    words: tuple[str, ...]
    kind: str = "text"
    amount: Amount = 0.0
    scale: float = 0.0  # what a bare number is multiplied with to be such a value, 0 where it needs its unit
    label: tuple[str, ...] = ()


@dataclass
class _Token:
    """A word, mark, typed value or part of the reference in an answer."""

    text: str
    norm: str
    kind: str = "word"  # "word", "mark", "value", "part", "label"
    part: int = -1
    value: Value | None = None


def compare(reference: str, answer: str, intent: str = "", form: Form | None = None) -> Finding:
    """Return whether an answer gives the value of a reference, as an answer to the goal `intent`."""
    form, reference = form or Form(), reference.strip()
    try:
        body = unwrap(answer)
    except ValueError as error:
        return Finding(False, answer[-200:], f"{error}: {_FORM}")
    readings = _readings(reference, intent, form)
    is_pairs = bool(readings[0]) and bool(readings[0][0].label)
    is_value = bool(readings[-1]) and all(part.kind not in ("text", "hours") for part in readings[-1])
    goal, kinds = _read_goal(intent), {part.kind for part in readings[-1]}  # "duration: 16 min" names a kind
    known = goal.stems | _OF_LABELS | frozenset(map(stem, kinds))
    body = Unfolding(reference, intent, known, goal.neighbours, is_pairs or bool(form.labels), is_value).text(body)
    if len(body) > 500 + 4 * len(reference):
        return Finding(False, body[:200], f"the answer has {len(body)} characters: {_FORM}, or end with a line 'Answer: ...'")
    if not body:
        return Finding(not reference, "", "" if not reference else "there is no answer")
    found = " ".join(body.split())
    if len(intent) > len(reference) and _key(intent) in _key(body):
        return Finding(False, found[:200], f"the answer repeats the goal: {_FORM}")
    if _key(body) == _key(reference):
        return Finding(True, found, "")
    why = ""
    for wanted in readings:
        if len(wanted) < len(readings[-1]) and form.type.startswith("list of ") and _key(reference) not in _key(body):
            continue  # a list of one item, which has commas, is written with them
        why = _Reading(reference, wanted, intent, form).fault(body)
        if not why:
            return Finding(True, found, "")
    return Finding(False, found[:200], why)


def _key(text: str) -> str:
    """Return a text as texts are compared as wholes: without case, kinds of blanks and quotes, and marks around it."""
    return " ".join(text.translate(_SAME_MARKS).casefold().split()).rstrip(" .!").strip(" .\"'")


def _readings(reference: str, intent: str, form: Form) -> list[list[Part]]:
    """Return the ways in which a reference can be read: one with commas is one text, or a list."""
    if is_not_available(reference) or reference.strip(". ").lower() in ("yes", "no"):
        return [[]]
    items = [item.strip() for item in re.split(r"[;\n]", reference) if item.strip()]
    pairs = [match for match in map(_LABELLED.fullmatch, items) if match]
    if pairs and len(pairs) == len(items) and (len(items) > 1 or not form.type):
        return [[_part(match[2], intent, form)._replace(source=match[0], label=_folded(match[1])) for match in pairs]]
    if len(items) > 1:
        return [[_part(item, intent, form) for item in items]]
    chain = [item.strip() for item in reference.split(" > ")]
    if len(chain) > 1:
        return [[_part(item, intent, form) for item in chain]]
    whole = _part(reference, intent, form)
    pieces = [item.strip() for item in re.split(r",\s+(?:and\s+)?", reference) if item.strip()]
    if whole.kind not in ("text", "hours") or len(pieces) < 2:
        return [[whole]]
    parts = [_part(piece, intent, form) for piece in pieces]
    return [[whole], parts] if all(part.kind == "text" for part in parts) else [parts]


def _part(text: str, intent: str, form: Form) -> Part:
    """Return a part of a reference by its type: the one that the task states, or else as it looks."""
    stated = form.type.removeprefix("list of ")
    words = _folded(text)
    if stated in ("text", "email"):
        return Part(text, words)
    hours = re.fullmatch(r"(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})", text)
    if hours:
        return Part(text, words, "hours", tuple(float(value.amount) for value in read(f"{hours[1]} {hours[2]}")))  # type: ignore[arg-type]
    bare = text.removeprefix("#")
    if bare.isdecimal() and (len(bare) > _LONGEST_NUMBER or (bare[0] == "0" and len(bare) > 1) or stated == "code"):
        return Part(text, words, "code", bare.lstrip("0") or "0")
    unit = form.unit or _unit(intent)
    number = in_digits(bare)
    values = list(split_minutes(read(number)))
    if len(values) != 1 or (values[0].start, values[0].end) != (0, len(number)) or values[0].kind in ("email", "ordinal"):
        return Part(text, words)
    kind, amount = values[0].kind, values[0].amount
    if kind == "number" and unit in UNITS and isinstance(amount, float | int):
        kind, scale = UNITS[unit]
        return Part(text, words, kind, round(amount * scale, 3), scale)
    return Part(
        text, words, "money" if kind == "number" and unit == "usd" else kind, amount, float(kind == "money" or unit == "usd")
    )


def _unit(intent: str) -> str:
    """Return the unit that a goal counts in, such as "d" for "how many days"; empty for none."""
    match = _COUNTED.search(intent)
    if not match:
        return ""
    return "y" if match[2] else next((unit for unit in map(_MEASURES.get, _counted(match[1])) if unit), "")


def _counted(text: str) -> list[str]:
    """Return the noun phrase behind "how many", without plurals: words up to the first of grammar, or the first plural."""
    nouns: list[str] = []
    for word in text.split():
        if word.lower() in _FUNCTION or word[0].isupper():
            break
        nouns.append(word.lower().removesuffix("s"))
        if word.endswith("s") or word == "people":
            break
    return nouns


def _folded(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared, with the marks that count."""
    return tuple(
        norm
        for norm in map(_fold, _TOKEN.findall(text.translate(_SAME_MARKS)))
        if norm[0].isalnum() or "_" in norm or norm in _HARD
    )


def _fold(token: str) -> str:
    token = token.casefold()
    return "and" if token == "&" else "canceled" if token == "cancelled" else token


_STATED = frozenset(map(stem, _STATING))
_OF_LABELS = _STATED | frozenset(map(stem, _FUNCTION))
_DOUBTING = _words("may might could must should would")
_TURNING = _DOUBTING | _words("will can drive walk ride")
"""Words that a goal's name may hold, such as May or Station Drive, and that then explain no "it may be" and no "the drive takes"."""


class _Goal(NamedTuple):
    """The words of a goal: their stems, those of its names with and without grammar, its values, and the words beside each of them."""

    stems: frozenset[str]
    capitals: frozenset[str]
    names: frozenset[str]
    quoted: frozenset[str]
    neighbours: frozenset[tuple[str, str]]
    words: tuple[str, ...]
    counted: frozenset[str]
    is_joint: bool
    dates: frozenset[Amount]


@lru_cache(maxsize=1024)  # all episodes of a task have its goal
def _read_goal(intent: str) -> _Goal:
    told = _PATH.sub(" this ", _EXAMPLE.sub(" ", intent.translate(_SAME_MARKS)))
    tokens = _TOKEN.findall(told)
    norms = [_fold(token) for token in tokens]
    is_name = [
        (token[0].isupper() and place > 0 and tokens[place - 1] not in ".?!:") or token[0].isdigit() or "_" in token
        for place, token in enumerate(tokens)
    ]
    names = {norm for norm, named in zip(norms, is_name, strict=True) if named}
    within = {norms[place] for place in range(1, len(norms) - 1) if is_name[place - 1] and is_name[place + 1]}
    words = [norm for norm in norms if norm[0].isalnum() or norm in _HARD]
    # A clause that tells what does not count explains nothing.
    plain = _NAMED_NOT.sub(" ", _QUOTED.sub(" ", told))
    clauses = [list(map(_fold, _TOKEN.findall(clause))) for clause in re.split(r"[,.;?!:]\s|\n", plain)]
    kept = {norm for clause in clauses if _EXCLUDED.isdisjoint(clause) for norm in clause}
    quoted = {norm for quotation in _QUOTED.findall(told) for norm in map(_fold, _TOKEN.findall(quotation))}
    kept |= quoted
    turning = _DOUBTING | _TURNING & names - {_fold(token) for token in tokens if token[0].islower()}
    counted = _COUNTED.search(told)
    return _Goal(
        frozenset(stem(norm) for norm in words if norm in kept and norm not in REFUSED and norm not in turning),
        frozenset(names | within & _FUNCTION),
        frozenset(names - _GRAMMAR),
        frozenset(quoted - _GRAMMAR),
        frozenset(pair for one, other in itertools.pairwise(words) for pair in ((one, other), (other, one))),
        tuple(words),
        frozenset(map(stem, _counted(counted[1]))) if counted and counted[1] else frozenset(),
        not _JOINT.isdisjoint(words),
        frozenset(value.amount for value in read(_EXAMPLE.sub(" ", intent)) if value.kind in ("date", "month")),
    )


class _Reading:
    """One way to read a reference, against which answers are held."""

    def __init__(self, reference: str, parts: list[Part], intent: str, form: Form) -> None:
        self.reference, self.parts, self.form = reference, parts, form
        self.goal = _read_goal(intent)
        self.about = {norm for name in form.about for norm in _folded(name)}
        self.labels = {norm for names in form.labels for name in names for norm in _folded(name)}
        wanted = [part.words for part in parts if part.kind in ("text", "date", "month")]
        # A goal that holds the answer offers others beside it, so its words explain nothing.
        self.is_offered = any(_position(self.goal.words, words) >= 0 for words in wanted if words)
        self.is_choice = self.is_offered or self.goal.is_joint
        # What the goal names is read as one word, unless the goal offers it beside the answer.
        phrases = (
            []
            if self.is_choice
            else [each for pattern in (_QUOTED, _PATH, _NAME) for each in pattern.findall(_EXAMPLE.sub(" ", intent))]
        )
        self.phrases = sorted(
            (
                each
                for each in phrases
                if each != "N/A"
                and not any(_position(_folded(each), words) >= 0 or _position(words, _folded(each)) >= 0 for words in wanted)
            ),
            key=len,
            reverse=True,
        )
        self.is_strict = self.is_choice and all(part.source.islower() for part in parts)
        self.is_typed = all(part.kind != "text" for part in parts)

    def fault(self, body: str) -> str:
        """Return why an answer is wrong, empty when it is right."""
        text = _RULE.sub("", _NOT.sub(" not", body.translate(_SAME_MARKS)))
        for phrase in self.phrases:
            text = text.replace(phrase, f" {_GOAL} ")
        text = _ANGLES.sub(lambda match: "#" if match[0].startswith("No.") else f" {match[1] or ''} ", _GLUED.sub(", ", text))
        text = _without_bullets(text, is_listed=len(self.parts) > 1 or not self.is_typed)
        if not self.parts:
            return self._absent(text) if is_not_available(self.reference) else self._polarity(text)
        text = text.rstrip("! \n")
        # What is asked of several together could be said of one of them, unless the answer says so, too.
        self.is_choice = self.is_offered or (self.goal.is_joint and _JOINT.isdisjoint(map(_fold, _TOKEN.findall(text))))
        tokens = self._tokens(in_digits(text) if self.is_typed and self.parts[0].kind != "code" else text)
        if not any(token.kind == "part" for token in tokens):
            return "the wanted value is not in it"
        return self._unexplained(tokens) or self._misplaced(tokens) or self._unequal(tokens)

    def _tokens(self, text: str) -> list[_Token]:
        """Return the tokens of an answer, with the parts of the reference and the typed values as one token each."""
        kinds = {part.kind for part in self.parts}
        if "url" in kinds:
            text = re.sub(r"https?://(?:www\.)?|\bwww\.|/(?=[\s).,;]|\Z)", "", text, flags=re.IGNORECASE)
        matches = list(_TOKEN.finditer(text))
        tokens: list[_Token | None] = [
            _Token(match[0], _fold(match[0]), "word" if match[0][0].isalnum() or "_" in match[0] else "mark")
            for match in matches
        ]
        texts: list[tuple[tuple[str, ...], str, int]] = []
        for index, part in enumerate(self.parts):
            if part.label:
                texts.append((part.label, "label", index))
            if part.kind == "text" and part.words:
                texts.append((part.words, "part", index))
            elif part.kind == "url":
                texts.append((_folded(str(part.amount)), "part", index))
        for words, kind, index in sorted(texts, key=lambda each: -len(each[0])):
            for start, end in _places(tokens, words, self.parts[index].source, is_label=kind == "label"):
                first = tokens[start]
                if kind == "part" and _is_glued(text, matches[start].start(), matches[end - 1].end()):
                    continue
                assert first is not None
                tokens[start] = _Token(text[matches[start].start() : matches[end - 1].end()], first.norm, kind, index)
                tokens[start + 1 : end] = [None] * (end - start - 1)
        starts = {match.start(): place for place, match in enumerate(matches)}
        ends = {match.end(): place + 1 for place, match in enumerate(matches)}
        for value in split_minutes(read(text)):
            first_at, after = starts.get(value.start), ends.get(value.end)
            if first_at is None or after is None or any(each is None or each.part >= 0 for each in tokens[first_at:after]):
                continue
            tokens[first_at] = _Token(
                text[value.start : value.end], text[value.start : value.end].casefold(), "value", -1, value
            )
            tokens[first_at + 1 : after] = [None] * (after - first_at - 1)
        found = [token for token in tokens if token is not None]
        for place, token in enumerate(found):
            if token.kind in ("value", "word"):
                token.part = self._claimed(found, place)
                token.kind = "part" if token.part >= 0 else token.kind
        return found

    def _claimed(self, tokens: Sequence[_Token], place: int) -> int:
        """Return the typed part of the reference that a token is, -1 for none."""
        token = tokens[place]
        taken = {each.part for each in tokens if each.kind == "part"}
        for index, part in sorted(enumerate(self.parts), key=lambda each: each[0] in taken):
            if part.kind == "code":
                if token.text.isdecimal() and (token.text.lstrip("0") or "0") == part.amount:
                    return index
            elif part.kind == "hours" and isinstance(part.amount, tuple):
                if token.value and token.value.kind == "time" and token.value.amount in part.amount:
                    return index
            elif part.kind == "phone" and token.text.isdecimal():
                if token.text == part.amount:
                    return index
            elif part.kind == "number" and re.fullmatch(r"0\d+", token.text):
                continue  # no count is written so: "0" and "2" that ran together
            elif part.kind != "text" and token.value and _same(part, token.value):
                return index
        return -1

    def _unexplained(self, tokens: list[_Token]) -> str:
        """Return what nothing explains in an answer, as a reason."""
        for place, token in enumerate(tokens):
            before = tokens[place - 1] if place else None
            after = tokens[place + 1] if place + 1 < len(tokens) else None
            match token.kind:
                case "mark":
                    leads = token.norm in "$@" and after and after.kind == "part"
                    separates = token.norm == "/" and before and after and before.kind == after.kind == "part"
                    if token.norm not in _MARKS and not leads and not separates and token.norm != "and":
                        return f"{token.text!r} is not explained: {_FORM}"
                case "value":
                    if not self._echoes(token, before, after):
                        return f"{token.text!r} is no value that was asked for: {_FORM}"
                case "word":
                    is_letter = token.norm in _CONTRACTED and (before is None or before.norm != "'")
                    why = (
                        f"{token.text!r} is not explained: {_FORM}" if is_letter else self._word(token, is_first=before is None)
                    )
                    if why:
                        return why
                case "part" if self.parts[token.part].kind not in ("text", "hours"):
                    is_up_to = before and before.norm == "to" and place > 1 and tokens[place - 2].norm == "up"
                    is_from = before and before.norm == "from" and len(self.parts) == 1
                    for beside in (before, after):
                        bounds = beside and (beside.norm in _BOUNDS or (beside is before and (is_up_to or is_from)))
                        if beside and beside.kind == "word" and bounds:
                            return f"{beside.text!r} makes {token.text!r} a bound: {_FORM}"
        return ""

    def _word(self, token: _Token, *, is_first: bool) -> str:
        norm = token.norm
        if token.text == _GOAL:
            return ""
        if norm in REFUSED:
            return f"{token.text!r} leaves the answer open: {_FORM}"
        if norm in _GRAMMAR or stem(norm) in _STATED or norm in self.about or norm in self.labels:
            return ""
        if self.is_typed and norm in _STATING_OF_VALUES:
            return ""
        if norm in _DAYS and any(part.kind == "date" for part in self.parts):
            return ""
        if norm in _ORDINALS and len(self.parts) > 1 and not self.labels:
            return ""
        if norm in _TURNING and norm in self.goal.names and token.text[0].isupper() and not (is_first or self.is_choice):
            return ""
        if self.is_strict or (self.is_choice and norm in self.goal.names) or stem(norm) not in self.goal.stems:
            return f"{token.text!r} is not explained: {_FORM}"
        return ""

    def _echoes(self, token: _Token, before: _Token | None, after: _Token | None) -> bool:
        """Return whether a value stands in the goal, beside the same word, so that the answer repeats the goal with it."""
        is_day = token.value is not None and token.value.kind in ("date", "month")
        if is_day and not self.is_choice and token.value and token.value.amount in self.goal.dates:
            return True
        words = [norm for norm in map(_fold, _TOKEN.findall(token.text)) if norm[0].isalnum() or norm in _HARD]
        if not words or self.is_choice or _position(self.goal.words, tuple(words)) < 0:
            return False
        is_code = len(words[0]) > 5 and all(part.kind != "code" for part in self.parts)
        if len(words) > 1 or is_code:
            return True
        sides = [(before.norm, words[0])] if before and before.kind == "word" else []
        sides += [(words[-1], after.norm)] if after and after.kind == "word" else []
        return any(pair in self.goal.neighbours and _FUNCTION.isdisjoint(pair) for pair in sides)

    def _misplaced(self, tokens: list[_Token]) -> str:
        """Return what stands where another item of a list, or another answer, would stand."""
        claims = [place for place, token in enumerate(tokens) if token.kind == "part"]
        for one, other in itertools.pairwise(claims):
            if other == one + 1:
                return f"{tokens[one].text!r} and {tokens[other].text!r} run together: separate them by semicolons"
        if len(self.parts) == 1 and self.is_typed:
            between = tokens[claims[0] : claims[-1]]
            is_apart = any(token.kind == "word" and token.norm not in _FUNCTION for token in between)
            is_apart |= len(claims) > 1 and all(token.norm in _SEPARATORS for token in between[1:] if token.kind != "part")
            if is_apart and self.parts[0].kind != "hours":
                return f"the value stands twice: {_FORM}"
            others = [self._qualified(tokens, place) for place in claims]
            others += [self._beside(tokens)] if self.parts[0].kind == "code" else []
        else:
            others = [] if self.is_typed else [*(self._renamed(tokens, place) for place in claims), self._beside(tokens)]
        return next(filter(None, others), "") or self._spare(tokens, claims[0])

    def _qualified(self, tokens: Sequence[_Token], place: int) -> str:
        """Return what stands beside a value and makes it another one: "5 stars" or "#5" for a number of reviews, "5 each", "5 a day"."""
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if self.goal.counted and place and tokens[place - 1].norm in ("#", "number"):
            return f"{tokens[place - 1].text + tokens[place].text!r} is the number of one: {_FORM}"
        if following is None or following.kind != "word":
            return ""
        if following.norm not in _FUNCTION and stem(following.norm) not in self.goal.counted:
            return f"{tokens[place].text + ' ' + following.text!r} is another value: {_FORM}"
        is_rate = following.norm in _PER and place + 2 < len(tokens) and tokens[place + 2].kind == "word"
        said = f"{tokens[place].text + ' ' + following.text!r} is a rate: {_FORM}"
        return said if is_rate or following.norm == "each" else ""

    def _renamed(self, tokens: Sequence[_Token], place: int) -> str:
        """Return what stands beside a text and makes it another one: "at most A", or a word of a longer name."""
        name, leading = tokens[place], tokens[place - 1] if place else None
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if self.parts[name.part].kind != "text":
            return ""
        if leading and (leading.norm in _BOUNDS or (leading.norm == "to" and place > 1 and tokens[place - 2].norm == "up")):
            return f"{leading.text + ' ' + name.text!r} is no plain answer: {_FORM}"
        goes_on = following and not (
            following.text.islower() and name.text[:1].isupper() and following.norm not in self.goal.names
        )
        if following and goes_on and following.kind in ("word", "value") and following.norm not in _GRAMMAR:
            return f"{name.text + ' ' + following.text!r} is another name: {_FORM}"
        if leading and leading.kind in ("word", "value") and leading.norm in self.goal.names - _GRAMMAR:
            return f"{leading.text + ' ' + name.text!r} is another name: {_FORM}"
        return ""

    def _beside(self, tokens: Sequence[_Token]) -> str:
        """Return what of the goal stands for itself, as another answer would: a name or code of it where nothing is stated of it, or a
        piece of a longer name, as in "A (B)" and "from A to B".
        """
        echoes = [token for token in tokens if token.kind == "value" or token.text == _GOAL]
        words = [token for token in tokens if token.kind == "word" and token.text != _GOAL]
        if echoes and all(token.norm in _JOINING for token in words) and not any(token.norm == "|" for token in tokens):
            return f"something of the goal stands beside the answer: {_FORM}"
        pieces = self.goal.names | self.goal.quoted
        norms = [token.norm for token in tokens]
        is_piece = [token.kind == "word" and token.norm in pieces for token in tokens]
        has_capitals = any(token.text[:1].isupper() for token in tokens)
        for one, other in (
            [(place, place - 1) for place in range(len(tokens) - 1, 0, -1)]
            + [(place, place + 1) for place in range(len(tokens) - 1)]
        ):  # "Standing Desk" and "Marble Run" are names though "standing" and "run" are grammar, "Oak Street" is where a goal names Oak
            is_named = norms[other] in self.goal.capitals and (norms[one], norms[other]) in self.goal.neighbours
            grows = tokens[other].text[:1].isupper() if has_capitals else norms[other] not in _STATING
            grows &= tokens[other].kind == "word" and tokens[other].text != _GOAL and norms[other] not in _FUNCTION
            if is_piece[one] and (is_named or grows):
                is_piece[other] = True
        start = 0
        while start < len(tokens):
            end = next((place for place in range(start, len(tokens)) if not is_piece[place]), len(tokens))
            after = tokens[end].norm if end < len(tokens) else ""
            beside = [
                tokens[place].norm for place in (start - 1, end) if 0 <= place < len(tokens) and tokens[place].kind == "word"
            ]
            is_word = end == start + 1  # such as "SKU: A", or "A shares a border with B."
            is_said = is_word and tokens[start].text.isupper()
            is_label = after == "'" or (after == ":" and (is_word or beside))
            if end > start and not (is_said or is_label) and _JOINING.issuperset(beside):
                return f"{' '.join(token.text for token in tokens[start:end])!r} is another name: {_FORM}"
            start = max(end, start + 1)
        return ""

    def _segments(self, tokens: Sequence[_Token], first: int) -> list[list[_Token]]:
        """Return what stands between separators; what leads to the answer with a colon is left out."""
        segments: list[list[_Token]] = [[]]
        for place, token in enumerate(tokens):
            if token.kind == "mark" and (token.norm in _SEPARATORS or token.norm in ".>"):
                segments.append([])
            elif token.kind == "mark" and token.norm == ":" and place < first:
                segments[-1].clear()
            elif token.norm == "and" and (len(self.parts) > 1 or not self.is_typed):
                segments.append([])
            else:
                segments[-1].append(token)
        return segments

    def _spare(self, tokens: list[_Token], first: int) -> str:
        """Return a piece of an answer that holds no part of the reference and could be an item or an answer of its own."""
        is_list = len(self.parts) > 1
        later = {id(token) for token in tokens[first:]}
        for segment in self._segments(tokens, first):
            words = [token for token in segment if token.kind in ("word", "value")]
            if not words or any(token.kind == "part" for token in segment):
                continue
            content = [token for token in words if token.norm not in _GRAMMAR | self.labels]
            is_name = any(
                token.norm in self.goal.names | self.about or token.kind == "value" or token.text == _GOAL for token in content
            )
            is_later = id(words[0]) in later
            is_bare = not self.is_typed and not any(token.norm in _FUNCTION for token in words)
            is_stated = is_list and not self.is_typed and any(token.norm in _STATING for token in words)
            if is_bare or (is_later and (is_stated or (content and (is_list or is_name)))):
                return f"{' '.join(token.text for token in segment)!r} is one answer more: {_FORM}"
        return ""

    def _unequal(self, tokens: list[_Token]) -> str:
        """Return how the parts in an answer differ from those of the reference."""
        claimed = [token.part for token in tokens if token.kind == "part"]
        if self.parts[0].label:
            both = [token.part for token in tokens if token.kind in ("label", "part")]
            kinds = [token.kind for token in tokens if token.kind in ("label", "part")]
            if kinds == ["part", "label"] * len(self.parts):
                both = [both[place ^ 1] for place in range(len(both))]
            elif kinds != ["label", "part"] * len(self.parts):
                return "each value needs its label, as in the form that the goal states"
            values = {one: self.parts[other] for one, other in zip(both[::2], both[1::2], strict=True)}
            for place, part in enumerate(self.parts):
                if place not in values or values[place].amount != part.amount:
                    return f"{part.source.partition(':')[0]!r} has another value"
            return ""
        hours = [part for part in self.parts if part.kind == "hours"]
        if hours:
            given = [token.value.amount for token in tokens if token.kind == "part" and token.value]
            return "" if given == list(hours[0].amount) else "the hours are others"  # type: ignore[arg-type]
        if len(self.parts) == 1:
            return ""
        missing = [part.source for place, part in enumerate(self.parts) if place not in claimed]
        if missing:
            return f"{len(missing)} of {len(self.parts)} parts are missing"
        if len(claimed) > len(self.parts):
            return "a part is named twice"
        is_pair = self.is_typed and len(self.parts) == 2 and self.parts[0].kind == "number"
        if not (self.form.ordered or " > " in self.reference or is_pair):
            return ""
        wanted = [part.source for part in self.parts]
        return "" if [self.parts[place].source for place in self._in_order(tokens)] == wanted else "the order is another"

    def _in_order(self, tokens: list[_Token]) -> list[int]:
        """Return the parts in the order of an answer, or of their labels where each has one: "highest $5, lowest $2"."""
        owners = {norm: place for place, names in enumerate(self.form.labels) for name in names for norm in _folded(name)}
        pairs, label = [], -1
        for token in tokens:
            if token.kind == "word" and token.norm in owners:
                label = owners[token.norm]
            elif token.kind == "part":
                pairs.append((label, token.part))
                label = -1
        labelled = sorted(label for label, _ in pairs)
        return [part for _, part in (sorted(pairs) if labelled == list(range(len(self.parts))) else pairs)]

    def _polarity(self, text: str) -> str:
        """Return why an answer to a yes or no question is wrong."""
        wanted = self.reference.strip(". ").lower() == "yes"
        text = re.sub(r"(?<=[a-z] )no(?= [a-z])", "none", text)  # "I found no issue" says nothing of it
        labelled = _LABELLED.fullmatch(text)
        polar = _YES | _NO
        if labelled and _fold(labelled[2].strip(". ")) in polar and (polar | REFUSED).isdisjoint(_folded(labelled[1])):
            if any(_position(_folded(labelled[1]), _folded(told)) >= 0 for told in self.form.no):
                return 'a label turns the answer round: answer "yes" or "no"'
            text = labelled[2]
        both = ((self.form.yes, True), (self.form.no, False))
        phrases = [(_folded(each), is_yes) for told, is_yes in both for each in told]
        phrases.sort(key=lambda each: -len(each[0]))
        words = [norm for norm in map(_fold, _TOKEN.findall(text)) if norm[0].isalnum() or norm not in _MARKS]
        said: list[bool] = []
        is_negated, place = False, 0
        while place < len(words):
            phrase = next((each for each in phrases if each[0] and tuple(words[place : place + len(each[0])]) == each[0]), None)
            word = words[place]
            place += len(phrase[0]) if phrase else 1
            if phrase:
                said.append(phrase[1] != is_negated)
                is_negated = False
            elif word in _YES | _NO and is_negated:
                return f'{"not " + word!r} is no plain answer: answer "yes" or "no"'
            elif word in _YES | _NO:
                said.append((word in _YES) != is_negated)
                is_negated = False
            elif word == "not":
                is_negated = True
            elif word == _GOAL.lower():
                continue
            elif word in REFUSED or (word not in _GRAMMAR and stem(word) not in self.goal.stems and word not in self.about):
                return f'{word!r} is not explained: answer "yes" or "no"'
        if is_negated and (said or words[-1] == "not"):
            said.append(False)
        if "not" in words and not _TRUTH.isdisjoint(words):
            return 'a statement is denied: answer "yes" or "no"'
        if not said:
            return 'neither is said: answer "yes" or "no"'
        return "" if set(said) == {wanted} else "both are said" if len(set(said)) > 1 else "the answer is the other one"

    def _absent(self, text: str) -> str:
        """Return why an answer does not say that there is none: it begins with N/A, and names no value."""
        match = (
            re.match(r"\W{0,3}(?:n/a|na|not applicable|not available|none)\b", text, re.IGNORECASE)
            or re.search(r"(?<=\bis )n/a\b", text, re.IGNORECASE)
            or re.search(r"(?:^|(?<=[\s(:]))n/a[\s.!*)\"'\]]{0,3}\Z", text, re.IGNORECASE)
        )
        if not match:
            return 'the answer is "N/A"'
        tokens = _TOKEN.findall(text[: match.start()] + text[match.end() :])
        norms = [_fold(token) for token in tokens]
        if re.search(r"\bnot\W{1,3}\Z", text[: match.start()], re.IGNORECASE):
            return 'that is denied: the answer is "N/A"'
        if re.match(r"\W{0,3}(?:is|was|does)\W{1,3}not\b", text[match.end() :], re.IGNORECASE):
            return 'that is denied: the answer is "N/A"'
        for token, norm in zip(tokens, norms, strict=True):
            if token == _GOAL:
                continue
            is_name = token[0].isupper() and not token[1:].isupper() and norm not in _GRAMMAR | _ABSENT
            if (norm in _OPEN or token[0].isdigit() or norm in "?~") and stem(norm) not in self.goal.stems:
                return f"{token!r} is not explained: answer N/A alone"
            if is_name and stem(norm) not in self.goal.stems and (norms.index(norm) or match.start()):
                return f"{token!r} is not explained: answer N/A alone"
        for name in _HYPHENED.findall(text):
            pieces = re.split(r"[-_]", name.casefold())
            is_said = all(norm in _GRAMMAR | _ABSENT or stem(norm) in self.goal.stems for norm in pieces)
            if not is_said and _NEGATING.isdisjoint(pieces):
                return f"{name!r} is not explained: answer N/A alone"
        content = [
            norm
            for norm in norms
            if norm[0].isalnum() and norm != _GOAL.lower() and norm not in _GRAMMAR and stem(norm) not in self.goal.stems
        ]
        return "" if not content or not _ABSENT.isdisjoint(norms) else f"{content[0]!r} is not explained: answer N/A alone"


def _same(part: Part, value: Value) -> bool:
    amount = value.amount
    if part.kind == "duration" and value.kind == "time" and value.unit == "clock" and isinstance(amount, float | int):
        return amount >= 60 and 60 * amount == part.amount  # 2:07
    if part.kind == "money" and value.kind == "money" and value.unit != "usd":
        return False
    if value.kind != part.kind:
        if value.kind != "number" or not part.scale or not isinstance(amount, float | int):
            return False
        amount = round(amount * part.scale, 6)
    if isinstance(part.amount, float | int) and isinstance(amount, float | int):
        return isclose(part.amount, amount, rel_tol=1e-9, abs_tol=1e-6)
    return part.amount == amount


def _position(words: Sequence[str], wanted: tuple[str, ...]) -> int:
    """Return where some words stand one behind the other in others, -1 for nowhere."""
    return next((at for at in range(len(words) - len(wanted) + 1) if tuple(words[at : at + len(wanted)]) == wanted), -1)


def _places(
    tokens: Sequence[_Token | None], words: tuple[str, ...], source: str, *, is_label: bool
) -> Iterator[tuple[int, int]]:
    """Yield where a text stands in an answer, as ranges of tokens; between its words only marks that it has itself, or light ones."""
    allowed = _LIGHT | set(source.translate(_SAME_MARKS))
    start = 0
    while start < len(tokens):
        place, count, last = start, 0, start
        while place < len(tokens) and count < len(words):
            token = tokens[place]
            if token is None or token.part >= 0:
                break
            if token.norm == words[count] or (is_label and stem(token.norm) == stem(words[count])):
                count, last = count + 1, place + 1
            elif not count or token.norm not in allowed or place - last > 2:
                break
            place += 1
        if count == len(words):
            while (
                last < len(tokens)
                and (mark := tokens[last]) is not None
                and mark.norm in '?!)"'
                and mark.norm in source
                and mark.part < 0
            ):
                last += 1
            yield start, last
            start = last
        else:
            start += 1


def _is_glued(text: str, start: int, end: int) -> bool:
    """Return whether what stands in a text is a piece of a longer name or address, such as "b" in "a.b"."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return bool(re.fullmatch(r"\w[-./@:']", before) or re.fullmatch(r"[-./@]\w", after))


def _without_bullets(text: str, *, is_listed: bool) -> str:
    """Return a text without the marks of list items; numbers only where they count the lines."""
    matches = list(_BULLET.finditer(text))
    numbers = [int(match[1]) for match in matches if match[1]]
    if numbers and (numbers != list(range(1, len(numbers) + 1)) or not (is_listed or len(numbers) > 1)):
        return text
    return _BULLET.sub("", text)


def is_not_available(text: str) -> bool:
    """Return whether a reference says that there is no answer.

    >>> [is_not_available(text) for text in ("N/A", "n/a.", "", "NA, sorry")]
    [True, True, False, False]
    """
    return text.strip().strip("\"'.").lower() in ("n/a", "na")
