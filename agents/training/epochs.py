"""Epochs: which samples are learned together, update by update, for any number of passes over them."""

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from agents.data.demonstrations import Demonstration

_WINDOW = 512  # samples that are sorted by length together
_PACE = 0.2  # of the moving mean of errors


class Focus:
    """Learns most where most is still wrong: of a kind of step that rarely fails, few steps are taken.

    A reply of log-probability l is wrong with probability e = 1 - exp(l) when it is sampled. Each kind keeps a moving mean of e,
    over some ten of its steps, that begins at 1/2; a step is taken with probability min(1, max(least, 2 e)).
    """

    def __init__(self, kinds: Sequence[str], least: float) -> None:
        self._kinds, self._least = kinds, least
        self.errors = dict.fromkeys(kinds, 0.5)

    def takes(self, index: int, rng: random.Random) -> bool:
        """Return whether to learn from the sample now."""
        return rng.random() < max(self._least, 2 * self.errors[self._kinds[index]])

    def note(self, index: int, logprob: float) -> None:
        """Take in how likely the model found the reply of the sample."""
        kind = self._kinds[index]
        self.errors[kind] += _PACE * (1 - math.exp(logprob) - self.errors[kind])


class Updates:
    """The indices of each update's samples, of which the lengths are given, epoch after epoch, without end.

    An update holds samples of like length, so that little is padded, and at most `tokens` tokens with the padding. The order
    depends on the seed alone, and on the focus if there is one. `record` is what another needs to go on from here.
    """

    def __init__(self, lengths: Sequence[int], tokens: int, seed: int, focus: Focus | None = None) -> None:
        self.focus = focus
        self._lengths, self._tokens, self._seed = lengths, tokens, seed
        self._ready: list[list[int]] = []
        self._begin(0)

    def __iter__(self) -> Iterator[list[int]]:
        return self

    def __next__(self) -> list[int]:
        while not self._ready:
            if self._place == len(self._order):
                self._begin(self._epoch + 1)
            self._prepare()
        return self._ready.pop(0)

    def record(self) -> dict[str, Any]:
        """Return the place in the data, and what the focus has learned, as JSON."""
        place = {"epoch": self._epoch, "place": self._place, "ready": self._ready, "dice": self._dice.getstate()}
        return place | ({"errors": self.focus.errors} if self.focus else {})

    def restore(self, record: dict[str, Any]) -> None:
        """Go on from what `record` returned."""
        self._begin(record["epoch"])
        version, state, following = record["dice"]
        self._dice.setstate((version, tuple(state), following))
        self._place, self._ready = record["place"], list(record["ready"])
        if self.focus:
            self.focus.errors.update(record["errors"])

    def _begin(self, epoch: int) -> None:
        self._epoch, self._place = epoch, 0
        self._dice: random.Random = random.Random(f"{self._seed}/{epoch}")
        self._order = self._dice.sample(range(len(self._lengths)), len(self._lengths))

    def _prepare(self) -> None:
        """Make updates of the next samples. Sorting a whole epoch would make each one of the few kinds of page."""
        window: list[int] = []
        while self._place < len(self._order) and len(window) < _WINDOW:
            index = self._order[self._place]
            self._place += 1
            if self.focus is None or self.focus.takes(index, self._dice):
                window.append(index)
        updates: list[list[int]] = [[]] if window else []
        for index in sorted(window, key=self._lengths.__getitem__):
            if updates[-1] and self._lengths[index] * (len(updates[-1]) + 1) > self._tokens:
                updates.append([])
            updates[-1].append(index)
        self._dice.shuffle(updates)
        self._ready = updates


def find_episodes(demonstrations: Sequence[Demonstration]) -> list[list[int]]:
    """Return the indices of the steps of each episode: those of one task, one after the other, with ever longer conversations.

    Without a history no conversation grows, and each step, which shares nothing with the others, is an episode of its own.
    """
    episodes: list[list[int]] = []
    last: tuple[str, int] | None = None
    for index, step in enumerate(demonstrations):
        if last is None or step.task_id != last[0] or len(step.messages) <= last[1]:
            episodes.append([])
        episodes[-1].append(index)
        last = step.task_id, len(step.messages)
    return episodes


class EpisodeUpdates:
    """Updates of whole episodes, whose steps share what came before, else like `Updates` without a focus.

    Without sharing, an update has at most `tokens` tokens, or one episode.
    """

    def __init__(self, episodes: Sequence[Sequence[int]], lengths: Sequence[int], tokens: int, seed: int) -> None:
        self._episodes, self._lengths, self._tokens, self._seed = episodes, lengths, tokens, seed
        self._begin(0)

    def __iter__(self) -> Iterator[list[int]]:
        return self

    def __next__(self) -> list[int]:
        update: list[int] = []
        room = self._tokens
        for episode in self._order[self._place :]:
            length = sum(self._lengths[index] for index in episode)
            if update and length > room:
                break
            update, room = [*update, *episode], room - length
            self._place += 1
        if self._place == len(self._order):
            self._begin(self._epoch + 1)
        return update

    def record(self) -> dict[str, Any]:
        """Return the place in the data, as JSON."""
        return {"epoch": self._epoch, "place": self._place}

    def restore(self, record: dict[str, Any]) -> None:
        """Go on from what `record` returned."""
        self._begin(record["epoch"])
        self._place = record["place"]

    def _begin(self, epoch: int) -> None:
        self._epoch, self._place = epoch, 0
        self._order = random.Random(f"{self._seed}/{epoch}").sample(self._episodes, len(self._episodes))
