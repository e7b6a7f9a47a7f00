"""Languages: the well-formed actions on one page, as texts, choices, lists and spans of given texts, and as a regular expression."""

import re
from calendar import month_name, monthrange
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple, Union

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
_PLAIN = (Kind.SCROLL_UP, Kind.SCROLL_DOWN, Kind.WAIT, Kind.GO_BACKWARD, Kind.GO_FORWARD)
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
            return "(" + "|".join(_spans(text, list(words(text))) for text in texts) + ")"
        case Listing(item, joints):
            one = _node(item)
            return f"{one}(({'|'.join(map(_escaped, joints))}){one})*"


def _spans(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return an expression for all runs of these words: those of either half, or an end of the first and a beginning of the second."""
    if len(places) == 1:
        return _piece(text, places)
    left, right = _halves(places)
    return f"(({_spans(text, left)}|{_spans(text, right)})|{_endings(text, left)}{_gap(text, left, right)}{_beginnings(text, right)})"


def _beginnings(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return an expression for the runs of words that begin with the first."""
    if len(places) == 1:
        return _piece(text, places)
    left, right = _halves(places)
    return f"({_beginnings(text, left)}|{_piece(text, left)}{_gap(text, left, right)}{_beginnings(text, right)})"


def _endings(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return an expression for the runs of words that end with the last."""
    if len(places) == 1:
        return _piece(text, places)
    left, right = _halves(places)
    return f"({_endings(text, right)}|{_endings(text, left)}{_gap(text, left, right)}{_piece(text, right)})"


def _halves(places: Sequence[tuple[int, int]]) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]:
    return places[: len(places) // 2], places[len(places) // 2 :]


def _gap(text: str, left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> str:
    return _escaped(text[left[-1][1] : right[0][0]])


def _piece(text: str, places: Sequence[tuple[int, int]]) -> str:
    return _escaped(text[places[0][0] : places[-1][1]])


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


class Element(NamedTuple):
    """Something that can be acted on."""

    address: str
    is_typed_into: bool
    options: tuple[str, ...]  # of a drop-down list


class Offer(NamedTuple):
    """Elements, tabs and texts of a page, to act on and to copy."""

    elements: tuple[Element, ...]  # without those that are disabled
    tabs: tuple[str, ...]  # their indices, if there are several
    texts: tuple[str, ...]  # what stands between tags, and the values of attributes, each once


@lru_cache(maxsize=1_024)
def read_offer(page: str) -> Offer:
    r"""Return what a page offers.

    >>> offer = read_offer('<tr><td>5 &lt; 6</td></tr>\n<a>More</a> <input label="City" value="Rome">')
    >>> [element.address for element in offer.elements], offer.texts
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
    return Offer(tuple(elements), tuple(_TAB.findall(tabs)), tuple(found))


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
    offer = read_offer(page)
    fields = [element for element in offer.elements if element.is_typed_into]
    texts = tuple(text for text in dict.fromkeys(map(_written, (goal, *offer.texts))) if any(words(text)))
    typed: list[Language] = [(Spans(texts),)] if texts else []
    typed += [(_written(form),) for form in date_forms(goal)]
    branches: list[Language] = [(_DIALECT.format(Action(kind)),) for kind in _PLAIN]
    branches.append((_DIALECT.format(Action(Kind.PRESS, argument="Enter")),))
    answers = (_list_of([*typed, _number(_DIGITS)]),)
    branches.append(_filled(Kind.EXIT, Choice((answers, *one_of(FIXED).branches))))
    if offer.tabs:
        branches.append(_filled(Kind.SWITCH_TAB, one_of(offer.tabs)))
    if offer.elements:
        heads, tails = zip(*(_around(kind) for kind in _USED), strict=True)
        branches.append((one_of(heads), _addresses(offer.elements), tails[0]))
    if fields:
        (head, middle, end), (other, _, _) = map(_around, _TYPED)
        argument = Choice(((_list_of(typed),), ())) if typed else ""
        branches.append((one_of((head, other)), argument, middle, _addresses(fields), end))
    for element in offer.elements:
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
