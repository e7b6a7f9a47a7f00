"""Episodes of solutions and of cheap attempts, and the findings of an audit, which worker processes share."""

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
class AuditFindings:
    """The findings of an audit. The items of lists are `task id: reason`. The names of fields are the keys of `--json`."""

    tasks: int = 0
    solved: int = 0
    templates: set[str] = field(default_factory=set)
    worlds: set[int | None] = field(default_factory=set)
    right_answers: int = 0  # in every notation
    right_refused: list[str] = field(default_factory=list)
    attacks: int = 0  # answers that contain a right or a wrong one and must not be rewarded
    attacks_rewarded: list[str] = field(default_factory=list)
    unsolved: list[str] = field(default_factory=list)
    not_always: list[str] = field(default_factory=list)  # some replays of the solution failed and others did not
    noop_rewarded: list[str] = field(default_factory=list)
    exit_rewarded: list[str] = field(default_factory=list)
    na_rewarded: list[str] = field(default_factory=list)
    wrong_rewarded: list[str] = field(default_factory=list)
    other_rewarded: list[str] = field(default_factory=list)  # for the solution of another draw
    groundless: list[str] = field(default_factory=list)  # answers on no page and without a declared computation
    leaks: list[str] = field(default_factory=list)  # a text contains what only pictures should show
    drawn_differently: list[str] = field(default_factory=list)  # the template draws another task from the same seed
    changed: list[str] = field(default_factory=list)  # by a solution that only answers, on an application
    side_effects_tried: int = 0  # solutions with other changes before or after them
    side_effects_rewarded: list[str] = field(default_factory=list)
    shown_before: int = (
        0  # changes visible on a page of the task's sites, made before a solution whose other checks then passed
    )
    other_draws_before: int = 0  # other draws' solutions played before the right one
    overwritten: list[str] = field(default_factory=list)  # other draws whose changes the right solution reverted completely
    detours_tried: int = 0  # solutions with page visits, or with a change that is reverted
    detours_refused: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)  # facts behind a truth that no observation of the solution contains
    different: list[str] = field(default_factory=list)  # solutions with other results in Chromium
    excused: list[str] = field(default_factory=list)  # rewards for another draw's solution that EXCEPTIONS allows
    without_other: list[str] = field(default_factory=list)  # the template has no other truth in this world
    steps: list[int] = field(default_factory=list)  # of the solutions, including scrolling
    pages: list[int] = field(default_factory=list)  # number of different URLs of each solution

    @property
    def faults(self) -> dict[str, list[str]]:
        """The findings that must be fixed, by kind."""
        lists = (item.name for item in fields(self) if item.type == list[str])
        return {name: getattr(self, name) for name in lists if name not in _NO_FAULTS}

    @property
    def is_clean(self) -> bool:
        """True if there are no faults: only the reference solution earns each task's reward."""
        return not any(self.faults.values())

    def summary(self) -> str:
        """Return the number of faults, the last line of the report."""
        count = sum(map(len, self.faults.values()))
        return f"{count or 'no'} fault{'s' * (count != 1)}"

    def count(self, task: Task, failure: str) -> None:
        """Count a task whose solution was replayed; `failure` is the reason why it failed, "" if it succeeded."""
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
        """Return the median, 90th percentile and maximum of the `steps` or `pages` of solutions; {} if none was solved."""
        values: list[int] = getattr(self, name)
        if len(values) < 2:
            return dict.fromkeys(("median", "last_tenth", "most"), values[0]) if values else {}
        return {
            "median": round(median(values)),
            "last_tenth": round(quantiles(values, n=10, method="inclusive")[-1]),
            "most": max(values),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        totals = self.totals()
        yield (
            f"{totals['solved']} of {totals['tasks']} tasks of {totals['templates']} templates in {totals['worlds']} worlds are solved"
            " by their reference solutions"
        )
        for name in ("steps", "pages"):
            if spread := self.spread(name):
                yield (
                    f"{name} of a solution: median {spread['median']}, 90th percentile {spread['last_tenth']},"
                    f" maximum {spread['most']}"
                )
        if totals["right_answers"]:
            yield (
                f"{totals['right_answers'] - totals['right_refused']} of {totals['right_answers']} notations of right answers are accepted;"
                f" {totals['attacks_rewarded']} of {totals['attacks']} answers that are wrong, or right and wrong, are rewarded"
            )
        if totals["side_effects_tried"]:
            yield (
                f"{totals['side_effects_rewarded']} of {totals['side_effects_tried']} solutions with side effects are rewarded;"
                f" {totals['shown_before']} of these side effects came first and are visible on a page"
            )
        if totals["other_draws_before"]:
            yield (
                f"{totals['overwritten']} of {totals['other_draws_before']} solutions of other draws were completely undone by the right one"
                " after them"
            )
        for kind, faults in self.faults.items():
            yield from (f"  {kind.replace('_', ' ')}: {finding}" for finding in faults)
        yield from (f"  excused: {finding}" for finding in self.excused)
        if self.without_other:
            templates = sorted({finding.partition("/")[0] for finding in self.without_other})
            count = totals["without_other"]
            tasks = f"{count} task{'s' * (count != 1)} of {', '.join(templates)}"
            yield f"  {tasks} could not be tested with the answer of another draw"

    def add(self, other: "AuditFindings") -> None:
        for item in fields(self):
            mine, more = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, mine | more if isinstance(mine, set) else mine + more)


