"""Web tasks for libraries that know no text: one action for each candidate of a page, and observations of float arrays.

`gymnasium.make("WebArenaLiteCandidates-v0")` is the env, `CandidateActions` the wrapper that makes it of any env of this package.
Candidates are a pure function of the goal and of an observation whose elements are named by label, sorted by their overlap with the
goal. The arrays are functions of page, goal and earlier actions, so equal episodes give equal arrays in every process.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit
from zlib import crc32

import gymnasium
import numpy
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import RecordConstructorArgs
from lxml.html import HtmlElement
from numpy.typing import NDArray

from webarena_gym.actions import Action, Kind
from webarena_gym.arguments import as_int
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import Observation, field_value, visible_text
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import options

Form = Literal["leave", "back", "link", "button", "box", "option", "type", "search", "answer"]
FORMS: tuple[Form, ...] = get_args(Form)
Floats = NDArray[numpy.float32]

HASHED = 64
"""Features that words are hashed to."""
ROW = 2 + len(FORMS) + 6 + 6 + HASHED
"""Length of the row of a candidate; `describe` says what is in it."""
PRESENCE, RELEVANCE = 0, 1
"""Columns of a candidate's row: 1 for a candidate, and its relevance to the goal."""
PAGE = HASHED + HASHED + 4 + ROW
"""Length of the row of a page; `describe_page` says what is in it."""

_STEPS = 15  # after so many, their number says no more

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
        """The text that it types, chooses or answers."""
        return self.action.argument or ""


def find_candidates(observation: Observation, goal: str, size: int) -> list[Candidate]:
    """Return at most `size` candidates of a page whose elements are named by label.

    The first is to exit without an answer, the second to go back. The others are sorted by relevance to the goal, the most relevant
    first; of equal ones, controls come before answers, and then in the order of the page. Controls are taken from the whole page, answers
    from the window that the observation shows. Raises ValueError for elements that are named by number.
    """
    if observation.nodes and list(observation.nodes) == [str(number) for number in range(len(observation.nodes))]:
        raise ValueError(f"elements are named 0 to {len(observation.nodes) - 1}; expected an env with elements='label'")
    shown = observation.text.split("\n")
    if observation.top + observation.height < observation.total:
        shown.pop()  # the note on what is hidden
    lines = dict(enumerate(shown[len(shown) - observation.height :], observation.top))  # by their number in the page
    strings = find_strings(goal)
    controls = [
        candidate
        for address, node in observation.nodes.items()
        if "disabled" not in node.element.attrib
        for candidate in _uses(address, node.element, lines.get(node.line, ""), strings)
    ]
    wanted = words(goal)
    score = partial(relevance, wanted=wanted)
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
            Candidate(
                "option", Action(Kind.SELECT, address, name or visible_text(option)), label, line, "selected" in option.attrib
            )
            for option, name, _ in options(element)
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


