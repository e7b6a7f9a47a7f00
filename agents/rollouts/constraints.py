"""Constrained decoding: replies that are well-formed actions on the page, as an automaton over the tokens of a tokenizer.

A language is made of texts, choices, lists and spans of given texts; servers that constrain by themselves are given it as a regular expression.
It becomes a nondeterministic automaton over the bytes of its texts, whose states are places in one buffer. Its size is that of
the texts. Sets of places are made only where a reply leads. A token is allowed if its bytes lead to a set that is not empty,
so that a text has all its tokenisations, and a token may cover the end of a label and what stands behind it. The tokens that are
allowed in a state are found by going through the beginnings of tokens, so one state takes time in proportion to its places, times the
length of the longest token.
"""

import json
import re
import unicodedata
from calendar import month_name, monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Union

import torch
from torch import Tensor

from agents.data.prompts import THINKING, PromptEncoder, Style
from agents.data.trajectories import Ids
from agents.models.small import WORD_MARK
from webarena_gym.actions import DIALECTS, Action, Kind

_WORD = re.compile(r"\\.|\w+|[^\w\s\\]")
_SPECIAL = frozenset(r"\^$.|?*+()[]{}-/")
FIXED = ("", "N/A", "Yes", "No")
"""The answers that need not stand anywhere."""
JOINTS = (", ", "; ", "\n", " in ", " near ")
"""Texts that may stand between the spans of an answer or of a text to type."""
_DIGITS = 3  # of a number that need not stand anywhere
_GAP = "\ue000"  # stands for a value in an action; a private character, so that nothing of it is escaped
_DIALECT = DIALECTS["webrl"]
_ALONE = (Kind.SCROLL_UP, Kind.SCROLL_DOWN, Kind.WAIT, Kind.GO_BACKWARD, Kind.GO_FORWARD)
_USED = (Kind.CLICK, Kind.HOVER, Kind.RIGHT_CLICK)
_TYPED = (Kind.TYPE, Kind.SEARCH)
_ATTRIBUTES = r'((?: [a-z-]+(?:="[^"<]*")?)*)'
_ELEMENT = re.compile(rf"<([a-z][a-z0-9-]*){_ATTRIBUTES}>([^<]*)")
_TAG = re.compile(rf"</?[a-z][a-z0-9-]*{_ATTRIBUTES}>|\n")
_ATTRIBUTE = re.compile(r' ([a-z-]+)(?:="([^"<]*)")?')
_TAB = re.compile(r"(?:^Tabs: | \| )\[([0-9]+)\]")
_OTHERS = frozenset(("tr", "td", "th", "img", "h1", "h2", "h3", "h4", "h5", "h6"))  # the tags that are no elements to act on
_FIELDS = frozenset(("input", "select", "textarea"))
_TICKED = frozenset(("checkbox", "radio"))
_MONTHS = {name[:3]: number for number, name in enumerate(month_name) if name}
_NAMED = re.compile(r"\b([A-Z][a-z]{2})[a-z]{0,6}\.? (?:([0-9]{1,2}),? )?([0-9]{4})\b")
_SLASHED = re.compile(r"\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b")
_ISO = re.compile(r"\b([0-9]{4})-([0-9]{2})-([0-9]{2})\b")


class Choice(NamedTuple):
    """Any one of the branches, at least one, each of which is a sequence."""

    branches: tuple["Language", ...]


class Spans(NamedTuple):
    """A run of whole words of one of the texts, as it stands there. Each text, at least one, has a word.

    Words are runs of letters and digits, single other characters, and escapes of a backslash and a character.
    """

    texts: tuple[str, ...]


class Listing(NamedTuple):
    """One item, or several with a joint between them."""

    item: "Node"
    joints: tuple[str, ...]


Node = Union[str, Choice, Spans, Listing]  # noqa: UP007 - a string cannot be joined to a forward reference by |
Language = tuple[Node, ...]
"""A sequence of parts."""


