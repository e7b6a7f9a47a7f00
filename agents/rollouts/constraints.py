"""Constrained decoding: limits replies to well-formed actions on the page, by an automaton over the tokens of a tokenizer.

A language consists of texts, alternatives, separated lists, and spans of texts. For servers with structured outputs it is converted to a
regular expression. In this process it is compiled to a nondeterministic finite automaton (NFA) over bytes. The NFA's states are indices into
one buffer that holds the texts, so its size is that of the texts. Sets of NFA states are computed on demand, along the sampled reply.

A token is allowed if its bytes lead to a non-empty set. Hence every tokenization of a text is allowed, and a token may extend over the end of
a label. The allowed tokens are found by walking the prefixes of all tokens, so the time is proportional to the number of NFA states in
the set times the length of the longest token.
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
"""Answers that are allowed on every page."""
JOINTS = (", ", "; ", "\n", " in ", " near ")
"""Separators of the spans in an answer or in a typed text."""
_MAX_DIGITS = 3  # digits of the numbers that are allowed as answers on every page
_PLACEHOLDER = "\ue000"  # a value in an action; a private-use character, which no dialect escapes
_DIALECT = DIALECTS["webrl"]
_PLAIN_KINDS = (Kind.SCROLL_UP, Kind.SCROLL_DOWN, Kind.WAIT, Kind.GO_BACKWARD, Kind.GO_FORWARD)
_ELEMENT_KINDS = (Kind.CLICK, Kind.HOVER, Kind.RIGHT_CLICK)
_TEXT_KINDS = (Kind.TYPE, Kind.SEARCH)
_ATTRIBUTES = r'((?: [a-z-]+(?:="[^"<]*")?)*)'
_ELEMENT = re.compile(rf"<([a-z][a-z0-9-]*){_ATTRIBUTES}>([^<]*)")
_TAG = re.compile(rf"</?[a-z][a-z0-9-]*{_ATTRIBUTES}>|\n")
_ATTRIBUTE = re.compile(r' ([a-z-]+)(?:="([^"<]*)")?')
_TAB = re.compile(r"(?:^Tabs: | \| )\[([0-9]+)\]")
_PASSIVE_TAGS = frozenset(("tr", "td", "th", "img", "h1", "h2", "h3", "h4", "h5", "h6"))  # tags without actions
_FIELD_TAGS = frozenset(("input", "select", "textarea"))
_CHECKABLE = frozenset(("checkbox", "radio"))
_MONTHS = {name[:3]: number for number, name in enumerate(month_name) if name}
_NAMED = re.compile(r"\b([A-Z][a-z]{2})[a-z]{0,6}\.? (?:([0-9]{1,2}),? )?([0-9]{4})\b")
_SLASHED = re.compile(r"\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b")
_ISO = re.compile(r"\b([0-9]{4})-([0-9]{2})-([0-9]{2})\b")


class Alternatives(NamedTuple):
    """One of several sequences, of which there is at least one."""

    branches: tuple["Language", ...]


class Spans(NamedTuple):
    """A substring of one of the texts that starts and ends at word boundaries. Each text has at least one word.

    A word is a run of letters and digits, a backslash with the next character, or any other single character except whitespace.
    """

    texts: tuple[str, ...]


class SeparatedList(NamedTuple):
    """One or more items, with one of the separators `joints` between each two."""

    item: "Node"
    joints: tuple[str, ...]


Node = Union[str, Alternatives, Spans, SeparatedList]  # noqa: UP007 - a string cannot be joined to a forward reference by |
Language = tuple[Node, ...]
"""A sequence of nodes, whose texts are concatenated."""


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the start and end index of each word of a text.

    >>> [r'5 \" pipe'[start:end] for start, end in word_spans(r'5 \" pipe')]
    ['5', '\\"', 'pipe']
    """
    return (match.span() for match in _WORD.finditer(text))


def one_of(texts: Sequence[str]) -> Alternatives:
    """Return the alternatives of these texts, without duplicates."""
    return Alternatives(tuple((text,) for text in dict.fromkeys(texts)))


