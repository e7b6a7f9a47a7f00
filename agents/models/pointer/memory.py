"""A memory of steps of past episodes: retrieval of the steps nearest to a page, and a network that scores candidates by them.

After retrieval-augmented reinforcement learning (Goyal et al., arXiv 2202.08417): at each step a policy reads from a data set of past
experience outside of its parameters. In the paper, slots of a recurrent state attend to encoded trajectories. Here the retrieval of the
nearest steps of the site is not trained, and `MemoryRead` attends to them with trained parameters.
"""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy
import torch
from torch import Tensor, nn

from agents.data.workflows import WorkflowStep, comparison_key, mask_names, names_of, site_of, words_in
from agents.models.pointer.pages import Floats, Ids, parse_page, path_of

SIMILARITIES = 5
"""Number of similarities of a step and a situation: overlap of the goals' words; equal goal, path, title, previous action."""
MATCH_KINDS = 3
"""Number of kinds of match of a candidate and a step's action: equal action, equal kind, equal label."""
_WEIGHTS = numpy.array([4.0, 1.0, 2.0, 1.0, 1.0], numpy.float32)  # of the similarities, in the retrieval
_NO_STEP, _NO_CANDIDATE = -1, -2
_HIDDEN = 16


class StoredStep(NamedTuple):
    """A step of a successful episode, with the names of its task replaced by a placeholder."""

    source: str  # the original goal
    goal: str
    site: str
    path: str
    title: str
    previous: WorkflowStep
    action: WorkflowStep


class Situation(NamedTuple):
    """The key of a look-up: the goal, the page's text, and the previous action."""

    goal: str
    page: str
    previous: WorkflowStep


class Retrieval(NamedTuple):
    """The K nearest steps of a memory for a question with N candidates, and the ids of their actions.

    Ids in the same column of `step_ids` and `candidate_ids` are equal if the actions match in this kind (see `MATCH_KINDS`). Rows of
    `step_ids` without a step are -1.
    """

    similarities: Floats  # (K, SIMILARITIES)
    step_ids: Ids  # (K, MATCH_KINDS)
    candidate_ids: Ids  # (N, MATCH_KINDS)


class StepMemory:
    """An immutable memory of steps of past episodes, indexed by site.

    Args:
        steps: The steps, oldest first.
        nearest: Number of steps to retrieve.

    """

    def __init__(self, steps: Sequence[StoredStep], nearest: int) -> None:
        self.steps, self.nearest = tuple(steps), nearest
        self._ids: dict[Any, int] = {}
        self._goals = list(dict.fromkeys(step.goal for step in self.steps))
        self._goal_words = [words_in(goal) for goal in self._goals]
        numbers = {goal: number for number, goal in enumerate(self._goals)}
        # for each site, arrays with a row for each step: ids of goal, path, title and previous action; ids of its action
        self._rows: dict[str, tuple[Ids, Ids]] = {}
        for site in dict.fromkeys(step.site for step in self.steps):
            site_steps = [step for step in self.steps if step.site == site]
            keys = [
                (numbers[step.goal], *map(self._assign_id, _page_keys(step.path, step.title, step.previous)))
                for step in site_steps
            ]
            action_ids = [[self._assign_id(key) for key in _match_keys(step.action)] for step in site_steps]
            self._rows[site] = numpy.array(keys, numpy.int32), numpy.array(action_ids, numpy.int32)
        self._overlaps = lru_cache(maxsize=512)(self._goal_overlaps)

    def __len__(self) -> int:
        return len(self.steps)

    def __deepcopy__(self, _: object) -> "StepMemory":
        """Return the memory itself, which is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return StepMemory, (self.steps, self.nearest)

    def without(self, goal: str) -> "StepMemory":
        """Return the memory without the steps whose original goal is `goal`."""
        return StepMemory([step for step in self.steps if step.source != goal], self.nearest)

    def candidate_ids(self, actions: Iterable[WorkflowStep]) -> Ids:
        """Return the ids of the candidates' actions, shape (N, MATCH_KINDS), and -2 where no step of the memory matches."""
        get_id = self._ids.get
        ids = [[get_id(key, _NO_CANDIDATE) for key in _match_keys(action)] for action in actions]
        return numpy.array(ids, numpy.int32).reshape(-1, MATCH_KINDS)

    def look_up(self, situation: Situation, candidate_ids: Ids) -> Retrieval:
        """Return the steps of the page's site with the highest weighted similarity. The newest are preferred among equals."""
        similarities = numpy.zeros((self.nearest, SIMILARITIES), numpy.float32)
        step_ids = numpy.full((self.nearest, MATCH_KINDS), _NO_STEP, numpy.int32)
        site_rows = self._rows.get(site_of(situation.page))
        if site_rows is not None:
            keys, action_ids = site_rows
            page, names = parse_page(situation.page), names_of(situation.goal)
            page_key = mask_names(path_of(page.url), names), mask_names(page.title, names)
            current = [self._ids.get(key, _NO_CANDIDATE) for key in _page_keys(*page_key, situation.previous)]
            overlaps, equal = self._overlaps(situation.goal)
            numbers = numpy.stack([overlaps[keys[:, 0]], equal[keys[:, 0]], *(keys[:, 1:] == current).T], axis=1)
            numbers = numbers.astype(numpy.float32)
            best = numpy.argsort(-(numbers @ _WEIGHTS)[::-1], kind="stable")[: self.nearest]
            best = len(keys) - 1 - best
            similarities[: len(best)], step_ids[: len(best)] = numbers[best], action_ids[best]
        return Retrieval(similarities, step_ids, candidate_ids)

    def save(self, path: Path) -> None:
        """Write the memory as JSON."""
        path.write_text(json.dumps({"nearest": self.nearest, "steps": self.steps}, ensure_ascii=False), encoding="utf-8")

    def _assign_id(self, key: Hashable) -> int:
        return self._ids.setdefault(key, len(self._ids))

    def _goal_overlaps(self, goal: str) -> tuple[Floats, Floats]:
        """Return the Jaccard similarity of the words of each goal of the memory and this one, and whether the goals are equal."""
        template = mask_names(goal, names_of(goal))
        goal_words = words_in(template)
        shared = [len(goal_words & words) / max(len(goal_words | words), 1) for words in self._goal_words]
        return numpy.array(shared, numpy.float32), numpy.array([template == known for known in self._goals], numpy.float32)


