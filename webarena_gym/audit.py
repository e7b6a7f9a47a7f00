"""Proof that tasks are what they claim: their reference solutions earn the reward, and nothing cheaper does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.tasks import Expert, Task

MAX_STEPS = 60  # scrolling included
_NOTHING = Action(Kind.WAIT)


@dataclass
class Findings:
    """What an audit found; each list holds `task id: reason` lines."""

    tasks: int = 0
    solved: int = 0
    unsolved: list[str] = field(default_factory=list)
    noop_rewarded: list[str] = field(default_factory=list)
    exit_rewarded: list[str] = field(default_factory=list)
    wrong_rewarded: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether every task is solved by its solution and by nothing else."""
        return self.solved == self.tasks and not (self.noop_rewarded or self.exit_rewarded or self.wrong_rewarded)


def audit(tasks: Iterable[Task], on_progress: Callable[[Task], None] = lambda _: None) -> Findings:
    """Replay every reference solution, and try to earn each reward without the work.

    The tries are: doing nothing until the steps run out, leaving at once without an answer, leaving with N/A where the task
    can be done, and leaving with each of the task's wrong answers, which are of the right type.
    """
    chosen = list(tasks)
    findings = Findings()
    patient = _make(chosen, MAX_STEPS)
    hasty = _make(chosen, 1)
    for task in chosen:
        findings.tasks += 1
        failure = replay(patient, task)
        if failure:
            findings.unsolved.append(f"{task.task_id}: {failure}")
        else:
            findings.solved += 1
        if _earns(hasty, task, _NOTHING):
            findings.noop_rewarded.append(task.task_id)
        if _earns(hasty, task, Action(Kind.EXIT, argument="")):
            findings.exit_rewarded.append(task.task_id)
        wrong = [*task.wrong_answers, *(["N/A"] if task.is_achievable else [])]
        earned = [answer for answer in wrong if _earns(hasty, task, Action(Kind.EXIT, argument=answer))]
        if earned:
            findings.wrong_rewarded.append(f"{task.task_id}: {earned[0]!r}")
        on_progress(task)
    patient.close()
    hasty.close()
    return findings


def replay(env: WebArenaLite, task: Task) -> str:
    """Do a task by its reference solution; return why it failed, empty when the reward was earned."""
    env.reset(options={"task": task})
    expert = Expert(task, env.dialect)
    done = False
    info: dict[str, object] = {}
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


def _make(tasks: list[Task], max_steps: int) -> WebArenaLite:
    return WebArenaLite(tasks=tasks, max_steps=max_steps)


def _earns(env: WebArenaLite, task: Task, action: Action) -> bool:
    env.reset(options={"task": task})
    return env.step(DIALECTS["webrl"].format(action))[1] > 0
