"""The database changes that a task needs: those of its reference solution, which is replayed in its own world when first asked for."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from webarena_gym.actions import Kind
from webarena_gym.browsers import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.episode.acting import act
from webarena_gym.errors import ActionError, EvaluationError
from webarena_gym.evaluators import Verdict, side_effects
from webarena_gym.evaluators.kinds import eval_kinds
from webarena_gym.observation import observe
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.sites.planting import Planted
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step
from webarena_gym.venues.embedded import EmbeddedVenue

SideEffects = Literal["forbidden", "reported", "ignored"]
"""What becomes of changes beyond the task: they fail the episode, are only told, or are not looked for."""


def judge(task: Task, venue: EmbeddedVenue, *, is_forbidden: bool) -> tuple[Verdict, list[str]]:
    """Say whether the episode in a venue, whose other checks have passed, changed nothing beyond its task, and what it did.

    Where nobody knows what the task needs to change, since it has no solution, it passes.
    """
    done = venue.changes()
    needed = _needed(task, *venue.world) if done else ()
    if isinstance(needed, str):
        return side_effects.unknown(needed), []
    difference = side_effects.compare(done, needed)
    return side_effects.verdict(difference, is_forbidden=is_forbidden), [str(change) for change in difference.beyond]


def follow(browser: Browser, solution: Iterable[Step]) -> None:
    """Do the steps of a solution in a browser, up to leaving. Raises ActionError where one cannot be done."""
    for action in (step.action for step in solution):
        if action.kind is Kind.EXIT:
            break
        found = None if action.element is None else observe(browser.page(), elements="label").element(action.element)
        act(browser, action, found)


def _needed(task: Task, world_seed: int, variation: Variation, scale: Scale) -> Sequence[Change] | str:
    if not task.solution:
        if all(eval_kinds()[name].looks_at == "answer" for name in task.eval_types):
            return ()
        return "the task has no reference solution, so what it may change is not known"
    sites = task.sites if task.require_login else ()
    return _replayed(task.solution, task.start_url, sites, world_seed, variation, scale, task.setup)


@lru_cache(maxsize=1024)
def _replayed(
    solution: tuple[Step, ...],
    start_url: str,
    sites: tuple[str, ...],
    world_seed: int,
    variation: Variation,
    scale: Scale = "standard",
    setup: tuple[Planted, ...] = (),
) -> Sequence[Change] | str:
    """Return the net changes of a solution, or why it cannot be replayed; sites are those to be signed in to."""
    venue = EmbeddedVenue(InProcessBrowser, variation=variation, scale=scale)
    try:
        venue.begin(world_seed, start_url, sites, setup)
        for action in (step.action for step in solution):
            if action.kind is Kind.EXIT:
                break
            page = venue.browser.page()
            act(
                venue.browser,
                action,
                None if action.element is None else observe(page, elements="label").element(action.element),
            )
        if venue.site_errors:
            raise EvaluationError(f"a site failed where the reference solution was replayed: {venue.site_errors[0]}")
        return venue.changes()
    except ActionError as error:
        return f"the reference solution cannot be replayed here, so what the task may change is not known: {error}"
    finally:
        venue.close()