def regex(language: Language) -> str:
    r"""Return a regular expression for a language. It uses only groups, `|`, `?`, `*` and escapes, which all engines support.

    Its length is O(n log^2 n) for texts with n words in total.

    >>> regex(("go ", Alternatives((("up",), ("down",))), Spans(("a b.",))))
    'go (up|down)(((a|((b|\\.)|b\\.))|a (b|b\\.)))'
    """
    return "".join(map(_node_regex, language))


def _node_regex(node: Node) -> str:
    match node:
        case str():
            return _escape(node)
        case Alternatives(branches):
            patterns = [text for branch in branches if (text := regex(branch))]
            optional = "?" if len(patterns) < len(branches) else ""
            return f"({'|'.join(patterns)}){optional}" if patterns else ""
        case Spans(texts):
            return "(" + "|".join(_spans_regex(text, list(word_spans(text)))[0] for text in texts) + ")"
        case SeparatedList(item, joints):
            item_regex = _node_regex(item)
            return f"{item_regex}(({'|'.join(map(_escape, joints))}){item_regex})*"


def _spans_regex(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, str, str, str]:
    """Return regular expressions for the runs of the words at `spans`.

    They match any run, a run from the first word on, a run up to the last word, and all words. A run is a run of either half, or a suffix
    of the first half followed by a prefix of the second.
    """
    all_words = _escape(text[spans[0][0] : spans[-1][1]])
    if len(spans) == 1:
        return all_words, all_words, all_words, all_words
    middle = len(spans) // 2
    left, left_from, left_to, all_left = _spans_regex(text, spans[:middle])
    right, right_from, right_to, all_right = _spans_regex(text, spans[middle:])
    separator = _escape(text[spans[middle - 1][1] : spans[middle][0]])
    return (
        f"(({left}|{right})|{left_to}{separator}{right_from})",
        f"({left_from}|{all_left}{separator}{right_from})",
        f"({right_to}|{left_to}{separator}{all_right})",
        all_words,
    )


