"""What only a real browser has: scripts, dialogs, frames, layout, crashes; and how Chromium is started, shared and ended."""

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.clocks import until
from tests.errors import expect_error
from tests.processes import children
from tests.serving import serving
from webarena_gym.browsers.chromium import driver
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.chromium.context import Context
from webarena_gym.browsers.chromium.driver import PlaywrightError, find_executable
from webarena_gym.browsers.chromium.tab import Tab
from webarena_gym.browsers.chromium.tab import _reason as tab_reason
from webarena_gym.errors import ActionError, BrowserError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

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
    "/checks": """<button onclick="out.textContent = isLoaded">Early</button><input aria-label=Name id=field><p id=out></p><script>
        var isLoaded = false; setTimeout(() => { isLoaded = true }, 1500);
        const held = field.value; setInterval(() => { if (field.value !== held) out.textContent = 'unsaved' }, 400)</script>""",
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


@Request.application
def site(request):
    if request.path == "/slow":
        return Response("fetched")
    if request.path == "/empty":
        return Response(status=204)
    if request.path == "/moved":
        return Response(status=303, headers={"Location": "/empty"})
    if request.path == "/download":
        return Response("x", headers={"Content-Disposition": "attachment; filename=x.txt"})
    if request.path in PAGES:
        return Response(f"<!doctype html><html lang=en><title>T</title><body>{PAGES[request.path]}", content_type="text/html")
    return Response("none", status=404)


def make_browser(**options):
    return ChromiumBrowser(Network({"app.test": site}), **options)


@pytest.fixture
def browser(opened):
    made = opened(make_browser())
    made.start([HOME], {})
    return made


def seen(browser):
    return observe(browser.page(), elements="label", header=False).text


def press(browser, label):
    browser.click(observe(browser.page(), elements="label").element(label))


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


@pytest.fixture(scope="module")
def slow_url():
    """Serve a page that takes longer than the other windows of an action."""

    @Request.application
    def page(request):
        time.sleep(0.3)
        return Response("<!doctype html><title>T</title><p>Slow", content_type="text/html")

    with serving(page) as url:
        yield f"{url}/"


WINDOWS = {
    "beside a link without content": ("<a href=/empty onclick=\"window.open('SLOW')\">Go</a>", ["SLOW"]),
    "beside a frame without content": ("<iframe id=f></iframe><a href='javascript:f.src = `/empty`; window.open(`SLOW`); 0'>Go</a>", ["SLOW"]),
    "after a window without content": ("<a href='javascript:window.open(`/empty`); window.open(`SLOW`); 0'>Go</a>", ["SLOW"]),
    "before a window without content": ("<a href='javascript:window.open(`SLOW`); window.open(`/moved`); 0'>Go</a>", ["SLOW"]),
    "two windows": ("<a href='javascript:window.open(`/other`); window.open(`SLOW`); 0'>Go</a>", [HOME + "other", "SLOW"]),
    "closed at once": ("<a href='javascript:window.open(`/other`).close(); 0'>Go</a>", []),
    "without content, closed at once": ("<a href='javascript:window.open(`/empty`).close(); 0'>Go</a>", []),
    "a form without content": ("<form action=/moved?x method=post target=_blank><button>Go</button></form>", []),
    "an address of other characters": ("<a href='/empty?ü#ü' target=_blank>Go</a>", []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "windows"), WINDOWS.values(), ids=WINDOWS)
def test_an_action_opens_all_windows_that_get_content(opened, slow_url, body, windows, monkeypatch):
    monkeypatch.setattr(f"{CONTEXT}.POPUP_S", LONG_S)
    monkeypatch.setitem(PAGES, "/windows", body.replace("SLOW", slow_url))
    browser = opened(make_browser(hosts=frozenset({slow_url.removeprefix("http://").rstrip("/")})))
    browser.start([HOME + "windows"], {})
    begun = time.monotonic()
    press(browser, "Go")
    assert [tab.url for tab in browser.page().tabs] == [HOME + "windows", *(url.replace("SLOW", slow_url) for url in windows)]
    assert time.monotonic() - begun < LONG_S


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


