"""Settings of the whole suite."""

import os
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# Torch's own threads wait for each other by spinning: on a machine that does other work as well, small models are ten times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test depends on how fast the machine is.
# Examples are the same in every run, so that a change alone can fail a test; --hypothesis-profile=explore draws others.
settings.register_profile("any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("explore", settings.get_profile("any_machine"), derandomize=False)
settings.load_profile("any_machine")

collect_ignore = ["bookshop_urls.py"]  # needs the settings of the shop that imports it


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Make slow tests of all cases but every n-th of a test that is `sampled(n)`."""
    places = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            test = (item.path, item.originalname)
            if places[test] % sampled.args[0]:
                item.add_marker("slow")
            places[test] += 1


@pytest.fixture(scope="module")
def one_chromium():
    """Keep Chromium running between the tests of a module, if there is one."""
    from tests import needs  # noqa: PLC0415 - few tests need it
    from webarena_gym.browsers.chromium.driver import SHARED  # noqa: PLC0415

    driver = SHARED.acquire(headless=True) if needs.has_chromium() else None
    yield
    if driver is not None:
        SHARED.release(driver)


@pytest.fixture(scope="module")
def one_thread():
    """Let torch compute in one thread: tiny models wait for threads longer than they compute."""
    import torch  # noqa: PLC0415 - not everybody has it

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def titled_metrics(monkeypatch):
    """Hold in every test that trains something, so for every method, that the report has a title for each metric of an update."""
    if "agents.training.metrics" not in sys.modules:
        return
    from agents.evaluation.report.curves import AXES, TITLES  # noqa: PLC0415 - not every test has what agents need
    from agents.training.metrics import Metrics  # noqa: PLC0415

    log = Metrics.log

    def log_titled(self, update, values):
        untitled = {*values} - {*AXES, *TITLES}
        assert not untitled
        log(self, update, values)

    monkeypatch.setattr(Metrics, "log", log_titled)