def _escape(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


class PageElement(NamedTuple):
    """An interactive element of a page."""

    name: str  # its id or label, as actions name it
    is_text_field: bool
    options: tuple[str, ...]  # of a drop-down list


@lru_cache(maxsize=1_024)
def parse_page_parts(page: str) -> tuple[tuple[PageElement, ...], tuple[str, ...], tuple[str, ...]]:
    r"""Return the enabled elements of a page, the indices of its tabs if there are several, and its texts.

    The texts are those between tags and the values of attributes except ids, without duplicates.

    >>> elements, _, texts = parse_page_parts('<tr><td>5 &lt; 6</td></tr>\n<a>More</a> <input label="City" value="Rome">')
    >>> [element.name for element in elements], texts
    (['More', 'City'], ('5 < 6', 'More', 'City', 'Rome'))
    """
    elements: list[PageElement] = []
    select: dict[str, str] | None = None
    options: list[str] = []
    texts: list[str] = []
    end = 0
    for match in _TAG.finditer(page):
        texts.append(page[end : match.start()])
        texts += [value for name, value in _ATTRIBUTE.findall(match[1] or "") if name != "id"]
        end = match.end()
    texts.append(page[end:])
    for tag, attribute_text, content in _ELEMENT.findall(page):
        attributes = dict(_ATTRIBUTE.findall(attribute_text))
        if tag == "option":
            options.append(_unescape(content))
            continue
        if select is not None:
            elements += _create_element("select", select, "", tuple(options))
        select, options = attributes if tag == "select" else None, []
        if tag not in _PASSIVE_TAGS and tag != "select":
            elements += _create_element(tag, attributes, content, ())
    if select is not None:
        elements += _create_element("select", select, "", tuple(options))
    tabs = next((line for line in page.split("\n") if line.startswith("Tabs: ")), "")
    page_texts = dict.fromkeys(filter(None, map(str.strip, map(_unescape, texts))))
    return tuple(elements), tuple(_TAB.findall(tabs)), tuple(page_texts)


def _create_element(tag: str, attributes: dict[str, str], content: str, options: tuple[str, ...]) -> list[PageElement]:
    """Return a list of the element, which is empty if the element is disabled or has no name."""
    name = attributes.get("id") or (attributes.get("label", "") if tag in _FIELD_TAGS else content)
    is_fixed = "disabled" in attributes or ("readonly" in attributes and tag in _FIELD_TAGS)
    is_text_field = tag == "textarea" or (tag == "input" and attributes.get("type") not in _CHECKABLE)
    return [PageElement(_unescape(name).strip(), is_text_field, options)] if name.strip() and not is_fixed else []


def _unescape(text: str) -> str:
    return text.replace("&quot;", '"').replace("&lt;", "<")


def date_forms(text: str) -> tuple[str, ...]:
    """Return the dates in a text, each in the forms 03/31/2021 and 2021-03-31. For a month, return its first and last day.

    >>> date_forms("from March 2021 to Apr 5, 2021")
    ('03/01/2021', '2021-03-01', '03/31/2021', '2021-03-31', '04/05/2021', '2021-04-05')
    """
    dates: list[tuple[int, int, int]] = []
    for name, day, year in _NAMED.findall(text):
        if (month := _MONTHS.get(name)) and int(year) >= 1:
            days = (int(day),) if day else (1, monthrange(int(year), month)[1])
            dates += [(int(year), month, item) for item in days]
    dates += [(int(year), int(month), int(day)) for month, day, year in _SLASHED.findall(text)]
    dates += [(int(year), int(month), int(day)) for year, month, day in _ISO.findall(text)]
    valid = [
        date(year, month, day) for year, month, day in dict.fromkeys(dates)
        if year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    ]  # fmt: skip
    return tuple(form for item in valid for form in (f"{item:%m/%d}/{item.year:04}", item.isoformat()))


def action_language(goal: str, page: str) -> Language:
    """Return the language of all well-formed actions of the webrl dialect on a page.

    Actions refer to enabled elements of the page, typed texts to its text fields, and options to their drop-down lists. Typed texts and
    answers are spans of the goal or the page, dates of the goal in other forms, or lists of these, separated by `JOINTS`. A typed text may be
    empty. Answers may also be numbers of up to three digits, or one of `FIXED`.

    Args:
        goal: The task's goal.
        page: The observed page, in simplified HTML.

    """
    elements, tabs, page_texts = parse_page_parts(page)
    fields = [element for element in elements if element.is_text_field]
    texts = tuple(text for text in dict.fromkeys(map(_quote, (goal, *page_texts))) if any(word_spans(text)))
    typed_texts: list[Language] = [(Spans(texts),)] if texts else []
    typed_texts += [(_quote(form),) for form in date_forms(goal)]
    branches: list[Language] = [(_DIALECT.format(Action(kind)),) for kind in _PLAIN_KINDS]
    branches.append((_DIALECT.format(Action(Kind.PRESS, argument="Enter")),))
    answers = (_list_of([*typed_texts, _number(_MAX_DIGITS)]),)
    branches.append(_action_with_value(Kind.EXIT, Alternatives((answers, *one_of(FIXED).branches))))
    if tabs:
        branches.append(_action_with_value(Kind.SWITCH_TAB, one_of(tabs)))
    if elements:
        heads, tails = zip(*(_surrounding_text(kind) for kind in _ELEMENT_KINDS), strict=True)
        branches.append((one_of(heads), _element_names(elements), tails[0]))
    if fields:
        (head, middle, end), (other_head, _, _) = map(_surrounding_text, _TEXT_KINDS)
        argument = Alternatives(((_list_of(typed_texts),), ())) if typed_texts else ""
        branches.append((one_of((head, other_head)), argument, middle, _element_names(fields), end))
    for element in elements:
        if element.options:
            head, middle, end = _surrounding_text(Kind.SELECT)
            branches.append((head, one_of(list(map(_quote, element.options))), middle, _quote(element.name), end))
    return (Alternatives(tuple(branches)),)


def _list_of(items: Sequence[Language]) -> SeparatedList:
    return SeparatedList(Alternatives(tuple(items)), tuple(map(_quote, JOINTS)))


def _number(digits: int) -> Language:
    following = (Alternatives(((), _number(digits - 1))),) if digits > 1 else ()
    return (one_of("0123456789"), *following)


def _element_names(elements: Sequence[PageElement]) -> Alternatives:
    return one_of([_quote(element.name) for element in elements])


def _surrounding_text(kind: Kind) -> tuple[str, ...]:
    """Return the texts before, between and after the values of an action of this kind."""
    form = next(form for form in _DIALECT.forms if form.kind is kind)
    return tuple(_DIALECT.spell(form.name, {parameter.name: _PLACEHOLDER for parameter in form.parameters}).split(_PLACEHOLDER))


def _action_with_value(kind: Kind, value: Node) -> Language:
    head, end = _surrounding_text(kind)
    return (head, value, end)


def _quote(text: str) -> str:
    """Return a text with the escapes that it has inside the quotes of an action."""
    head, end = _surrounding_text(Kind.EXIT)
    return _DIALECT.format(Action(Kind.EXIT, argument=text))[len(head) : -len(end)]


# The automaton.

MARK = ord(WORD_MARK)
"""The word mark of `agents.models.small`. Decoding turns it into a space after a letter or digit, and removes it elsewhere."""

_SAMPLE_TEXT = 'do(action="Type", argument="5 Größen, \\"naïve\\" 日本", element="Add to Cart [2]")'
_SENTENCEPIECE_SPACE = "\u2581"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # a token of one byte in SentencePiece vocabularies
_SPACE = ord(" ")
# Byte-level vocabularies represent printable bytes by themselves, and others by characters from 0x100 on (GPT-2's table).
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_CHARACTERS = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(0x100 + number): byte for number, byte in enumerate(byte for byte in range(0x100) if byte not in _PRINTABLE)
}
_END_BYTE = 0  # terminates each text in the buffer; no token contains it
_CONTINUATION_BYTE = 0x80  # in UTF-8, all bytes of a character except the first are 0x80 to 0xBF
_MAX_CACHED = 128  # automata, of some megabytes each


