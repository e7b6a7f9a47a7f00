"""Web tasks for libraries without text support: a discrete action for each candidate of a page, and observations of float arrays.

`gymnasium.make("WebArenaLiteCandidates-v0")` is the env; `CandidateActions` is the wrapper that turns any env of this package into one.
Candidates are a pure function of the goal and of an observation whose elements are named by label. They are sorted by their overlap with
the goal. The arrays are functions of the page, the goal and the earlier actions, so equal episodes give equal arrays in every process.

>>> from webarena_gym import candidates
>>> env = candidates.make(split="test")
>>> observation, info = env.reset(seed=0)
>>> env.action_space, observation["candidates"].shape, observation["page"].shape
(Discrete(48), (48, 87), (219,))
>>> action = env.action_space.sample(info["action_mask"])
>>> observation, reward, terminated, truncated, info = env.step(action)
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, cast, get_args
from urllib.parse import urlsplit
from zlib import crc32

import gymnasium
import numpy
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import RecordConstructorArgs
from lxml.html import HtmlElement
from numpy.typing import NDArray

from webarena_gym.actions import Action, Kind
from webarena_gym.arguments import as_int
from webarena_gym.env import WebArenaLite
from webarena_gym.episode import Snapshot
from webarena_gym.errors import SnapshotError
from webarena_gym.observation import Observation, field_value, visible_text
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import options, split_number
from webarena_gym.texts import without_plural

Form = Literal["leave", "back", "link", "button", "box", "option", "type", "search", "answer"]
"""Kinds of candidates."""
FORMS: tuple[Form, ...] = get_args(Form)
Floats = NDArray[numpy.float32]
"""An array of float32 values."""

HASHED = 64
"""Number of features to which words are hashed."""
ROW = 2 + len(FORMS) + 6 + 6 + HASHED
"""Length of the feature row of a candidate; `describe` documents its columns."""
PRESENCE, RELEVANCE = 0, 1
"""Columns of a candidate's row: presence (1 for a candidate), and relevance to the goal."""
PAGE = HASHED + HASHED + 4 + ROW
"""Length of the feature row of a page; `describe_page` documents its columns."""

_STEP_SCALE = 15  # number of steps at which the step feature is 1

_MAX_STRINGS = 4  # strings of the goal that fields are filled with
_MAX_ANSWERS = 6  # texts of the page that are candidates for the answer
_MAX_ANSWER_LENGTH = 80  # characters
_BOXES = ("checkbox", "radio")
_BUTTONS = ("submit", "button", "reset", "image", "file")
_STOP_WORDS = frozenset(
    "a an and for from i in into is it me my of on one please that the their this to what with you".split()  # noqa: SIM905
)
_TAG = re.compile(r"<[^>]*>?")  # an unclosed tag extends to the end of the text
_QUOTATION = re.compile(r'"([^"]+)"')
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w.-]*\w")
_NAME_PART = r"(?:[A-Z][\w&'/+-]+|\d[\w.:/-]*)"
_NAME = re.compile(rf"(?<!^)(?<![.?!] )\b{_NAME_PART}(?:,? (?:(?:of|and|x|&) )?{_NAME_PART})*")


class Candidate(NamedTuple):
    """One possible action on a page.

    Attributes:
        form: kind of the action.
        action: the action.
        label: label of the control.
        line: line of the page text with the control.
        already_set: True if the box is already checked, the option selected, or the field filled with the text.

    """

    form: Form
    action: Action
    label: str = ""
    line: str = ""
    already_set: bool = False

    @property
    def text(self) -> str:
        """The text of the action: the input, the option, or the answer."""
        return self.action.argument or ""


def find_candidates(observation: Observation, goal: str, size: int) -> list[Candidate]:
    """Return the candidates of a page.

    The first exits without an answer, the second goes back. The others are sorted by decreasing relevance to the goal. Among equal ones,
    controls come before answers, then the order of the page counts. Controls come from the whole page, answers from its visible part.

    Args:
        observation: the page, with elements named by label.
        goal: the goal of the episode.
        size: maximum number of candidates.

    Raises:
        ValueError: for elements that are named by number.

    """
    if observation.nodes and list(observation.nodes) == [str(number) for number in range(len(observation.nodes))]:
        raise ValueError(f"elements are named 0 to {len(observation.nodes) - 1}; expected an env with elements='label'")
    visible_lines = observation.text.split("\n")
    if observation.top + observation.height < observation.total:
        visible_lines.pop()  # the note on the hidden rest
    lines = dict(
        enumerate(visible_lines[len(visible_lines) - observation.height :], observation.top)
    )  # by line number in the page
    strings = find_strings(goal)
    controls = [
        candidate
        for address, node in observation.nodes.items()
        if "disabled" not in node.element.attrib
        for candidate in _control_candidates(address, node.element, lines.get(node.line, ""), strings)
    ]
    goal_words = words(goal)
    score = partial(relevance, goal_words=goal_words)
    answers = sorted(_answer_candidates(lines.values(), goal_words), key=score, reverse=True)[:_MAX_ANSWERS]
    ends = [Candidate("leave", Action(Kind.EXIT, argument="")), Candidate("back", Action(Kind.GO_BACKWARD))]
    return [*ends, *sorted([*controls, *answers], key=score, reverse=True)][:size]


