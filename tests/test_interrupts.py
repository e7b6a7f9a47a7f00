"""Ctrl-C at any moment: an episode is as before the step, as after it, or lost; never half done, and nothing is left for the next."""

import random
import signal
import sys
import threading
import time

import pytest
from gymnasium.error import ResetNeeded

from tests import needs
from webarena_gym import suite
from webarena_gym.browsers.document import original_tree
from webarena_gym.env import WebArenaLite
from webarena_gym.evaluators.kinds import state as state_kind
from webarena_gym.evaluators.kinds.state import defer_interrupts
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Expert

TASKS = ("shopping.cart_add", "reddit.comment_here")  # both write in their last step but one
EXIT = 'exit(message="")'


class Interruption:
    """Raises KeyboardInterrupt instead of the package's line of that number; counts the lines that are run."""

    def __init__(self, at=0):
        self.at = at
        self.lines = 0

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def _trace(self, frame, event, _):
        if "webarena_gym" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self._trace


class Timer:
    """Raises KeyboardInterrupt as Ctrl-C does, after some time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        self.usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.usual)


def began(env, task):
    """Bring an env to the step that writes; return that step's reply."""
    env.reset(options={"task": task})
    expert = Expert(task)
    for _ in task.solution[:-2]:
        env.step(expert.reply(env.page, env.observation))
    return expert.reply(env.page, env.observation)


def state(env):
    return env.snapshot().backend.databases


def interrupted(interruption, call):
    """Return whether a call was interrupted."""
    try:
        with interruption:
            call()
    except KeyboardInterrupt:
        return True
    return False


def forget_pages():
    """Let pages be rendered and read anew, which takes most of the lines of a step."""
    original_tree.cache_clear()
    load_world(1000).responses._kept.clear()


def check_interruptions(env, task, make_interruption, times):
    """Interrupt the step that writes, and the reset after it; return how many episodes were lost."""
    reply = began(env, task)
    before = state(env)
    whole = env.step(reply)
    after = state(env)
    assert before != after
    lost = 0
    for number in range(times):
        assert began(env, task) == reply
        if number % 2:
            forget_pages()
        if interrupted(make_interruption(number), lambda: env.step(reply)):
            try:
                now = state(env)
            except ResetNeeded:
                lost += 1
                with pytest.raises(ResetNeeded, match="was interrupted"):
                    env.step(reply)
            else:
                if now == before:  # it had not begun
                    assert env.step(reply) == whole
                assert state(env) == after
        if number % 5 == 0:
            interrupted(make_interruption(number), lambda: env.reset(options={"task": task}))
    assert began(env, task) == reply
    assert state(env) == before
    assert env.step(reply) == whole
    assert env.step(EXIT)[1] == 1.0
    return lost


@pytest.mark.parametrize("name", TASKS)
def test_a_step_that_is_interrupted_at_any_line_is_not_done_twice(opened, name):
    (task,) = suite.draw([name], world_seed=1000, count=1)
    env = opened(WebArenaLite(tasks=[task]))
    reply = began(env, task)
    forget_pages()
    with Interruption() as counted:
        env.step(reply)
    assert counted.lines > 1000
    dice = random.Random(name)
    moments = [*range(1, 12), *(dice.randint(1, counted.lines) for _ in range(50))]
    assert check_interruptions(env, task, lambda number: Interruption(moments[number]), len(moments)) > 30


# Python reports an interrupt that meets a finaliser as one that it could not raise.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["inprocess", pytest.param("chromium", marks=[needs.chromium, pytest.mark.slow])])
def test_a_step_that_is_interrupted_at_any_moment_is_not_done_twice(opened, kind):
    (task,) = suite.draw(["shopping.cart_add"], world_seed=1000, count=1)
    env = opened(WebArenaLite(tasks=[task], browser=kind))
    reply = began(env, task)
    forget_pages()
    start = time.perf_counter()
    env.step(reply)
    seconds = time.perf_counter() - start
    dice = random.Random(kind)
    check_interruptions(env, task, lambda _: Timer(dice.uniform(1e-5, 1.2 * seconds)), 30)


def test_an_interrupt_in_a_query_of_the_state_is_an_interrupt(opened, monkeypatch):
    (task,) = suite.draw(["shopping.cart_add"], world_seed=1000, count=1)
    env = opened(WebArenaLite(tasks=[task]))
    env.reset()

    class Interrupting(frozenset):
        def __contains__(self, action):
            signal.raise_signal(signal.SIGINT)
            return super().__contains__(action)

    monkeypatch.setattr(state_kind, "_READ_ACTIONS", Interrupting(state_kind._READ_ACTIONS))
    with pytest.raises(KeyboardInterrupt):
        env.step(EXIT)
    with pytest.raises(ResetNeeded):
        env.step(EXIT)
    monkeypatch.undo()
    env.reset()
    assert env.step(EXIT)[1] == 0.0


def test_an_interrupt_is_held_back_in_the_main_thread_alone():
    usual = signal.getsignal(signal.SIGINT)
    passed = []
    held = defer_interrupts()
    held.__enter__()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        held.__exit__(None, None, None)
    assert signal.getsignal(signal.SIGINT) is usual
    with pytest.raises(ZeroDivisionError), defer_interrupts():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is usual

    def elsewhere():
        with defer_interrupts():
            passed.append(signal.getsignal(signal.SIGINT) is usual)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert passed == [True]
