"""What only the in-process browser has: its parsing, its messages, its snapshots as values."""

import pickle
from contextlib import closing
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.browser_site import HOME, OTHER, PAGES, make_network
from tests.errors import expect_error
from webarena_gym.browsers.cookies import CookieJar
from webarena_gym.browsers.document import TEXT, Document, SavedDocument, changed_tree, original_tree, parse
from webarena_gym.browsers.forms import find_option
from webarena_gym.browsers.http import canonical_url, resolve_url
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, SnapshotError, WebArenaGymError
from webarena_gym.pages.page import Network


@pytest.fixture
def browser():
    return started()


def started():
    made = InProcessBrowser(make_network())
    made.start([HOME], {})
    return made


def node(browser, element_id):
    return browser.page().root.get_element_by_id(element_id)


def raw(browser, body, content_type="text/html"):
    browser.goto(f"{HOME}raw?type={content_type}&body={body}")
    return browser.page().root


def state(browser):
    """Everything that a reader of a page can see."""
    page = browser.page()
    focused = None if page.focused is None else page.root.getroottree().getpath(page.focused)
    return etree.tostring(page.root), page.url, page.title, page.tabs, page.active_tab, focused


class TestParsing:
    def test_odd_pages(self, browser):
        browser.goto(HOME + "odd")
        root = browser.page().root
        assert root.find("body") is not None
        assert node(browser, "raw").text == "\n<two lines"
        assert node(browser, "third").get("selected") is not None
        assert sum("selected" in option.attrib for option in root.iter("option")) == 1
        assert [radio.get("id") for radio in root.iter("input") if "checked" in radio.attrib] == ["r2"]
        assert browser.page().focused is node(browser, "auto")
        for body in ("", " ", "x", "<!--x-->", "<title>t</title>", "<frameset></frameset>", "%00", "<!DOCTYPE html>"):
            root = raw(browser, body)
            assert (root.tag, root.find("body") is None) == ("html", False)
        assert raw(browser, "<html><body>a</body></html><p id=p>b").text_content() == "ab"  # what follows the end is shown
        assert raw(browser, "<div>" * 1000 + "<i id=deep>x").get_element_by_id("deep").text == "x"
        assert pickle.loads(pickle.dumps(browser.snapshot())) == browser.snapshot()

    @pytest.mark.parametrize(("content_type", "body", "text"), [
        ("text/html", "%C3%83%C2%A9", "Ã©"), ("application/json", "%C3%83%C2%A9", "é"), ("text/html; charset=ISO-8859-1", "%C3%A9%C2%80", "é€"),
        ("text/html; charset=hex", "%C3%83%C2%A9", "Ã©"), ("text/html", "<meta charset=latin1>%C3%A9", "é"),
        ("text/html; charset=utf-8", "<meta charset=latin1>%C3%83%C2%A9", "é"),
        ("text/html; charset=latin1", "%C3%AF%C2%BB%C2%BF%C3%83%C2%A9", "é"),
        ("text/html; charset=utf8", "%C3%BF", "\N{REPLACEMENT CHARACTER}"), ("", "<b>x</b>", "x"), ("text/css", "a>b{}", "a>b{}"),
        ("image/svg%2Bxml", "<svg/>", ""), ("image/png", "xyz", "NoteThis file cannot be shown: image/png, 3 bytes"),
    ])  # fmt: skip
    def test_encodings_and_types(self, browser, content_type, body, text):
        assert raw(browser, body, content_type).find("body").text_content() == text


def test_a_location_header_is_read_as_utf_8():
    def site(environ, start_response):
        location = [("Location", " /é ".encode().decode("latin-1"))] if environ["PATH_INFO"] == "/" else []
        start_response("302 Found" if location else "200 OK", location)
        return []

    browser = InProcessBrowser(Network({"app.test": site}))
    browser.start(["http://app.test/"], {})
    assert browser.page().url == "http://app.test/%C3%A9"