class TokenVocabulary(NamedTuple):
    """The tokens of a tokenizer that can be part of a reply, without special tokens and empty tokens."""

    ids: dict[bytes, Ids]  # token ids by the bytes that they decode to
    prefixes: frozenset[bytes]  # all non-empty prefixes of these bytes
    lead: str  # text that encoding adds before a reply and decoding removes
    has_marks: bool  # whether the tokenizer uses `MARK`
    has_all_bytes: bool  # whether every byte has a token

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, stop_ids: frozenset[int] = frozenset()) -> "TokenVocabulary":
        """Return the vocabulary of a byte-level or SentencePiece tokenizer of transformers, without the stop tokens.

        Raises:
            ValueError: The tokenizer is not a fast one, or the concatenated tokens of a text are not the text.

        """
        class_name = type(tokenizer).__name__
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(
                f"the tokenizer {class_name} is a slow one, without access to its tokens; expected a fast tokenizer"
            )
        decoder = json.loads(tokenizer.backend_tokenizer.to_str())["decoder"] or {}
        decoder_types = _decoder_types(decoder)
        added_tokens = tokenizer.added_tokens_decoder
        special = (
            stop_ids
            | set(tokenizer.all_special_ids)
            | {token for token, token_text in added_tokens.items() if token_text.special}
        )
        ids: dict[bytes, list[int]] = defaultdict(list)
        bytes_by_id: dict[int, bytes] = {}
        for token_text, token in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
            if token in added_tokens:
                token_bytes = token_text.encode()
            elif "ByteLevel" in decoder_types:
                is_byte_level = set(token_text) <= _CHARACTERS.keys()
                token_bytes = bytes(map(_CHARACTERS.__getitem__, token_text)) if is_byte_level else token_text.encode()
            elif byte := _BYTE.fullmatch(token_text):
                token_bytes = bytes((int(byte[1], 16),))
            else:
                token_bytes = token_text.replace(_SENTENCEPIECE_SPACE, " ").encode()
            bytes_by_id[token] = token_bytes
            if token_bytes and token not in special:
                ids[token_bytes].append(token)
        has_marks = json.dumps(WORD_MARK)[1:-1] in json.dumps(decoder)
        sample = _SAMPLE_TEXT
        sample_ids = tokenizer(sample, add_special_tokens=False)["input_ids"]
        if tokenizer.unk_token_id in sample_ids:
            sample = "".join(filter(str.isascii, _SAMPLE_TEXT))
            sample_ids = tokenizer(sample, add_special_tokens=False)["input_ids"]
        sample_bytes = b"".join(bytes_by_id.get(token, b"?") for token in sample_ids)
        decoded = (_decode_marks(sample_bytes) if has_marks else sample_bytes).decode(errors="replace")
        lead = decoded.removesuffix(sample)
        if not decoded.endswith(sample) or lead.strip() or tokenizer.decode(sample_ids) != sample:
            raise ValueError(
                f"the concatenated tokens of {class_name} are {decoded[:80]!r}; expected the encoded text, {sample[:80]!r}"
            )
        prefixes = frozenset(token_bytes[:end] for token_bytes in ids for end in range(1, len(token_bytes) + 1))
        has_all_bytes = all(bytes((byte,)) in ids for byte in range(1, 256))
        return cls(
            {token_bytes: tuple(tokens) for token_bytes, tokens in ids.items()}, prefixes, lead, has_marks, has_all_bytes
        )

    def can_spell(self, text: str) -> bool:
        """Return True if every character of a text has a token or can be composed of byte tokens."""
        if "\0" in text or (self.has_marks and WORD_MARK in text):
            return False
        return self.has_all_bytes or all(
            character.encode() in self.ids or all(bytes((byte,)) in self.ids for byte in character.encode())
            for character in set(text)
        )