def test_what_an_action_causes_later_is_waited_for_and_what_never_rests_is_not(browser, monkeypatch):
    for label, text in (("Timer", "late"), ("Fetch", "fetched"), ("Leave", "Other")):
        browser.goto(HOME + "late")
        press(browser, label)
        assert text in seen(browser)
    monkeypatch.setattr("webarena_gym.browsers.chromium.tab.QUIET_S", 0.3)
    browser.goto(HOME + "endless")
    assert int(seen(browser)) > 0


def test_scripts_hear_every_key_no_action_is_quicker_than_a_person_and_editable_text_is_replaced(browser):
    browser.goto(HOME + "checks")
    press(browser, "Early")
    assert "true" in seen(browser)
    browser.type(observe(browser.page(), elements="label").element("Name"), "Ann")
    assert "unsaved" in seen(browser)
    for path, label, text in (("keys", "Find", "abc"), ("editable", "old", "new text")):
        browser.goto(HOME + path)
        browser.type(observe(browser.page(), elements="label").element(label), text)
        assert text in seen(browser).splitlines()[-1]


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


def test_layout_decides_what_can_be_used_where_it_is_asked_and_a_screenshot_is_a_picture_of_the_window(browser):
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


def test_nothing_outside_of_the_network_is_reached(browser):
    browser.goto(HOME + "outside")
    assert "refused" in seen(browser)
    for url in ("http://127.0.0.1:1/", "https://app.test/", "http://example.com/", "chrome://version"):
        browser.goto(url)
        assert browser.page().title == "This site can't be reached"
    with expect_error(ActionError, '"data:text/html,x"'):
        browser.goto("data:text/html,x")


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


def test_a_crashed_page_is_an_error_and_the_next_start_works(opened, browser):
    other = opened(make_browser())
    other.start([HOME], {})
    for crash in (browser.crash, browser.page, browser.screenshot, browser.go_back):
        with pytest.raises(BrowserError, match="renderer has crashed"):  # at once, not after the time that an answer may take
            crash()
    assert other.page().url == HOME
    browser.start([HOME], {})
    assert browser.page().url == HOME


def test_a_page_opened_while_another_of_its_site_closes_does_not_die_with_it(browser):
    browser.start([HOME], {})
    for _ in range(5):
        browser.run_script("void window.open('/other', '_blank', 'noopener')")
        browser.wait(50)
        assert browser.page().url == HOME + "other"
        browser.close_tab()


def test_an_opened_page_that_never_answers_is_an_error(browser, monkeypatch):
    browser.start([HOME], {})
    monkeypatch.setattr("webarena_gym.browsers.chromium.context.OPENING_S", 2.0)
    monkeypatch.setattr(Tab, "of", lambda *_, **__: asyncio.sleep(60))
    with pytest.raises(BrowserError, match="its renderer has died"):
        browser.new_tab()


def counted_contexts(monkeypatch):
    """Return a list that grows with each new context."""
    contexts = []
    begin = Context._close_context
    monkeypatch.setattr(Context, "_close_context", lambda self: contexts.append(1) or begin(self))
    return contexts


def test_a_new_start_in_the_same_window_forgets_everything(opened, monkeypatch):
    asked = []

    def remembering(environ, start_response):
        request = Request(environ)
        asked.append((request.path, request.cookies.get("seen", "")))
        headers = {"Cache-Control": "max-age=86400", "Set-Cookie": "seen=yes; Path=/"}
        body = f"<!doctype html><title>T</title><p>{len(asked)}<p><input aria-label=Word><a href=/two>Two</a>"
        return Response(body, content_type="text/html", headers=headers)(environ, start_response)

    contexts = counted_contexts(monkeypatch)
    browser = opened(ChromiumBrowser(Network({"app.test": remembering})))
    for _ in range(3):
        browser.start([HOME, HOME + "two"], {"app.test": {"own": "1"}})
        assert asked == [("/", ""), ("/two", "yes")]
        assert [cookie["name"] for cookie in browser.cookies()] == ["own", "seen"]
        with expect_error(ActionError, "back"):
            browser.go_back()
        browser.type(observe(browser.page(), elements="label").element("Word"), "lamp")
        press(browser, "Two")
        assert len(browser.page().tabs) == 2
        asked.clear()
    browser.start([], {})
    assert (browser.page().url, browser.cookies(), len(browser.page().tabs)) == ("about:blank", [], 1)
    assert len(contexts) == 1


