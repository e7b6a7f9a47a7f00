"""What only a real browser has: scripts, dialogs, frames, layout, crashes; and how Chromium is started, shared and ended."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from webarena_gym.browsers import chromium
from webarena_gym.browsers.chromium import driver
from webarena_gym.errors import ActionError, BrowserError
from webarena_gym.network import Network
from webarena_gym.observation import observe

pytestmark = needs.chromium

HOME = "http://app.test/"
PAGES = {
    "/": "<h1>Home</h1><a href=/other>Other</a>",
    "/other": "<h1>Other</h1>",
    "/dialogs": """<button onclick="alert('Hello')">Alert</button><p id=said></p>
        <button onclick="said.textContent = confirm('Sure?') ? 'yes' : 'no'">Confirm</button>""",
    "/late": """<button onclick="setTimeout(() => out.textContent = 'late', 40)">Timer</button>
        <button onclick="fetch('/slow').then(r => r.text()).then(t => out.textContent = t)">Fetch</button>
        <button onclick="setTimeout(() => location = '/other', 20)">Leave</button><p id=out></p>""",
    "/keys": '<input aria-label=Find onkeyup="out.textContent += event.key"><p id=out></p>',
    "/popup": "<button onclick=\"window.open('/other')\">Open</button><button onclick='window.close()'>Close</button>",
    "/frames": "<p>Around</p><iframe src=/inner></iframe><iframe srcdoc='<p>Inline</p>'></iframe>",
    "/inner": "<p id=p>Inside</p><button onclick=\"p.textContent = 'Pressed'\">Press</button><input aria-label=Field>",
    "/shadow": """<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML =
        "<p id=p>Shade</p><button onclick=\\"this.previousSibling.textContent = 'Lit'\\">Light</button>"</script>""",
    "/layout": """<style>.gone {display: none} .ghost {visibility: hidden} .thin {width: 0; height: 0; overflow: hidden; border: 0;
        padding: 0} .lid {position: fixed; left: 0; top: 100px; width: 300px; height: 60px; background: white}</style>
        <button>Plain</button><button class=gone>Gone</button><button class=ghost>Ghost</button><button class=thin></button>
        <button style="position: absolute; left: 20px; top: 120px">Under</button><div class=lid>Lid</div>""",
    "/long": "".join(f"<p>Line {number}</p><a href=/other>Link {number}</a>" for number in range(100)),
    "/files": "<input type=file aria-label=File><a href=/download>Get</a>",
    "/editable": "<div contenteditable=true>old</div>",
    "/outside": "<img src='http://127.0.0.1:1/x.png' onerror=\"out.textContent = 'refused'\"><p id=out></p>",
    "/endless": "<p id=out>0</p><script>setInterval(() => out.textContent = +out.textContent + 1, 5)</script>",
}


def site(environ, start_response):
    request = Request(environ)
    if request.path == "/slow":
        answer = Response("fetched")
    elif request.path == "/download":
        answer = Response("x", headers={"Content-Disposition": "attachment; filename=x.txt"})
    elif request.path in PAGES:
        answer = Response(f"<!doctype html><html lang=en><title>T</title><body>{PAGES[request.path]}", content_type="text/html")
    else:
        answer = Response("none", status=404)
    return answer(environ, start_response)


def make_browser(**options):
    return chromium.ChromiumBrowser(Network({"app.test": site}), **options)


@pytest.fixture(scope="module", autouse=True)
def one_chromium():
    held = driver.SHARED.acquire(headless=True)
    yield
    driver.SHARED.release(held)


@pytest.fixture
def browser():
    made = make_browser()
    made.start([HOME], {})
    yield made
    made.close()


def seen(browser):
    return observe(browser.page(), elements="label", header=False).text


def press(browser, label):
    browser.click(observe(browser.page(), elements="label").element(label))


def test_dialogs_are_answered_and_told(browser):
    browser.goto(HOME + "dialogs")
    press(browser, "Alert")
    assert browser.page().notices == ("Alert dialog, answered with OK: Hello",)
    press(browser, "Confirm")
    assert browser.page().notices == ("Confirm dialog, answered with OK: Sure?",)
    assert "yes" in seen(browser)
    assert "Browser: Confirm dialog" in observe(browser.page()).text


@pytest.mark.parametrize(("label", "text"), [("Timer", "late"), ("Fetch", "fetched"), ("Leave", "Other")])
def test_what_an_action_causes_later_is_waited_for(browser, label, text):
    browser.goto(HOME + "late")
    press(browser, label)
    assert text in seen(browser)


def test_a_page_that_never_rests_is_shown_as_it_is(browser, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.tab.QUIET_S", 0.3)
    browser.goto(HOME + "endless")
    assert int(seen(browser)) > 0


def test_scripts_hear_every_key(browser):
    browser.goto(HOME + "keys")
    browser.type(observe(browser.page(), elements="label").element("Find"), "abc")
    assert seen(browser).endswith("abc")


def test_windows_that_scripts_open_and_close_are_tabs(browser):
    browser.goto(HOME + "popup")
    press(browser, "Open")
    assert [tab.url for tab in browser.page().tabs] == [HOME + "popup", HOME + "other"]
    assert browser.page().active_tab == 1
    browser.goto(HOME + "popup")
    press(browser, "Close")
    assert [tab.url for tab in browser.page().tabs] == [HOME + "popup"]


def test_frames_are_read_and_used(browser):
    browser.goto(HOME + "frames")
    assert [word for word in ("Around", "Inside", "Press", "Inline") if word not in seen(browser)] == []
    press(browser, "Press")
    assert "Pressed" in seen(browser)
    browser.type(observe(browser.page(), elements="label").element("Field"), "x")
    assert 'value="x"' in seen(browser)


def test_open_shadow_roots_are_read_and_used(browser):
    browser.goto(HOME + "shadow")
    assert "Shade" in seen(browser)
    press(browser, "Light")
    assert "Lit" in seen(browser)


def test_layout_decides_what_can_be_used():
    browser = make_browser(strict=True)
    browser.start([HOME + "layout"], {})
    assert set(observe(browser.page(), elements="label").nodes) == {"Plain"}
    browser.close()


def test_without_layout_a_covered_element_says_so_when_it_is_clicked(browser):
    browser.goto(HOME + "layout")
    assert set(observe(browser.page(), elements="label").nodes) == {"Plain", "Ghost", "button", "Under"}
    with pytest.raises(ActionError, match="covers"):
        press(browser, "Under")


def test_a_windowed_browser_reads_what_the_window_shows_and_scrolls_by_two_thirds():
    browser = make_browser(windowed=True)
    browser.start([HOME + "long"], {})
    first = set(observe(browser.page(), elements="label").nodes)
    assert "Link 0" in first
    assert "Link 99" not in first
    browser.scroll(down=True)
    second = set(observe(browser.page(), elements="label").nodes)
    assert "Link 0" not in second
    assert 0.15 * len(first) < len(first & second) < 0.5 * len(first)
    browser.scroll(down=False)
    assert set(observe(browser.page(), elements="label").nodes) == first
    browser.close()


def test_downloads_and_file_choosers_leave_nothing(browser):
    browser.goto(HOME + "files")
    press(browser, "Get")
    assert browser.page().notices == ("Download not kept: x.txt",)
    assert browser.page().url == HOME + "files"
    press(browser, "File")
    assert "file chooser" in browser.page().notices[0]


def test_editable_text_is_replaced(browser):
    browser.goto(HOME + "editable")
    browser.type(observe(browser.page(), elements="label").element("old"), "new text")
    assert "new text" in seen(browser)


def test_nothing_outside_of_the_network_is_reached(browser):
    browser.goto(HOME + "outside")
    assert "refused" in seen(browser)
    for url in ("http://127.0.0.1:1/", "https://app.test/", "http://example.com/", "chrome://version", "data:text/html,x"):
        browser.goto(url)
        assert browser.page().title == "This site can't be reached"


def test_a_screenshot_is_a_picture_of_the_window(browser):
    assert browser.screenshot().startswith(b"\x89PNG")


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


def test_a_crashed_page_is_an_error_and_the_next_start_works(browser):
    other = make_browser()
    other.start([HOME], {})
    with pytest.raises(BrowserError):
        browser.crash()
    with pytest.raises(BrowserError):
        browser.page()
    assert other.page().url == HOME
    browser.start([HOME], {})
    assert browser.page().url == HOME
    other.close()


def children():
    """The processes below this one that are Chromium or its driver."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,stat,comm"], capture_output=True, text=True, check=True).stdout.splitlines()[
        1:
    ]
    rows = [(int(pid), int(parent), state, name) for pid, parent, state, name in (line.split(None, 3) for line in found)]
    below, frontier = [], {os.getpid()}
    while frontier:
        mine = [row for row in rows if row[1] in frontier and "Z" not in row[2]]
        below += mine
        frontier = {row[0] for row in mine}
    return [(pid, name) for pid, _, _, name in below if "chrom" in name]


