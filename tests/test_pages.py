"""Windows, focus, dialogs and navigation of the in-process browser, held against what Chromium itself does (`tests/data/pages.json`)."""

import pickle

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.raw_pages import SENT, RawPages, record
from tests.raw_tables import HOME, check_installed, page_of, read_table
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network

TABLE = read_table("pages")
WITHOUT_BOX = ("option", "optgroup", "area", "map", "legend", "source", "param", "base", "title", "template")


class Site:
    """The pages of a case, by path or whole address, and a record of all other requests."""

    def __init__(self, case):
        html = case["html"]
        self.pages = html if isinstance(html, dict) else {"/": html}
        self.headers, self.requests = case.get("headers", {}), []

    def __call__(self, environ, start_response):
        request = Request(environ)
        address = request.url.removeprefix(HOME[:-1])
        if request.method == "GET" and address in self.pages:
            headers = self.headers if address == "/" else {}
            response = Response(page_of(self.pages[address]), headers=headers, content_type="text/html; charset=utf-8")
        else:
            query = environ["QUERY_STRING"]
            self.requests.append([request.method, request.base_url + (query and f"?{query}"), request.get_data().decode()])
            response = Response(SENT, content_type="text/html")
        return response(environ, start_response)


def play(case):
    site = Site(case)
    browser = InProcessBrowser(Network({"app.test": site, "other.test": site}))
    browser.start([HOME], {})
    for kind, *arguments in case["steps"]:
        root = browser.page().root
        try:
            match kind:
                case "click":
                    browser.click(root.get_element_by_id(arguments[0]))
                case "point":
                    target = arguments[2]
                    browser.click(root if target == "html" else root.get_element_by_id(target))
                case "focus":
                    browser._document.focus(root.get_element_by_id(arguments[0]))
                case "press":
                    browser.press(arguments[0])
                case "tab":
                    browser.switch_tab(arguments[0])
                case "back":
                    browser.go_back()
                case _:
                    browser.wait(arguments[0])
        except ActionError:
            pass  # the browser explains why nothing happens
    page = browser.page()
    elements = [part for part in page.root.iter("*") if "id" in part.attrib and part.tag not in WITHOUT_BOX]
    # The box of such an element is shown, but nothing in it, so that it counts as hidden.
    elements = [part for part in elements if part.get("hidden", "").lower() != "until-found"]
    return {
        "requests": site.requests,
        "tabs": [tab.url for tab in page.tabs],
        "active": page.active_tab,
        "focus": "" if page.focused is None else page.focused.get("id", ""),
        "shown": [element.get("id") for element in elements if dom.is_visible(element)],
    }


def test_states_are_chromiums():
    wrong = {}
    for name, case in TABLE["cases"].items():
        state = play(case)
        if state != case["state"]:
            wrong[name] = [(case["state"][key], state[key]) for key in state if state[key] != case["state"][key]]
    assert wrong == {}


@needs.chromium
@pytest.mark.slow
def test_the_table_is_of_the_installed_chromium():
    check_installed(TABLE, "cases", 20, RawPages, record)


BLOCKED = """<div inert><a id=link href=/1>Link</a> <input id=field></div>
<button id=open commandfor=d command=show-modal>Open</button> <button id=outside>Outside</button>
<dialog id=d>Dialog <button id=close commandfor=d command=close>Close</button></dialog>"""
WINDOWS = "<a id=one href=/1 target=win>1</a> <form action=/2 target=win><button id=two>2</button></form>"


@pytest.fixture(params=["inprocess", pytest.param("chromium", marks=needs.chromium)])
def browse(request):
    """Return a function that opens a body at `HOME` in one of the browsers."""
    opened = []

    def open_body(body):
        site = Site({"html": body})
        network = Network({"app.test": site})
        browser = InProcessBrowser(network) if request.param == "inprocess" else ChromiumBrowser(network)
        opened.append(browser)
        browser.start([HOME], {})
        return browser

    yield open_body
    for browser in opened:
        browser.close()


def element(browser, element_id):
    return browser.page().root.get_element_by_id(element_id)


def test_actions_on_inert_elements_are_refused_with_the_reason(browse):
    browser = browse(BLOCKED)
    with pytest.raises(ActionError, match="it is inert"):
        browser.click(element(browser, "link"))
    with pytest.raises(ActionError, match="it is inert"):
        browser.type(element(browser, "field"), "x")
    browser.click(element(browser, "open"))
    assert browser.page().focused.get("id") == "close"
    with pytest.raises(ActionError, match="behind an open dialog"):
        browser.click(element(browser, "outside"))
    browser.press("Escape")
    browser.click(element(browser, "outside"))
    with pytest.raises(ActionError, match='the key "Escape" does nothing'):
        browser.press("Escape")


def test_a_window_that_is_used_again_comes_to_the_front(browse):
    browser = browse(WINDOWS)
    browser.click(element(browser, "one"))
    assert (browser.page().active_tab, browser.page().url) == (1, f"{HOME}1")
    browser.switch_tab(0)
    browser.click(element(browser, "two"))
    page = browser.page()
    assert (page.active_tab, page.url, len(page.tabs)) == (1, f"{HOME}2?", 2)


def test_popovers_dialogs_and_windows_are_in_snapshots():
    browser = InProcessBrowser(Network({"app.test": Site({"html": BLOCKED + WINDOWS})}))
    browser.start([HOME], {})
    browser.click(element(browser, "one"))
    browser.switch_tab(0)
    browser.click(element(browser, "open"))
    saved = pickle.loads(pickle.dumps(browser.snapshot()))
    browser.press("Escape")
    browser.restore(saved)
    with pytest.raises(ActionError, match="behind an open dialog"):
        browser.click(element(browser, "outside"))
    browser.press("Escape")
    assert browser.page().focused.get("id") == "open"
    browser.click(element(browser, "two"))
    assert [tab.url for tab in browser.page().tabs] == [HOME, f"{HOME}2?"]


def test_the_action_wait_counts_the_time_of_a_refresh():
    browser = InProcessBrowser(Network({"app.test": Site({"html": '<meta http-equiv=refresh content="5; url=/e"><p>p'})}))
    browser.start([HOME], {})
    browser.wait()
    assert browser.page().url == HOME
    browser.restore(pickle.loads(pickle.dumps(browser.snapshot())))
    browser.wait(500)
    assert browser.page().url == HOME
    browser.wait()
    assert browser.page().url == f"{HOME}e"
