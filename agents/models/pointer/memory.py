"""A memory of steps of past episodes, and what of it a question reads: the nearest steps, and which candidates do the same.

After retrieval-augmented reinforcement learning (Goyal et al., arXiv 2202.08417): a policy reads, at each step, from a set of past
experience that is not in its parameters. There, slots of a recurrent state attend to encoded trajectories. Here a look-up of the
nearest steps of the site is not trained, and `MemoryRead` attends to them with trained parameters.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy
import torch
from torch import Tensor, nn

from agents.data.workflows import WorkflowStep, names_of, same_by, site_of, without_names, words_in
from agents.models.pointer.pages import Floats, Ids, path_of, read_page

NEARNESS = 5
"""Numbers that compare a step with a question: goals' words, equal goals, paths, titles, and what was done before."""
MATCHES = 3
"""Ways in which a candidate may do the same as a step: the same deed, the same kind, the same label."""
_WEIGHTS = numpy.array([4.0, 1.0, 2.0, 1.0, 1.0], numpy.float32)  # of the numbers in the look-up
_NO_STEP, _NO_CANDIDATE = -1, -2
_HIDDEN = 16


class StoredStep(NamedTuple):
    """A step of a successful episode, without the names that belong to its task alone."""

    source: str  # the goal as it was said
    goal: str
    site: str
    path: str
    title: str
    before: WorkflowStep
    deed: WorkflowStep


class Situation(NamedTuple):
    """The key of a look-up: the goal as it was said, the page, and what was done before."""

    goal: str
    page: str
    before: WorkflowStep


class Recalled(NamedTuple):
    """The nearest steps of a memory for a question with N candidates: how near (K, NEARNESS), and what they and the candidates do.

    `stored` (K, MATCHES) and `offered` (N, MATCHES) hold ids, which are equal where the same is done; a row of `stored` is -1 where
    the memory has no more steps of the site.
    """

    near: Floats
    stored: Ids
    offered: Ids


class StepMemory:
    """Steps of past episodes, those of one site together. It does not change, so that equal policies have equal memories."""

    def __init__(self, steps: Sequence[StoredStep], nearest: int) -> None:
        self.steps, self.nearest = tuple(steps), nearest
        self._ids: dict[Any, int] = {}
        self._goals = list(dict.fromkeys(step.goal for step in self.steps))
        self._goal_words = [words_in(goal) for goal in self._goals]
        numbers = {goal: number for number, goal in enumerate(self._goals)}
        # by site: goal, path, title and earlier deed of each step, and what it does
        self._rows: dict[str, tuple[Ids, Ids]] = {}
        for site in dict.fromkeys(step.site for step in self.steps):
            own = [step for step in self.steps if step.site == site]
            keys = [(numbers[step.goal], *map(self._new_id, _place_keys(step.path, step.title, step.before))) for step in own]
            does = [[self._new_id(key) for key in _keys(step.deed)] for step in own]
            self._rows[site] = numpy.array(keys, numpy.int32), numpy.array(does, numpy.int32)
        self._overlaps = lru_cache(maxsize=512)(self._goal_overlaps)

    def __len__(self) -> int:
        return len(self.steps)

    def __deepcopy__(self, _: Any) -> "StepMemory":
        """Return the memory itself, which does not change."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return StepMemory, (self.steps, self.nearest)

    def without(self, goal: str) -> "StepMemory":
        """Return the memory without the steps towards a goal, as it is said."""
        return StepMemory([step for step in self.steps if step.source != goal], self.nearest)

    def offered(self, deeds: Iterable[WorkflowStep]) -> Ids:
        """Return the ids of what candidates do; -2 for what no step does."""
        find = self._ids.get
        found = [[find(key, _NO_CANDIDATE) for key in _keys(deed)] for deed in deeds]
        return numpy.array(found, numpy.int32).reshape(-1, MATCHES)

    def look_up(self, situation: Situation, offered: Ids) -> Recalled:
        """Return the nearest steps of the page's site; of those as near, the newest."""
        near = numpy.zeros((self.nearest, NEARNESS), numpy.float32)
        stored = numpy.full((self.nearest, MATCHES), _NO_STEP, numpy.int32)
        rows = self._rows.get(site_of(situation.page))
        if rows is not None:
            keys, does = rows
            page, names = read_page(situation.page), names_of(situation.goal)
            place = without_names(path_of(page.url), names), without_names(page.title, names)
            here = [self._ids.get(key, _NO_CANDIDATE) for key in _place_keys(*place, situation.before)]
            overlaps, equal = self._overlaps(situation.goal)
            numbers = numpy.stack([overlaps[keys[:, 0]], equal[keys[:, 0]], *(keys[:, 1:] == here).T], axis=1)
            numbers = numbers.astype(numpy.float32)
            best = numpy.argsort(-(numbers @ _WEIGHTS)[::-1], kind="stable")[: self.nearest]
            best = len(keys) - 1 - best
            near[: len(best)], stored[: len(best)] = numbers[best], does[best]
        return Recalled(near, stored, offered)

    def save(self, path: Path) -> None:
        """Write the memory as JSON."""
        path.write_text(json.dumps({"nearest": self.nearest, "steps": self.steps}, ensure_ascii=False), encoding="utf-8")

    def _new_id(self, key: Any) -> int:
        return self._ids.setdefault(key, len(self._ids))

    def _goal_overlaps(self, goal: str) -> tuple[Floats, Floats]:
        """Return how many words each goal of the memory shares with this one, as a part of both, and whether they are equal."""
        plain = without_names(goal, names_of(goal))
        wanted = words_in(plain)
        shared = [len(wanted & words) / max(len(wanted | words), 1) for words in self._goal_words]
        return numpy.array(shared, numpy.float32), numpy.array([plain == each for each in self._goals], numpy.float32)


