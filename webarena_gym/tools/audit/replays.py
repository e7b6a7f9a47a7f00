"""Plays solutions and cheap attempts in an env to the end of the episode."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Page
from webarena_gym.playing import play
from webarena_gym.tasks import Expert, Task


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
    return "" if step.reward == 1.0 else f"not rewarded: {step.info['verdicts']}"


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