def _decoder_types(decoder: Mapping[str, Any]) -> set[str]:
    return {decoder.get("type", "")}.union(*map(_decoder_types, decoder.get("decoders", ())))


def _decode_marks(encoded: bytes) -> bytes:
    """Return a text with its word marks decoded: a space after letters and digits, and nothing elsewhere."""
    text = ""
    for character in encoded.decode(errors="replace"):
        if character != WORD_MARK:
            text += character
        elif text[-1:].isalnum():
            text += " "
    return text.encode()


class AutomatonPosition(NamedTuple):
    """The set of NFA states after some bytes of a reply."""

    indices: tuple[int, ...]  # NFA states, as indices into the buffer in ascending order
    follows_word: bool = False  # whether the last character is a letter or a digit
    follows_mark: bool = False  # whether the last byte is a mark that decodes to nothing, which a text must follow


class ConstraintState:
    """The state of a constraint after some tokens of a reply, with the tokens allowed next."""

    def __init__(self, automaton: "Constraint", position: AutomatonPosition) -> None:
        self._automaton, self._position = automaton, position

    @cached_property
    def allowed_ids(self) -> Tensor:
        """The ids of the tokens allowed next, in ascending order, shape (A,). A stop token ends the reply."""
        with torch.inference_mode(mode=False):  # the learner reuses the tensor that the sampler created
            return torch.tensor(sorted(self._next), dtype=torch.int64)

    def advance(self, token: int) -> "ConstraintState | None":
        """Return the state after an allowed token, or None if it ends the reply. Raises ValueError if the token is not allowed."""
        if token not in self._next:
            raise ValueError(f"token {token} is not allowed; expected one of {len(self._next)} other tokens")
        position = self._next[token]
        return None if position is None else self._automaton.state(position)

    @cached_property
    def _next(self) -> dict[int, AutomatonPosition | None]:
        return self._automaton.next_positions(self._position)


