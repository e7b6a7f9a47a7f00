"""Windows, focus, dialogs and navigation of the in-process browser, held against what Chromium itself does (`tests/data/pages.json`)."""

import pickle

import pytest
from werkzeug.urls import iri_to_uri
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.errors import expect_error
from tests.raw_pages import SENT, RawPages, record
from tests.raw_tables import HOME, check_installed, page_of, read_table
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network

TABLE = read_table("pages")
WITHOUT_BOX = ("option", "optgroup", "area", "map", "legend", "source", "param", "base", "title", "template")


class Site:
    """The pages of a case, by path or whole address, and a record of all other requests."""

    def __init__(self, case):
        html = case["html"]
        self.pages = html if isinstance(html, dict) else {"/": html}
        self.headers, self.responses, self.requests = case.get("headers", {}), case.get("responses", ()), []
        self.charset = case.get("charset", "utf-8")

    def __call__(self, environ, start_response):
        request = Request(environ)
        address = request.url.removeprefix(HOME[:-1])
        if request.method == "GET" and address in self.pages:
            headers = self.headers if address == "/" else {}
            body = page_of(self.pages[address], self.charset).encode(self.charset)
            response = Response(body, headers=headers, content_type=f"text/html; charset={self.charset}")
        elif address in self.responses:
            status, headers, body = self.responses[address]
            response = Response(body, status, headers)
        else:
            query = environ["QUERY_STRING"]
            url = iri_to_uri(request.base_url) + (query and f"?{query}")
            self.requests.append([request.method, url, request.get_data().decode()])
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

    def open_body(body, files=(), responses=()):
        """Open a body. `files` are available, and `responses` are those of other paths: status, headers and body."""
        site = Site({"html": body, "responses": responses})
        network = Network({"app.test": site, "other.test": site}, dict.fromkeys(files, b"x"))
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
    with expect_error(ActionError, '"Link"', "inert"):
        browser.click(element(browser, "link"))
    with expect_error(ActionError, "input", "inert"):
        browser.type(element(browser, "field"), "x")
    browser.click(element(browser, "open"))
    assert browser.page().focused.get("id") == "close"
    with expect_error(ActionError, '"Outside"', "dialog"):
        browser.click(element(browser, "outside"))
    browser.press("Escape")
    browser.click(element(browser, "outside"))
    with expect_error(ActionError, '"Escape"', '"Outside"'):
        browser.press("Escape")


def test_a_window_that_is_used_again_comes_to_the_front(browse):
    browser = browse(WINDOWS)
    browser.click(element(browser, "one"))
    assert (browser.page().active_tab, browser.page().url) == (1, f"{HOME}1")
    browser.switch_tab(0)
    browser.click(element(browser, "two"))
    page = browser.page()
    assert (page.active_tab, page.url, len(page.tabs)) == (1, f"{HOME}2?", 2)


def test_a_download_that_another_site_serves_is_a_page(browse):
    browser = browse(
        "<a id=one download href=/1>1</a> <a id=two download href=/2>2</a>",
        responses={"/2": (302, {"Location": "http://other.test/2"}, "")},
    )
    browser.click(element(browser, "one"))
    assert browser.page().url == HOME
    browser.click(element(browser, "two"))
    if browser.page().url == HOME:  # Chromium may begin a download before it learns of the other site
        browser.wait()
    assert browser.page().url == "http://other.test/2"


def test_errors_without_a_body_and_feeds_are_shown_as_text_also_after_going_back(browse):
    feed = "application/atom+xml; charset=utf-8"
    browser = browse("Home", responses={"/error": (406, {}, ""), "/feed": (200, {"Content-Type": feed}, "<feed>é</feed>")})
    for path, text in (("error", "This page isn't working HTTP ERROR 406"), ("feed", "<feed>é</feed>")):
        browser.goto(f"{HOME}{path}")
        assert dom.normalize_space(" ".join(browser.page().root.find("body").itertext())) == text
        browser.goto(HOME)
        browser.go_back()
        assert dom.normalize_space(" ".join(browser.page().root.find("body").itertext())) == text


def test_a_new_window_may_be_redirected_to_another_site(browse):
    far = {"/far": (302, {"Location": "http://other.test/2"}, "")}
    browser = browse(
        "<a id=link target=_blank href=/far>x</a><form action=/far target=_blank><button id=go>Go</button></form>",
        responses=far,
    )
    for _ in range(3):
        for target in ("link", "go"):
            browser.click(element(browser, target))
            assert browser.page().url == "http://other.test/2"
            browser.close_tab()


@pytest.mark.parametrize(
    ("content_type", "notice"),
    [
        ("text/csv", "Downloaded file.csv"),
        ("text/calendar", "Downloaded file.ics"),
        ("text/rtf", "Downloaded file"),
        ("application/pdf", "Downloaded file.pdf"),
        ("application/octet-stream", "Downloaded file"),
        ("application/x-ndjson", "Downloaded file"),
        ("application/ld+json", ""),
        ("text/x-python", ""),
        ("", ""),
    ],
)
@pytest.mark.sampled(3)
def test_files_of_types_that_are_not_shown_are_downloaded(browse, content_type, notice):
    browser = browse("<a id=file href=/file>File</a>", responses={"/file": (200, {"Content-Type": content_type}, "a,b")})
    browser.click(element(browser, "file"))
    page = browser.page()
    if notice:
        assert (page.url, page.notices[0]) == (HOME, f"{notice}, 3 bytes: a,b")
    else:
        assert (page.url, page.root.text_content().strip()) == (f"{HOME}file", "a,b")


