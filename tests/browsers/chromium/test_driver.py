"""How Chromium is started, shared and ended."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests import needs
from tests.browsers.chromium.pages import HOME, make_browser
from tests.clocks import until
from tests.errors import expect_error
from tests.processes import children
from webarena_gym.browsers.chromium import driver
from webarena_gym.browsers.chromium.driver import PlaywrightError, find_executable, has_left, reason_of
from webarena_gym.errors import BrowserError

pytestmark = needs.chromium


def test_browsers_work_in_threads_and_in_a_running_loop():
    titles = []

    def visit():
        browser = make_browser()
        browser.start([HOME + "other"], {})
        titles.append(browser.page().title)
        browser.close()

    async def visit_in_loop():
        visit()

    threads = [threading.Thread(target=visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(visit_in_loop())
    assert titles == ["T"] * 5


def test_a_killed_chromium_is_started_again(browser):
    for pid in children(os.getpid()):
        with suppress(FileNotFoundError, ProcessLookupError):
            if "chrom" in Path(f"/proc/{pid}/comm").read_text():
                os.kill(pid, signal.SIGKILL)
    with pytest.raises(BrowserError):
        browser.goto(HOME)
    browser.start([HOME], {})
    assert browser.page().url == HOME


MANY = """
import os, signal, subprocess, sys
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.pages.page import Network

browsers = [ChromiumBrowser(Network({})) for _ in range(COUNT)]
for browser in browsers:
    browser.start([], {})
assert [browser.page().url for browser in browsers] == ["about:blank"] * COUNT
print(subprocess.run(["pgrep", "-s", "0", "-f", "chrom"], capture_output=True, text=True).stdout, flush=True)
"""
ENDS = {
    "": 1,
    "raise SystemExit(3)": 1,
    "1 / 0": 12,
    **{f"os.kill(os.getpid(), signal.SIG{end})": 3 for end in ("INT", "KILL")},
}


@pytest.mark.parametrize("end", ENDS)
def test_many_browsers_live_in_one_process_and_none_is_left_behind(end):
    code, pipe = MANY.replace("COUNT", str(ENDS[end])) + end, subprocess.PIPE
    options = {"stdout": pipe, "stderr": subprocess.DEVNULL, "start_new_session": True, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **options) as process:
        assert process.communicate(timeout=120)[0].strip()

    def is_alone():
        left = subprocess.run(["pgrep", "-s", str(process.pid), "-f", "chrom"], capture_output=True, text=True, check=False)
        return not left.stdout.split()

    until(is_alone)


def test_a_driver_cancels_what_still_runs_when_it_closes():
    async def connect():
        task = asyncio.ensure_future(asyncio.Event().wait())
        await asyncio.sleep(0)
        return task

    chromium_driver = driver.Driver()
    task = chromium_driver.run(connect())
    chromium_driver.close()
    assert task.cancelled()


def test_a_missing_chromium_is_reported_with_its_path(opened, monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CHROMIUM", "/nowhere/chromium")
    lonely = opened(driver.Driver())
    with expect_error(BrowserError, "/nowhere/chromium"):
        lonely.run(lonely.chromium())


def test_a_headless_shell_draws_static_pages_for_pictures_alone_and_others_all_the_time(opened):
    browser = opened(make_browser(static=True))
    browser.start([HOME], {})
    browser.run_script("window.drawn = 0, void function count() { requestAnimationFrame(() => { drawn++; count() }) }()")
    drawn = browser.run_script("new Promise((done) => setTimeout(() => done(drawn), 200))")
    assert (drawn == 0) is ("headless" in Path(find_executable() or "chromium-headless-shell").name)  # Playwright's own is one
    assert browser.screenshot().startswith(b"\x89PNG")
    assert browser.run_script("drawn") > 0


def test_the_reason_of_a_failed_action_is_kept():
    log = "Timeout 5000ms exceeded.\nCall log:\n  - attempting click action\n  -   2 x waiting for element to be visible\n  -     - element is not visible\n"
    assert reason_of(PlaywrightError(f"ElementHandle.click: {log}")) == "element is not visible"
    log += "    - element is visible, enabled and stable\n    - scrolling into view if needed\n    - element is outside of the viewport\n"
    assert reason_of(PlaywrightError(f"ElementHandle.click: {log}")) == "element is outside of the viewport"


@pytest.mark.parametrize("message", ["Execution context was destroyed", "Frame was detached", "Target page has been closed"])
def test_calls_to_pages_that_left_are_recognized(message):
    assert has_left(PlaywrightError(message))
    assert not has_left(PlaywrightError("ElementHandle.click: Timeout 5000ms exceeded."))