class Constraint:
    """A constraint on replies, as an automaton over tokens and as a regular expression. Both are created on first use.

    Args:
        language: Language of the allowed replies.
        vocabulary: Tokens of the tokenizer.
        stop_ids: Ids of the tokens that may end a reply.

    """

    def __init__(self, language: Language, vocabulary: TokenVocabulary, stop_ids: frozenset[int]) -> None:
        self._language, self._vocabulary, self._stop_ids = language, vocabulary, stop_ids
        self._buffer = bytearray()
        # epsilon transitions from the end of a text or word
        self._continuations: dict[int, tuple[int, ...]] = {}
        # epsilon transitions from the index that represents a list to the starts of its items
        self._list_entries: dict[int, tuple[int, ...]] = {}
        self._final = self._append_text(b"")
        self._states: dict[AutomatonPosition, ConstraintState] = {}

    @cached_property
    def start(self) -> ConstraintState:
        """The state before the first token."""
        entries = self._compile_sequence((self._vocabulary.lead, *self._language), (self._final,))
        return self.state(AutomatonPosition(self._epsilon_closure((), entries)))

    @cached_property
    def regex(self) -> str:
        """A regular expression that matches whole replies, for servers with structured outputs."""
        return regex(self._language)

    def state(self, position: AutomatonPosition) -> ConstraintState:
        """Return the cached state of a position."""
        return self._states.setdefault(position, ConstraintState(self, position))

    def response_states(self, response_ids: Ids) -> list[ConstraintState]:
        """Return the state before each token of a response. Raises ValueError if a token is not allowed."""
        state: ConstraintState | None = self.start
        states = []
        for index, token in enumerate(response_ids):
            if state is None:
                raise ValueError(
                    f"a response of {len(response_ids)} tokens has a stop token at index {index - 1}; expected it at the end"
                )
            states.append(state)
            state = state.advance(token)
        return states

    def next_positions(self, position: AutomatonPosition) -> dict[int, AutomatonPosition | None]:
        """Return the position after each allowed token, or None after a stop token."""
        ids, prefixes, has_marks = self._vocabulary.ids, self._vocabulary.prefixes, self._vocabulary.has_marks
        is_final = self._final in position.indices and not position.follows_mark
        next_by_token: dict[int, AutomatonPosition | None] = dict.fromkeys(self._stop_ids) if is_final else {}
        pending: list[tuple[bytes, AutomatonPosition]] = [(b"", position)]
        while pending:
            prefix, current = pending.pop()
            by_byte: dict[int, list[int]] = {}
            for index in current.indices:
                byte = self._buffer[index]
                if byte != _END_BYTE and (byte == _SPACE or prefix + bytes((byte,)) in prefixes):
                    by_byte.setdefault(byte, []).append(index + 1)
            extensions = [
                (prefix + bytes((byte,)), AutomatonPosition(self._epsilon_closure(indices), self._ends_word(indices[0])))
                for byte, indices in by_byte.items()
            ]
            if (
                has_marks
                and not current.follows_mark
                and not any(self._buffer[index] & 0xC0 == _CONTINUATION_BYTE for index in current.indices)
            ):
                marked_prefix = prefix + bytes((MARK,))
                if not current.follows_word and current.indices != (self._final,):
                    extensions.append((marked_prefix, current._replace(follows_mark=True)))
                elif current.follows_word and _SPACE in by_byte:
                    extensions.append((marked_prefix, AutomatonPosition(self._epsilon_closure(by_byte[_SPACE]))))
            for extended, following in extensions:
                if extended in prefixes:
                    next_by_token.update(dict.fromkeys(ids.get(extended, ()), following))
                    pending.append((extended, following))
        return next_by_token

    def _epsilon_closure(self, indices: Iterable[int], entries: Iterable[int] = ()) -> tuple[int, ...]:
        """Return the NFA states reached by a byte (`indices`), entered without a byte (`entries`), and reachable from these by epsilon.

        A word may end where the next one starts. Therefore only indices reached by a byte have the continuations of a word.
        """
        reached = set(indices)
        entered = {*entries, *(index for reached_index in reached for index in self._continuations.get(reached_index, ()))}
        closure = (
            reached | entered | {index for reached_index in entered for index in self._list_entries.get(reached_index, ())}
        )
        return tuple(sorted(index for index in closure if self._buffer[index] != _END_BYTE or index == self._final))

    def _ends_word(self, index: int) -> bool:
        """Return True if the tokenizer uses marks and the character before an index is a letter or digit."""
        if not self._vocabulary.has_marks:
            return False
        if self._buffer[index - 1] < _CONTINUATION_BYTE:
            return chr(self._buffer[index - 1]).isalnum()
        text = bytes(self._buffer[max(0, index - 4) : index]).decode(errors="ignore")
        return unicodedata.category(text[-1:] or " ")[0] in "LN"

    # Compilation of the language into the buffer.

    def _append_text(self, text: bytes) -> int:
        """Append a text to the buffer, and return the index after it."""
        self._buffer += text
        self._buffer.append(_END_BYTE)
        return len(self._buffer) - 1

    def _compile_sequence(self, parts: Language, follow: tuple[int, ...]) -> tuple[int, ...]:
        """Append a sequence to the buffer, and return its start indices. `follow` are the start indices of its continuation."""
        for part in reversed(parts):
            follow = self._compile_node(part, follow)
        return follow

    def _compile_node(self, part: Node, follow: tuple[int, ...]) -> tuple[int, ...]:
        match part:
            case str():
                return self._compile_text(part, follow)
            case Alternatives(branches):
                return tuple(index for branch in branches for index in self._compile_sequence(branch, follow))
            case Spans(texts):
                return tuple(index for text in texts for index in self._compile_spans(text, follow))
            case SeparatedList(item, joints):
                list_index = self._append_text(b"")
                after_joint = tuple(index for joint in joints for index in self._compile_text(joint, (list_index,)))
                self._list_entries[list_index] = self._compile_node(item, follow + after_joint)
                return (list_index,)

    def _compile_text(self, text: str, follow: tuple[int, ...]) -> tuple[int, ...]:
        if not text:
            return follow
        if not self._vocabulary.can_spell(text):
            return ()
        start = len(self._buffer)
        self._continuations[self._append_text(text.encode())] = follow
        return (start,)

    def _compile_spans(self, text: str, follow: tuple[int, ...]) -> list[int]:
        entries: list[int] = []
        previous_end = 0  # end of the previous word
        for word_start, end in word_spans(text):
            word, separator = text[word_start:end], text[previous_end:word_start]
            if not self._vocabulary.can_spell(word):
                continue
            if entries and self._vocabulary.can_spell(separator):  # a separator may contain skipped words
                self._buffer += separator.encode()
            elif entries:
                self._append_text(b"")
            entries.append(len(self._buffer))
            self._buffer += word.encode()
            self._continuations[len(self._buffer)] = follow
            previous_end = end
        self._append_text(b"")
        return entries


class Constraints:
    """Creates the constraints for one tokenizer: `for_page(goal, page)` returns the cached constraint of a goal and a page.

    Raises ValueError if the tokenizer is not supported; see `TokenVocabulary.from_tokenizer`.
    """

    def __init__(self, encoder: PromptEncoder) -> None:
        stop_ids = encoder.stop_ids
        vocabulary = TokenVocabulary.from_tokenizer(encoder.tokenizer, stop_ids)

        @lru_cache(maxsize=_MAX_CACHED)
        def for_page(goal: str, page: str) -> Constraint:
            return Constraint(action_language(goal, page), vocabulary, stop_ids)

        self.for_page = for_page


def create_constraints(encoder: PromptEncoder, *, constrained: bool, system: Style) -> Constraints | None:
    """Return the constraints of replies, or None if `constrained` is False.

    Raises ValueError if `system` asks for thoughts before the action, since constrained replies consist of an action only.
    """
    if constrained and system in THINKING:
        raise ValueError(
            f"system is {system!r}, which asks for thoughts, but constrained replies are actions only; expected 'none', 'act' or 'env'"
        )
    return Constraints(encoder) if constrained else None