@lru_cache(maxsize=50_000)
def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without the most frequent ones and without the "s" of a plural.

    >>> sorted(words("Open my list of 3 product reviews."))
    ['3', 'list', 'open', 'product', 'review']
    """
    found = re.findall(r"[^\W_]+", text.lower())
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _STOP_WORDS)


def overlap(text: str, goal: str) -> tuple[float, float]:
    """Return how much of the words of a text are in the goal, and of those of the goal in the text; parts of 1.

    >>> overlap("Newsletter Subscriptions", "Open my newsletter settings.")
    (0.5, 0.3333333333333333)
    """
    found, wanted = words(text), words(goal)
    common = len(found & wanted)
    return (common / max(len(found), 1), common / max(len(wanted), 1))


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


class Featurizer:
    """Computes the arrays of one episode's pages, and records the actions taken."""

    def __init__(self, size: int) -> None:
        self.candidates: list[Candidate] = []
        self._size = size
        self._url = ""
        self._rows: Floats = numpy.zeros((size, ROW), numpy.float32)
        self._last: Floats = numpy.zeros(ROW, numpy.float32)
        self._taken: list[tuple[str, Action]] = []

    def read(self, page: Page, observation: Observation, info: Mapping[str, Any]) -> dict[str, Floats]:
        """Return the newest page as `observation_space` describes it; `info` is the env's."""
        self._url = page.url
        self.candidates = find_candidates(observation, info["goal"], self._size)
        self._rows = describe(self.candidates, info["goal"], page.url, self._taken, self._size)
        row = describe_page(page, info["goal"], info["step"], bool(info["action_error"]))
        return {"candidates": self._rows, "page": numpy.concatenate([row, self._last])}

    def mask(self) -> NDArray[numpy.bool_]:
        """Return the action mask: True for each index that holds a candidate of the newest page."""
        return numpy.arange(self._size) < len(self.candidates)

    def take(self, index: int) -> Action:
        """Return the action of the candidate with this index, and record it as taken. Without a candidate it is to wait."""
        action = self.candidates[index].action if index < len(self.candidates) else Action(Kind.WAIT)
        self._last = self._rows[index]
        self._taken.append((self._url, action))
        return action


@lru_cache(maxsize=50_000)
def hash_words(text: str) -> Floats:
    """Return HASHED floats: 1 where a word of the text falls, else 0 ("feature hashing", Weinberger et al. 2009, without signs)."""
    row = numpy.zeros(HASHED, numpy.float32)
    row[[crc32(word.encode()) % HASHED for word in words(text)]] = 1.0
    row.flags.writeable = False  # others will be given the same
    return row


def describe(candidates: list[Candidate], goal: str, url: str, taken: list[tuple[str, Action]], size: int) -> Floats:
    """Return the rows of the candidates, (size, ROW) floats between 0 and 1; rows behind the last candidate are zeros.

    In a row stand, in this order: 1 for a candidate; its `relevance`; which of FORMS it is (one of them is 1); how much of its label
    is in the goal and of the goal in it, the same for its text, and for its line; 1 divided by its rank among its form on this
    page; whether it is so already; whether it was taken in this episode, on a page of this URL, and by the action before this one;
    1 divided by the number of candidates of its form with its label; the hashed words of its label, and of an option. `taken` are
    the URLs and actions so far, oldest first.
    """
    rows = numpy.zeros((size, ROW), numpy.float32)
    ranks: Counter[Form] = Counter()
    labels = Counter((candidate.form, candidate.label) for candidate in candidates)
    wanted = words(goal)
    anywhere = {action for _, action in taken}
    for row, candidate in zip(rows, candidates, strict=False):
        ranks[candidate.form] += 1
        numbers = [
            *(float(candidate.form == form) for form in FORMS),
            *overlap(candidate.label, goal),
            *overlap(candidate.text, goal),
            *overlap(candidate.line, goal),
            1 / ranks[candidate.form],
            float(candidate.is_so),
            float(candidate.action in anywhere),
            float((url, candidate.action) in taken),
            float(bool(taken) and taken[-1][1] == candidate.action),
            1 / labels[candidate.form, candidate.label],
        ]
        row[PRESENCE] = 1.0
        row[RELEVANCE] = relevance(candidate, wanted)
        row[2:-HASHED] = numbers
        row[-HASHED:] = hash_words(f"{candidate.label} {candidate.text if candidate.form == 'option' else ''}")
    return rows


def describe_page(page: Page, goal: str, step: int, has_error: bool) -> Floats:
    """Return PAGE - ROW floats between 0 and 1 that say where the agent is.

    These are the hashed words of the goal; those of the page's title and of the path of its URL; how much of these is in the goal,
    and of the goal in these; the number of steps so far, divided by 15; and whether the last action could not be done.
    """
    url = urlsplit(page.url)
    name = f"{page.title} {url.path} {url.query}"
    numbers = [*overlap(name, goal), min(step / _STEPS, 1.0), float(has_error)]
    return numpy.concatenate([hash_words(goal), hash_words(name), numpy.array(numbers, numpy.float32)])


