"""The judge of answers: the stated answer of a reply must be the reference's value, wholly and alone.

The stated answer is a value in a usual notation, a list, or a sentence of one of `sentences.FORMS`. Everything else is refused, with a
reason that names the expected form.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webarena_gym.answers.extraction import Content, extract, plain, split
from webarena_gym.answers.form import UNIT_WORDS, UNITS, Form
from webarena_gym.answers.sentences import Goal, is_label, is_piece, read_goal, values
from webarena_gym.answers.values import Amount, kind_of, read, same
from webarena_gym.texts import comparable

OR = " |OR| "
"""The separator of references of which one is enough."""

_SAME_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "‑": "-", "\u00a0": " ", "\u202f": " ", "\t": " ", "\r": "\n"})  # fmt: skip
_LABEL_AND_VALUE = re.compile(r"([^:;\n]{1,80}):\s+(\S.*)")
_COUNTED_UNIT = re.compile(rf"\bhow (?:many ({'|'.join(UNIT_WORDS)})s?\b|old\b)", re.IGNORECASE)
_COORDINATES = (("latitude", "lat"), ("longitude", "long", "lon", "lng"))
_AFTER_LABEL = re.compile(r"(?: (?:price|value|one|time|distance))?(?: ?[:=]| (?:is|takes|costs))?(?: |(?<=[:=]))")
_THE = re.compile(r"\Athe ", re.IGNORECASE)
_CHAIN = re.compile(r"(?:>|→|->)")
_RANGE = re.compile(r" (?:to|-|and) ")
_LONGEST_NUMBER = 9  # digits; a longer one, such as the number of a parcel, is a code
_POLAR_WORDS = {"yes": True, "true": True, "no": False, "false": False}
_ANOTHER = "another value is expected"
_ABSENT = frozenset(["n/a", "na", "not applicable", "not available"])
_VERBS = frozenset("is are was were can could does do did has have will".split())  # noqa: SIM905
_SUBJECTS = frozenset(["it", "that", "this", "there", "they"])


class MatchResult(NamedTuple):
    """The judgement of an answer.

    Attributes:
        is_right: True if the answer is right.
        why: the reason why it is wrong; "" for a right answer.

    """

    is_right: bool
    why: str


class Part(NamedTuple):
    """One part of a reference as a value of type `kind`, with its `label` if it has one.

    `scale` converts a bare number to the amount of such a value; 0 requires a unit.
    """

    source: str
    kind: str = "text"
    amount: Amount = 0.0
    scale: float = 0.0
    label: str = ""


def compare(reference: str | Sequence[str], answer: str, intent: str = "", form: Form | None = None) -> MatchResult:
    """Judge an answer to the goal `intent`: its value must be that of the reference, or its items all references of a list.

    One of several texts separated by " |OR| " is enough.

    >>> compare("$46.50", "46.5 dollars", "How much is the lamp?")
    MatchResult(is_right=True, why='')
    """
    form = form or Form()
    references = [comparable(text) for text in ([reference] if isinstance(reference, str) else reference)]
    answer = comparable(answer)
    choices = [[text.strip()] for text in references[0].split(OR)] if len(references) == 1 else [references]
    key = _key(answer.strip()) if len(answer) < 100 + 2 * len(references[0]) else None
    if any(len(choice) == 1 and key == _key(choice[0]) for choice in choices):
        return MatchResult(True, "")
    try:
        content, why = extract(answer), _ANOTHER
        size = sum(map(len, content)) if isinstance(content, list | dict) else len(content)
        if not size or size > 500 + 4 * sum(map(len, references)):
            why = f"the answer has {size} characters" if size else "there is no answer"
        elif any(not (why := _fault(content, choice, intent, form)) for choice in choices):
            return MatchResult(True, "")
    except ValueError as error:
        why = str(error)
    expected = form.in_words() if form.type else 'Answer with the value alone, or end with a line "Answer: " and the value.'
    return MatchResult(False, why if why == _ANOTHER else f"{why}. {expected}")


def _fault(content: Content, references: Sequence[str], intent: str, form: Form) -> str:
    """Return the reason why the content of an answer does not match all references; "" if it does."""
    goal = read_goal(intent, form.about)
    is_yes = _POLAR_WORDS.get(references[0].strip(". ").lower()) if len(references) == 1 else None
    if is_yes is not None:
        return _polar_fault(content, is_yes, goal, form)
    if len(references) == 1 and is_not_available(references[0]):
        stated = (_key(text).removesuffix(".").strip() for text in _statements(content, goal, is_typed=False))
        return "" if any(text in _ABSENT for text in stated) else 'the answer is "N/A" alone'
    return _ReferenceMatcher(references, intent, goal, form).fault(content)


def is_not_available(text: str) -> bool:
    """Return True if a reference means that there is no answer.

    >>> [is_not_available(text) for text in ("N/A", "n/a.", "", "NA, sorry")]
    [True, True, False, False]
    """
    return text.strip().strip("\"'.").lower() in ("n/a", "na")


def _statements(content: Content, goal: Goal, *, is_typed: bool) -> Iterable[str]:
    """Return the texts that the content of an answer can state as its one value."""
    if isinstance(content, str):
        return map(plain, values(content.translate(_SAME_MARKS), goal, is_typed=is_typed))
    [(label, value), *others] = content.items() if isinstance(content, dict) else [("", "")]
    is_known = not others and is_label(label, goal)
    return (value, f"{value} {label.rpartition(' ')[2]}") if is_known else ()


def _key(text: str) -> str:
    """Return a text as texts are compared: without case, kinds of blanks, quotes and dashes."""
    text = re.sub(
        r" ?/ ?", "/", ", ".join(line.strip() for line in text.translate(_SAME_MARKS).casefold().splitlines() if line.strip())
    )
    return " ".join("and" if word == "&" else word.replace("cancelled", "canceled") for word in text.split())


def _same_text(reference: str, text: str) -> bool:
    """Return True if two texts are equal but for the mark at their end, or a reference is a user's name behind "u/" or "@"."""
    text_key, reference_keys = _key(text), {_key(reference), _key(plain(reference))}
    reference_keys |= {key[:-1] for key in reference_keys if key[-1:] in (".", "?", "!") and len(key) > 1}
    keys = {text_key, text_key[:-1] if text_key[-1:] in (".", "!") else text_key}
    keys |= {re.sub(r"^(?:/?u/|@)(?=\S+$)", "", key) for key in keys}
    return not keys.isdisjoint(reference_keys)