def test_error_messages_name_the_fault_and_the_available_values(browser):
    browser.goto(HOME + "form")
    with expect_error(ActionError, '"Medium"', '"Small"', '"Large"', '"Extra large"'):
        browser.select(node(browser, "size"), "Medium")
    with expect_error(ActionError, '"Giant"', '"size"', "disabled"):
        browser.select(node(browser, "size"), "Giant")
    with expect_error(ActionError, '"Save"', "submit"):
        browser.type(node(browser, "save"), "x")
    for field, value, message in (
        ("full", "", 'the form was not sent: input "Full name" must be filled in'),
        ("mail", "x", 'input "E-mail" must be an e-mail address, not "x"'),
        ("number", "0.5", 'input "Amount" must be at least 1, not 0.5'),
        ("number", "9", 'input "Amount" must be at most 5, not 9'),
        ("number", "1.7", 'input "Amount" must be a multiple of 0.5 from 1, not 1.7'),
        ("code", "x", 'asked for: three capitals, not "x"'),
    ):
        browser.goto(HOME + "strict")
        browser.type(node(browser, "full"), "Ann")
        browser.type(node(browser, field), value)
        with pytest.raises(ActionError) as caught:
            browser.click(node(browser, "go"))
        assert message in str(caught.value)
    with pytest.raises(ActionError, match="takes a number"):  # too long for any browser
        browser.type(node(browser, "number"), "9" * 5000)
    browser.goto(HOME)
    browser.type(node(browser, "note"), "a\0b\x1b\ud800c\nd\uffff")  # control characters are not typed
    assert node(browser, "note").get("value") == "abcd"