KEEPING = """<!doctype html><title>T</title><p id=out></p><button onclick="history.pushState(0, '', '/deep')">Deep</button><script>
    const opening = indexedDB.open("kept");
    let isNew = false;
    opening.onupgradeneeded = () => { isNew = true; opening.result.createObjectStore("rows"); };
    const open = new Promise((done) => opening.onsuccess = done);
    open.then(() => {
      const {type} = performance.getEntriesByType("navigation")[0];
      out.textContent = [localStorage.a, sessionStorage.a, window.name, document.cookie, isNew, history.length, history.state, type,
        document.referrer].join();
      localStorage.a = sessionStorage.a = window.name = "kept";
      document.cookie = "a=kept";
    });
    for (const event of ["pagehide", "beforeunload", "visibilitychange", "unload"])
      addEventListener(event, (event) => { event.preventDefault(); localStorage.b = event.type; navigator.sendBeacon("/state", event.type); });
    new EventSource("/events");
    Storage.prototype.clear = () => {};
</script>"""


@pytest.mark.parametrize("has_virtual_time", [False, True])
def test_what_scripts_have_kept_is_forgotten_and_what_they_send_is_dropped(opened, monkeypatch, has_virtual_time):
    contexts, requests = counted_contexts(monkeypatch), []

    @Request.application
    def keeping(request):
        if request.path == "/state":
            requests.append(request.data)
        return Response(KEEPING if request.path == "/" else "", content_type="text/html")

    network = Network({"app.test": keeping})
    network.virtual_time, network.clock = has_virtual_time, "2024-03-05T09:00:00+00:00"
    browser = opened(ChromiumBrowser(network))
    pages = []
    for _ in range(3):
        requests.clear()
        browser.start([HOME], {})
        assert requests == []
        is_early = has_virtual_time and browser.run_script(
            "Date.now() < Date.parse('2024-03-05T09:00:05Z')"
        )  # a second document begins later
        pages.append((seen(browser), browser.cookies(), is_early))
        press(browser, "Deep")
        browser.goto(HOME)
        assert "kept,kept,kept,a=kept,false" in seen(browser)
    assert pages[1:] == pages[:1] * 2
    assert is_early == has_virtual_time
    assert len(contexts) == 1


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


