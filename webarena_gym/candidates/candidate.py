"""Candidate actions of a page, sorted by their overlap with the goal.

They are a pure function of the goal and of an observation whose elements are named by label; earlier actions do not change them.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Kind
from webarena_gym.observation import Observation, field_value, visible_text

Form = Literal["leave", "back", "link", "button", "box", "option", "type", "search", "answer"]
FORMS: tuple[Form, ...] = get_args(Form)

_STRINGS = 4  # of the goal, to type
_ANSWERS = 6  # texts of the page, to leave with
_ANSWER_LENGTH = 80  # characters
_BOXES = ("checkbox", "radio")
_BUTTONS = ("submit", "button", "reset", "image", "file")
_STOP_WORDS = frozenset(
    "a an and for from i in into is it me my of on one please that the their this to what with you".split()  # noqa: SIM905
)
_NUMBER = re.compile(r" \[\d+\]$")  # the second of a label is called "Label [2]"
_TAG = re.compile(r"<[^>]*>?")  # one that is not closed goes to the end
_QUOTED = re.compile(r'"([^"]+)"')
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w.-]*\w")
_NAMED = r"(?:[A-Z][\w&'/+-]+|\d[\w.:/-]*)"
_NAME = re.compile(rf"(?<!^)(?<![.?!] )\b{_NAMED}(?:,? (?:(?:of|and|x|&) )?{_NAMED})*")


class Candidate(NamedTuple):
    """One action that a page offers."""

    form: Form
    action: Action
    label: str = ""  # of the control
    line: str = ""  # of the page, that it stands on
    is_so: bool = False  # a box is ticked, an option is chosen, a field holds the text already

    @property
    def text(self) -> str:
        """What it types, chooses or answers."""
        return self.action.argument or ""


class Overlap(NamedTuple):
    """How much of a text is in the goal, and how much of the goal in the text; parts of 1."""

    of_text: float
    of_goal: float


def find_candidates(observation: Observation, goal: str, size: int) -> list[Candidate]:
    """Return at most `size` candidates of a page whose elements are named by label.

    The first is to exit without an answer, the second to go back. The others are sorted by relevance to the goal, the most relevant
    first; of equal ones, controls come before answers, and then in the order of the page. Controls are taken from the whole page, answers
    from the window that the observation shows. Raises ValueError for elements that are named by number.
    """
    if observation.nodes and list(observation.nodes) == [str(number) for number in range(len(observation.nodes))]:
        raise ValueError(f"elements are named 0 to {len(observation.nodes) - 1}; expected an env with elements='label'")
    lines = _shown_lines(observation)
    strings = find_strings(goal)
    controls = [
        candidate
        for address, node in observation.nodes.items()
        if "disabled" not in node.element.attrib
        for candidate in _uses(address, node.element, lines.get(node.line, ""), strings)
    ]
    wanted = words(goal)

    def score(candidate: Candidate) -> float:
        return relevance(candidate, wanted)

    answers = sorted(_answers(lines.values(), wanted), key=score, reverse=True)[:_ANSWERS]
    ends = [Candidate("leave", Action(Kind.EXIT, argument="")), Candidate("back", Action(Kind.GO_BACKWARD))]
    return [*ends, *sorted([*controls, *answers], key=score, reverse=True)][:size]


def find_strings(goal: str) -> list[str]:
    """Return what a person who reads the goal might type: quotations, email addresses, then names and numbers.

    >>> find_strings('Search for "desk lamp". Then tell Ann Lee, ann@example.com, about the Kora Rug, Set of 3 pieces.')
    ['desk lamp', 'ann@example.com', 'Ann Lee', 'Kora Rug, Set of 3']
    """
    unquoted = _QUOTED.sub(" ", goal)
    names = [name.rstrip(".:/-") for name in _NAME.findall(_EMAIL.sub(" ", unquoted))]
    return list(dict.fromkeys([*_QUOTED.findall(goal), *_EMAIL.findall(unquoted), *names]))[:_STRINGS]


def _uses(address: str, element: HtmlElement, line: str, strings: list[str]) -> list[Candidate]:
    """Return what can be done with one control."""
    label = _NUMBER.sub("", address)
    kind = element.get("type", "text").lower() if element.tag == "input" else ""
    if element.tag == "select":
        return [
            Candidate("option", Action(Kind.SELECT, address, visible_text(option)), label, line, "selected" in option.attrib)
            for option in element.iter("option")
        ]
    if kind in _BOXES:
        return [Candidate("box", Action(Kind.CLICK, address), label, line, "checked" in element.attrib)]
    if element.tag == "textarea" or (element.tag == "input" and kind not in _BUTTONS):
        ways: list[tuple[Form, Kind]] = [("type", Kind.TYPE), ("search", Kind.SEARCH)]
        return [
            Candidate(form, Action(way, address, text), label, line, field_value(element) == text)
            for text in strings
            for form, way in ways
        ]
    return [Candidate("link" if element.tag == "a" else "button", Action(Kind.CLICK, address), label, line)]


def _answers(lines: Iterable[str], wanted: frozenset[str]) -> list[Candidate]:
    """Return the pieces of text between the tags of lines that have a word of the goal, as answers to leave with; each once."""
    found: dict[str, Candidate] = {}
    for line in lines:
        if words(line).isdisjoint(wanted):
            continue
        for part in _TAG.split(line):
            text = part.replace("&lt;", "<").strip()
            if words(text) and len(text) <= _ANSWER_LENGTH:
                found.setdefault(text, Candidate("answer", Action(Kind.EXIT, argument=text), line=line))
    return list(found.values())


def _shown_lines(observation: Observation) -> dict[int, str]:
    """Return the lines in the window by their number in the page; the header and the notes on what is hidden are left out."""
    lines = observation.text.split("\n")
    if observation.top + observation.shown < observation.total:
        lines.pop()
    return dict(enumerate(lines[len(lines) - observation.shown :], observation.top))


@lru_cache(maxsize=50_000)
def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without the most frequent ones and without the "s" of a plural.

    >>> sorted(words("Open my list of 3 product reviews."))
    ['3', 'list', 'open', 'product', 'review']
    """
    found = re.findall(r"[^\W_]+", text.lower())
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _STOP_WORDS)


def overlap(text: str, goal: str) -> Overlap:
    """Return how much two texts have in common, in words.

    >>> overlap("Newsletter Subscriptions", "Open my newsletter settings.")
    Overlap(of_text=0.5, of_goal=0.3333333333333333)
    """
    found, wanted = words(text), words(goal)
    common = len(found & wanted)
    return Overlap(common / max(len(found), 1), common / max(len(wanted), 1))


def relevance(candidate: Candidate, wanted: frozenset[str]) -> float:
    """Return how much a candidate has to do with the words of a goal, between 0 and 1.

    It is Dice's coefficient (1945) of its label or of its text, or half of that of its line, whichever is most. An answer counts by its
    line alone: a goal does not hold its answer.
    """
    text = "" if candidate.form == "answer" else candidate.text
    return max(_dice(candidate.label, wanted), _dice(text, wanted), 0.5 * _dice(candidate.line, wanted))


def _dice(text: str, wanted: frozenset[str]) -> float:
    found = words(text)
    return 2 * len(found & wanted) / max(len(found) + len(wanted), 1)