def words(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield where the words of a text begin and end.

    >>> [r'5 \" pipe'[start:end] for start, end in words(r'5 \" pipe')]
    ['5', '\\"', 'pipe']
    """
    return (match.span() for match in _WORD.finditer(text))


def one_of(texts: Sequence[str]) -> Choice:
    """Return a choice of texts."""
    return Choice(tuple((text,) for text in dict.fromkeys(texts)))


def regex(language: Language) -> str:
    r"""Return a regular expression for a language, in the common part of all syntaxes: groups, `|`, `?`, `*` and escapes.

    It has O(n log^2 n) characters for texts of n words in all.

    >>> regex(("go ", Choice((("up",), ("down",))), Spans(("a b.",))))
    'go (up|down)(((a|((b|\\.)|b\\.))|a (b|b\\.)))'
    """
    return "".join(map(_node, language))


def _node(node: Node) -> str:
    match node:
        case str():
            return _escaped(node)
        case Choice(branches):
            written = [text for branch in branches if (text := regex(branch))]
            optional = "?" if len(written) < len(branches) else ""
            return f"({'|'.join(written)}){optional}" if written else ""
        case Spans(texts):
            return "(" + "|".join(_spans(text, list(words(text)))[0] for text in texts) + ")"
        case Listing(item, joints):
            one = _node(item)
            return f"{one}(({'|'.join(map(_escaped, joints))}){one})*"


def _spans(text: str, places: Sequence[tuple[int, int]]) -> tuple[str, str, str, str]:
    """Return expressions for runs of these words: for all of them, those from the first, those to the last, and the whole.

    A run is one of either half, or an end of the first and a beginning of the second.
    """
    whole = _escaped(text[places[0][0] : places[-1][1]])
    if len(places) == 1:
        return whole, whole, whole, whole
    middle = len(places) // 2
    left, left_from, left_to, all_left = _spans(text, places[:middle])
    right, right_from, right_to, all_right = _spans(text, places[middle:])
    gap = _escaped(text[places[middle - 1][1] : places[middle][0]])
    return (
        f"(({left}|{right})|{left_to}{gap}{right_from})",
        f"({left_from}|{all_left}{gap}{right_from})",
        f"({right_to}|{left_to}{gap}{all_right})",
        whole,
    )


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


class Element(NamedTuple):
    """Something that can be acted on."""

    address: str
    is_typed_into: bool
    options: tuple[str, ...]  # of a drop-down list


@lru_cache(maxsize=1_024)
def read_offer(page: str) -> tuple[tuple[Element, ...], tuple[str, ...], tuple[str, ...]]:
    r"""Return the elements of a page that are not disabled, the indices of its tabs if there are several, and its texts.

    Texts are what stands between tags, and the values of attributes, each once.

    >>> elements, _, texts = read_offer('<tr><td>5 &lt; 6</td></tr>\n<a>More</a> <input label="City" value="Rome">')
    >>> [element.address for element in elements], texts
    (['More', 'City'], ('5 < 6', 'More', 'City', 'Rome'))
    """
    elements: list[Element] = []
    select: dict[str, str] | None = None
    options: list[str] = []
    texts: list[str] = []
    end = 0
    for match in _TAG.finditer(page):
        texts.append(page[end : match.start()])
        texts += [value for name, value in _ATTRIBUTE.findall(match[1] or "") if name != "id"]
        end = match.end()
    texts.append(page[end:])
    for tag, written, content in _ELEMENT.findall(page):
        attributes = dict(_ATTRIBUTE.findall(written))
        if tag == "option":
            options.append(_plain(content))
            continue
        if select is not None:
            elements += _element("select", select, "", tuple(options))
        select, options = attributes if tag == "select" else None, []
        if tag not in _OTHERS and tag != "select":
            elements += _element(tag, attributes, content, ())
    if select is not None:
        elements += _element("select", select, "", tuple(options))
    tabs = next((line for line in page.split("\n") if line.startswith("Tabs: ")), "")
    found = dict.fromkeys(filter(None, map(str.strip, map(_plain, texts))))
    return tuple(elements), tuple(_TAB.findall(tabs)), tuple(found)


def _element(tag: str, attributes: dict[str, str], content: str, options: tuple[str, ...]) -> list[Element]:
    """Return an element, or nothing if it is disabled or has no address."""
    address = attributes.get("id") or (attributes.get("label", "") if tag in _FIELDS else content)
    is_fixed = "disabled" in attributes or ("readonly" in attributes and tag in _FIELDS)
    is_typed_into = tag == "textarea" or (tag == "input" and attributes.get("type") not in _TICKED)
    return [Element(_plain(address).strip(), is_typed_into, options)] if address.strip() and not is_fixed else []


def _plain(text: str) -> str:
    return text.replace("&quot;", '"').replace("&lt;", "<")


def date_forms(text: str) -> tuple[str, ...]:
    """Return the dates of a text as 03/31/2021 and as 2021-03-31; of a month, its first and its last day.

    >>> date_forms("from March 2021 to Apr 5, 2021")
    ('03/01/2021', '2021-03-01', '03/31/2021', '2021-03-31', '04/05/2021', '2021-04-05')
    """
    found: list[tuple[int, int, int]] = []
    for name, day, year in _NAMED.findall(text):
        if (month := _MONTHS.get(name)) and int(year) >= 1:
            days = (int(day),) if day else (1, monthrange(int(year), month)[1])
            found += [(int(year), month, each) for each in days]
    found += [(int(year), int(month), int(day)) for month, day, year in _SLASHED.findall(text)]
    found += [(int(year), int(month), int(day)) for year, month, day in _ISO.findall(text)]
    valid = [
        date(year, month, day) for year, month, day in dict.fromkeys(found)
        if year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    ]  # fmt: skip
    return tuple(form for each in valid for form in (f"{each:%m/%d}/{each.year:04}", each.isoformat()))


def language_of(goal: str, page: str) -> Language:
    """Return the well-formed actions of the webrl dialect on a page, as the env shows it in simplified HTML.

    Elements are those that the page shows and that are not disabled; what is typed goes into text fields, and an option belongs to its
    drop-down list. What is typed, and the answer, are spans of the goal or the page, dates of the goal in other forms, or lists of them
    with joints of `JOINTS`. A field may be emptied. Answers may also be numbers of up to three digits, or one of `FIXED`.
    """
    elements, tabs, found = read_offer(page)
    fields = [element for element in elements if element.is_typed_into]
    texts = tuple(text for text in dict.fromkeys(map(_written, (goal, *found))) if any(words(text)))
    typed: list[Language] = [(Spans(texts),)] if texts else []
    typed += [(_written(form),) for form in date_forms(goal)]
    branches: list[Language] = [(_DIALECT.format(Action(kind)),) for kind in _ALONE]
    branches.append((_DIALECT.format(Action(Kind.PRESS, argument="Enter")),))
    answers = (_list_of([*typed, _number(_DIGITS)]),)
    branches.append(_filled(Kind.EXIT, Choice((answers, *one_of(FIXED).branches))))
    if tabs:
        branches.append(_filled(Kind.SWITCH_TAB, one_of(tabs)))
    if elements:
        heads, tails = zip(*(_around(kind) for kind in _USED), strict=True)
        branches.append((one_of(heads), _addresses(elements), tails[0]))
    if fields:
        (head, middle, end), (other, _, _) = map(_around, _TYPED)
        argument = Choice(((_list_of(typed),), ())) if typed else ""
        branches.append((one_of((head, other)), argument, middle, _addresses(fields), end))
    for element in elements:
        if element.options:
            head, middle, end = _around(Kind.SELECT)
            branches.append((head, one_of(list(map(_written, element.options))), middle, _written(element.address), end))
    return (Choice(tuple(branches)),)


def _list_of(items: Sequence[Language]) -> Listing:
    return Listing(Choice(tuple(items)), tuple(map(_written, JOINTS)))


def _number(digits: int) -> Language:
    more = (Choice(((), _number(digits - 1))),) if digits > 1 else ()
    return (one_of("0123456789"), *more)


def _addresses(elements: Sequence[Element]) -> Choice:
    return one_of([_written(element.address) for element in elements])


def _around(kind: Kind) -> tuple[str, ...]:
    """Return what is written around the values of a kind of action."""
    form = next(form for form in _DIALECT.forms if form.kind is kind)
    return tuple(_DIALECT.spell(form.name, {parameter.name: _GAP for parameter in form.parameters}).split(_GAP))


def _filled(kind: Kind, value: Node) -> Language:
    head, end = _around(kind)
    return (head, value, end)


def _written(text: str) -> str:
    """Return a text as it is written inside the quotes of an action."""
    head, end = _around(Kind.EXIT)
    return _DIALECT.format(Action(Kind.EXIT, argument=text))[len(head) : -len(end)]


# The automaton.

MARK = ord(WORD_MARK)
"""The byte of the house's tokenizer that is written as a blank after a letter or digit, and else as nothing."""

_TRIED = 'do(action="Type", argument="5 Größen, \\"naïve\\" 日本", element="Add to Cart [2]")'
_META_BLANK = "\u2581"  # SentencePiece's
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # a token of a byte, in its vocabularies
_BLANK = ord(" ")
# Byte-level vocabularies write some bytes as themselves, and the others as further characters (GPT-2's table).
_PLAIN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_CHARACTERS = {chr(byte): byte for byte in _PLAIN} | {
    chr(0x100 + number): byte for number, byte in enumerate(byte for byte in range(0x100) if byte not in _PLAIN)
}
_END = 0  # the byte after each text, which no token matches
_CONTINUES = 0x80  # the bytes of a character after its first are 0x80 to 0xBF
_KEPT = 128  # automata of pages, of some megabytes each


class Vocabulary(NamedTuple):
    """The tokens that can be part of a reply; special tokens, and those that add nothing, are left out."""

    ids: dict[bytes, Ids]  # by the bytes that the tokens add; several may add the same
    prefixes: frozenset[bytes]  # all beginnings of these bytes, themselves included
    lead: str  # what the tokens of a reply spell before it, which decoding removes
    has_marks: bool  # whether `MARK` has its meaning
    has_all_bytes: bool  # whether every byte is a token

    @classmethod
    def of(cls, tokenizer: Any, stop_ids: frozenset[int] = frozenset()) -> "Vocabulary":
        """Return the vocabulary of a byte-level or SentencePiece tokenizer of transformers, without the tokens that end a reply.

        Raises ValueError for a tokenizer whose tokens are not parts of the text that they stand for.
        """
        name = type(tokenizer).__name__
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"the tokenizer {name} is a slow one, whose tokens cannot be read; expected a fast tokenizer")
        decoder = json.loads(tokenizer.backend_tokenizer.to_str())["decoder"] or {}
        kinds = _kinds(decoder)
        added = tokenizer.added_tokens_decoder
        special = stop_ids | set(tokenizer.all_special_ids) | {token for token, content in added.items() if content.special}
        ids: dict[bytes, list[int]] = defaultdict(list)
        by_id: dict[int, bytes] = {}
        for content, token in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
            if token in added:
                written = content.encode()
            elif "ByteLevel" in kinds:
                is_spelled = set(content) <= _CHARACTERS.keys()
                written = bytes(map(_CHARACTERS.__getitem__, content)) if is_spelled else content.encode()
            elif byte := _BYTE.fullmatch(content):
                written = bytes((int(byte[1], 16),))
            else:
                written = content.replace(_META_BLANK, " ").encode()
            by_id[token] = written
            if written and token not in special:
                ids[written].append(token)
        has_marks = json.dumps(WORD_MARK)[1:-1] in json.dumps(decoder)
        tried_text = _TRIED
        tried = tokenizer(tried_text, add_special_tokens=False)["input_ids"]
        if tokenizer.unk_token_id in tried:
            tried_text = "".join(filter(str.isascii, _TRIED))
            tried = tokenizer(tried_text, add_special_tokens=False)["input_ids"]
        spelled = b"".join(by_id.get(token, b"?") for token in tried)
        found = (_unmarked(spelled) if has_marks else spelled).decode(errors="replace")
        lead = found.removesuffix(tried_text)
        if not found.endswith(tried_text) or lead.strip() or tokenizer.decode(tried) != tried_text:
            raise ValueError(f"the tokens of {name} spell {found[:80]!r}; expected the text that they were made of")
        prefixes = frozenset(written[:end] for written in ids for end in range(1, len(written) + 1))
        has_all_bytes = all(bytes((byte,)) in ids for byte in range(1, 256))
        return cls({written: tuple(tokens) for written, tokens in ids.items()}, prefixes, lead, has_marks, has_all_bytes)

    def can_spell(self, text: str) -> bool:
        """Return whether every character of a text is a token, or made of tokens of one byte."""
        if "\0" in text or (self.has_marks and WORD_MARK in text):
            return False
        return self.has_all_bytes or all(
            character.encode() in self.ids or all(bytes((byte,)) in self.ids for byte in character.encode())
            for character in set(text)
        )