def find_strings(goal: str) -> list[str]:
    """Return the strings of a goal that may be typed into fields: quotations, email addresses, then names and numbers.

    >>> find_strings('Search for "desk lamp". Then write to Ann Lee, ann@example.com, about the Kora Rug, Set of 3 pieces.')
    ['desk lamp', 'ann@example.com', 'Ann Lee', 'Kora Rug, Set of 3']
    """
    remainder = _QUOTATION.sub(" ", goal)
    names = [name.rstrip(".:/-") for name in _NAME.findall(_EMAIL.sub(" ", remainder))]
    return list(dict.fromkeys([*_QUOTATION.findall(goal), *_EMAIL.findall(remainder), *names]))[:_MAX_STRINGS]


def _control_candidates(address: str, element: HtmlElement, line: str, strings: list[str]) -> list[Candidate]:
    """Return the candidates of one control."""
    label = split_number(address)[0]
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
        actions: list[tuple[Form, Kind]] = [("type", Kind.TYPE), ("search", Kind.SEARCH)]
        return [
            Candidate(form, Action(action, address, text), label, line, field_value(element) == text)
            for text in strings
            for form, action in actions
        ]
    return [Candidate("link" if element.tag in ("a", "area") else "button", Action(Kind.CLICK, address), label, line)]


def _answer_candidates(lines: Iterable[str], goal_words: frozenset[str]) -> list[Candidate]:
    """Return the distinct texts between the tags of lines that contain a word of the goal, as answers of exit actions."""
    candidates: dict[str, Candidate] = {}
    for line in lines:
        if words(line).isdisjoint(goal_words):
            continue
        for part in _TAG.split(line):
            text = part.replace("&lt;", "<").strip()
            if words(text) and len(text) <= _MAX_ANSWER_LENGTH:
                candidates.setdefault(text, Candidate("answer", Action(Kind.EXIT, argument=text), line=line))
    return list(candidates.values())


