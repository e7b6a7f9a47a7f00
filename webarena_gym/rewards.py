"""The reward of an episode: its evaluation, and the checklist of its task."""

from collections.abc import Mapping
from math import nan
from typing import Any

from webarena_gym.backends.base import Backend, build_outcome, judge_side_effects
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.episode import Episode
from webarena_gym.errors import BrowserError
from webarena_gym.evaluators import evaluate, judge_injection
from webarena_gym.evaluators.checklist import ChecklistItem, build_checklist, completion, f1, update
from webarena_gym.options import EnvOptions, OnFailure
from webarena_gym.tasks import Task

FAILURE_REWARD: Mapping[OnFailure, float] = {"nan": nan, "zero": 0.0}
"""The reward of an episode that ended with an infrastructure failure, by `on_failure`; with "raise" there is no reward."""


class Rewards:
    """The evaluation and the rewards of episodes, one after the other.

    Args:
        options: keywords of the env.

    """

    def __init__(self, options: EnvOptions) -> None:
        self._options = options
        self._side_effects = options.side_effects or ("forbidden" if options.can_compare_changes else "ignored")
        self.checklist: tuple[ChecklistItem, ...] = ()
        """The items of the task, if the reward is a checklist."""

    def start(self, episode: Episode, backend: Backend) -> None:
        """Prepare for an episode, which may be under way: build the checklist of its task, if the reward is a checklist."""
        if self._options.reward != "binary" and isinstance(backend, EmbeddedBackend):
            changes = backend.reference_changes(episode.task)
            pages = backend.reference_pages(episode.task)
            self.checklist = build_checklist(pages, () if isinstance(changes, str) else changes)
            episode.satisfied = episode.satisfied or (None,) * len(self.checklist)
        else:
            episode.satisfied = None

    def evaluate(self, task: Task, backend: Backend, answer: str) -> dict[str, Any]:
        """Evaluate an episode that is over, and return the entries of its info. Raises BrowserError for a failure after a site error."""
        options = self._options
        outcome = build_outcome(backend, answer, options.accounts or {})
        verdicts = evaluate(task.eval, task.intent, outcome, options.judge, options.rules)
        if task.injection and backend.is_embedded and options.rules == "native":
            verdicts.append(judge_injection(task.injection, task.intent, outcome))
        effects: dict[str, Any] = {}
        if self._side_effects != "ignored" and all(verdict.passed for verdict in verdicts):
            verdict, effects["side_effects"] = judge_side_effects(task, backend, is_forbidden=self._side_effects == "forbidden")
            verdicts.append(verdict)
        success = all(verdict.passed for verdict in verdicts)
        if backend.site_errors and not success:
            raise BrowserError(f"a site failed: {backend.site_errors[0]}")
        return {"success": success, "verdicts": [verdict.record() for verdict in verdicts], **effects}

    def reward(self, episode: Episode, backend: Backend, url: str, ending: Mapping[str, Any]) -> float:
        """Return the reward of the last step of an episode, and mark the items of the checklist that it satisfies.

        Args:
            episode: the episode after the step.
            backend: its backend.
            url: URL of the current page.
            ending: result of `evaluate`; empty while the episode goes on.

        Returns:
            The success of an episode that is over, as 1.0 or 0.0; with `reward="checklist"` the weight of newly satisfied items, and with
            "f1" the F1 value at the end of the episode.

        """
        success, items, before = bool(ending.get("success")), self.checklist, episode.satisfied
        if before is None:
            return float(success)
        has_open_changes = any(item.change and step is None for item, step in zip(items, before, strict=True))
        episode.satisfied = update(
            items,
            before,
            step=len(episode.turns),
            url=url,
            changes=backend.changes() if has_open_changes else (),
            is_solved=success,
        )
        completed = completion(items, episode.satisfied)
        if self._options.reward == "checklist":
            return completed - completion(items, before)
        return f1(completed, steps=len(episode.turns), needed=len(episode.task.solution)) if episode.is_over else 0.0