def _kinds(decoder: Mapping[str, Any]) -> set[str]:
    return {decoder.get("type", "")}.union(*map(_kinds, decoder.get("decoders", ())))


def _unmarked(spelled: bytes) -> bytes:
    """Return a text as decoding writes it: marks are blanks after letters and digits, and else nothing."""
    written = ""
    for character in spelled.decode(errors="replace"):
        if character != WORD_MARK:
            written += character
        elif written[-1:].isalnum():
            written += " "
    return written.encode()


class Position(NamedTuple):
    """The state of an automaton after some bytes of a reply."""

    places: tuple[int, ...]  # in the buffer, in ascending order
    follows_word: bool = False  # whether the last character is a letter or a digit
    follows_mark: bool = False  # whether the last byte was a mark that is written as nothing, behind which there must be a text


class State:
    """The state of an automaton after some tokens of a reply, with the tokens that may come next."""

    def __init__(self, automaton: "Constraint", position: Position) -> None:
        self._automaton, self._position = automaton, position

    @cached_property
    def allowed(self) -> Tensor:
        """The tokens that may come next, in ascending order, shape (A,). A stop token ends the reply."""
        with torch.inference_mode(mode=False):  # the learner uses what the sampler asked for
            return torch.tensor(sorted(self._next), dtype=torch.int64)

    def after(self, token: int) -> "State | None":
        """Return the state after an allowed token; None if it ends the reply. Raises ValueError for a token that is not allowed."""
        if token not in self._next:
            raise ValueError(f"token {token} is not one of the {len(self._next)} that are allowed")
        position = self._next[token]
        return None if position is None else self._automaton.state(position)

    @cached_property
    def _next(self) -> dict[int, Position | None]:
        return self._automaton.find_next(self._position)


