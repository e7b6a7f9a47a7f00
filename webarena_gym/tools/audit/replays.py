"""Plays solutions and cheap attempts in an env to the end of the episode; and the findings of an audit, and their union over processes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from statistics import median, quantiles
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Page
from webarena_gym.recording import play
from webarena_gym.tasks import Expert, Task

_NO_FAULTS = ("excused", "without_other", "overwritten")
_COUNTED = ("steps", "pages")


@dataclass
class Findings:
    """The findings of an audit; each list holds `task id: reason` lines."""

    tasks: int = 0
    solved: int = 0
    templates: set[str] = field(default_factory=set)
    worlds: set[int | None] = field(default_factory=set)
    right_answers: int = 0  # in every form
    right_refused: list[str] = field(default_factory=list)
    attacks: int = 0  # answers that hold a right or a wrong one and must not be rewarded
    attacks_rewarded: list[str] = field(default_factory=list)
    unsolved: list[str] = field(default_factory=list)
    not_always: list[str] = field(default_factory=list)  # replays of a solution that failed, where others did not
    noop_rewarded: list[str] = field(default_factory=list)
    exit_rewarded: list[str] = field(default_factory=list)
    na_rewarded: list[str] = field(default_factory=list)
    wrong_rewarded: list[str] = field(default_factory=list)
    other_rewarded: list[str] = field(default_factory=list)  # by the solution of another draw
    groundless: list[str] = field(default_factory=list)  # answers that stand on no page and follow from nothing
    told: list[str] = field(default_factory=list)  # by a text, what pictures alone should show
    drawn_differently: list[str] = field(default_factory=list)  # the template draws another task from the same seed
    changed: list[str] = field(default_factory=list)  # by a solution that has only to answer, on an application
    side_effects_tried: int = 0  # solutions with something else done before or after them
    side_effects_rewarded: list[str] = field(default_factory=list)
    shown_before: int = (
        0  # changes that a page of the task's sites shows, done before a solution whose other checks then passed
    )
    other_draws_before: int = 0  # other draws' solutions done before the right one
    overwritten: list[str] = field(
        default_factory=list
    )  # other draws of which the right solution left nothing in the databases
    detours_tried: int = 0  # solutions with visits, or with something done and taken back
    detours_refused: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)  # facts behind a truth that the solution was not shown
    different: list[str] = field(default_factory=list)  # solutions that did not give the same on Chromium
    excused: list[str] = field(default_factory=list)  # rewards for another draw's solution that EXCEPTIONS allows
    without_other: list[str] = field(default_factory=list)  # the template asks for nothing else in this world
    steps: list[int] = field(default_factory=list)  # of the solutions, scrolling included
    pages: list[int] = field(default_factory=list)  # different ones that they were shown

    @property
    def faults(self) -> dict[str, list[str]]:
        """The findings that must be mended, by kind."""
        lists = (item.name for item in fields(self) if item.type == list[str])
        return {name: getattr(self, name) for name in lists if name not in _NO_FAULTS}

    @property
    def is_clean(self) -> bool:
        """True if every task is solved by its solution and by nothing else."""
        return not any(self.faults.values())

    def count(self, task: Task, failure: str) -> None:
        """Count a task whose solution was replayed, and failed for this reason, "" for none."""
        self.tasks += 1
        self.templates.add(task.template)
        self.worlds.add(task.world_seed)
        if failure:
            self.unsolved.append(f"{task.task_id}: {failure}")
        else:
            self.solved += 1

    def totals(self) -> dict[str, int]:
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in _COUNTED}
        counts = {name: value if isinstance(value, int) else len(value) for name, value in values.items()}
        return counts | {f"{name}_{what}": value for name in _COUNTED for what, value in self.spread(name).items()}

    def spread(self, name: str) -> dict[str, int]:
        """Return the median, the last tenth's first and the most of the `steps` or `pages` of solutions; nothing where none was solved."""
        values: list[int] = getattr(self, name)
        if len(values) < 2:
            return dict.fromkeys(("median", "last_tenth", "most"), values[0]) if values else {}
        return {"median": round(median(values)), "last_tenth": round(quantiles(values, n=10)[-1]), "most": max(values)}

    def lines(self) -> Iterator[str]:
        """Yield what a person is told."""
        totals = self.totals()
        yield (
            f"{totals['solved']} of {totals['tasks']} tasks of {totals['templates']} templates in {totals['worlds']} worlds are solved"
            " by their reference solutions"
        )
        for name in ("steps", "pages"):
            if spread := self.spread(name):
                yield f"{name} of a solution: median {spread['median']}, last tenth from {spread['last_tenth']}, most {spread['most']}"
        if totals["right_answers"]:
            yield (
                f"{totals['right_answers'] - totals['right_refused']} of {totals['right_answers']} forms of right answers are accepted,"
                f" {totals['attacks_rewarded']} of {totals['attacks']} attacks are rewarded"
            )
        if totals["side_effects_tried"]:
            yield (
                f"{totals['side_effects_rewarded']} of {totals['side_effects_tried']} solutions with side effects are rewarded;"
                f" of {totals['other_draws_before']} other draws done before the right one {totals['overwritten']} were overwritten,"
                f" and {totals['shown_before']} unrelated changes that a page shows were judged by the side effects alone"
            )
        for kind, found in self.faults.items():
            yield from (f"  {kind.replace('_', ' ')}: {finding}" for finding in found)
        yield from (f"  excused: {finding}" for finding in self.excused)
        if self.without_other:
            alone = sorted({finding.partition("/")[0] for finding in self.without_other})
            yield f"  without another truth in their world: {totals['without_other']} tasks of {', '.join(alone)}"

    def add(self, other: "Findings") -> None:
        for item in fields(self):
            own, more = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, own | more if isinstance(own, set) else own + more)