def load_memory(path: Path) -> StepMemory:
    """Return the memory of a file. Raises ValueError for a file of anything else."""
    try:
        record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        steps = [
            StoredStep(*each)._replace(before=WorkflowStep(*each[5]), deed=WorkflowStep(*each[6])) for each in record["steps"]
        ]
        return StepMemory(steps, int(record["nearest"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no memory of steps ({error!r}); expected a file of agents.remember") from error


def stored(situation: Situation, deed: WorkflowStep) -> StoredStep:
    """Return a step for a memory; the deed is one without names."""
    page, names = read_page(situation.page), names_of(situation.goal)
    goal, path, title = (without_names(text, names) for text in (situation.goal, path_of(page.url), page.title))
    return StoredStep(situation.goal, goal, urlsplit(page.url).netloc, path, title, situation.before, deed)


def _place_keys(path: str, title: str, before: WorkflowStep) -> tuple[Any, ...]:
    return ("path", path), ("title", title), ("deed", *same_by(before))


def _keys(deed: WorkflowStep) -> tuple[Any, ...]:
    """Return what has to be equal in each of the ways to do the same. An act without a label has none in common with others."""
    label = deed.label or f"<{deed.kind}>"
    return ("deed", *same_by(deed)), ("kind", deed.kind), ("label", label)


class MemoryRead(nn.Module):
    """Adds to a candidate's score how much it does the same as the steps that are attended to, or as none of them. A new one adds 0."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.Linear(NEARNESS, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))
        self.nothing = nn.Parameter(torch.zeros(1))
        self.gain = nn.Parameter(torch.zeros(MATCHES))

    def forward(self, recalled: Sequence[Recalled], owners: Tensor) -> Tensor:
        """Return what is added to the score of each candidate, shape (N,); `owners` are the numbers of their questions."""
        near = torch.from_numpy(numpy.stack([each.near for each in recalled]))
        stored = torch.from_numpy(numpy.stack([each.stored for each in recalled]))
        offered = torch.from_numpy(numpy.concatenate([each.offered for each in recalled]))
        logits = self.attention(near)[..., 0].masked_fill(stored[..., 0] < 0, -torch.inf)
        weights = torch.cat([logits, self.nothing.expand(len(recalled), 1)], 1).softmax(1)[:, :-1]
        added = torch.zeros(len(offered))
        for place, gain in enumerate(self.gain):
            same = offered[:, place, None] == stored[owners, :, place]
            added = added + gain * (same * weights[owners]).sum(1)
        return added