class Constraint:
    """The language that a reply is to be of, as an automaton over tokens and as a regular expression, both made when they are used.

    `stop_ids` are the tokens that may end a reply.
    """

    def __init__(self, language: Language, vocabulary: Vocabulary, stop_ids: frozenset[int]) -> None:
        self._language, self._vocabulary, self._stop_ids = language, vocabulary, stop_ids
        self._buffer = bytearray()
        # where one goes on, without a byte, from the place that a byte has led to
        self._follow: dict[int, tuple[int, ...]] = {}
        # the beginnings of the items of lists, by the place that stands for all of them
        self._hubs: dict[int, tuple[int, ...]] = {}
        self._final = self._add(b"")
        self._states: dict[Position, State] = {}

    @cached_property
    def start(self) -> State:
        """The state before the first token."""
        entries = self._sequence((self._vocabulary.lead, *self._language), (self._final,))
        return self.state(Position(self._closed((), entries)))

    @cached_property
    def regex(self) -> str:
        """A regular expression that the whole reply matches, for servers that decode by one."""
        return regex(self._language)

    def state(self, position: Position) -> State:
        """Return the state of a position, which is kept."""
        return self._states.setdefault(position, State(self, position))

    def path(self, response_ids: Ids) -> list[State]:
        """Return the state before each token of a response. Raises ValueError for a token that is not allowed."""
        state: State | None = self.start
        states = []
        for number, token in enumerate(response_ids):
            if state is None:
                raise ValueError(f"a response of {len(response_ids)} tokens has a stop token in place {number - 1}")
            states.append(state)
            state = state.after(token)
        return states

    def find_next(self, position: Position) -> dict[int, Position | None]:
        """Return the positions after each token that may come next."""
        ids, prefixes, has_marks = self._vocabulary.ids, self._vocabulary.prefixes, self._vocabulary.has_marks
        is_final = self._final in position.places and not position.follows_mark
        found: dict[int, Position | None] = dict.fromkeys(self._stop_ids) if is_final else {}
        pending: list[tuple[bytes, Position]] = [(b"", position)]
        while pending:
            before, at = pending.pop()
            reached: dict[int, list[int]] = {}
            for place in at.places:
                byte = self._buffer[place]
                if byte != _END and (byte == _BLANK or before + bytes((byte,)) in prefixes):
                    reached.setdefault(byte, []).append(place + 1)
            spelled = [
                (before + bytes((byte,)), Position(self._closed(places), self._ends_word(places[0])))
                for byte, places in reached.items()
            ]
            if has_marks and not at.follows_mark and not any(self._buffer[place] & 0xC0 == _CONTINUES for place in at.places):
                marked = before + bytes((MARK,))
                if not at.follows_word and at.places != (self._final,):
                    spelled.append((marked, at._replace(follows_mark=True)))
                elif at.follows_word and _BLANK in reached:
                    spelled.append((marked, Position(self._closed(reached[_BLANK]))))
            for written, after in spelled:
                if written in prefixes:
                    found.update(dict.fromkeys(ids.get(written, ()), after))
                    pending.append((written, after))
        return found

    def _closed(self, places: Iterable[int], begun: Iterable[int] = ()) -> tuple[int, ...]:
        """Return the places that bytes have led to, those that are begun at, and all that can be reached from them without a byte.

        A word may end where the next begins, so what follows a word is reached by its last byte only.
        """
        arrived = set(places)
        pending = {*begun, *(place for each in arrived for place in self._follow.get(each, ()))}
        found = arrived | pending | {place for each in pending for place in self._hubs.get(each, ())}
        return tuple(sorted(place for place in found if self._buffer[place] != _END or place == self._final))

    def _ends_word(self, place: int) -> bool:
        """Return whether the character before a place is a letter or a digit, as marks take it."""
        if not self._vocabulary.has_marks:
            return False
        if self._buffer[place - 1] < _CONTINUES:
            return chr(self._buffer[place - 1]).isalnum()
        read = bytes(self._buffer[max(0, place - 4) : place]).decode(errors="ignore")
        return unicodedata.category(read[-1:] or " ")[0] in "LN"

    # The buffer.

    def _add(self, text: bytes) -> int:
        """Put a text down, and return the place behind it."""
        self._buffer += text
        self._buffer.append(_END)
        return len(self._buffer) - 1

    def _sequence(self, parts: Language, follow: tuple[int, ...]) -> tuple[int, ...]:
        """Put the parts down and return where the sequence begins; `follow` is where it goes on."""
        for part in reversed(parts):
            follow = self._part(part, follow)
        return follow

    def _part(self, part: Node, follow: tuple[int, ...]) -> tuple[int, ...]:
        match part:
            case str():
                return self._text(part, follow)
            case Choice(branches):
                return tuple(place for branch in branches for place in self._sequence(branch, follow))
            case Spans(texts):
                return tuple(place for text in texts for place in self._spans(text, follow))
            case Listing(item, joints):
                hub = self._add(b"")
                behind = tuple(place for joint in joints for place in self._text(joint, (hub,)))
                self._hubs[hub] = self._part(item, follow + behind)
                return (hub,)

    def _text(self, text: str, follow: tuple[int, ...]) -> tuple[int, ...]:
        if not text:
            return follow
        if not self._vocabulary.can_spell(text):
            return ()
        start = len(self._buffer)
        self._follow[self._add(text.encode())] = follow
        return (start,)

    def _spans(self, text: str, follow: tuple[int, ...]) -> list[int]:
        entries: list[int] = []
        last = 0  # where the word before ends
        for first, end in words(text):
            word, gap = text[first:end], text[last:first]
            if not self._vocabulary.can_spell(word):
                continue
            if entries and self._vocabulary.can_spell(gap):  # a gap may hold words that cannot be spelled
                self._buffer += gap.encode()
            elif entries:
                self._add(b"")
            entries.append(len(self._buffer))
            self._buffer += word.encode()
            self._follow[len(self._buffer)] = follow
            last = end
        self._add(b"")
        return entries


class Constraints:
    """Makes the constraints of the replies of one tokenizer: `on(goal, page)`. Equal goals and pages have equal constraints.

    Raises ValueError for a tokenizer that cannot be constrained.
    """

    def __init__(self, encoder: PromptEncoder) -> None:
        stop_ids = encoder.stop_ids
        vocabulary = Vocabulary.of(encoder.tokenizer, stop_ids)

        @lru_cache(maxsize=_KEPT)
        def on(goal: str, page: str) -> Constraint:
            return Constraint(language_of(goal, page), vocabulary, stop_ids)

        self.on = on


def create_constraints(encoder: PromptEncoder, *, constrained: bool, system: Style) -> Constraints | None:
    """Return what constrains replies where they are to be. Raises ValueError where they cannot be: with thoughts before the action."""
    if constrained and system in THINKING:
        raise ValueError("constrained replies are actions alone, and system is 'think'; expected 'none', 'act' or 'env'")
    return Constraints(encoder) if constrained else None
