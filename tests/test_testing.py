"""The checks of `webarena_gym.testing`: what this package makes passes them, and whatever breaks the contract is found."""

import gymnasium
import numpy
import pytest

from tests import needs
from webarena_gym import tasks as suite
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ConformanceError
from webarena_gym.testing import check_backend, check_browser, check_env, check_vector_env
from webarena_gym.vector import WebArenaLiteVector

TASKS = suite.load("test")[:3]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"observation": "axtree", "dialect": "webarena", "max_steps": 9},
        {"elements": "label", "dialect": "browsergym", "history": "full", "variation": "layout"},
        {"rules": "native", "side_effects": "reported", "history": "none", "thoughts": False},
    ],
)
def test_the_env_is_one(options):
    env = WebArenaLite(tasks=list(TASKS), **options)
    check_env(env)
    env.close()


def test_what_gymnasium_makes_is_one():
    env = gymnasium.make("WebArenaLite-v0", tasks=list(TASKS))
    check_env(env)
    env.close()


class Broken(gymnasium.Wrapper):
    """An env that breaks the contract in one way."""

    def __init__(self, env, fault):
        super().__init__(env)
        self.fault = fault
        self.resets = 0

    def reset(self, **options):
        self.resets += 1
        observation, info = self.env.reset(**options)
        return self.changed(observation), self.told(info)

    def step(self, action):
        if self.fault == "takes anything" and not isinstance(action, str):
            action = str(action)
        if self.fault == "goes on after the end":
            try:
                result = self.env.step(action)
            except gymnasium.error.ResetNeeded:
                self.env.reset()
                result = self.env.step(action)
        else:
            result = self.env.step(action)
        observation, reward, terminated, truncated, info = result
        if self.fault == "pays early":
            reward += 0.5
        if self.fault == "pays wrongly" and (terminated or truncated):
            reward = 0.3
        if self.fault == "ends on a typing error" and info["action_error"]:
            terminated = True
        if self.fault == "counts with integers":
            terminated = int(terminated)
        if self.fault == "judges without verdicts":
            info = {key: value for key, value in info.items() if key != "verdicts"}
        return self.changed(observation), reward, terminated, truncated, self.told(info)

    def changed(self, observation):
        if self.fault == "differs from time to time":
            return f"{observation} {self.resets}"
        return observation + "\udc80" if self.fault == "leaves its space" else observation

    def told(self, info):
        if self.fault == "hides errors":
            return info | {"action_error": ""}
        return {key: value for key, value in info.items() if key != "url"} if self.fault == "forgets a key" else info


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("takes anything", "must raise TypeError"),
        ("goes on after the end", "must raise ResetNeeded"),
        ("pays early", "the reward before the end"),
        ("pays wrongly", "expected 0.0 or 1.0"),
        ("ends on a typing error", "must not end the episode|neither|action"),
        ("counts with integers", "must be bools"),
        ("judges without verdicts", "verdicts"),
        ("differs from time to time", "a second reset"),
        ("leaves its space", "not in its space"),
        ("hides errors", "action_error"),
        ("forgets a key", "info has no 'url'"),
    ],
)
def test_an_env_that_breaks_the_contract_is_found(fault, told):
    env = Broken(WebArenaLite(tasks=list(TASKS), max_steps=6), fault)
    with pytest.raises(ConformanceError, match=told):
        check_env(env, actions=['do(action="Wait")', 'do(action="Go Backward")'])
    env.close()


def test_a_snapshot_that_goes_on_otherwise_is_found(monkeypatch):
    env = WebArenaLite(tasks=list(TASKS))
    usual = WebArenaLite.restore
    monkeypatch.setattr(
        WebArenaLite, "restore", lambda self, snapshot: usual(self, snapshot) if snapshot is None else self.reset(seed=3)
    )
    with pytest.raises(ConformanceError, match="restored snapshot"):
        check_env(env, actions=['do(action="Wait")'] * 4)
    env.close()


@pytest.mark.parametrize("make", [WebArenaLiteVector, None], ids=["ours", "gymnasium's"])
def test_vector_envs_are_ones(make):
    if make is None:
        envs = gymnasium.make_vec("WebArenaLite-v0", 3, vectorization_mode="sync", tasks=list(TASKS))
    else:
        envs = make(3, workers=1, tasks=list(TASKS))
    check_vector_env(envs)
    envs.close()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (lambda result: (*result[:1], result[1].tolist(), *result[2:]), "rewards are"),
        (lambda result: (*result[:2], result[2].astype(int), *result[3:]), "terminations are"),
        (lambda result: (result[0][:-1], *result[1:]), "there are 1 observations of 2 envs"),
        (lambda result: (*result[:4], {}), "infos has no"),
        (lambda result: (*result[:1], result[1] + numpy.random.default_rng().random(2), *result[2:]), "a second play"),
    ],
)
def test_a_vector_env_that_breaks_the_contract_is_found(monkeypatch, fault, told):
    envs = gymnasium.make_vec("WebArenaLite-v0", 2, vectorization_mode="sync", tasks=list(TASKS))
    usual = envs.step
    monkeypatch.setattr(envs, "step", lambda actions: fault(usual(actions)))
    with pytest.raises(ConformanceError, match=told):
        check_vector_env(envs)
    envs.close()


@pytest.mark.parametrize("make", [InProcessBrowser, pytest.param(ChromiumBrowser, marks=needs.chromium)])
def test_browsers_are_ones(make):
    check_browser(make)


def forget_history(browser):
    browser.go_back = lambda: None


def send_nothing(browser):
    browser.type = lambda element, text, enter=False: None


def open_anything(browser):
    usual = browser.click
    browser.click = lambda element: None if element.getparent().get("hidden") is not None else usual(element)


@pytest.mark.parametrize(
    ("fault", "told"),
    [(forget_history, "the page before"), (send_nothing, "must raise ActionError"), (open_anything, "clicking what is hidden")],
)
def test_a_browser_that_breaks_the_contract_is_found(fault, told):
    def make(network):
        browser = InProcessBrowser(network)
        fault(browser)
        return browser

    with pytest.raises(ConformanceError, match=told):
        check_browser(make)


def test_the_embedded_sites_are_a_backend():
    backend = EmbeddedBackend(InProcessBrowser)
    check_backend(backend, TASKS[0])
    backend.close()


def test_a_backend_that_breaks_the_contract_is_found(monkeypatch):
    backend = EmbeddedBackend(InProcessBrowser)
    monkeypatch.setattr(EmbeddedBackend, "restore", lambda self, snapshot: None)
    with pytest.raises(ConformanceError, match="restored snapshot"):
        check_backend(backend, TASKS[0])
    backend.close()