@lru_cache(maxsize=50_000)
def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without stop words and without the "s" of plurals.

    >>> sorted(words("Open my list of 3 product reviews."))
    ['3', 'list', 'open', 'product', 'review']
    """
    matches = re.findall(r"[^\W_]+", text.lower())
    return frozenset(without_plural(word) for word in matches if word not in _STOP_WORDS)


def overlap(text: str, goal: str) -> tuple[float, float]:
    """Return the fraction of the words of a text that are in the goal, and the fraction of the words of the goal that are in the text.

    >>> overlap("Newsletter Subscriptions", "Open my newsletter settings.")
    (0.5, 0.3333333333333333)
    """
    text_words, goal_words = words(text), words(goal)
    common = len(text_words & goal_words)
    return (common / max(len(text_words), 1), common / max(len(goal_words), 1))


def relevance(candidate: Candidate, goal_words: frozenset[str]) -> float:
    """Return the relevance of a candidate to the words of a goal, between 0 and 1.

    It is the maximum of Dice's coefficient (1945) of the label, that of the text, and half of that of the line. For an answer only the
    line counts, since a goal does not contain its answer.
    """
    text = "" if candidate.form == "answer" else candidate.text
    return max(_dice(candidate.label, goal_words), _dice(text, goal_words), 0.5 * _dice(candidate.line, goal_words))


def _dice(text: str, goal_words: frozenset[str]) -> float:
    text_words = words(text)
    return 2 * len(text_words & goal_words) / max(len(text_words) + len(goal_words), 1)


FeaturizerState = tuple[tuple[tuple[str, Action], ...], Floats]
"""The URLs and actions of an episode, and the row of its last action."""


class Featurizer:
    """Computes the feature arrays of the pages of one episode, and records its actions.

    Args:
        size: maximum number of candidates of a page.
        state: the `state` of the featurizer of an episode that is continued; None for a new episode.

    """

    def __init__(self, size: int, state: FeaturizerState | None = None) -> None:
        self.candidates: list[Candidate] = []
        self._size = size
        self._url = ""
        self._rows: Floats = numpy.zeros((size, ROW), numpy.float32)
        self._history, self._last = ([], numpy.zeros(ROW, numpy.float32)) if state is None else (list(state[0]), state[1])

    @property
    def state(self) -> FeaturizerState:
        """The URLs and actions of the episode, and the row of the last action; all other values follow from the current page."""
        return tuple(self._history), self._last

    def read(self, page: Page, observation: Observation, info: Mapping[str, Any]) -> dict[str, Floats]:
        """Return the arrays of the current page, in the format of `observation_space`; `info` is the info of the env."""
        self._url = page.url
        self.candidates = find_candidates(observation, info["goal"], self._size)
        self._rows = describe(self.candidates, info["goal"], page.url, self._history, self._size)
        row = describe_page(page, info["goal"], info["step"], bool(info["action_error"]))
        return {"candidates": self._rows, "page": numpy.concatenate([row, self._last])}

    def mask(self) -> NDArray[numpy.bool_]:
        """Return the action mask of shape (size,): True for each index that has a candidate on the current page."""
        return numpy.arange(self._size) < len(self.candidates)

    def take(self, index: int) -> Action:
        """Return the action of the candidate with this index, and record it. An index without a candidate gives the action Wait."""
        action = self.candidates[index].action if index < len(self.candidates) else Action(Kind.WAIT)
        self._last = self._rows[index]
        self._history.append((self._url, action))
        return action


@lru_cache(maxsize=50_000)
def hash_words(text: str) -> Floats:
    """Return HASHED floats: 1 at the hash of each word of the text, else 0 (feature hashing, Weinberger et al. 2009, without signs)."""
    row = numpy.zeros(HASHED, numpy.float32)
    row[[crc32(word.encode()) % HASHED for word in words(text)]] = 1.0
    row.flags.writeable = False  # callers share the cached array
    return row


def describe(candidates: list[Candidate], goal: str, url: str, history: list[tuple[str, Action]], size: int) -> Floats:
    """Return the feature rows of candidates, an array of shape (size, ROW) of floats between 0 and 1.

    The columns are, in this order:

    - presence: 1 for a candidate; rows after the last candidate are zeros
    - `relevance`
    - the form, one-hot over FORMS
    - `overlap` with the goal, of the label, of the text, and of the line (two columns each)
    - 1 divided by the rank among the candidates of the same form
    - `already_set`
    - whether the action was performed in this episode, whether on a page of this URL, and whether as the last action
    - 1 divided by the number of candidates with the same form and label
    - the hashed words of the label, and of the text of an option (HASHED columns)

    Args:
        candidates: candidates of the page.
        goal: goal of the episode.
        url: URL of the page.
        history: URLs and actions of the earlier steps, oldest first.
        size: number of rows.

    """
    rows = numpy.zeros((size, ROW), numpy.float32)
    ranks: Counter[Form] = Counter()
    labels = Counter((candidate.form, candidate.label) for candidate in candidates)
    goal_words = words(goal)
    earlier_actions = {action for _, action in history}
    for row, candidate in zip(rows, candidates, strict=False):
        ranks[candidate.form] += 1
        numbers = [
            *(float(candidate.form == form) for form in FORMS),
            *overlap(candidate.label, goal),
            *overlap(candidate.text, goal),
            *overlap(candidate.line, goal),
            1 / ranks[candidate.form],
            float(candidate.already_set),
            float(candidate.action in earlier_actions),
            float((url, candidate.action) in history),
            float(bool(history) and history[-1][1] == candidate.action),
            1 / labels[candidate.form, candidate.label],
        ]
        row[PRESENCE] = 1.0
        row[RELEVANCE] = relevance(candidate, goal_words)
        row[2:-HASHED] = numbers
        row[-HASHED:] = hash_words(f"{candidate.label} {candidate.text if candidate.form == 'option' else ''}")
    return rows


def describe_page(page: Page, goal: str, step: int, has_error: bool) -> Floats:
    """Return the features of a page, an array of shape (PAGE - ROW,) of floats between 0 and 1.

    The columns are: the hashed words of the goal; the hashed words of the page's title and of the path and query of its URL; the `overlap`
    of these with the goal; the number of steps divided by 15, at most 1; and whether the last action failed.
    """
    url = urlsplit(page.url)
    name = f"{page.title} {url.path} {url.query}"
    numbers = [*overlap(name, goal), min(step / _STEP_SCALE, 1.0), float(has_error)]
    return numpy.concatenate([hash_words(goal), hash_words(name), numpy.array(numbers, numpy.float32)])


class CandidateActions(gymnasium.Wrapper[Any, numpy.int64, str, str], RecordConstructorArgs):
    """Wrapper of WebArenaLite with a Discrete action space: the index of a candidate of the page.

    The observation is a Dict of two Boxes of float32 between 0 and 1: "candidates" (candidates, ROW), the rows of `describe`, and
    "page" (PAGE,), the row of `describe_page` followed by the row of the last action. With `flat` it is one Box
    (candidates * ROW + PAGE,), the Dict as Gymnasium flattens it.

    `info["action_mask"]` is 1 for each index that has a candidate, as int8 for `action_space.sample(mask)`; `action_masks` returns the
    same as bool, for the masked algorithms of sb3-contrib. An index without a candidate performs the action Wait.

    The env evaluates an episode that reaches the step limit. Here this episode is `terminated`, so that its return is not bootstrapped.
    Only an episode with an infrastructure failure is `truncated`; its reward is 0, and its last observation is all zeros.

    Args:
        env: an env with `elements="label"`; for other envs, `reset` raises ValueError.
        candidates: maximum number of candidates.
        flat: return one Box instead of a Dict.

    Raises:
        ValueError: for fewer than three candidates.

    """

    def __init__(self, env: gymnasium.Env[Any, Any], candidates: int = 48, flat: bool = False) -> None:
        candidates = as_int(candidates)
        if type(candidates) is not int or candidates < 3:
            raise ValueError(
                f"candidates is {candidates!r}; expected at least 3, since the first two are to exit and to go back"
            )
        RecordConstructorArgs.__init__(self, candidates=candidates, flat=flat)
        gymnasium.Wrapper.__init__(self, env)
        self.action_space = Discrete(candidates)
        space = observation_space(candidates)
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.flatten_space(space) if flat else space
        self._size = candidates
        self._flat = flat
        self._featurizer = Featurizer(candidates)
        self._observed: Observation | None = None  # the page of the candidates

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the env and return the arrays of the first page."""
        _, info = self.env.reset(seed=seed, options=options)
        self._featurizer = Featurizer(self._size)
        return self._featurize(info)

    def step(self, action: numpy.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Perform the action of the candidate with this index.

        Raises:
            ValueError: for an index outside the action space.
            ResetNeeded: outside an episode, and if the page was changed through `env.unwrapped` since the last observation.

        """
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action}; expected an index from 0 to {self._size - 1}")
        env = self._text_env
        if self._observed is not env.observation:
            raise ResetNeeded(
                "the page is not that of the last observation; call reset(), or the methods of this env instead of those of env.unwrapped"
            )
        reply: Any = env.dialect.format(self._featurizer.take(int(action)))
        _, reward, terminated, truncated, info = self.env.step(reply)
        if "failure" in info:
            zeros = {"candidates": numpy.zeros((self._size, ROW), numpy.float32), "page": numpy.zeros(PAGE, numpy.float32)}
            return self._pack(zeros), 0.0, False, True, {**info, "action_mask": numpy.zeros(self._size, numpy.int8)}
        observation, info = self._featurize(info)
        return observation, float(reward), terminated or truncated, False, info

    def snapshot(self) -> Snapshot:
        """Return the complete state of the episode, as `WebArenaLite.snapshot` does, with its earlier actions."""
        return Snapshot.of(*self._text_env.snapshot().unseal(), self._featurizer.state)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Replace the current episode with that of a snapshot, which may come from another env with candidates, or from another process.

        Returns:
            The arrays and the info at the time of the snapshot.

        Raises:
            SnapshotError: for a damaged snapshot, and for one of `env.unwrapped`; the current episode then goes on.

        """
        wrappers = snapshot.wrappers if isinstance(snapshot, Snapshot) else ()
        if not wrappers:
            raise SnapshotError(f"expected a Snapshot of an env with candidates, got {snapshot!r}")
        _, info = self._text_env.restore(snapshot)
        self._featurizer = Featurizer(self._size, *wrappers)
        return self._featurize(info)

    def action_masks(self) -> NDArray[numpy.bool_]:
        """Return the action mask of shape (candidates,): True for each index that has a candidate."""
        return self._featurizer.mask()

    @property
    def _text_env(self) -> WebArenaLite:
        return cast("WebArenaLite", self.env.unwrapped)

    def _featurize(self, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        env = self._text_env
        self._observed = env.observation
        parts = self._featurizer.read(env.page, self._observed, info)
        return self._pack(parts), {**info, "action_mask": self.action_masks().astype(numpy.int8)}

    def _pack(self, parts: dict[str, Floats]) -> Any:
        return numpy.concatenate([parts["candidates"].ravel(), parts["page"]]) if self._flat else parts


def make(candidates: int = 48, flat: bool = False, **env_arguments: object) -> CandidateActions:
    """Return an env with candidate actions. The other keywords are those of `WebArenaLite`, with `elements="label"` as default."""
    return CandidateActions(WebArenaLite(**{"elements": "label", **env_arguments}), candidates, flat)


def observation_space(candidates: int) -> Dict:
    """Return the space of the arrays of a `Featurizer` with this number of candidates."""
    return Dict({"candidates": Box(0.0, 1.0, (candidates, ROW)), "page": Box(0.0, 1.0, (PAGE,))})