class _ReferenceMatcher:
    """The readings of a reference: each a list of parts, of which each is a list of choices."""

    def __init__(self, references: Sequence[str], intent: str, goal: Goal, form: Form) -> None:
        self.intent, self.goal, self.form = intent, goal, form
        items = [item for text in references for item in ([text] if OR in text else re.split(r"[;\n]", text))]
        items = [item.strip() for item in items if item.strip()] or [""]
        self.is_chain = len(items) == 1 and " > " in items[0]
        items = [item.strip() for item in items[0].split(" > ")] if self.is_chain else items
        parts = [[self._part(choice.strip()) for choice in item.split(OR)] for item in items]
        labelled = [match for item in items if (match := _LABEL_AND_VALUE.fullmatch(item))]
        self.is_pairs = len(labelled) == len(items) and (len(items) > 1 or not form.type)
        if self.is_pairs:
            parts = [[self._part(match[2])._replace(label=match[1])] for match in labelled]
        self.readings = [parts]
        pieces = re.split(r",\s+(?:and\s+)?", items[0])
        if len(items) == 1 < len(pieces) and not self.is_pairs and form.type != "text" and parts[0][0].kind == "text":
            listed = [[self._part(piece.strip())] for piece in pieces]
            self.readings = [parts, listed] if all(part.kind == "text" for [part] in listed) else [listed]

    def fault(self, content: Content) -> str:
        """Return why the content of an answer is not the reference, empty if it is."""
        if isinstance(content, dict) and len(content) > 1 and not (self.is_pairs or self.form.labels or self._is_place()):
            return "the JSON object has more than one value"
        if isinstance(content, dict) and (len(content) > 1 or self.is_pairs):
            content = [f"{label}: {text}" for label, text in content.items()]
        if isinstance(content, list):
            is_right = any(self._are_items(parts, content) for parts in self.readings)
            return "" if is_right else f"{content} are not the expected items"
        is_typed = all(part.kind != "text" for parts in self.readings for [part, *_] in parts)
        for text in _statements(content, self.goal, is_typed=is_typed):
            for parts in self.readings:
                is_value = len(parts) == 1 and self._is_part(parts[0], text)
                is_list = len(parts) > 1 or self.is_pairs
                if is_value or (is_list and any(self._are_items(parts, items) for items in self._cuts(text, parts))):
                    return ""
        kinds = {part.kind for parts in self.readings for [part, *_] in parts} if isinstance(content, str) else ()
        if any(kind != "text" and read(kind, str(content).removesuffix(".")) is not None for kind in kinds):
            return _ANOTHER
        return f"{' '.join(str(content).split())[:200]!r} is neither the expected value nor a sentence that states it and nothing else"

    def _part(self, text: str) -> Part:
        """Return a part of a reference by its type: the one that the task states, or else as it looks."""
        stated = self.form.type.removeprefix("list of ")
        if stated == "text":
            return Part(text)
        code = text.removeprefix("#")
        is_code = code.isdecimal() and (len(code) > _LONGEST_NUMBER or (code[0] == "0" and len(code) > 1) or stated == "code")
        kind = "phone" if stated == "phone" and read("phone", text) else "code" if is_code else kind_of(text)
        amount, unit = read(kind, text) if kind != "text" else None, self.form.unit or self._unit()
        if amount is None:
            return Part(text)
        if kind == "number" and unit and isinstance(amount, float):
            kind, scale = UNITS.get(unit, ("money", 1.0))
            return Part(text, kind, ("usd", amount) if kind == "money" else amount * scale, scale)
        return Part(text, kind, amount, float(kind == "money"))

    def _unit(self) -> str:
        """Return the unit that the goal counts in, such as "d" for "how many days"; empty for none."""
        match = _COUNTED_UNIT.search(self.intent)
        return UNIT_WORDS[match[1].lower()] if match and match[1] else "y" if match else ""

    def _is_place(self) -> bool:
        return "latitude" in self.intent.lower() and [part.kind for [part, *_] in self.readings[-1]] == ["number"] * 2

    def _is_part(self, choices: Sequence[Part], text: str) -> bool:
        text = plain(text.translate(_SAME_MARKS))
        bare = text.removesuffix(".")
        amounts = [(part, _amount(part, bare)) for part in choices if part.kind != "text"]
        is_value = any(amount is not None and same(part.amount, amount) for part, amount in amounts)
        return is_value or any(_same_text(part.source, text) for part in choices)

    def _cuts(self, text: str, parts: Sequence[Sequence[Part]]) -> Iterator[list[str]]:
        """Yield the ways in which a text can be a list of as many items as there are parts."""
        kinds = [part.kind for [part, *_] in parts]
        yield from split(text, len(parts)) if len(parts) > 1 else [[text]]
        if self.is_chain:
            yield _CHAIN.split(text)
        if len(parts) != 2:
            return
        if kinds[0] == kinds[1] != "text" and self._is_ordered(kinds):
            yield _RANGE.split(re.sub(r"^(?:from|between) ", "", text, flags=re.IGNORECASE))
        if kinds == ["number"] * 2 and text[:1] == "(" and text[-1:] == ")":
            yield from split(text[1:-1], 2)
        if kinds == ["text", "email"]:  # a mailbox: "Ann Lee <ann@a.com>", or without the brackets
            yield list(text.rpartition(" ")[::2])
        if kinds[0] != kinds[1]:  # "Copper Grill (561 m)" and "Copper Grill: 561 m"
            yield list(text[:-1].rpartition("(")[::2]) if text.endswith(")") else list(text.rpartition(": ")[::2])

    def _is_ordered(self, kinds: Sequence[str]) -> bool:
        return self.form.ordered or self.is_chain or (len(kinds) == 2 and kinds[0] == kinds[1] == "number")

    def _are_items(self, parts: Sequence[Sequence[Part]], items: Sequence[str]) -> bool:
        """Return True if the items are the parts, each once: in order, or by their labels, or in any order."""
        if len(items) != len(parts):
            return False
        kinds = [part.kind for [part, *_] in parts]
        labels = [(part.label,) for [part, *_] in parts] if self.is_pairs else self.form.labels
        labels = _COORDINATES if not labels and self._is_place() else labels
        if len(labels) == len(parts):
            labelled = _by_label(labels, items)
            if labelled or self.is_pairs:
                return bool(labelled) and all(map(self._is_part, parts, labelled))
        if self._is_ordered(kinds):
            return all(map(self._is_part, parts, items))
        remaining = dict(enumerate(parts))
        indexes = {_key(part.source): index for index, choices in remaining.items() for part in choices}
        for item in items:  # equal texts are looked up, so that a long list takes linear time; other notations are searched
            index = indexes.get(_key(plain(item.translate(_SAME_MARKS))), -1)
            if index not in remaining:
                index = next((index for index, part in remaining.items() if self._is_part(part, item)), -1)
            if remaining.pop(index, None) is None:
                return False
        return True


