"""Audit of tasks: each reference solution earns the reward, and no cheaper attempt does."""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.applications.application import Application
from webarena_gym.backends.embedded import WorldSpec
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.options import BrowserKind
from webarena_gym.processes import workers
from webarena_gym.progress import Progress
from webarena_gym.sites.layout import Variation
from webarena_gym.suite import find, templates, templates_of
from webarena_gym.tasks import Task
from webarena_gym.tools.audit.answers import alternative_draw as alternative_draw
from webarena_gym.tools.audit.answers import alternative_draws, other_answers, try_answers
from webarena_gym.tools.audit.evidence import ObservedText, unsupported_answers
from webarena_gym.tools.audit.memorised import BOUND, score_memorised_answers
from webarena_gym.tools.audit.pictures import needs_eyes, picture_problems
from webarena_gym.tools.audit.replays import AuditFindings as AuditFindings
from webarena_gym.tools.audit.replays import earns, exit_with
from webarena_gym.tools.audit.replays import imitate as imitate
from webarena_gym.tools.audit.replays import replay as replay
from webarena_gym.tools.audit.replays import replay_on_both as replay_on_both
from webarena_gym.tools.audit.side_effects import Repertoire, repertoire, try_side_effects

MAX_STEPS = 60  # including scrolling
_CHUNK = 8  # tasks in one job of a worker process
_NOTHING = Action(Kind.WAIT)

EXCEPTIONS: Mapping[str, str] = {}
"""Templates for which the solution of another draw may earn the reward, each with the reason."""


def audit(
    tasks: Iterable[Task],
    *,
    variation: Variation = "content",
    browser: BrowserKind = "inprocess",
    jobs: int = 1,
    side_effects: bool = True,
    on_progress: Callable[[int], None] = lambda _: None,
    application: Application | None = None,
    repeats: int = 1,
) -> AuditFindings:
    """Replay each reference solution and try to earn each reward with cheaper attempts.

    The attempts are: no action until the steps run out; an immediate exit without an answer, or with N/A if the task is achievable;
    each of the task's wrong answers, which have the right type; the right answer in every notation, and attacks built from it and from the
    answers of other draws (`answers`; both are counted); and the solution of another draw of the template in the same world. A page
    visited by the solution must contain each answer, or the operands of its declared computation (see `evidence`), and an observation
    must contain each fact of the task's `evidence`. Truths that only pictures contain must be in no text (`picture_problems`). With
    `side_effects`, solutions are also played with further actions before or after them, and with detours.

    With the browser "chromium", only the solutions are replayed, in both browsers in parallel, and every step must give the same text,
    verdicts and reward in both. On an `application`, whose pages may look different in Chromium, all attempts use that browser.

    Args:
        tasks: tasks drawn for sites of this `variation`.
        variation: the layout of the sites.
        browser: the browser of the episodes.
        jobs: worker processes; the result does not depend on their number.
        side_effects: whether to run the side-effect probes.
        on_progress: called with the number of audited tasks.
        application: the application that the tasks are for, instead of the embedded sites.
        repeats: replays of each solution.

    """
    chosen = list(tasks)
    chunks = [chosen[start : start + _CHUNK] for start in range(0, len(chosen), _CHUNK)]
    findings = AuditFindings()
    with workers(min(jobs, len(chunks))) as work:
        if browser == "chromium" and not application:
            parts = work(partial(_compare_all, variation=variation), chunks)
        else:
            specs = sorted(_world_specs(chosen, variation)) if side_effects and not application else []
            repertoires: dict[WorldSpec, Repertoire] = dict(zip(specs, work(repertoire, specs), strict=True))
            submissions = [
                {spec: repertoires[spec] for spec in _world_specs(chunk, variation) if spec in repertoires} for chunk in chunks
            ]
            settings: dict[str, Any] = {
                "variation": variation,
                "application": application,
                "browser": browser,
                "repeats": repeats,
            }
            parts = work(partial(_examine_all, **settings), chunks, submissions)
        for part in parts:
            findings.add(part)
            on_progress(findings.tasks)
    return findings


def audit_tasks(options: argparse.Namespace, chosen: Sequence[Task], application: Application | None = None) -> int:
    """Audit the tasks, print the findings, and return the exit status."""
    start = time.perf_counter()
    if not chosen:
        raise TaskError("no task was chosen; give --world-seed to draw from templates that the split has not")
    progress = Progress(len(chosen), "tasks audited")
    progress.update(0)
    findings = audit(
        chosen,
        variation=options.variation,
        browser=options.browser,
        jobs=options.jobs,
        side_effects=options.side_effects,
        on_progress=progress.update,
        application=application,
        repeats=options.repeats if application else 1,
    )
    progress.clear()
    seconds = round(time.perf_counter() - start, 2)
    first, *lines = findings.lines()
    print("\n".join([f"{first}, in {seconds} s", *lines, findings.summary()]))
    if options.json:
        setting = {name: getattr(options, name) for name in ("browser", "variation", "world_seed")} | {"seconds": seconds}
        print(json.dumps({**findings.totals(), **setting}))
    return 0 if findings.is_clean else 1


