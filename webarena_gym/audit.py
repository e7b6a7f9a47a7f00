"""Proof that tasks are what they claim: their reference solutions earn the reward, and nothing cheaper does."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from itertools import zip_longest
from multiprocessing import get_context
from typing import Any, Literal

from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Expert, Task, draw, templates

MAX_STEPS = 60  # scrolling included
_CHUNK = 8  # tasks that a process is given at a time
_OTHERS = (2, 12)  # draws of a template that are looked at for one with another truth: few, then more
_NOTHING = Action(Kind.WAIT)

EXCEPTIONS: Mapping[str, str] = {}
"""Templates for which another draw's solution may earn the reward, and why that is right."""


@dataclass
class Findings:
    """What an audit found; each list holds `task id: reason` lines.

    `different` are solutions that did not give the same on Chromium. `excused` are rewards for another draw's solution that EXCEPTIONS allows; `without_other` are tasks of templates that ask
    for nothing else in their world, so that there was no other solution to try.
    """

    tasks: int = 0
    solved: int = 0
    templates: set[str] = field(default_factory=set)
    worlds: set[int | None] = field(default_factory=set)
    unsolved: list[str] = field(default_factory=list)
    noop_rewarded: list[str] = field(default_factory=list)
    exit_rewarded: list[str] = field(default_factory=list)
    na_rewarded: list[str] = field(default_factory=list)
    wrong_rewarded: list[str] = field(default_factory=list)
    other_rewarded: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    without_other: list[str] = field(default_factory=list)

    @property
    def faults(self) -> dict[str, list[str]]:
        """What must be mended, by kind."""
        tries = ("noop_rewarded", "exit_rewarded", "na_rewarded", "wrong_rewarded", "other_rewarded")
        return {kind: getattr(self, kind) for kind in ("unsolved", *tries, "different")}

    @property
    def is_clean(self) -> bool:
        """Whether every task is solved by its solution and by nothing else."""
        return not any(self.faults.values())

    def totals(self) -> dict[str, int]:
        """Return all that was counted, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value if isinstance(value, int) else len(value) for name, value in values.items()}

    def add(self, other: "Findings") -> None:
        """Take in what was found in other tasks."""
        self.tasks += other.tasks
        self.solved += other.solved
        self.templates |= other.templates
        self.worlds |= other.worlds
        for name in (*self.faults, "excused", "without_other"):
            getattr(self, name).extend(getattr(other, name))


def audit(
    tasks: Iterable[Task],
    *,
    variation: Variation = "content",
    browser: Literal["inprocess", "chromium"] = "inprocess",
    jobs: int = 1,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Findings:
    """Replay every reference solution, and try to earn each reward without the work; `on_progress` is told the tasks done.

    The tasks must have been drawn for the sites as `variation` builds them.

    The tries are: doing nothing until the steps run out, leaving at once without an answer, leaving with N/A where the task
    can be done, leaving with each of the task's wrong answers, which are of the right type, and with each of them beside the
    right one, and doing what solves another draw of the template in the same world. The result is the same for any number of
    `jobs`, processes that share the work.

    With the browser "chromium", the solutions alone are replayed, on both browsers side by side, and every step must give the
    same text, verdicts and reward on both.
    """
    chosen = list(tasks)
    chunks = [chosen[start : start + _CHUNK] for start in range(0, len(chosen), _CHUNK)]
    findings = Findings()
    with _workers(min(jobs, len(chunks))) as work:
        for found in work(partial(_examine_all if browser == "inprocess" else _compare_all, variation=variation), chunks):
            findings.add(found)
            on_progress(findings.tasks)
    return findings


@contextmanager
def _workers(count: int) -> Iterator[Callable[..., Iterable[Findings]]]:
    """A `map` over that many processes; one works here."""
    if count <= 1:
        yield map
    else:
        with ProcessPoolExecutor(count, get_context("spawn")) as pool:
            yield pool.map


def _examine_all(tasks: Sequence[Task], variation: Variation) -> Findings:
    findings = Findings()
    patient, hasty = (WebArenaLite(tasks=tasks, variation=variation, max_steps=steps) for steps in (MAX_STEPS, 1))
    for task in tasks:
        _examine(task, another(task, variation), patient, hasty, findings)
    patient.close()
    hasty.close()
    return findings


def _compare_all(tasks: Sequence[Task], variation: Variation) -> Findings:
    findings = Findings()
    one = WebArenaLite(tasks=tasks, variation=variation, max_steps=MAX_STEPS)
    other = WebArenaLite(tasks=tasks, variation=variation, max_steps=MAX_STEPS, browser="chromium")
    for task in tasks:
        findings.tasks += 1
        findings.templates.add(task.template)
        findings.worlds.add(task.world_seed)
        failure, difference = replay_on_both(one, other, task)
        if failure:
            findings.unsolved.append(f"{task.task_id}: {failure}")
        else:
            findings.solved += 1
        if difference:
            findings.different.append(f"{task.task_id}: {difference}")
    one.close()
    other.close()
    return findings


def _examine(task: Task, other: Task | None, patient: WebArenaLite, hasty: WebArenaLite, findings: Findings) -> None:
    """Try everything with one task, the solution of another among it, and note what is found."""
    findings.tasks += 1
    findings.templates.add(task.template)
    findings.worlds.add(task.world_seed)
    failure = replay(patient, task)
    if failure:
        findings.unsolved.append(f"{task.task_id}: {failure}")
    else:
        findings.solved += 1
    if _earns(hasty, task, _NOTHING):
        findings.noop_rewarded.append(task.task_id)
    if _earns(hasty, task, _exit("")):
        findings.exit_rewarded.append(task.task_id)
    if task.is_achievable and _earns(hasty, task, _exit("N/A")):
        findings.na_rewarded.append(task.task_id)
    earned = [answer for answer in _wrong_answers(task) if _earns(hasty, task, _exit(answer))]
    if earned:
        findings.wrong_rewarded.append(f"{task.task_id}: {earned[0]!r}")
    if other is None:
        findings.without_other.append(task.task_id)
    elif imitate(patient, task, other):
        excuse = EXCEPTIONS.get(task.template)
        place = findings.excused if excuse else findings.other_rewarded
        place.append(f"{task.task_id}: {excuse or f'by the solution of {other.task_id}'}")


def _wrong_answers(task: Task) -> Iterator[str]:
    """Yield the task's wrong answers, and answers that name one beside the right one, unless the right one holds it anyway."""
    right = (task.solution[-1].action.argument or "") if task.solution else ""
    for wrong in task.wrong_answers:
        yield wrong
        if right and wrong.lower() not in right.lower() and right.lower() not in wrong.lower():
            yield from (
                f"{wrong}/{right}",
                f"{right} | {wrong}",
                f"{wrong} {right}",
                f"{right} or {wrong}",
                f"{wrong} is {right}",
            )


