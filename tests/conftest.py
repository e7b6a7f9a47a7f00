"""Settings of the whole suite."""

import gc
import multiprocessing
import os
import signal
import sys
from collections import Counter
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis.strategies import none

# Torch's own threads wait for each other by spinning: on a machine that does other work as well, small models are ten times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts what is in the background with Ctrl-C ignored, which children inherit: tests would wait for them in vain.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test depends on how fast the machine is.
# Examples are the same in every run, so that a change alone can fail a test; --hypothesis-profile=explore draws others.
settings.register_profile("any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("explore", settings.get_profile("any_machine"), derandomize=False)
settings.load_profile("any_machine")

collect_ignore = ["bookshop_urls.py", "spy_agent.py"]  # one needs the settings of the shop that imports it, one an arena


# Files that take long, the longest first: they are begun first, so that no worker is left alone with one in the end.
_LONG = (
    "benchmarks", "pointer_cloning", "cluster", "looks", "widgets", "base", "large_worlds", "documents", "postgresql",
    "vector_modes", "verifiers", "suite", "pool", "train_rl", "methods_benchmark", "fuzz_command", "players",
    "side_effects", "applications", "third_party", "application_interfaces", "command_lines", "application_archive",
    "learners", "application_errors", "application_check", "application_guide", "replays", "virtual_time", "url_match",
    "demonstrations", "linear_time", "report", "real_pages", "methods", "chromium_closed", "miniwob", "spying", "actions",
    "pictures", "pretrained", "sb3", "mcp_tools", "instances", "evaluators", "episodes", "broken_applications", "flips",
    "evaluate", "world", "fuzz", "pointer", "demo", "chromium_env", "remember", "rooms", "hard", "grammar", "judge",
    "host", "layers", "changes", "nasty_texts", "markup", "gymnasium", "standard_tree", "oracles",
    "arena_commands",
)  # fmt: skip

_INTEGRATIONS = Path(__file__).parent / "integrations"
_MARK = "WEBARENA_GYM_TESTS"  # in the environment of all that a run of the tests starts


@pytest.hookimpl(optionalhook=True)  # where xdist is not installed
def pytest_xdist_auto_num_workers():
    """Return three workers for two cores: a third of a worker's time, its tests wait for a browser, a process or a clock."""
    return (3 * len(os.sched_getaffinity(0)) + 1) // 2 if hasattr(os, "sched_getaffinity") else None


@pytest.hookimpl(trylast=True)  # when there is a terminal
def pytest_configure(config):
    """Mark the processes of this run, and name tests that fail as they fail."""
    if hasattr(config, "workerinput"):
        return
    os.environ.setdefault(_MARK, str(os.getpid()))
    terminal = config.pluginmanager.get_plugin("terminalreporter")

    class Failures:
        def pytest_runtest_logreport(self, report):
            if report.failed and terminal is not None and terminal.verbosity <= 0:
                terminal.ensure_newline()
                terminal.write_line(f"FAILED {report.nodeid} ({report.when})", red=True, flush=True)

    config.pluginmanager.register(Failures())


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """End all processes that this run has started and that are still there."""
    forkserver = sys.modules.get("multiprocessing.forkserver")
    if forkserver is not None:  # it would end a moment after this process
        forkserver._forkserver._stop()
    mark = f"{_MARK}={os.getpid()}".encode()
    if hasattr(config, "workerinput") or os.environ.get(_MARK) != str(os.getpid()):
        return
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_ours = mark in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if is_ours and "multiprocessing.resource_tracker" not in command:  # which ends by itself, after it has tidied up
                sys.stderr.write(f"ended process {folder.name}, which a test has left behind: {command[:200]}" + "\n")
                os.kill(int(folder.name), signal.SIGKILL)


def pytest_collection_finish(session):
    """Let the fork server of a worker of xdist import what any test's processes need. The first test that needs one starts it.

    Otherwise, processes of agents import torch, each for more than a CPU second, where a test of envs alone has started it.
    """
    players = sys.modules.get("agents.rollouts.players")
    if players is not None and hasattr(session.config, "workerinput"):
        multiprocessing.get_context("forkserver").set_forkserver_preload(players.PRELOADED)
        multiprocessing.forkserver.ensure_running()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while tests are collected, and never later among what that makes, which stays and takes a second each time.

    Pytest looks for garbage ten times at the end of a process, and some tests do. Hypothesis warns where it registers its generator and
    finds no reference to it, and gc.get_referrers() sees none among what gc.freeze() has set aside: it registers the generator before.
    """
    find(none(), lambda _: True)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000, 10, 100)


def pytest_ignore_collect(collection_path, config):
    """Import no tests of adapters, each with the project that it is for, where all of them are left out."""
    return True if collection_path == _INTEGRATIONS and "not integrations" in config.option.markexpr else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Make slow tests of all cases but every n-th of a test that is `sampled(n)`, and put the longest files first."""
    places = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            test = (item.path, item.originalname)
            if places[test] % sampled.args[0]:
                item.add_marker("slow")
            places[test] += 1
    order = {f"test_{name}": place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture
def opened():
    """Give a function that keeps an env, a browser or a page until the test ends, and closes it then."""
    with ExitStack() as stack:
        yield lambda it: stack.enter_context(closing(it))


_kept = []  # drivers of Chromium; each starts its browser when a test needs it


@pytest.hookimpl(tryfirst=True)  # before fixtures
def pytest_runtest_setup(item):
    """Share Chromium, whose start takes half a second of CPU time, between tests, and let torch compute in one thread."""
    from tests import needs  # noqa: PLC0415 - not every session has tests of a browser

    if not _kept and needs.has_chromium() and needs.chromium.mark in item.iter_markers("skipif"):
        from webarena_gym.browsers.chromium.driver import SHARED  # noqa: PLC0415

        _kept.extend(SHARED.acquire(headless=True, static=static) for static in (False, True))
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() > 1:  # an earlier test has trained with several
        torch.set_num_threads(1)


def pytest_sessionfinish():
    """End the shared Chromium, which would end with the interpreter, after the search for what is left open."""
    release_chromium()


def release_chromium():
    """End the Chromium that tests share. A test that needs one starts another."""
    driver = sys.modules.get("webarena_gym.browsers.chromium.driver")
    if driver is not None:
        driver.SHARED.close()
    _kept.clear()


@pytest.fixture
def no_kept_chromium():
    """Let a test begin without a Chromium."""
    release_chromium()


@pytest.fixture(scope="module")
def chromium():
    """Give a Chromium of Playwright's own to tests that look at pages as a person does."""
    from tests import needs  # noqa: PLC0415 - few tests need it

    with needs.opened_chromium() as opened:
        yield opened


@pytest.fixture(autouse=True)
def titled_metrics(monkeypatch):
    """Hold in every test that trains something, so for every method, that the report has a title for each metric of an update.

    Updates do not free memory, which takes milliseconds in a process that has loaded all tests.
    """
    if "agents.training.metrics" not in sys.modules:
        return
    if "agents.training.runs" in sys.modules:
        monkeypatch.setattr("agents.training.runs.return_free_memory", int)
    from agents.evaluation.report.curves import metric_definitions  # noqa: PLC0415 - not every test has what agents need
    from agents.training.metrics import Metrics  # noqa: PLC0415

    log = Metrics.log

    def log_titled(self, update, values):
        untitled = {*values} - {*metric_definitions()["axes"], *metric_definitions()["titles"]}
        assert not untitled
        log(self, update, values)

    monkeypatch.setattr(Metrics, "log", log_titled)
