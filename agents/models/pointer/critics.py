"""Critics of pointing networks, which score candidates and no states: a small network of their own over the words that were seen."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import torch
from torch import Tensor, nn

from agents.data.trajectories import Trajectory
from agents.models.critics import Critic, CriticSettings, new_head
from agents.models.pointer.goals import words_of

_BUCKETS = 2**15
_WIDTH, _HIDDEN, _BAGS = 32, 64, 5
_LONG = 10.0  # steps
_STATES = 256  # in one pass


class WordsSeen(NamedTuple):
    """What such a critic reads: a goal, and, under way, the page and the replies so far."""

    goal: str
    page: str = ""
    replies: tuple[str, ...] = ()


class _Bags(NamedTuple):
    """States as bags of hashed words, of each state five bags one after another, and how far each episode is."""

    samples: tuple[int, ...]
    words: Tensor
    offsets: Tensor
    progress: Tensor


class WordsValueNetwork:
    """A small network over hashed words of the goal, the page, those that both have, the last reply and all replies."""

    def __init__(self, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._words = nn.EmbeddingBag(_BUCKETS, _WIDTH, mode="sum")
            nn.init.normal_(self._words.weight, std=0.5)
            self._body = nn.Sequential(
                nn.Linear(_BAGS * _WIDTH + 1, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU()
            )
            self._head = new_head(_HIDDEN)
        self.parts = {"words": self._words, "body": self._body, "head": self._head}

    def pack(self, states: Sequence[WordsSeen]) -> Sequence[_Bags]:
        """Return passes of at most 256 states."""
        return [_bags(states, range(start, min(start + _STATES, len(states)))) for start in range(0, len(states), _STATES)]

    def logits(self, batch: _Bags) -> Tensor:
        """Return the logit of success of each state, shape (S,)."""
        counts = torch.diff(batch.offsets, append=torch.tensor([len(batch.words)]))
        bags = self._words(batch.words, batch.offsets) * counts.clamp(min=1).float().rsqrt()[:, None]
        read = torch.cat([bags.view(len(batch.samples), -1), batch.progress[:, None]], 1)
        logits: Tensor = self._head(self._body(read))[:, 0]
        return logits


class PointerCritics:
    """Critics of a pointing network, which read words."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def create(self, settings: CriticSettings) -> Critic:
        """Return a new critic."""
        return Critic(WordsValueNetwork(self._seed), settings)

    def steps(self, trajectories: Sequence[Trajectory]) -> list[WordsSeen]:
        """Return goal, page and earlier replies of all steps."""
        return [
            WordsSeen(item.goal, step.page, tuple(before.reply for before in item.steps[:number]))
            for item in trajectories
            for number, step in enumerate(item.steps)
        ]

    def goals(self, goals: Sequence[str]) -> list[WordsSeen]:
        """Return the goals alone."""
        return [WordsSeen(goal) for goal in goals]

    def episodes(self, trajectories: Sequence[Trajectory]) -> list[WordsSeen]:
        """Return the goal, the last page and all replies of each trajectory."""
        return [WordsSeen(item.goal, item.steps[-1].page, tuple(step.reply for step in item.steps)) for item in trajectories]


@lru_cache(maxsize=4_096)
def _hashed(text: str) -> tuple[int, ...]:
    """Return the buckets of the distinct words of a text, in order."""
    return tuple(sorted({crc32(word.encode()) % _BUCKETS for word in words_of(text)}))


def _bags(states: Sequence[WordsSeen], samples: range) -> _Bags:
    bags: list[tuple[int, ...]] = []
    for index in samples:
        goal, page = _hashed(states[index].goal), _hashed(states[index].page)
        replies = [_hashed(reply) for reply in states[index].replies]
        common = set(page).intersection(goal)
        before = sorted({word for reply in replies for word in reply})
        bags += [goal, page, tuple(sorted(common)), replies[-1] if replies else (), tuple(before)]
    lengths = torch.tensor([len(bag) for bag in bags])
    progress = torch.tensor([min(len(states[index].replies) / _LONG, 3.0) for index in samples])
    words = torch.tensor([word for bag in bags for word in bag], dtype=torch.int64)
    return _Bags(tuple(samples), words, lengths.cumsum(0) - lengths, progress)