def test_a_killed_chromium_is_started_again(browser):
    for pid, _ in children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(BrowserError):
        browser.goto(HOME)
    browser.start([HOME], {})
    assert browser.page().url == HOME


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
                                 "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])  # fmt: skip
def test_no_process_is_left_behind(end):
    code = (
        "from webarena_gym.browsers.chromium import ChromiumBrowser\n"
        "from webarena_gym.network import Network\n"
        "browser = ChromiumBrowser(Network({}))\n"
        "browser.start([], {})\n"
        "import subprocess, os\n"
        "print(subprocess.run(['pgrep', '-s', '0', '-f', 'chrom'], capture_output=True, text=True).stdout)\n"
        "import sys; sys.stdout.flush()\n" + end
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True
    )
    out, _ = process.communicate(timeout=60)
    assert out.strip()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = subprocess.run(
            ["pgrep", "-s", str(process.pid), "-f", "chrom"], capture_output=True, text=True, check=False
        ).stdout.split()
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"left behind: {left}")


def test_a_missing_chromium_says_what_installs_one(monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CHROMIUM", "/nowhere/chromium")
    lonely = driver.Driver()
    with pytest.raises(BrowserError, match="/nowhere/chromium does not start"):
        lonely.run(lonely.chromium())
    lonely.close()
