"""The checks of `webarena_gym.testing`: what this package makes passes them, and whatever breaks the contract is found."""

import gymnasium
import numpy
import pytest

from tests import needs
from webarena_gym import suite
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ConformanceError
from webarena_gym.testing import check_backend, check_browser, check_env, check_vector_env
from webarena_gym.vector import WebArenaLiteVector

TASKS = suite.load("test")[:3]


@pytest.mark.parametrize("options", [
    {},
    {"observation": "axtree", "dialect": "webarena", "max_steps": 9},
    {"elements": "label", "dialect": "browsergym", "history": "full", "variation": "layout"},
    {"rules": "native", "side_effects": "reported", "history": "none", "thoughts": False},
])  # fmt: skip
def test_the_env_is_one(opened, options):
    env = opened(gymnasium.make("WebArenaLite-v0", tasks=list(TASKS), **options))
    check_env(env)


def without(key):
    return lambda env, result: (*result[:-1], {name: value for name, value in result[-1].items() if name != key})


def seen(change):
    return lambda env, result: (change(env, result[0]), *result[1:])


class Broken(gymnasium.Wrapper):
    """An env whose steps, and with the names that begin with "all" also whose resets, return what a fault makes of it."""

    def __init__(self, env, name, fault):
        super().__init__(env)
        self.name, self.fault, self.resets = name, fault, 0

    def reset(self, **options):
        self.resets += 1
        result = self.env.reset(**options)
        return self.fault(self, result) if self.name.startswith("all") else result

    def step(self, action):
        try:
            result = self.env.step(str(action) if self.name == "takes anything" else action)
        except gymnasium.error.ResetNeeded:
            if self.name != "goes on after the end":
                raise
            self.env.reset()
            result = self.env.step(action)
        return self.fault(self, result)


FAULTS = (
    ("takes anything", lambda env, result: result, "must raise TypeError"),
    ("goes on after the end", lambda env, result: result, "must raise ResetNeeded"),
    ("pays early", lambda env, result: (result[0], result[1] + 0.5, *result[2:]), "the reward before the end"),
    ("pays wrongly", lambda env, result: (result[0], 0.3, *result[2:]) if any(result[2:4]) else result, "expected 0.0 or 1.0"),
    (
        "ends on a typing error",
        lambda env, result: (*result[:2], result[2] or bool(result[4]["action_error"]), *result[3:]),
        "must not end the episode|neither|action",
    ),
    ("counts with integers", lambda env, result: (*result[:2], int(result[2]), *result[3:]), "must be bools"),
    ("judges without verdicts", without("verdicts"), "verdicts"),
    ("all differs from time to time", seen(lambda env, text: f"{text} {env.resets}"), "a second reset"),
    ("all leaves its space", seen(lambda env, text: text + "\udc80"), "not in its space"),
    ("all hides errors", lambda env, result: (*result[:-1], result[-1] | {"action_error": ""}), "action_error"),
    ("all forgets a key", without("url"), "info has no 'url'"),
)


@pytest.mark.parametrize(("name", "fault", "message"), FAULTS, ids=[name for name, *_ in FAULTS])
def test_an_env_that_breaks_the_contract_is_found(opened, name, fault, message):
    env = opened(Broken(WebArenaLite(tasks=list(TASKS), max_steps=6), name, fault))
    with pytest.raises(ConformanceError, match=message):
        check_env(env, actions=['do(action="Wait")', 'do(action="Go Backward")'])


def test_a_snapshot_that_goes_on_otherwise_is_found(opened, monkeypatch):
    env = opened(WebArenaLite(tasks=list(TASKS)))
    usual = env.restore
    monkeypatch.setattr(env, "restore", lambda snapshot: usual(snapshot) if snapshot is None else env.reset(seed=3))
    with pytest.raises(ConformanceError, match="restored snapshot"):
        check_env(env, actions=['do(action="Wait")'] * 4)


@pytest.mark.parametrize("make", [WebArenaLiteVector, None], ids=["ours", "gymnasium's"])
def test_vector_envs_are_ones(make):
    if make is None:
        envs = gymnasium.make_vec("WebArenaLite-v0", 3, vectorization_mode="sync", tasks=list(TASKS))
    else:
        envs = make(3, workers=1, tasks=list(TASKS))
    check_vector_env(envs)
    envs.close()


@pytest.mark.parametrize(("fault", "message"), [
    (lambda result: (*result[:1], result[1].tolist(), *result[2:]), "rewards are"),
    (lambda result: (*result[:2], result[2].astype(int), *result[3:]), "terminations are"),
    (lambda result: (result[0][:-1], *result[1:]), "there are 1 observations of 2 envs"),
    (lambda result: (*result[:4], {}), "infos has no"),
    (lambda result: (*result[:1], result[1] + numpy.random.default_rng().random(2), *result[2:]), "a second run"),
])  # fmt: skip
def test_a_vector_env_that_breaks_the_contract_is_found(opened, monkeypatch, fault, message):
    envs = opened(gymnasium.make_vec("WebArenaLite-v0", 2, vectorization_mode="sync", tasks=list(TASKS)))
    usual = envs.step
    monkeypatch.setattr(envs, "step", lambda actions: fault(usual(actions)))
    with pytest.raises(ConformanceError, match=message):
        check_vector_env(envs)


@pytest.mark.parametrize("make", [InProcessBrowser, pytest.param(ChromiumBrowser, marks=needs.chromium)])
def test_browsers_are_ones(make):
    check_browser(make)


@pytest.mark.parametrize(("method", "fault", "message"), [
    ("go_back", lambda self: None, "the title of the previous page"),
    ("type", lambda self, element, text, enter=False: None, "must raise ActionError"),
    ("click", lambda self, element: element.getparent().get("hidden") is not None or InProcessBrowser.click(self, element), "clicking a hidden element"),
])  # fmt: skip
def test_a_browser_that_breaks_the_contract_is_found(method, fault, message):
    broken = type("Broken", (InProcessBrowser,), {method: fault})
    with pytest.raises(ConformanceError, match=message):
        check_browser(broken)


def test_the_embedded_sites_are_a_backend_and_one_that_breaks_the_contract_is_found(monkeypatch):
    backend = EmbeddedBackend(InProcessBrowser)
    check_backend(backend, TASKS[0])
    backend.close()
    monkeypatch.setattr(EmbeddedBackend, "restore", lambda self, snapshot: None)
    with pytest.raises(ConformanceError, match="restored snapshot"):
        check_backend(backend, TASKS[0])
    backend.close()