def _amount(part: Part, text: str) -> Amount | None:
    """Return the value of a text of the kind of a part, which may be a bare number without its unit."""
    if part.kind == "code" and isinstance(part.amount, str):  # with all of its leading zeros, or without
        known = (part.source.removeprefix("#"), part.amount, part.amount.zfill(9))
        return part.amount if text.removeprefix("#") in known else None
    amount = read(part.kind, text if part.kind in ("number", "code") else text.removesuffix("!"))
    number = read("number", text) if amount is None and part.scale else None
    if isinstance(number, float):
        return ("usd", number) if part.kind == "money" else number * part.scale
    return amount


def _by_label(labels: Sequence[Sequence[str]], items: Sequence[str]) -> list[str]:
    """Return the values of labelled items in the order of the labels, none unless each item has another label."""
    values_by_index: dict[int, str] = {}
    for item in items:
        text = _THE.sub("", plain(item))
        for index, names in enumerate(labels):
            plain_names = (_THE.sub("", name) for name in names)
            name = next((name for name in plain_names if text.casefold().startswith(name.casefold())), None)
            after = _AFTER_LABEL.match(text, len(name)) if name else None
            if after and index not in values_by_index:
                values_by_index[index] = text[after.end() :]
                break
    return [values_by_index[index] for index in range(len(labels))] if len(values_by_index) == len(labels) else []


