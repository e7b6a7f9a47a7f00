"""The well-formed actions on one page: its elements, and arguments that are spans of the goal or of the page."""

from collections.abc import Sequence

from agents.rollouts.constraints.dates import date_forms
from agents.rollouts.constraints.elements import Element, read_offer
from agents.rollouts.constraints.language import Choice, Language, Listing, Node, Spans, one_of, words
from webarena_gym.actions import DIALECTS, Action, Kind

FIXED = ("", "N/A", "Yes", "No")
"""The answers that need not stand anywhere."""
JOINTS = (", ", "; ", "\n", " in ", " near ")
"""What may stand between the spans of an answer or of a text to type."""
_DIGITS = 3  # of a number that need not stand anywhere
_GAP = "\ue000"  # stands for a value in an action; a private character, so that nothing of it is escaped
_DIALECT = DIALECTS["webrl"]
_PLAIN = (Kind.SCROLL_UP, Kind.SCROLL_DOWN, Kind.WAIT, Kind.GO_BACKWARD, Kind.GO_FORWARD)
_USED = (Kind.CLICK, Kind.HOVER, Kind.RIGHT_CLICK)
_TYPED = (Kind.TYPE, Kind.SEARCH)


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
    typed += one_of(list(map(_written, date_forms(goal)))).branches
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
    return tuple(_DIALECT.syntax.spell(form.name, {parameter.name: _GAP for parameter in form.parameters}).split(_GAP))


def _filled(kind: Kind, value: Node) -> Language:
    head, end = _around(kind)
    return (head, value, end)


def _written(text: str) -> str:
    """Return a text as it is written inside the quotes of an action."""
    head, end = _around(Kind.EXIT)
    return _DIALECT.format(Action(Kind.EXIT, argument=text))[len(head) : -len(end)]