def replay(env: WebArenaLite, task: Task, on_page: Callable[[Page], None] = lambda _: None) -> str:
    """Play a task's reference solution. Return why it failed, "" if it earned the reward.

    An error page of an application is a failure, and so is a status of 500 or more of a script's request that changes data. `on_page` is
    called with each page before the step on it.
    """
    expert, step, addresses = Expert(task, env.dialect), None, set[str]()
    if (last := task.solution[-1].action).kind is not Kind.EXIT:
        return f"its solution ends with {env.dialect.format(last)}; expected the last action exit(message=...)"

    def reply(*_: object) -> str:
        on_page(env.page)
        addresses.add(env.page.url)
        return expert.reply(env.page, env.observation)

    try:
        for step in play(env, reply, *env.reset(options={"task": task})):
            if step.info["action_error"]:
                return f"{step.reply} at {env.page.url}: {step.info['action_error']}"
    except ActionError as error:
        return f"at {env.page.url}: {error}"
    assert step is not None
    for response in env.backend.error_responses:  # a task with such a solution may reward the error
        if any(map(response.is_of, addresses)):
            return f"its solution leads to an error page, {response}"
        if response.method not in ("GET", "HEAD"):
            return f"a request of its solution fails, {response}"
    return "" if step.reward == 1.0 else f"not rewarded: {step.info.get('failure') or _reasons(step.info)}"


def do_all(env: WebArenaLite, task: Task) -> str:
    """Play a task's solution up to its exit in an episode that has started, and return the exit reply.

    Raises ActionError if a step fails.
    """
    expert = Expert(task, env.dialect)
    while True:
        choice = expert.choose(env.page, env.observation)
        reply = env.dialect.format(choice.action)
        if choice.action.kind is Kind.EXIT:
            return reply
        _, _, terminated, truncated, info = env.step(reply)
        if info["action_error"] or terminated or truncated:
            raise ActionError(info["action_error"] or "the episode ended before the solution")


def replay_on_both(one: WebArenaLite, other: WebArenaLite, task: Task) -> tuple[str, str]:
    """Play a task's reference solution in two envs. Return why it failed, and the first difference of the second env, "" for none."""
    results = [env.reset(options={"task": task}) for env in (one, other)]
    expert = Expert(task, one.dialect)
    done, reward = False, 0.0
    while not done:
        if results[0] != results[1]:
            pairs = zip_longest(*(info["page"].splitlines() for _, info in results), fillvalue="")
            differences = (f"{first!r} is {second!r}" for first, second in pairs if first != second)
            return "", f"at {one.page.url}: {next(differences, 'info differs')}"
        try:
            reply = expert.reply(one.page, one.observation)
        except ActionError as error:
            return f"at {one.page.url}: {error}", ""
        (text, reward, *ends, info), (other_text, *others, other_info) = one.step(reply), other.step(reply)
        if [reward, *ends] != others:
            return "", f"{reply} gave {[reward, *ends]}, and {others}"
        results = [(text, info), (other_text, other_info)]
        done = any(ends)
    return "" if reward == 1.0 else f"not rewarded: {_reasons(results[0][1])}", ""


def _reasons(info: Mapping[str, Any]) -> str:
    return "; ".join(f"{verdict['check']}: {verdict['reason']}" for verdict in info["verdicts"] if not verdict["passed"])


def imitate(env: WebArenaLite, task: Task, other: Task) -> bool:
    """Play the solution of another task up to its answer, and return True if it earns the reward of `task`.

    The episode starts at the start pages of the other task. If a step fails, only the answer is given.
    """
    expert = Expert(other, env.dialect)
    last = other.solution[-1].action
    exit_reply = env.dialect.format(last if last.kind is Kind.EXIT else exit_with(""))

    def reply(_: str, info: Mapping[str, Any]) -> str:
        try:
            return exit_reply if info["action_error"] else expert.reply(env.page, env.observation)
        except ActionError:
            return exit_reply

    *_, end = play(env, reply, *env.reset(options={"task": replace(task, start_url=other.start_url)}))
    return end.reward > 0


def exit_with(answer: str) -> Action:
    """Return the action that ends an episode with an answer."""
    return Action(Kind.EXIT, argument=answer)


def earns(env: WebArenaLite, task: Task, action: Action) -> bool:
    """Return True if one action at the start of a task earns its reward."""
    env.reset(options={"task": task})
    return env.step(env.dialect.format(action))[1] > 0