def _polar_fault(content: Content, is_yes: bool, goal: Goal, form: Form) -> str:
    """Return why an answer to a yes or no question is wrong, empty if it is right."""
    if isinstance(content, list) or (isinstance(content, dict) and len(content) > 1):
        return "more than one value is given"
    text = content if isinstance(content, str) else next(f"{label}: {value}" for label, value in content.items())
    text = re.sub(r"n't\b", " not", text.translate(_SAME_MARKS).casefold()).replace("cannot", "can not")
    text = text.removesuffix(".").removesuffix("!")
    label, _, value = text.rpartition(": ")
    if value.strip() in _POLAR_WORDS and label:
        is_known = label in form.yes or (label not in form.no and is_label(label, goal))
        return "" if is_known and _POLAR_WORDS[value.strip()] == is_yes else "the label or the value is another one"
    match = re.match(r"(yes|no|true|false)(?:(?: ?[,.:;]| -) |$)", text)
    rest = text[match.end() :] if match else text
    stated = _statement(rest.split(), goal, form, is_reason=match is not None) if rest else None
    both = [*([_POLAR_WORDS[match[1]]] if match else []), *([] if stated is None else [stated])]
    if not both or (rest and stated is None):
        return f"{text[:200]!r} is neither yes nor no"
    return "" if {*both} == {is_yes} else "the answer is the other one"


def _statement(words: list[str], goal: Goal, form: Form, *, is_reason: bool) -> bool | None:
    """Return the answer to the question in a statement such as "it is not in stock"; None for another text."""
    verb = next((index for index, word in enumerate(words) if word in _VERBS), -1)
    subject = " ".join(words[: max(verb, 0)])
    if verb > 0 and not (subject in _SUBJECTS or is_piece(subject, goal)):
        return None
    rest = words[verb + 1 :]
    is_denied = rest[:1] == ["not"]
    rest = rest[is_denied:]
    rest = rest[rest[:1] == ["be"] :]
    for phrases, is_yes in ((form.yes, True), (form.no, False)):
        for phrase in phrases:
            size = len(phrase.split())
            if rest[:size] == phrase.casefold().split() and (not rest[size:] or is_piece(" ".join(rest[size:]), goal)):
                return is_yes != is_denied
    is_plain = is_reason and verb > 0 and (not rest or is_piece(" ".join(words[verb + 1 + is_denied :]), goal))
    return not is_denied if is_plain else None