class CandidateActions(gymnasium.Wrapper[Any, numpy.int64, str, str], RecordConstructorArgs):
    """WebArenaLite with a Discrete action space: the index of one of at most `candidates` candidates of the page.

    The observation is a Dict of two Boxes of float32 between 0 and 1: "candidates" (candidates, ROW), the rows of `describe`, and
    "page" (PAGE,), the row of `describe_page` followed by the row of the last action. With `flat` it is one Box
    (candidates * ROW + PAGE,) of both, as Gymnasium flattens the Dict.

    `info["action_mask"]` says which indices hold a candidate, as int8 for `action_space.sample(mask)`; `action_masks` returns the same as
    bool, for the masked algorithms of sb3-contrib. The action of an index without a candidate is to wait.

    The env judges an episode that reaches the step limit, so such an episode is `terminated` here, and its return is not bootstrapped.
    Only a failed episode is `truncated`; its reward is 0, and its last observation is all zeros.

    The env must be made with `elements="label"`; otherwise `reset` raises ValueError. Fewer than three candidates are a ValueError.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], candidates: int = 48, flat: bool = False) -> None:
        candidates = as_int(candidates)
        if type(candidates) is not int or candidates < 3:
            raise ValueError(f"candidates is {candidates!r}; expected at least 3, as two are to leave and to go back")
        RecordConstructorArgs.__init__(self, candidates=candidates, flat=flat)
        gymnasium.Wrapper.__init__(self, env)
        self.action_space = Discrete(candidates)
        space = observation_space(candidates)
        self.observation_space: Any = gymnasium.spaces.flatten_space(space) if flat else space
        self._size = candidates
        self._flat = flat
        self._featurizer = Featurizer(candidates)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the env and return the first page as arrays."""
        _, info = self.env.reset(seed=seed, options=options)
        self._featurizer = Featurizer(self._size)
        return self._read(info)

    def step(self, action: numpy.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of the candidate with this index. Raises ValueError for an index outside the action space."""
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action}; expected an index from 0 to {self._size - 1}")
        env: Any = self.env.unwrapped
        reply = env.dialect.format(self._featurizer.take(int(action)))
        _, reward, terminated, truncated, info = self.env.step(reply)
        if "failure" in info:
            lost = {"candidates": numpy.zeros((self._size, ROW), numpy.float32), "page": numpy.zeros(PAGE, numpy.float32)}
            return self._told(lost), 0.0, False, True, {**info, "action_mask": numpy.zeros(self._size, numpy.int8)}
        observation, info = self._read(info)
        return observation, float(reward), terminated or truncated, False, info

    def action_masks(self) -> NDArray[numpy.bool_]:
        """Return the action mask: True for each index that holds a candidate."""
        return self._featurizer.mask()

    def _read(self, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        env: Any = self.env.unwrapped
        parts = self._featurizer.read(env.page, env.observation, info)
        return self._told(parts), {**info, "action_mask": self.action_masks().astype(numpy.int8)}

    def _told(self, parts: dict[str, Floats]) -> Any:
        return numpy.concatenate([parts["candidates"].ravel(), parts["page"]]) if self._flat else parts


def make(candidates: int = 48, flat: bool = False, **env_arguments: Any) -> CandidateActions:
    """Return an env with candidate actions; the other keywords are those of `WebArenaLite`, with elements by label."""
    return CandidateActions(WebArenaLite(**{"elements": "label", **env_arguments}), candidates, flat)


def observation_space(candidates: int) -> Dict:
    """Return the space of what a `Featurizer` of so many candidates returns."""
    return Dict({"candidates": Box(0.0, 1.0, (candidates, ROW)), "page": Box(0.0, 1.0, (PAGE,))})
