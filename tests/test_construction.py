"""The keywords of an env select its backend, its browser, and the tasks that its rules can judge."""

import numpy
import pytest

from tests.errors import expect_error
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.backends.live_sites import LiveSitesBackend
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.construction import TaskSelection, _make_chromium, make_backend, make_browser
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.options import EnvOptions
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task

IDS = ["shopping.product_price/1000/0", "shopping.cart_add/1000/0"]
SITES = {"shopping": "https://shop.test", "reddit": "http://forum.test"}


def check(**fields):
    return Task("a", ("shopping",), "__SHOPPING__", "Do it", {"eval_types": [fields.pop("kind")], **fields})


def test_embedded_sites_are_the_default():
    assert isinstance(make_backend(EnvOptions(), lambda _: None), EmbeddedBackend)
    assert isinstance(make_browser(EnvOptions(), Network({})), InProcessBrowser)


@pytest.mark.parametrize(
    ("options", "network", "static", "strict"),
    [
        ({}, True, True, False),
        ({}, False, False, True),
        ({"render_mode": "human"}, True, False, False),
        ({"viewport": "layout"}, True, True, True),
        ({"bbox": True}, True, True, True),
        ({"application": True}, True, False, True),
        ({"application": True}, False, False, True),
    ],
)
def test_only_embedded_sites_without_a_window_are_static_in_chromium(monkeypatch, options, network, static, strict):
    created = {}
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(
        "webarena_gym.browsers.chromium.browser.ChromiumBrowser", lambda _, **keywords: created.update(keywords)
    )
    keywords = EnvOptions(browser="chromium", **{name: value for name, value in options.items() if name != "application"})
    if "application" in options:
        object.__setattr__(keywords, "application", object())
    _make_chromium(keywords, Network({}) if network else None)
    assert (created["static"], created["strict"]) == (static, strict)
    assert created["show_dialogs"] == ("application" in options)
    assert created["headless"] == (options.get("render_mode") != "human")
    assert created["load_images"] == (strict or "render_mode" in options)


def test_real_servers_need_a_plain_connection_for_rules_that_read_it():
    options = {"sites": SITES, "browser": "chromium", "side_effects": "ignored"}
    assert isinstance(make_backend(EnvOptions.of(options), lambda _: None), LiveSitesBackend)
    with expect_error(ValueError, "https://shop.test (shopping)"):
        make_backend(EnvOptions.of(options | {"rules": "verified"}), lambda _: None)
    plain = options | {"sites": {"shopping": "http://shop.test"}, "rules": "verified"}
    assert isinstance(make_backend(EnvOptions.of(plain), lambda _: None), LiveSitesBackend)


def test_tasks_are_drawn_from_the_selection_or_named():
    selection = TaskSelection(EnvOptions(tasks=IDS))
    assert [task.task_id for task in selection.tasks] == IDS
    rng = numpy.random.default_rng(0)
    assert {selection.select({}, rng).task_id for _ in range(20)} == {*IDS}
    assert selection.select({"task": IDS[1]}, rng) is selection.tasks[1]
    other = selection.select({"task": "shopping.product_price/1000/1"}, rng)
    assert other.task_id == "shopping.product_price/1000/1"
    assert selection.select({"task": other, "max_steps": 3}, rng) is other


@pytest.mark.parametrize("options", [{"tasks": IDS[0]}, {"task": 1.5}, {"task": IDS}, {"task": "no.task/1/0"}])
def test_other_options_are_rejected(options):
    with pytest.raises(TaskError):
        TaskSelection(EnvOptions(tasks=IDS)).select(options, numpy.random.default_rng(0))


def test_tasks_of_large_worlds_are_generated_at_the_first_use(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "webarena_gym.suite.load", lambda *arguments: calls.append(arguments) or TaskSelection(EnvOptions(tasks=IDS)).tasks
    )
    lazy = TaskSelection(EnvOptions(scale="large", world_seed=77))
    assert calls == []
    assert len(lazy.tasks) == len(lazy.tasks) == 2
    assert len(calls) == 1
    TaskSelection(EnvOptions(world_seed=77))
    assert len(calls) == 2


def test_tasks_that_the_rules_cannot_judge_are_rejected_or_left_out():
    verifier = check(kind="verifier", verifier=[{"file": "check.py"}])
    with expect_error(EvaluationError, "task a", "'verifier'", "suite="):
        TaskSelection(EnvOptions(tasks=[verifier]))
    good = TaskSelection(EnvOptions(tasks=IDS)).tasks[0]
    with pytest.warns(UserWarning, match="task a"):
        assert TaskSelection(EnvOptions(tasks=[verifier, good], on_unreadable="skip")).tasks == (good,)
    with expect_error(EvaluationError, "task a", "'verifier'", "suite="):
        TaskSelection(EnvOptions(tasks=[good])).select({"task": verifier}, numpy.random.default_rng(0))


def test_tasks_without_a_world_are_rejected_at_construction_or_left_out():
    settled = TaskSelection(EnvOptions(tasks=IDS)).tasks[0]
    stray = Task("a", ("shopping",), "__SHOPPING__", "Go.", {"eval_types": ["url_match"], "reference_url": "__SHOPPING__/cart"})
    with expect_error(TaskError, "task a", "world_seed=", "--world-seed"):
        TaskSelection(EnvOptions(tasks=[settled, stray]))
    for options in ({"world_seed": 1}, {"sites": {"shopping": "http://shop.example"}, "browser": "chromium"}):
        assert TaskSelection(EnvOptions(tasks=[stray], **options)).tasks == (stray,)
    with pytest.warns(UserWarning, match="task a"):
        assert TaskSelection(EnvOptions(tasks=[settled, stray], on_unreadable="skip")).tasks == (settled,)
