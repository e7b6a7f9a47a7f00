"""What some tests need and not every machine has."""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest


@cache
def has_chromium():
    if importlib.util.find_spec("playwright") is None:
        return False
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    from webarena_gym.browsers.chromium.driver import find_executable  # noqa: PLC0415

    if find_executable():
        return True
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


chromium = pytest.mark.skipif(not has_chromium(), reason="no Chromium here: apt-get install chromium")


@cache
def has_namespaces():
    host = importlib.util.find_spec("webarena_gym.applications.host").origin
    command = [sys.executable, host, json.dumps({"run": ["true"], "hidden": []})]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


namespaces = pytest.mark.skipif(not has_namespaces(), reason="this system does not let processes create namespaces")


@contextmanager
def opened_chromium():
    """Start Chromium, and end it with the context."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    from webarena_gym.browsers.chromium.driver import ARGUMENTS, find_executable  # noqa: PLC0415

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_executable(), args=list(ARGUMENTS))
        try:
            yield chromium
        finally:
            chromium.close()


@cache
def axe_source():
    """Return the text of axe-core; "" where it is not installed."""
    given = os.environ.get("AXE_CORE")
    places = [Path(given)] if given else [Path(__file__).parent.parent / "node_modules/axe-core/axe.min.js"]
    return next((place.read_text(encoding="utf-8") for place in places if place.is_file()), "")


axe = pytest.mark.skipif(not axe_source(), reason="no axe-core here: make axe (needs npm)")

miniwob = pytest.mark.skipif(
    importlib.util.find_spec("miniwob") is None, reason="no pages of MiniWoB++ here: pip install --no-deps miniwob"
)