def test_a_page_that_does_not_let_itself_be_left_gets_another_context(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.context.NAVIGATION_S", 0.0)
    contexts = counted_contexts(monkeypatch)
    page = "<!doctype html><title>T</title><p id=out></p><script>out.textContent = localStorage.a; localStorage.a = 1</script>"
    browser = opened(ChromiumBrowser(Network({"app.test": Response(page, content_type="text/html")})))
    for count in (1, 2, 3):
        browser.start([HOME], {})
        assert seen(browser) == ""
        assert len(contexts) == count


@pytest.mark.parametrize("has_virtual_time", [False, True])
def test_local_storage_is_replaced_in_a_context_that_is_used_again(opened, monkeypatch, has_virtual_time):
    contexts = counted_contexts(monkeypatch)
    page = "<!doctype html><title>T</title><p id=out></p><script>out.textContent = JSON.stringify(localStorage); localStorage.b = 1</script>"
    network = Network({"app.test": Response(page, content_type="text/html")})
    network.virtual_time = has_virtual_time
    browser = opened(ChromiumBrowser(network))
    browser.start([HOME], {})
    snapshot = browser.snapshot()
    for items in ({"a": "1"}, {"c": "2"}, {}):
        browser.start([HOME], {}, storage={"http://app.test": items})
        assert seen(browser) == json.dumps(items, separators=(",", ":"))
    assert len(contexts) == 1
    browser.restore(snapshot)
    assert seen(browser) == '{"b":"1"}'
    assert len(contexts) == 1
    browser.start([HOME], {}, storage={"http://other.test": {"a": "1"}})
    assert len(contexts) == 2


def test_requests_of_earlier_episodes_are_freed(opened, monkeypatch):
    monkeypatch.setattr(f"{CONTEXT}.MAX_REQUESTS", 6)
    browser = opened(make_browser())

    def kept(resets):
        for _ in range(resets):
            browser.start([HOME + "late"], {})  # with scripts
            browser.start([HOME], {})
        gc.collect()
        return sum(type(item).__name__ == "Request" and "playwright" in type(item).__module__ for item in gc.get_objects())

    assert kept(3) > 0
    assert kept(9) <= 2 * 6


REPLACED = """<ul id=list></ul><p id=out></p><script>
    const row = (name) => `<li>${name} <button onclick="out.textContent += 'Removed ${name} '">Remove</button></li>`;
    const show = (names, before = '') => { list.innerHTML = before + names.map(row).join('') + EXTRAS };
    const EXTRAS = `<input aria-label=Name oninput="out.textContent = 'Named ' + this.value">
        <select aria-label=Size onchange="out.textContent = 'Sized ' + this.value"><option>S<option>L</select>
        <a href='#x' onmouseover="out.textContent = 'Hovered'" onclick="out.textContent = 'Followed'">Link</a>`;
    show(['Tea', 'Rope']);</script>"""
RENDERED = {
    "the same": ("show(['Tea', 'Rope'])", "Remove [2]", "Removed Rope"),
    "with other controls before": ("show(['Tea', 'Rope'], '<li><button>Add</button></li>')", "Remove [2]", "Removed Rope"),
    "the only one of its name": ("show([])", "Link", "Followed"),
    "with one less": ("show(['Rope'])", "Remove [2]", ""),
    "in another order": ("show(['Rope', 'Tea'])", "Remove [2]", ""),
    "another in its place": ("show(['Tea', 'Ink'])", "Remove [2]", ""),
    "without it": ("list.textContent = ''", "Link", ""),
    "at another address": ("history.pushState(null, '', '/elsewhere'); show(['Tea', 'Rope'])", "Remove [2]", ""),
}


def render_again(browser, script):
    browser._driver.run(browser._context.tab.page.evaluate(f"() => {{ {script} }}"))


@pytest.mark.parametrize("virtual", [False, True], ids=["real time", "virtual time"])
@pytest.mark.parametrize(("script", "label", "result"), RENDERED.values(), ids=RENDERED)
def test_a_control_that_was_rendered_again_after_the_reading_is_used_if_it_is_unambiguous(
    opened, script, label, result, virtual, monkeypatch
):
    monkeypatch.setitem(PAGES, "/replaced", REPLACED)
    network = Network({"app.test": site})
    network.virtual_time = virtual
    browser = opened(ChromiumBrowser(network))
    browser.start([HOME + "replaced"], {})
    element = observe(browser.page(), elements="label").element(label)
    render_again(browser, script)
    if result:
        browser.click(element)
    else:
        with pytest.raises(ActionError, match="scripts have replaced or removed it"):
            browser.click(element)
    assert browser.run_script("out.textContent").strip() == result


def test_all_actions_find_a_control_that_was_rendered_again(browser, monkeypatch):
    monkeypatch.setitem(PAGES, "/replaced", REPLACED)
    actions = {
        "Name": (lambda element: browser.type(element, "Ann"), "Named Ann"),
        "Size": (lambda element: browser.select(element, "L"), "Sized L"),
        "Link": (browser.hover, "Hovered"),
        "Remove [2]": (lambda element: browser.press("Enter", element), "Removed Rope"),
        "Remove": (browser.right_click, ""),
    }
    for label, (act, result) in actions.items():
        browser.goto(HOME + "replaced")
        element = observe(browser.page(), elements="label").element(label)
        render_again(browser, "show(['Tea', 'Rope'])")
        act(element)
        assert browser.run_script("out.textContent").strip() == result


def test_the_sites_stand_still_while_nobody_acts(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.tab.QUIET_S", 0.3)
    asked = []

    def polled(environ, start_response):
        asked.append(environ["PATH_INFO"])
        body = "<!doctype html><title>T</title><script>setInterval(() => fetch('/poll?' + Math.random()), 10)</script>"
        return Response(body, content_type="text/html")(environ, start_response)

    browser = opened(ChromiumBrowser(Network({"app.test": polled})))
    browser.start([HOME], {})
    before = list(asked)
    assert not threading.Event().wait(0.5)
    assert asked == before
    browser.wait()
    assert asked[len(before) :][0] == "/poll"
    browser.start([], {})
    assert not threading.Event().wait(0.2)


def test_an_exception_of_a_site_is_a_page_and_is_noted_once(opened):
    def breaking(environ, start_response):
        asked.append(environ["REQUEST_METHOD"])
        if environ["PATH_INFO"] == "/broken":
            return {}["missing"]
        body = "<!doctype html><title>T</title><a href=/broken>Link</a><form method=post action=/broken><button>Send</button></form>"
        return Response(body, content_type="text/html")(environ, start_response)

    asked = []
    network = Network({"app.test": breaking})
    browser = opened(ChromiumBrowser(network))
    browser.start([HOME], {})
    for label in ("Link", "Send"):
        press(browser, label)
        assert browser.page().title == "500 Internal Server Error"
        browser.goto(HOME)
    browser.start([HOME + "broken"], {})
    assert asked == ["GET", "GET", "GET", "POST", "GET", "GET"]
    told = [error.partition(": ")[0] for error in network.errors]
    assert told == [f"{method} {HOME}broken" for method in ("GET", "POST", "GET")]


def test_a_server_that_dies_while_it_answers_is_an_error_and_its_missing_images_are_not():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        pages = {
            "/": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>T</title><a href=/half>On</a><img src=/x>",
            "/half": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<title>T",
        }

        def answer():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    path = connection.recv(65536).split()[1].decode()
                    connection.sendall(pages.get(path, b""))
                    if path == "/half":
                        server.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=answer, daemon=True).start()
        browser = ChromiumBrowser(None, hosts=frozenset([f"127.0.0.1:{port}"]))
        browser.start([f"http://127.0.0.1:{port}/"], {})
        with expect_error(BrowserError, f"GET http://127.0.0.1:{port}/half"):
            press(browser, "On")
    with expect_error(BrowserError, f"GET http://127.0.0.1:{port}/"):
        browser.goto(f"http://127.0.0.1:{port}/")
    browser.close()


def test_pages_of_a_session_that_is_over_ask_nothing_of_the_next(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.tab.QUIET_S", 0.3)
    asked = []

    def polled(environ, start_response):
        asked.append(environ["PATH_INFO"])
        poll = "<script>setInterval(() => fetch('/poll', {method: 'POST', keepalive: true}), 1)</script>"
        return Response(f"<!doctype html><title>T</title>{poll}", content_type="text/html")(environ, start_response)

    browser = opened(ChromiumBrowser(Network({"app.test": polled})))
    browser.start([HOME], {})
    asked.clear()
    browser.start([], {})
    assert asked == []


def test_pages_are_told_the_place_of_the_task():
    page = """<!doctype html><title>T</title><p id=out></p><script>navigator.geolocation.getCurrentPosition(
        ({coords}) => out.textContent = [coords.latitude, coords.longitude], (error) => out.textContent = error.message)</script>"""
    with serving(Response(page, content_type="text/html")) as url:
        browser = ChromiumBrowser(None, hosts=frozenset([url.removeprefix("http://")]))
        browser.start([url], {}, geolocation={"latitude": 40.44, "longitude": -79.94})
        assert seen(browser) == "40.44,-79.94"
        browser.start([url], {})
        assert "denied" in seen(browser)
        with pytest.raises(BrowserError, match="latitude"):
            browser.start([url], {}, geolocation={"latitude": 100, "longitude": 0})
        browser.close()


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


def test_a_missing_chromium_says_what_installs_one(opened, monkeypatch):
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


@pytest.mark.parametrize("images", [True, False])
def test_images_are_asked_for_where_somebody_looks(images, opened):
    asked = []

    def app(environ, start_response):
        asked.append(environ["PATH_INFO"])
        body = b"\x89PNG" if environ["PATH_INFO"].endswith(".png") else b"<img src=/a.png alt=A><a href=/next>Next</a>"
        return Response(body, content_type="text/html")(environ, start_response)

    browser = opened(ChromiumBrowser(Network({"app.test": app}), load_images=images))
    browser.start([HOME], {})
    press(browser, "Next")
    assert "A" in seen(browser)
    browser.goto("http://app.test/last")
    assert ("/a.png" in asked) is images


def test_the_reason_of_a_failed_action_is_kept():
    log = "Timeout 5000ms exceeded.\nCall log:\n  - attempting click action\n  -   2 x waiting for element to be visible\n  -     - element is not visible\n"
    assert tab_reason(PlaywrightError(f"ElementHandle.click: {log}")) == "element is not visible"
    log += "    - element is visible, enabled and stable\n    - scrolling into view if needed\n    - element is outside of the viewport\n"
    assert tab_reason(PlaywrightError(f"ElementHandle.click: {log}")) == "element is outside of the viewport"