@pytest.mark.parametrize(("lines", "sent"), [
    (["a=1", "b=2", "a=3"], "b=2; a=3"),
    (["a=1=2; Path=/x; Unknown"], "a=1=2"),
    (["root=1; Path=/", "deep=1; Path=/x/y"], "deep=1; root=1"),
    (["a=1; Path=/xy", "=1", "none", "s=1; Secure", "t=1; Domain=test", "u=1; Domain=b.site.test"], "none"),
    (["a=1; Max-Age=-1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "b=1; Max-Age=soon; Expires=never"], "b=1"),
    (["a=1", "a=; Expires=Thu, 01-Jan-1970 00:00:01 GMT"], ""),
    (["d=1; Domain=site.test"], "d=1"),
])  # fmt: skip
def test_cookies_are_received(lines, sent):
    jar = CookieJar()
    for line in lines:
        jar.receive("http://site.test/x/y/z", line)
    assert jar.header("http://site.test/x/y/z") == CookieJar(jar.contents()).header("http://site.test/x/y/z") == sent


def test_references_are_resolved():
    for reference, url in (
        ("", "http://h/a/b?c"), ("#f", "http://h/a/b?c#f"), ("//other/x", "http://other/x"), ("../../é", "http://h/%C3%A9"),
        (" /p q\n?x y'#z w ", "http://h/p%20q?x%20y%27#z%20w"), ("mailto:x@y", "mailto:x@y"), ("http://[", ""),
    ):  # fmt: skip
        assert resolve_url("http://h/a/b?c#d", reference) == url


def test_snapshots_share_and_bound_what_they_hold(browser):
    with pytest.raises(SnapshotError):
        browser.restore(("anything",))
    browser.click(node(browser, "fragment"))
    other = started()
    other.restore(pickle.loads(pickle.dumps(browser.snapshot())))
    other.type(node(other, "note"), "kept")
    other.go_back()
    assert node(other, "note").get("value") == "kept"  # as both entries share a document
    browser = started()
    browser.goto(HOME + "form")
    first = browser.snapshot()
    browser.goto(HOME + "plain")
    assert browser.snapshot().tabs[0].entries[1][1] is first.tabs[0].entries[1][1]
    raw(browser, "<input id=box type=checkbox checked name=a><!-- c --><p x<y=1 @z>")
    for _ in range(3):  # the order of attributes is restored
        browser.click(node(browser, "box"))
        other.restore(browser.snapshot())
        assert state(other) == state(browser)
    for number in range(60):
        browser.goto(f"{HOME}plain?{number}")
    assert len(browser.snapshot().tabs[0].entries) == 50


# An action is a verb, which of the elements that it fits (counted round), and a text; so nearly every sequence does something.
VERBS = ("click", "click", "click", "type", "enter", "select", "press", "goto", "back", "forward", "tab")
TARGETS = {"type": ("input", "textarea"), "enter": ("input", "textarea"), "select": ("select",)}


def test_options_match_without_invisible_characters_and_by_number_among_equals():
    markup = "<select><option>Tea<option>Ca\u00adfe\u0301\u200d noir<option>Milk<option>Milk<option>Milk [2] free</select>"
    select = parse(markup.encode()).find(".//select")
    for text in ("Cafe\u0301 noir", "Caf\u00e9 noir", "CAF\u00c9"):
        assert find_option(select, text) is select[1]
    assert [find_option(select, name) for name in ("Milk", "Milk [2]", "milk [2] FREE")] == [*select[2:]]
    with expect_error(ActionError, '"Oat"', '"Tea"', '"Milk"', '"Milk [2]"', '"Milk [2] free"'):
        find_option(select, "Oat")


CLICKABLE = ("a", "b", "input", "button", "select", "textarea", "option", "label", "summary")
TYPED = ("x", "", "42", "2023-03-05", "a@b.test", "ABC", "\x01é\U0001f600\n", "Large", "one", "small")
KEYS = ("Tab", "Enter", "Backspace", "Shift+Tab", "Space", "k", "End", "NoKey")
ACTIONS = st.tuples(st.sampled_from(VERBS), st.integers(0, 60), st.sampled_from(TYPED))
PATHS = [*sorted(PAGES), "/form", "/strict", "/echo", "/loop", "/empty", "/cookies?set=a=1;Path=/&set=b=2"]


def act(browser, action):
    """Take one action; return the message if it could not be done."""
    verb, number, text = action
    root = browser.page().root
    elements = list(root.iter(*TARGETS.get(verb, CLICKABLE))) or [root]
    element = elements[number % len(elements)]
    deeds = {
        "click": lambda: browser.click(element),
        "type": lambda: browser.type(element, text),
        "enter": lambda: browser.type(element, text, enter=True),
        "select": lambda: browser.select(element, text),
        "press": lambda: browser.press(KEYS[number % len(KEYS)], element if number % 2 else None),
        "goto": lambda: browser.goto(HOME.rstrip("/") + PATHS[number % len(PATHS)]),
        "back": browser.go_back,
        "forward": browser.go_forward,
        "tab": (lambda: browser.new_tab(OTHER), lambda: browser.switch_tab(number % 3), browser.close_tab)[number % 3],
    }
    try:
        deeds[verb]()
    except WebArenaGymError as error:
        return str(error)
    return ""


@settings(max_examples=150)
@given(st.sampled_from(PATHS), st.lists(ACTIONS, max_size=15), st.lists(ACTIONS, max_size=8))
def test_a_restored_browser_goes_on_the_same(path, before, after):
    first, second = started(), InProcessBrowser(make_network())
    first.goto(HOME.rstrip("/") + path)
    for action in before:
        act(first, action)
    snapshot = first.snapshot()
    second.restore(pickle.loads(pickle.dumps(snapshot)))
    assert state(second) == state(first)
    assert second.snapshot() == snapshot
    for action in after:
        assert act(second, action) == act(first, action)
        assert state(second) == state(first)
    assert second.snapshot() == first.snapshot()


LIVE = dict.fromkeys(("name", "count"), "value") | dict.fromkeys(("news", "terms", "red"), "checked")
LIVE |= {"story": TEXT, "two": "selected"}
WRITES = st.dictionaries(
    st.sampled_from(sorted(LIVE)), st.sampled_from(("", "x", "a\0b\n\u00e9", "Ann")) | st.none(), max_size=4
)


@settings(max_examples=60)
@given(st.lists(WRITES, max_size=5), st.booleans())
def test_a_shared_tree_is_as_one_that_is_written_in_place(batches, is_kept):
    html = PAGES["/form"].encode()
    written, untouched, own = Document(SavedDocument(html)), Document(SavedDocument(html)), parse(html)
    first = written.root
    for batch in batches:
        written.write(*((first.get_element_by_id(name), LIVE[name], value) for name, value in batch.items()))
        for name, value in batch.items():
            write_in_place(own.get_element_by_id(name), LIVE[name], value)
        if not is_kept:
            changed_tree.cache_clear()
        restored = Document(pickle.loads(pickle.dumps(written.save())))
        assert etree.tostring(written.root) == etree.tostring(own) == etree.tostring(restored.root)
        assert etree.tostring(untouched.root) == etree.tostring(parse(html))
    written.restore_defaults(lambda element: element.tag == "input")
    for name in ("name", "count", "news", "terms", "red"):
        now, then = written.root.get_element_by_id(name), first.get_element_by_id(name)
        assert now.get(LIVE[name]) == then.get(LIVE[name])
    assert written.root.get_element_by_id("story").text == own.get_element_by_id("story").text


def write_in_place(element, name, value):
    """Do to a tree what a person does to the page."""
    kept = None if value is None else value.replace("\0", "")
    if name == TEXT and (element.text or "") != value:
        element.text = kept
    elif name != TEXT and element.get(name) != value:
        element.attrib.pop(name, None)
        if kept is not None:
            element.set(name, kept)


@pytest.mark.parametrize("depth", [10, 199, 201, 3000])
def test_a_page_of_any_depth_can_be_written_to(depth):
    html = (b"<div>" * depth) + b"<input id=field>"
    document = Document(SavedDocument(html))
    field = next(document.root.iter("input"), None)
    if field is not None:  # the parser drops what is too deep for it
        document.write((field, "value", "x"))
        expected = parse(html)
        next(expected.iter("input")).set("value", "x")
        assert etree.tostring(document.root) == etree.tostring(expected)


@pytest.mark.parametrize("text", ['" onclick="alert(1)', "onload=x", "' onsubmit='return false'", "<b onclick=x>"])
@pytest.mark.parametrize("page", ['<form><input value="{}"></form>', "<form><p>{}</p></form>", "<form><!-- {} --></form>"])
def test_a_page_that_speaks_of_scripts_has_none(text, page):
    """Search pages show again what was searched for."""
    html = page.format(escape(text))
    assert original_tree(html.encode()).notices(bool) == ()
    (note,) = original_tree(html.replace("<form", "<form onsubmit='return false'").encode()).notices(bool)
    assert "a form that a script sends" in note


def test_a_query_is_encoded_whole_in_an_encoding_with_states():
    """https://url.spec.whatwg.org/#query-state encodes a string, and ISO-2022-JP switches to and from ASCII in it."""
    assert canonical_url("http://a.test/?q=日本", "ISO-2022-JP") == "http://a.test/?q=%1B$BF|K\\%1B(B"
    assert (
        canonical_url("http://a.test/?q=日é本&é=1", "windows-1252") == "http://a.test/?q=%26%2326085%3B%E9%26%2326412%3B&%E9=1"
    )


@pytest.mark.parametrize(("kind", "value"), [("button", "typed"), ("reset", "one")])
def test_only_a_reset_button_of_a_form_restores_its_fields(browser, kind, value):
    raw(
        browser,
        f"<form><input id=field value=one><button id=go type={kind}>Go</button></form><button id=out type={kind}>Out</button>",
    )
    browser.type(node(browser, "field"), "typed")
    browser.click(node(browser, "out"))
    assert node(browser, "field").get("value") == "typed"
    browser.click(node(browser, "go"))
    assert node(browser, "field").get("value") == value


@pytest.mark.parametrize(
    ("part", "is_listed"),
    [
        ("<iframe src=http://elsewhere.example/></iframe>", False),
        ("<iframe src=https://shop.test/></iframe>", False),
        ("<iframe src=//elsewhere.example/player></iframe>", False),
        ("<iframe src=/inner></iframe>", True),
        ("<iframe srcdoc='<p>x'></iframe>", True),
        ("<iframe></iframe>", False),
        ("<iframe src='http://[x/'></iframe>", False),
        ("<iframe src='data:text/html,<p>x'></iframe>", True),
        ("<object data=/inner></object>", True),
        ("<object data=http://elsewhere.example/></object>", False),
        ("<object data=/logo.svg></object>", False),
        ("<embed src=/inner.html>", True),
        ("<embed src='/film.swf?x=1'>", False),
    ],
)
def test_a_notice_names_the_frames_that_can_be_loaded(part, is_listed):
    """A frame of another host is empty in Chromium, too."""
    html = f"<title>t</title><p>Text</p>{part}"

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html")])
        return [html.encode()]

    with closing(InProcessBrowser(Network({"shop.test": app}))) as browser:
        browser.start(["http://shop.test/"], {})
        notices = browser.page().notices
    assert ("of the frame" in "".join(notices)) is is_listed
