"""Pages with scripts: dialogs, windows, downloads, keys, frames and layout."""

import time

import pytest
from werkzeug.wrappers import Response

from tests import needs
from tests.browsers.chromium.pages import HOME, PAGES, make_browser, press, seen, site
from tests.errors import expect_error
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.chromium.tab import Tab
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

pytestmark = needs.chromium


def test_dialogs_are_answered_windows_are_tabs_and_downloads_and_choosers_leave_nothing(browser):
    browser.goto(HOME + "dialogs")
    press(browser, "Alert")
    assert browser.page().notices == ("Alert dialog, answered with OK: Hello",)
    press(browser, "Confirm")
    assert browser.page().notices == ("Confirm dialog, answered with OK: Sure?",)
    assert "yes" in seen(browser)
    assert "Browser: Confirm dialog" in observe(browser.page()).text
    browser.goto(HOME + "popup")
    press(browser, "Open")
    assert [tab.url for tab in browser.page().tabs] == [HOME + "popup", HOME + "other"]
    assert browser.page().active_tab == 1
    browser.goto(HOME + "popup")
    press(browser, "Close")
    assert [tab.url for tab in browser.page().tabs] == [HOME + "popup"]
    browser.goto(HOME + "files")
    press(browser, "Get")
    assert (browser.page().notices[0], browser.page().url) == ("Downloaded x.txt, 1 bytes: x", HOME + "files")
    press(browser, "File")
    assert "file chooser" in browser.page().notices[0]


CONTEXT = "webarena_gym.browsers.chromium.context"
LONG_S = 60.0  # in place of limits that no action of these tests reaches


LINK = "const link = (name) => Object.assign(document.createElement('a'), {href: 'data:text/plain,text', download: name});"
DOWNLOADS = {
    "of a link": ("<a download=a.txt href='data:text/plain,text' id=d>File</a>", "d.click()", ["a.txt"]),
    "of a link in no document": ("", "link('a.txt').click()", ["a.txt"]),
    "of an event": ("", "link('a.txt').dispatchEvent(new MouseEvent('click'))", ["a.txt"]),
    "of a blob": (
        "",
        "Object.assign(link('a.txt'), {href: window.URL.createObjectURL(new Blob(['text']))}).click()",
        ["a.txt"],
    ),
    "later": ("", "setTimeout(() => link('a.txt').click(), 400)", ["a.txt"]),
    "two": ("", "link('a.txt').click(); link('b.txt').click()", ["a.txt", "b.txt"]),
    "of a frame": ("<iframe id=f></iframe>", "f.src = '/download'", ["x.txt"]),
    "of an address": ("", "setTimeout(() => { location = '/download' }, 400)", ["x.txt"]),
    "of a prevented click": ("", "Object.assign(link('a.txt'), {onclick: () => false}).click()", []),
}


@pytest.mark.parametrize("virtual", [False, True], ids=["real time", "virtual time"])
@pytest.mark.parametrize(("body", "script", "files"), DOWNLOADS.values(), ids=DOWNLOADS)
@pytest.mark.sampled(3)
def test_downloads_that_scripts_start_are_waited_for(opened, body, script, files, virtual, monkeypatch):
    monkeypatch.setattr(f"{CONTEXT}.QUIET_S", LONG_S)
    monkeypatch.setitem(PAGES, "/downloads", f'{body}<script>{LINK}</script><button onclick="{script}">Go</button>')
    network = Network({"app.test": site})
    network.virtual_time = virtual
    browser = opened(ChromiumBrowser(network))
    browser.start([HOME + "downloads"], {})
    begun = time.monotonic()
    press(browser, "Go")
    notices = [notice.split(",")[0] for notice in browser.page().notices if notice.startswith("Download")]
    assert notices == [f"Downloaded {name}" for name in files]
    assert time.monotonic() - begun < LONG_S


def test_frames_and_open_shadow_roots_are_read_and_used(browser):
    browser.goto(HOME + "frames")
    assert [word for word in ("Around", "Inside", "Press", "Inline") if word not in seen(browser)] == []
    press(browser, "Press")
    assert "Pressed" in seen(browser)
    browser.type(observe(browser.page(), elements="label").element("Field"), "x")
    assert 'value="x"' in seen(browser)
    browser.goto(HOME + "shadow")
    assert "Shade" in seen(browser)
    press(browser, "Light")
    assert "Lit" in seen(browser)


def test_layout_restricts_controls_in_strict_mode_and_screenshots_show_the_window(browser, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.browser.ACTION_MS", 1_500.0)
    strict = make_browser(strict=True)
    strict.start([HOME + "layout"], {})
    assert set(observe(strict.page(), elements="label").nodes) == {"Plain"}
    strict.close()
    browser.goto(HOME + "layout")
    assert set(observe(browser.page(), elements="label").nodes) == {"Plain", "Ghost", "thin", "Under"}
    with expect_error(ActionError, '<div class="lid">'):
        press(browser, "Under")
    assert browser.screenshot().startswith(b"\x89PNG")
    browser.start([], {})
    browser.new_tab()
    assert browser.screenshot().startswith(b"\x89PNG")
    assert browser.page().notices == ()


def test_a_windowed_browser_reads_what_the_window_shows_and_scrolls_by_two_thirds(opened):
    browser = opened(make_browser(windowed=True))
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


def test_a_page_with_scripts_is_read_once_after_an_action(opened, monkeypatch):
    """While it settles, only the existence of scripts matters: they may change the page afterwards."""
    reads, read_main_frame = [], Tab._read_main_frame

    async def read(tab, **options):
        reads.append(await read_main_frame(tab, **options))
        return reads[-1]

    monkeypatch.setattr(Tab, "_read_main_frame", read)
    page = "<!doctype html><title>T</title><p id=out></p><button>Add</button><script>onclick = () => out.textContent += 'a'</script>"
    browser = opened(ChromiumBrowser(Network({"app.test": Response(page, content_type="text/html")})))
    browser.start([HOME], {})
    add = observe(browser.page(), elements="label").element("Add")
    reads.clear()
    browser.click(add)
    assert seen(browser).startswith("a\n<button")
    assert [("xml" in reading, reading["title"]) for reading in reads] == [(False, "T"), (True, "T")]