def try_memorised(options: argparse.Namespace, chosen: Sequence[Task]) -> int:
    """Print how many tasks memorised answers solve, and return the exit status: 0 for a share of at most BOUND."""
    result = score_memorised_answers(chosen, options.variation)
    print("\n".join(result.lines()))
    if options.json:
        totals = {
            "memorised": result.rewarded.total(),
            "tasks": result.tasks.total(),
            "worlds": result.worlds,
            "share": result.share,
        }
        print(json.dumps(totals))
    return 0 if result.share <= BOUND else 1


def _world_specs(tasks: Iterable[Task], variation: Variation) -> set[WorldSpec]:
    return {WorldSpec(task.world_seed, variation, task.scale) for task in tasks if task.world_seed is not None}


def _examine_all(
    tasks: Sequence[Task],
    repertoires: Mapping[WorldSpec, Repertoire],
    variation: Variation,
    application: Application | None,
    browser: BrowserKind,
    repeats: int,
) -> AuditFindings:
    findings = AuditFindings()
    options: dict[str, Any] = {"variation": variation, "application": application}
    patient, hasty = (WebArenaLite(tasks=tasks, browser=browser, max_steps=steps, **options) for steps in (MAX_STEPS, 1))
    for task in tasks:
        other = alternative_draw(task, **options)
        try:
            _examine(task, other, other_answers(task, **options), patient, hasty, findings)
            failed = [failure for failure in (replay(patient, task) for _ in range(repeats - 1)) if failure]
            findings.not_always += [f"{task.task_id}: {len(failed)} of {repeats} replays, {failed[0]}"] if failed else []
        except EvaluationError as error:
            findings.count(task, f"its evaluator fails: {error}")
            continue
        is_drawn = task.template in (templates_of(application) if application else templates())
        if is_drawn and _text(find(task.task_id, scale=task.scale, **options)) != _text(task):
            findings.drawn_differently.append(f"{task.task_id}: its template draws another task from the same seed")
        findings.leaks += [
            f"{task.task_id}: {problem}" for problem in (picture_problems(task, variation) if needs_eyes(task) else ())
        ]
        for spec in _world_specs([task], variation) & repertoires.keys():
            try_side_effects(patient, task, alternative_draws(task, **options), repertoires[spec], findings)
    patient.close()
    hasty.close()
    return findings


def _text(task: Task) -> str:
    return json.dumps(task.to_json(), sort_keys=True)


def _compare_all(tasks: Sequence[Task], variation: Variation) -> AuditFindings:
    findings = AuditFindings()
    one = WebArenaLite(tasks=tasks, variation=variation, max_steps=MAX_STEPS)
    other = WebArenaLite(tasks=tasks, variation=variation, max_steps=MAX_STEPS, browser="chromium")
    for task in tasks:
        failure, difference = replay_on_both(one, other, task)
        findings.count(task, failure)
        if difference:
            findings.different.append(f"{task.task_id}: {difference}")
    one.close()
    other.close()
    return findings


def _examine(
    task: Task, other: Task | None, answers: list[str], patient: WebArenaLite, hasty: WebArenaLite, findings: AuditFindings
) -> None:
    """Run all attempts on one task, including the solution of `other`, and add the findings."""
    observed = ObservedText()
    failure = replay(patient, task, lambda page: observed.add(page, patient.observation.text))
    findings.count(task, failure)
    if not failure:
        findings.groundless += [f"{task.task_id}: {problem}" for problem in unsupported_answers(task, observed)]
        findings.unseen += [f"{task.task_id}: {fact!r}" for fact in task.evidence if not observed.was_observed(fact)]
        if patient.options.application and set(task.eval_types) == {"string_match"}:
            findings.changed += [f"{task.task_id}: {change}; is it incidental?" for change in patient.changes()[:1]]
        findings.steps.append(observed.page_count)
        findings.pages.append(len(observed.urls))
    if earns(hasty, task, _NOTHING):
        findings.noop_rewarded.append(task.task_id)
    if earns(hasty, task, exit_with("")):
        findings.exit_rewarded.append(task.task_id)
    if task.is_achievable and earns(hasty, task, exit_with("N/A")):
        findings.na_rewarded.append(task.task_id)
    earned = [answer for answer in task.wrong_answers if earns(hasty, task, exit_with(answer))]
    if earned:
        findings.wrong_rewarded.append(f"{task.task_id}: {earned[0]!r}")
    try_answers(task, answers, findings)
    if other is None:
        findings.without_other += [task.task_id] if task.template else []
    elif imitate(patient, task, other):
        excuse = EXCEPTIONS.get(task.template)
        reasons = findings.excused if excuse else findings.other_rewarded
        reasons.append(f"{task.task_id}: {excuse or f'by the solution of {other.task_id}'}")