def test_image_maps_are_links_and_an_image_of_a_server_map_sends_a_point(browse):
    browser = browse(
        "<img usemap=#m alt=Map src=/img width=9 height=9><map name=m><area id=one href=/one alt=One><area alt=No></map>"
        "<a id=link href='/map?a=1'><img ismap id=image src=/img alt=Server width=9 height=9></a>"
    )
    text = observe(browser.page(), header=False, elements="label").text
    assert text == '<img alt="Map"> <area>One</area> <a>Server</a>'
    browser.press("Enter", element(browser, "link"))
    assert browser.page().url == f"{HOME}map?a=1"
    for target, url in (("image", "map?a=1?0,0"), ("link", "map?a=1?0,0"), ("one", "one")):
        browser.goto(HOME)
        browser.click(element(browser, target))
        assert browser.page().url == f"{HOME}{url}"


def test_a_details_without_a_summary_opens(browse):
    browser = browse("<details id=details>Content</details>")
    browser.click(element(browser, "details"))
    assert observe(browser.page(), header=False).text == "Content"


def test_a_typed_text_is_refused_below_the_least_length(browse):
    browser = browse("<form action=/e><input id=name name=name minlength=3 value=a><button id=go>Go</button></form>")
    browser.type(element(browser, "name"), "ab")
    with expect_error(ActionError, '"name"', "3 characters"):
        browser.click(element(browser, "go"))


@pytest.mark.parametrize(("files", "notice"), [((), "opened and closed"), (("a.txt",), "open: select a file by its name")])
def test_a_click_on_a_file_field_or_its_label_opens_a_chooser(browse, files, notice):
    browser = browse("<label id=label>File <input type=file id=file></label><p id=text>Text</p>", files)
    for target in ("file", "label"):
        browser.click(element(browser, target))
        assert [
            f"A file chooser was {notice}" in text or f"A file chooser is {notice}" in text for text in browser.page().notices
        ] == [True]
        browser.click(element(browser, "text"))
        assert not any("chooser" in text for text in browser.page().notices)


def test_an_action_that_is_refused_drops_the_notices_of_earlier_ones(browse):
    browser = browse("<a id=get download href=/1>Get</a> <button id=off disabled>Off</button><p hidden id=no>No</p>")
    for refused in (
        lambda: browser.press("F2"),
        *(lambda name=name: browser.click(element(browser, name)) for name in ("off", "no")),
    ):
        browser.click(element(browser, "get"))
        assert "Downloaded" in browser.page().notices[0]
        with pytest.raises(ActionError):
            refused()
        assert not any("Downloaded" in text for text in browser.page().notices)


@pytest.mark.parametrize(
    ("kind", "value"), [("text", "12"), ("search", "12"), ("email", "a@1"), ("url", "a:1"), ("number", "12")]
)
@pytest.mark.sampled(3)
def test_keys_append_to_a_value_or_replace_the_selection(browse, kind, value):
    browser = browse(f"<input id=first><input id=field type={kind} value={value}>")
    browser.press("3", element(browser, "field"))
    assert element(browser, "field").get("value") == f"{value}3"
    browser.press("Backspace")
    assert element(browser, "field").get("value") == value
    browser.click(element(browser, "first"))
    browser.press("Tab")
    browser.press("7")
    assert element(browser, "field").get("value") == "7"


@pytest.mark.parametrize(("value", "rest"), [("1.5", "1"), ("-0.5", "-0"), ("5", ""), ("15", "1")])
@pytest.mark.sampled(3)
def test_backspace_leaves_a_number_or_nothing(browse, value, rest):
    browser = browse(f"<input id=field type=number value={value}>")
    browser.press("Backspace", element(browser, "field"))
    assert (element(browser, "field").get("value") or "") == rest


@pytest.mark.parametrize(("value", "rest"), [("-5", "-"), (".5", "."), ("-.5", "-"), ("1e2", "1e"), ("1E+2", "1E+")])
@pytest.mark.sampled(3)
def test_backspace_that_would_leave_no_number_is_refused(browse, value, rest):
    browser = browse(f"<input id=field type=number value={value}>")
    with expect_error(ActionError, f'"{rest}"'):
        browser.press("Backspace", element(browser, "field"))
    assert element(browser, "field").get("value") == value


@pytest.mark.parametrize("kind", sorted(dom.DATE_TYPES))
@pytest.mark.sampled(3)
def test_keys_delete_no_part_of_a_date(browse, kind):
    value = {
        "date": "2024-02-03",
        "month": "2024-02",
        "week": "2024-W05",
        "time": "15:07",
        "datetime-local": "2024-02-03T15:07",
    }[kind]
    browser = browse(f"<input id=field type={kind} value={value}>")
    for key in ("Backspace", "Delete"):
        with expect_error(ActionError, f'"{key}"'):
            browser.press(key, element(browser, "field"))
    assert element(browser, "field").get("value") == value


def test_popovers_dialogs_and_windows_are_in_snapshots():
    browser = InProcessBrowser(Network({"app.test": Site({"html": BLOCKED + WINDOWS})}))
    browser.start([HOME], {})
    browser.click(element(browser, "one"))
    browser.switch_tab(0)
    browser.click(element(browser, "open"))
    saved = pickle.loads(pickle.dumps(browser.snapshot()))
    browser.press("Escape")
    browser.restore(saved)
    with expect_error(ActionError, '"Outside"', "dialog"):
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
