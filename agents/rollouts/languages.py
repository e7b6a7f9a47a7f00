"""Languages of replies: texts, alternatives, separated lists and spans of texts, and the language of all actions on a page.

For servers with structured outputs, a language is converted to a regular expression. `constraints` compiles it to an automaton.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple, Union

from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.answers.values import MONTHS

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
_MONTHS = {name[:3]: number for number, name in enumerate(MONTHS, 1)}
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