def load_memory(path: Path) -> StepMemory:
    """Return the memory in a file. Raises ValueError if the file is not a valid memory."""
    try:
        record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        steps = [
            StoredStep(*item)._replace(previous=WorkflowStep(*item[5]), action=WorkflowStep(*item[6]))
            for item in record["steps"]
        ]
        return StepMemory(steps, int(record["nearest"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a memory of steps ({error!r}); expected a file written by agents.remember") from error


def stored_step(situation: Situation, action: WorkflowStep) -> StoredStep:
    """Return a step for a memory. `action` must not contain names of the task."""
    page, names = parse_page(situation.page), names_of(situation.goal)
    goal, path, title = (mask_names(text, names) for text in (situation.goal, path_of(page.url), page.title))
    return StoredStep(situation.goal, goal, urlsplit(page.url).netloc, path, title, situation.previous, action)


def _page_keys(path: str, title: str, previous: WorkflowStep) -> tuple[Any, ...]:
    return ("path", path), ("title", title), ("deed", *comparison_key(previous))


def _match_keys(action: WorkflowStep) -> tuple[Any, ...]:
    """Return the key of each kind of match, which is equal for actions that match."""
    label = action.label or f"<{action.kind}>"  # so that actions of different kinds without labels do not match
    return ("deed", *comparison_key(action)), ("kind", action.kind), ("label", label)


class MemoryRead(nn.Module):
    """Scores candidates by how well their actions match those of retrieved steps, weighted by attention.

    Attention may also go to a null entry, which matches no candidate. The initial scores are 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.Linear(SIMILARITIES, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))
        self.nothing = nn.Parameter(torch.zeros(1))
        self.gain = nn.Parameter(torch.zeros(MATCH_KINDS))

    def forward(self, retrievals: Sequence[Retrieval], owners: Tensor) -> Tensor:
        """Return the score to add to each candidate, shape (N,).

        Args:
            retrievals: Retrieval of each of Q questions.
            owners: Index of each candidate's question, shape (N,).

        """
        similarities = torch.from_numpy(numpy.stack([retrieval.similarities for retrieval in retrievals]))
        step_ids = torch.from_numpy(numpy.stack([retrieval.step_ids for retrieval in retrievals]))
        candidate_ids = torch.from_numpy(numpy.concatenate([retrieval.candidate_ids for retrieval in retrievals]))
        logits = self.attention(similarities)[..., 0].masked_fill(step_ids[..., 0] < 0, -torch.inf)
        weights = torch.cat([logits, self.nothing.expand(len(retrievals), 1)], 1).softmax(1)[:, :-1]
        added = torch.zeros(len(candidate_ids))
        for match_kind, gain in enumerate(self.gain):
            is_match = candidate_ids[:, match_kind, None] == step_ids[owners, :, match_kind]
            added = added + gain * (is_match * weights[owners]).sum(1)
        return added