def replay(env: WebArenaLite, task: Task) -> str:
    """Do a task by its reference solution; return why it failed, empty when the reward was earned."""
    env.reset(options={"task": task})
    expert = Expert(task, env.dialect)
    done = False
    info: dict[str, Any] = {}
    while not done:
        try:
            reply = expert.reply(env.page, env.observation)
        except ActionError as error:
            return f"at {env.page.url}: {error}"
        _, reward, terminated, truncated, info = env.step(reply)
        if info["action_error"]:
            return f"{reply} at {env.page.url}: {info['action_error']}"
        done = terminated or truncated
    return "" if reward == 1.0 else f"not rewarded: {info['verdicts']}"


def replay_on_both(one: WebArenaLite, other: WebArenaLite, task: Task) -> tuple[str, str]:
    """Do a task by its reference solution in two envs; return why it failed, and what the second had different at first."""
    seen = [env.reset(options={"task": task}) for env in (one, other)]
    expert = Expert(task, one.dialect)
    done, reward = False, 0.0
    while not done:
        if seen[0] != seen[1]:
            return "", f"at {one.page.url}: {_first_difference(*(info['page'] for _, info in seen))}"
        try:
            reply = expert.reply(one.page, one.observation)
        except ActionError as error:
            return f"at {one.page.url}: {error}", ""
        (text, reward, *ends, info), (other_text, *others, other_info) = one.step(reply), other.step(reply)
        if [reward, *ends] != others:
            return "", f"{reply} gave {[reward, *ends]}, and {others}"
        seen = [(text, info), (other_text, other_info)]
        done = any(ends)
    return "" if reward == 1.0 else f"not rewarded: {seen[0][1]['verdicts']}", ""


def _first_difference(one: str, other: str) -> str:
    lines = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    return next((f"{first!r} is {second!r}" for first, second in lines if first != second), "what is said about the step")


def another(task: Task, variation: Variation = "content") -> Task | None:
    """Return another draw of the task's template in its world, with another truth; None when there is none."""
    if task.template not in templates() or task.world_seed is None:
        return None
    drawn = (other for count in _OTHERS for other in _draws(task.template, task.world_seed, count, variation))
    return next((other for other in drawn if other.eval != task.eval), None)


def imitate(env: WebArenaLite, task: Task, other: Task) -> bool:
    """Do what solves another task, up to its answer, and return whether that earns this one's reward.

    It begins where the other does. Where a step cannot be done, only the answer is left to give.
    """
    env.reset(options={"task": replace(task, start_url=other.start_url)})
    expert = Expert(other, env.dialect)
    last = other.solution[-1].action
    parting = env.dialect.format(last if last.kind is Kind.EXIT else _exit(""))
    done = False
    info: dict[str, Any] = {"action_error": ""}
    reward = 0.0
    while not done:
        try:
            reply = parting if info["action_error"] else expert.reply(env.page, env.observation)
        except ActionError:
            reply = parting
        _, reward, terminated, truncated, info = env.step(reply)
        done = terminated or truncated
    return reward > 0


@lru_cache(maxsize=512)
def _draws(template: str, world_seed: int, count: int, variation: Variation) -> list[Task]:
    return draw([template], world_seed=world_seed, count=count, variation=variation)


def _exit(answer: str) -> Action:
    return Action(Kind.EXIT, argument=answer)


def _earns(env: WebArenaLite, task: Task, action: Action) -> bool:
    env.reset(options={"task": task})
    return env.step(env.dialect.format(action))[1] > 0
