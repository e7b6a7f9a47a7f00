"""Plays solutions and cheap attempts in an env to the end of the episode."""

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Page
from webarena_gym.tasks import Expert, Task


def replay(env: WebArenaLite, task: Task, on_page: Callable[[Page], None] = lambda _: None) -> str:
    """Do a task by its reference solution; return why it failed, empty when the reward was earned.

    `on_page` is given every page before the next step is taken on it.
    """
    env.reset(options={"task": task})
    expert = Expert(task, env.dialect)
    done = False
    info: dict[str, Any] = {}
    while not done:
        on_page(env.page)
        try:
            reply = expert.reply(env.page, env.observation)
        except ActionError as error:
            return f"at {env.page.url}: {error}"
        _, reward, terminated, truncated, info = env.step(reply)
        if info["action_error"]:
            return f"{reply} at {env.page.url}: {info['action_error']}"
        done = terminated or truncated
    return "" if reward == 1.0 else f"not rewarded: {info['verdicts']}"


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
    env.reset(options={"task": replace(task, start_url=other.start_url)})
    expert = Expert(other, env.dialect)
    last = other.solution[-1].action
    parting = env.dialect.format(last if last.kind is Kind.EXIT else exit_with(""))
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


def exit_with(answer: str) -> Action:
    """Return the action that ends an episode with an answer."""
    return Action(Kind.EXIT, argument=answer)


def earns(env: WebArenaLite, task: Task, action: Action) -> bool:
    """Return whether one action, taken at the beginning of a task, earns its reward."""
    env.reset(options={"task": task})
    return env.step(env.dialect.format(action))[1] > 0
