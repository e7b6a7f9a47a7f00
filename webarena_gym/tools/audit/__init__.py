"""Proof that tasks are what they claim: their reference solutions earn the reward, and nothing cheaper does."""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.applications.application import Application
from webarena_gym.backends.embedded import WorldSpec
from webarena_gym.console import Progress
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.options import BrowserKind
from webarena_gym.processes import workers
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task, find, templates, templates_of
from webarena_gym.tools.audit.answers import another as another
from webarena_gym.tools.audit.answers import other_answers, others, try_answers
from webarena_gym.tools.audit.evidence import Sightings, groundless
from webarena_gym.tools.audit.memorised import BOUND, memorised
from webarena_gym.tools.audit.pictures import needs_eyes, told
from webarena_gym.tools.audit.replays import Findings as Findings
from webarena_gym.tools.audit.replays import earns, exit_with
from webarena_gym.tools.audit.replays import imitate as imitate
from webarena_gym.tools.audit.replays import replay as replay
from webarena_gym.tools.audit.replays import replay_on_both as replay_on_both
from webarena_gym.tools.audit.side_effects import Repertoire, repertoire, try_side_effects

MAX_STEPS = 60  # scrolling included
_CHUNK = 8  # tasks that a process is given at a time
_NOTHING = Action(Kind.WAIT)

EXCEPTIONS: Mapping[str, str] = {}
"""Templates for which another draw's solution may earn the reward, and why that is right."""


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
) -> Findings:
    """Replay every reference solution, on an `application` so often, and try to earn each reward without the work; `on_progress` is told the tasks done.

    The tasks must have been drawn for the sites as `variation` builds them.

    The tries are: doing nothing until the steps run out, leaving at once without an answer, leaving with N/A where the task
    can be done, leaving with each of the task's wrong answers, which are of the right type, the right answer in every form and attacks
    made from it and from those of other draws (`answers`, which are counted), and doing what solves another draw of the
    template in the same world. Each answer must stand on a page that the solution saw, or follow from such as the task declares
    (see `sightings`), and each fact of its `evidence` must have been shown. What stands in pictures alone must be told by no text (`told`). With `side_effects`, solutions are also tried with something else done before or after them, and with
    detours. The result is the same for any number of `jobs`, processes that share the work.

    With the browser "chromium", the solutions alone are replayed, on both browsers side by side, and every step must give the
    same text, verdicts and reward on both. On an `application`, whose pages may look different there, everything is tried in that browser.
    """
    chosen = list(tasks)
    chunks = [chosen[start : start + _CHUNK] for start in range(0, len(chosen), _CHUNK)]
    findings = Findings()
    with workers(min(jobs, len(chunks))) as work:
        if browser == "chromium" and not application:
            parts = work(partial(_compare_all, variation=variation), chunks)
        else:
            places = sorted(_places(chosen, variation)) if side_effects and not application else []
            found_in: dict[WorldSpec, Repertoire] = dict(zip(places, work(repertoire, places), strict=True))
            deeds = [{place: found_in[place] for place in _places(chunk, variation) if place in found_in} for chunk in chunks]
            how: dict[str, Any] = {"variation": variation, "application": application, "browser": browser, "repeats": repeats}
            parts = work(partial(_examine_all, **how), chunks, deeds)
        for found in parts:
            findings.add(found)
            on_progress(findings.tasks)
    return findings


def audit_tasks(options: argparse.Namespace, chosen: Sequence[Task], application: Application | None = None) -> int:
    """Audit the tasks, print what is found, and return the exit status."""
    start = time.perf_counter()
    if not chosen:
        raise TaskError("no task was chosen; give --world-seed to draw from templates that the split has not")
    progress = Progress(len(chosen), "tasks audited")
    progress.show(0)
    findings = audit(
        chosen,
        variation=options.variation,
        browser=options.browser,
        jobs=options.jobs,
        side_effects=options.side_effects,
        on_progress=progress.show,
        application=application,
        repeats=options.repeats if application else 1,
    )
    progress.clear()
    seconds = round(time.perf_counter() - start, 2)
    first, *lines = findings.lines()
    print("\n".join([f"{first}, in {seconds} s", *lines]))
    if options.json:
        setting = {name: getattr(options, name) for name in ("browser", "variation", "world_seed")} | {"seconds": seconds}
        print(json.dumps({**findings.totals(), **setting}))
    return 0 if findings.is_clean else 1


