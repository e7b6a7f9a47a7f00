"""Features of pages and candidates: float arrays of a fixed size.

They are functions of page, goal and earlier actions, so equal episodes give equal arrays in every process.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import numpy
from numpy.typing import NDArray

from webarena_gym.actions import Action, Kind
from webarena_gym.candidates.candidate import FORMS, Candidate, Form, find_candidates, overlap, relevance, words
from webarena_gym.observation import Observation
from webarena_gym.pages.page import Page

Floats = NDArray[numpy.float32]

HASHED = 64
"""Features that words are hashed to."""
ROW = 2 + len(FORMS) + 6 + 6 + HASHED
"""Length of the row of a candidate; `describe` says what is in it."""
PRESENCE, RELEVANCE = 0, 1
"""Where in a candidate's row stands that it is one, and what it has to do with the goal."""
PAGE = HASHED + HASHED + 4 + ROW
"""Length of the row of a page; `describe_page` says what is in it."""

_STEPS = 15  # after so many, their number says no more


class Reader:
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