def replay(env: WebArenaLite, task: Task, on_page: Callable[[Page], None] = lambda _: None) -> str:
    """Do a task by its reference solution; return why it failed, empty when the reward was earned.

    `on_page` is given every page before the next step is taken on it.
    """
    expert, step = Expert(task, env.dialect), None

    def reply(*_: Any) -> str:
        on_page(env.page)
        return expert.reply(env.page, env.observation)

    try:
        for step in play(env, reply, *env.reset(options={"task": task})):
            if step.info["action_error"]:
                return f"{step.reply} at {env.page.url}: {step.info['action_error']}"
    except ActionError as error:
        return f"at {env.page.url}: {error}"
    assert step is not None
    return "" if step.reward == 1.0 else f"not rewarded: {step.info.get('failure') or _reasons(step.info)}"


def do_all(env: WebArenaLite, task: Task) -> str:
    """Do what a task's solution does in an episode that has begun, and return the reply with which it leaves.

    Raises ActionError where a step cannot be done.
    """
    expert = Expert(task, env.dialect)
    while True:
        choice = expert.choose(env.page, env.observation)
        reply = env.dialect.format(choice.action)
        if choice.action.kind is Kind.EXIT:
            return reply
        _, _, terminated, truncated, info = env.step(reply)
        if info["action_error"] or terminated or truncated:
            raise ActionError(info["action_error"] or "the episode is over before the solution is")


def replay_on_both(one: WebArenaLite, other: WebArenaLite, task: Task) -> tuple[str, str]:
    """Do a task by its reference solution in two envs; return why it failed, and what the second had different at first."""
    seen = [env.reset(options={"task": task}) for env in (one, other)]
    expert = Expert(task, one.dialect)
    done, reward = False, 0.0
    while not done:
        if seen[0] != seen[1]:
            pairs = zip_longest(*(info["page"].splitlines() for _, info in seen), fillvalue="")
            told = (f"{first!r} is {second!r}" for first, second in pairs if first != second)
            return "", f"at {one.page.url}: {next(told, 'what is said about the step')}"
        try:
            reply = expert.reply(one.page, one.observation)
        except ActionError as error:
            return f"at {one.page.url}: {error}", ""
        (text, reward, *ends, info), (other_text, *others, other_info) = one.step(reply), other.step(reply)
        if [reward, *ends] != others:
            return "", f"{reply} gave {[reward, *ends]}, and {others}"
        seen = [(text, info), (other_text, other_info)]
        done = any(ends)
    return "" if reward == 1.0 else f"not rewarded: {_reasons(seen[0][1])}", ""


def _reasons(info: Mapping[str, Any]) -> str:
    return "; ".join(f"{each['check']}: {each['reason']}" for each in info["verdicts"] if not each["passed"])


def imitate(env: WebArenaLite, task: Task, other: Task) -> bool:
    """Do what solves another task, up to its answer, and return whether that earns this one's reward.

    It begins where the other does. Where a step cannot be done, only the answer is left to give.
    """
    expert = Expert(other, env.dialect)
    last = other.solution[-1].action
    parting = env.dialect.format(last if last.kind is Kind.EXIT else exit_with(""))

    def reply(_: str, info: Mapping[str, Any]) -> str:
        try:
            return parting if info["action_error"] else expert.reply(env.page, env.observation)
        except ActionError:
            return parting

    *_, end = play(env, reply, *env.reset(options={"task": replace(task, start_url=other.start_url)}))
    return end.reward > 0


def exit_with(answer: str) -> Action:
    """Return the action that ends an episode with an answer."""
    return Action(Kind.EXIT, argument=answer)


def earns(env: WebArenaLite, task: Task, action: Action) -> bool:
    """Return whether one action, taken at the beginning of a task, earns its reward."""
    env.reset(options={"task": task})
    return env.step(env.dialect.format(action))[1] > 0