def try_memorised(options: argparse.Namespace, chosen: Sequence[Task]) -> int:
    """Print how much memorised answers earn, and return the exit status: 0 for at most BOUND."""
    found = memorised(chosen, options.variation)
    print("\n".join(found.lines()))
    if options.json:
        totals = {
            "memorised": found.rewarded.total(),
            "tasks": found.tasks.total(),
            "worlds": found.worlds,
            "share": found.share,
        }
        print(json.dumps(totals))
    return 0 if found.share <= BOUND else 1


def _places(tasks: Iterable[Task], variation: Variation) -> set[WorldSpec]:
    return {WorldSpec(task.world_seed, variation, task.scale) for task in tasks if task.world_seed is not None}


def _examine_all(
    tasks: Sequence[Task],
    repertoires: Mapping[WorldSpec, Repertoire],
    variation: Variation,
    application: Application | None,
    browser: BrowserKind,
    repeats: int,
) -> Findings:
    findings = Findings()
    options: dict[str, Any] = {"variation": variation, "application": application}
    patient, hasty = (WebArenaLite(tasks=tasks, browser=browser, max_steps=steps, **options) for steps in (MAX_STEPS, 1))
    for task in tasks:
        other = another(task, **options)
        try:
            _examine(task, other, other_answers(task, **options), patient, hasty, findings)
            failed = [told for told in (replay(patient, task) for _ in range(repeats - 1)) if told]
            findings.not_always += [f"{task.task_id}: {len(failed)} of {repeats} replays, {failed[0]}"] if failed else []
        except EvaluationError as error:
            findings.count(task, f"it cannot be judged: {error}")
            continue
        is_drawn = task.template in (templates_of(application) if application else templates())
        if is_drawn and _text(find(task.task_id, scale=task.scale, **options)) != _text(task):
            findings.drawn_differently.append(f"{task.task_id}: its template draws another task from the same seed")
        findings.told += [f"{task.task_id}: {problem}" for problem in (told(task, variation) if needs_eyes(task) else ())]
        for place in _places([task], variation) & repertoires.keys():
            try_side_effects(patient, task, others(task, **options), repertoires[place], findings)
    patient.close()
    hasty.close()
    return findings


def _text(task: Task) -> str:
    return json.dumps(task.to_json(), sort_keys=True)


def _compare_all(tasks: Sequence[Task], variation: Variation) -> Findings:
    findings = Findings()
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
    task: Task, other: Task | None, answers: list[str], patient: WebArenaLite, hasty: WebArenaLite, findings: Findings
) -> None:
    """Try everything with one task, the solution of another among it, and note what is found."""
    sightings = Sightings()
    failure = replay(patient, task, lambda page: sightings.add(page, patient.observation.text))
    findings.count(task, failure)
    if not failure:
        findings.groundless += [f"{task.task_id}: {problem}" for problem in groundless(task, sightings)]
        findings.unseen += [f"{task.task_id}: {fact!r}" for fact in task.evidence if not sightings.has_shown(fact)]
        if patient.options.application and set(task.eval_types) == {"string_match"}:
            findings.changed += [f"{task.task_id}: {change}; is it incidental?" for change in patient.changes()[:1]]
        findings.steps.append(sightings.looks)
        findings.pages.append(len(sightings.addresses))
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
        place = findings.excused if excuse else findings.other_rewarded
        place.append(f"{task.task_id}: {excuse or f'by the solution of {other.task_id}'}")
