"""The contract of `Browser`, run over every implementation."""

import json
import re
from itertools import product
from urllib.parse import urlencode

import pytest

from tests import needs
from tests.browser_site import HOME, OTHER, make_network
from tests.errors import expect_error
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.forms import check_key_effect, choice_by_key
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, BrowserError
from webarena_gym.observation import observe


@pytest.fixture(params=[InProcessBrowser, pytest.param(ChromiumBrowser, marks=needs.chromium)], ids=["inprocess", "chromium"])
def browser(request, opened):
    made = opened(request.param(make_network()))
    made.start([HOME], {})
    return made


def node(browser, element_id):
    (found,) = browser.page().root.xpath("//*[@id=$id]", id=element_id)
    return found


def click(browser, *element_ids):
    for element_id in element_ids:
        browser.click(node(browser, element_id))


def type_text(browser, element_id, text, *, enter=False):
    browser.type(node(browser, element_id), text, enter=enter)


def choose(browser, element_id, option):
    browser.select(node(browser, element_id), option)


def open_page(browser, path):
    browser.goto(HOME.rstrip("/") + path)


def echoed(browser):
    return json.loads(browser.page().root.findtext(".//pre"))


def sent(browser):
    answer, fields = echoed(browser), {}
    for name, value in answer["form"] or answer["query"]:
        fields.setdefault(name, []).append(value)
    return fields


def values(browser, *element_ids):
    return [node(browser, element_id).get("value") for element_id in element_ids]


def marked(browser, tag="option"):
    """The texts or ids of what is chosen or ticked."""
    state = "selected" if tag == "option" else "checked"
    return [each.get("id") or each.text for each in browser.page().root.iter(tag) if state in each.attrib]


XHTML_DOCTYPE = '<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
XHTML = '{}<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>T</title></head><body>{}</body></html>'
LINKS = {
    "relative": "http://site.test/sub/page?x=1", "nested": "http://site.test/plain", "inner": "http://site.test/plain",
    "self": "http://site.test/plain", "other": "http://other.site.test/echo",
    "echo": "http://site.test/echo?q=a%20b&r=%C3%A9#end", "mail": HOME, "script": HOME, "file": HOME, "text": HOME,
}  # fmt: skip


class TestLinks:
    def test_targets_of_links(self, browser):
        page = browser.page()
        assert (page.url, page.title, page.active_tab, page.tabs) == (HOME, "The site", 0, (("The site", HOME),))
        for link, url in LINKS.items():
            browser.goto(HOME)
            click(browser, link)
            assert browser.page().url == url
        open_page(browser, "/sub/page?x=1")
        click(browser, "here")
        assert browser.page().url == "http://site.test/sub/page?y=2"
        click(browser, "up")
        assert browser.page().url == "http://site.test/plain"

    def test_fragment_keeps_the_document(self, browser):
        type_text(browser, "note", "kept")
        for link, fragment in (("fragment", "#below"), ("top", "#")):
            click(browser, link)
            assert (browser.page().url, values(browser, "note")) == (HOME + fragment, ["kept"])
        browser.go_back()
        browser.go_back()
        assert (browser.page().url, values(browser, "note")) == (HOME, ["kept"])

    def test_new_tab(self, browser):
        click(browser, "blank")
        page = browser.page()
        assert page.tabs == (("The site", HOME), ("Plain", "http://site.test/plain"))
        assert (page.active_tab, page.title) == (1, "Plain")
        open_page(browser, "/based")  # whose <base> says so
        click(browser, "link")
        assert (browser.page().url, len(browser.page().tabs)) == ("http://site.test/sub/page", 3)

    def test_hidden_closed_and_removed_elements(self, browser):
        for link in ("hidden", "unseen", "inside"):
            with expect_error(ActionError, "hidden"):
                click(browser, link)
        for is_open in (True, False, True):
            click(browser, "summary")
            assert ("open" in node(browser, "more").attrib) is is_open
        browser.hover(node(browser, "nested"))
        browser.right_click(node(browser, "nested"))
        assert browser.page().url == HOME
        link = node(browser, "nested")
        click(browser, "inside")
        assert browser.page().title == "Plain"
        for act in (browser.click, browser.hover, browser.right_click):
            with pytest.raises(ActionError, match="no longer on the page"):
                act(link)


class TestHistoryAndTabs:
    def test_back_and_forward_keep_what_was_entered(self, browser):
        open_page(browser, "/form")
        type_text(browser, "name", "Bob")
        click(browser, "news")
        choose(browser, "size", "Large")
        click(browser, "save")
        for _ in range(5):  # Chromium gives it back a moment after the page is there
            browser.go_back()
            assert browser.page().focused is None
            assert values(browser, "name") == ["Bob"]
            assert "checked" in node(browser, "news").attrib
            assert "Large" in marked(browser)
            browser.go_forward()
            assert sent(browser)["name"] == ["Bob"]

    def test_the_ends_of_history(self, browser):
        with expect_error(ActionError, "back"):
            browser.go_back()
        open_page(browser, "/plain")
        browser.go_back()
        click(browser, "same")
        browser.goto(HOME)  # the same address replaces
        with pytest.raises(ActionError):
            browser.go_back()
        open_page(browser, "/plain")
        browser.go_back()
        open_page(browser, "/form")  # a new page forgets what lay ahead
        with expect_error(ActionError, "forward"):
            browser.go_forward()

    def test_tabs(self, browser):
        for index in (-1, 1):
            with pytest.raises(ActionError, match="tab"):
                browser.switch_tab(index)
        browser.new_tab()
        assert (browser.page().url, browser.page().active_tab) == ("about:blank", 1)
        open_page(browser, "/plain")
        with pytest.raises(ActionError):
            browser.go_back()
        browser.new_tab(OTHER)
        browser.switch_tab(1)
        assert browser.page().title == "Plain"
        browser.close_tab()
        assert (browser.page().active_tab, browser.page().url) == (0, HOME)
        browser.close_tab()
        assert browser.page().tabs == (("The site", OTHER),)
        browser.close_tab()
        assert browser.page().tabs == (("", "about:blank"),)

    def test_start_forgets_everything_and_nothing_follows_an_end(self, browser):
        browser.goto(HOME + "cookies?set=a=1")
        browser.new_tab()
        browser.start([HOME + "echo", HOME], {"site.test": {"sid": "42"}})
        assert (len(browser.page().tabs), browser.page().active_tab) == (2, 0)
        assert echoed(browser)["cookie"] == "sid=42"
        browser.close()
        for act in (browser.page, browser.snapshot, browser.go_back, lambda: browser.goto(HOME), lambda: browser.start([], {})):
            with pytest.raises(BrowserError):
                act()


class TestNetwork:
    def test_other_hosts_and_schemes_are_unreachable(self, browser):
        click(browser, "gone")
        page = browser.page()
        assert (page.url, page.title) == ("http://nowhere.test/x", "This site can't be reached")
        assert "nowhere.test" in page.root.text_content()
        browser.go_back()
        assert browser.page().url == HOME
        others = ("https://site.test/", "file:///etc/passwd", "http://localhost/", "http://127.0.0.1:80/")
        for url in (*others, HOME + "redirect/302?to=http://nowhere.test/"):
            browser.goto(url)
            assert browser.page().title == "This site can't be reached"
            assert browser.has_failed
            browser.goto(HOME)
            assert not browser.has_failed

    def test_fragments_of_failed_pages_are_requested_again(self, browser):
        for first, second in product(("x", "x#y", "x#"), ("x", "x#y", "x#z", "x#")):
            browser.start([HOME], {})
            for path in (first, second):
                browser.goto(f"http://nowhere.test/{path}")
                assert browser.has_failed
            browser.go_back()
            assert browser.page().url == (HOME if first == second else f"http://nowhere.test/{first}")

    def test_typed_addresses(self, browser):
        for url in ("", "http://[x/"):
            with pytest.raises(ActionError, match="address"):
                browser.goto(url)
            assert browser.page().url == HOME
        for text in ("site.test/plain", " HTTP://SITE.test:80/plain\n", "http://site.test/sub/../plain"):
            browser.goto(HOME)
            browser.goto(text)
            assert browser.page().url == "http://site.test/plain"

    def test_redirects(self, browser):
        for status, method in (("301", "GET"), ("302", "GET"), ("303", "GET"), ("307", "POST"), ("308", "POST")):
            open_page(browser, "/moved")
            click(browser, f"by-{status}")
            assert (echoed(browser)["method"], bool(echoed(browser)["form"])) == (method, method == "POST")
            assert browser.page().url == HOME + "echo"
        browser.goto(HOME)
        browser.goto(HOME + "redirect/302?to=http://other.site.test/echo#x")
        assert browser.page().url == "http://other.site.test/echo#x"
        browser.go_back()
        assert browser.page().url == HOME
        browser.goto(HOME + "loop")
        assert browser.page().title == "This page isn't working"

    def test_referrer(self, browser):
        for page, link, referrer in (("#x", "echo", HOME), ("", "silent", None), ("?secret", "other", HOME)):
            browser.goto(HOME + page)
            click(browser, link)
            assert echoed(browser)["referrer"] == referrer
        browser.goto(HOME + "echo")
        assert echoed(browser)["referrer"] is None

    def test_cookies(self, browser):
        def cookie(url=HOME):
            browser.goto(url + "echo")
            return echoed(browser)["cookie"]

        given = 'plain=1&set=sub=2; Path=/echo; HttpOnly&set=quoted="a b"; Path=/&set=gone=3; Path=/none'
        browser.goto(f"{HOME}cookies/a?set={given}")
        assert (cookie(), cookie(OTHER)) == ('sub=2; quoted="a b"', None)
        browser.goto(HOME + "cookies?set=sub=; Path=/echo; Max-Age=0&set=quoted=9; Path=/; Max-Age=60")
        assert cookie() == "quoted=9"
        browser.goto(HOME + "cookies?set=quoted=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
        browser.goto(HOME + "cookies?set=wide=1; Domain=.site.test; Path=/&set=foreign=1; Domain=elsewhere.test")
        assert cookie(OTHER) == "wide=1"

    def test_answers_that_are_no_html(self, browser):
        browser.goto(HOME + "raw?type=text/plain&body=a <b>%26amp;")
        assert browser.page().root.findtext(".//pre") == "a <b>&amp;"
        browser.goto(HOME + "empty")
        assert (browser.page().url, browser.page().root.text_content().strip()) == (HOME + "empty", "")
        browser.goto(HOME + "nothing")
        assert browser.page().url == HOME + "empty"
        open_page(browser, "/missing")
        assert browser.page().title == "Not found"

    @pytest.mark.parametrize("media_type", ["text/html", "application/xhtml+xml"])
    @pytest.mark.parametrize("doctype", ["", "<!DOCTYPE html>", XHTML_DOCTYPE])
    def test_xhtml_pages_have_controls(self, browser, media_type, doctype):
        blank = "&nbsp;" if "DTD" in doctype else "&#160;"  # an XML parser knows the names of a DTD only
        sign = '<a href="/plain"><svg xmlns="http://www.w3.org/2000/svg"><title>Sign</title></svg></a>'
        fields = '<input id="name" name="name"/><textarea name="more">t</textarea><input id="go" type="submit" value="Go"/>'
        page = XHTML.format(doctype, f'{sign}<p>a{blank}b</p><form action="/echo"><p>{fields}</p></form>')
        browser.goto(HOME + f"raw?{urlencode({'type': media_type, 'body': page})}")
        found = observe(browser.page(), elements="label").text.splitlines()[1:]
        assert found == [
            "<a>Sign</a>",
            "a b",
            '<input label="name">',
            '<textarea label="more">t</textarea> <button>Go</button>',
        ]
        type_text(browser, "name", "Ann")
        click(browser, "go")
        assert sent(browser) == {"name": ["Ann"], "more": ["t"]}

    def test_a_label_that_a_style_sheet_hides_names_its_field_in_both_browsers(self, browser):
        page = "<style>label { display: none }</style><label for=q>Search:</label><input id=q name=q><label for=r hidden>More:</label><input id=r>"
        browser.goto(HOME + f"raw?{urlencode({'type': 'text/html', 'body': page})}")
        fields = re.findall(r"<input[^>]*>", observe(browser.page(), elements="label").text)
        assert fields == ['<input label="Search:">', '<input label="More:">']

    @pytest.mark.parametrize(("body", "problem"), [
        ("<p>a</p><p><b></p>", "error on line 1 at column 111: Opening and ending tag mismatch: b line 1 and p"),
        ("<p>a</p>&amp &lt;", "error on line 1 at column 105: EntityRef: expecting ';'"),
        ("<p>a</p>&x;", "error on line 1 at column 104: Entity 'x' not defined"),
    ])  # fmt: skip
    def test_xhtml_with_an_error_shows_its_beginning_and_the_parsers_message(self, browser, body, problem):
        page = XHTML.format("", f"{body}<p>after</p>")
        browser.goto(HOME + f"raw?{urlencode({'type': 'application/xhtml+xml', 'body': page})}")
        before, after = "This page contains the following errors:", "Below is a rendering of the page up to the first error."
        found = observe(browser.page()).text.splitlines()[1:]
        assert found == [f"<h3>{before}</h3>", problem, f"<h3>{after}</h3>", "a"], "the first error is the end"


class TestForms:
    @pytest.fixture(autouse=True)
    def form(self, browser):
        open_page(browser, "/form")

    def test_defaults(self, browser):
        click(browser, "icon")
        answer = echoed(browser)
        assert (answer["method"], answer["type"]) == ("POST", "application/x-www-form-urlencoded")
        assert answer["referrer"] == HOME + "form"
        assert answer["form"] == [
            ["name", "Ann"], ["colour", ""], ["token", "t&1"], ["story", "first\r\nsecond"], ["terms", "yes"], ["paint", "red"],
            ["size", "s"], ["tags", "one"], ["count", "2"], ["day", ""], ["fixed", "fixed"], ["legend", "on"], ["do", "save"],
            ["outside", "o"],
        ]  # fmt: skip

    def test_filled(self, browser):
        entered = {"name": "Zoë & co~*", "story": "one\ntwo", "count": "7", "day": "2023-02-28"}
        for name, text in entered.items():
            type_text(browser, name, text)
        click(browser, "news-label", "terms", "blue")
        assert node(browser, "story").text == "one\ntwo"
        assert marked(browser, "input") == ["news", "blue", "alone"]  # the radios of other forms stay
        choose(browser, "size", "extra large")
        choose(browser, "tags", "three")
        click(browser, "send")
        fields = sent(browser)
        chosen = {"news": "on", "paint": "blue", "size": "xl", "do": "send"}
        expected = {name: [text] for name, text in (entered | chosen).items()} | {"story": ["one\r\ntwo"]}
        assert {name: fields[name] for name in expected} == expected
        assert "terms" not in fields
        assert fields["tags"] == ["one", "three"]

    def test_attributes_of_buttons_override_those_of_forms(self, browser):
        click(browser, "nothing", "loose")
        assert browser.page().title == "Form"
        click(browser, "get")
        assert echoed(browser)["method"] == "GET"
        assert browser.page().url.startswith(HOME + "echo?name=Ann&colour=&token=t%261&story=first%0D%0Asecond&")
        assert "dropped" not in sent(browser)
        open_page(browser, "/form")
        click(browser, "image")
        assert {"point.x", "point.y"} <= set(sent(browser))
        open_page(browser, "/form")
        type_text(browser, "story", "a\nb")
        click(browser, "multi")
        assert echoed(browser)["type"] == "multipart/form-data"
        assert (sent(browser)["story"], sent(browser)["outside"]) == (["a\r\nb"], ["o"])
        open_page(browser, "/form")
        click(browser, "tab")
        assert (browser.page().active_tab, sent(browser)["name"]) == (1, ["Ann"])

    def test_reset(self, browser):
        for name in ("name", "colour", "story"):
            type_text(browser, name, "x")
        click(browser, "news", "blue")
        choose(browser, "size", "Large")
        click(browser, "reset", "save")
        fields = sent(browser)
        assert (fields["name"], fields["colour"], fields["story"]) == (["Ann"], [""], ["first\r\nsecond"])
        assert ("news" in fields, fields["paint"], fields["size"]) == (False, ["red"], ["s"])

    def test_focus_and_lists(self, browser):
        click(browser, "wrap")
        assert browser.page().focused is node(browser, "colour")
        for is_chosen in (True, False):  # in a list for several
            click(browser, "two")
            assert ("selected" in node(browser, "two").attrib) is is_chosen
        for target, label in {
            "Large": "Large",
            "EXTRA": "Extra large",
            " extra  large ": "Extra large",
            "small": "Small",
        }.items():
            choose(browser, "size", target)
            assert " ".join(marked(browser)[0].split()) == label
        for target in ("Medium", "", "Choose", "Giant"):
            with pytest.raises(ActionError):
                choose(browser, "size", target)
        with expect_error(ActionError, "input"):
            choose(browser, "name", "x")

    def test_actions_that_fields_reject(self, browser):
        for field in ("off", "inset", "fixed"):
            with pytest.raises(ActionError, match=r"disabled|read-only"):
                type_text(browser, field, "x")
        for element in ("off", "dead", "inset"):
            with expect_error(ActionError, "disabled"):
                click(browser, element)
        nowhere = dict.fromkeys(("save", "size", "news", "wrap", "token"), "x")
        for field, text in (*nowhere.items(), ("count", "many"), ("day", "2023-02-30"), ("day", "3/5/2023")):
            with pytest.raises(ActionError):
                type_text(browser, field, text)
        type_text(browser, "legend", "x")  # of a disabled group
        type_text(browser, "name", "a" * 12)
        assert values(browser, "legend", "name") == ["x", "a" * 10]


class TestKeys:
    @pytest.fixture(autouse=True)
    def form(self, browser):
        open_page(browser, "/implicit")

    def test_enter_in_a_form(self, browser):
        for field in ("b", "d"):  # without a button, and with a disabled one
            with expect_error(ActionError, '"Enter"', f'input "{field}"'):
                type_text(browser, field, "x", enter=True)
            assert (browser.page().title, values(browser, field)) == ("Implicit", ["x"])
        for field, url in (("a", "echo?a=x+y&c=on"), ("e", "echo?e=x+y&v=1&t="), ("f", "implicit?f=x+y")):
            open_page(browser, "/implicit")
            type_text(browser, field, "x y", enter=True)
            assert browser.page().url == HOME + url
        open_page(browser, "/implicit")
        type_text(browser, "b", "x")
        browser.press("Enter", node(browser, "a"))
        assert browser.page().url == HOME + "echo?a=&c=on"

    def test_enter_in_a_text_area_and_on_a_link_reached_by_tab(self, browser):
        type_text(browser, "area", "a", enter=True)
        browser.press("Enter")
        browser.press("b")
        assert node(browser, "area").text == "a\n\nb"
        browser.press("Shift+Tab")
        assert browser.page().focused is node(browser, "link")
        browser.press("Enter")
        assert browser.page().title == "Plain"

    def test_keys_without_effect_and_unknown_keys_are_errors(self, browser):
        keys = ("Escape", "ArrowDown", "ArrowLeft", "PageDown", "Home", "F5", "Control+C", "Shift")
        for key in keys:
            with pytest.raises(ActionError, match=rf'the key "{re.escape(key)}" does nothing here: no element has the focus'):
                browser.press(key)
        for key in keys:
            for element_id in ("a", "area", "link"):
                with expect_error(ActionError, f'"{key}"'):
                    browser.press(key, node(browser, element_id))
        for key in ("", "Any", "Hyper+A", "enter it"):
            with pytest.raises(ActionError, match="key"):
                browser.press(key)
        assert browser.page().title == "Implicit"

    def test_rejected_key_presses_name_the_expected_value(self, browser):
        open_page(browser, "/form")
        for element_id, key, text in (
            ("count", "t", 'takes a number such as 12.5, not "2t"'),
            ("day", "1", "takes a date such as 2023-03-05"),
            ("fixed", "x", "does nothing in input .*: it is read-only"),
            ("fixed", "Backspace", "does nothing in input .*: it is read-only"),
            ("colour", "Backspace", "does nothing in input .*: type its whole text"),
            ("count", "ArrowUp", "does nothing in input .*: type its whole text"),
            ("news", "x", "does nothing in input"),
            ("red", " ", "does nothing in input"),
            ("save", "x", "does nothing in button"),
        ):
            with pytest.raises(ActionError, match=text):
                browser.press(key, node(browser, element_id))
            assert (browser.page().title, values(browser, "count")) == ("Form", ["2"])


CHOSEN = {
    "list": {
        "ArrowDown": "berry", "ArrowUp": "banana", "ArrowRight": "berry", "ArrowLeft ArrowLeft": "apple", "Home": "apple",
        "End": "boat", "b": "berry", "B b": "boat", "b b b": "banana",
    },
    "two": {"ArrowDown": "four", "ArrowUp": "one", "ArrowRight ArrowDown": "one"},
}  # fmt: skip


@pytest.mark.parametrize("element_id", CHOSEN)
def test_keys_that_choose_in_a_list_and_in_a_group_of_radio_buttons(browser, element_id):
    for pressed, chosen in CHOSEN[element_id].items():
        open_page(browser, "/keys")
        first, *more = pressed.split()
        browser.press(first, node(browser, element_id))
        for key in more:
            browser.press(key)
        is_list = element_id == "list"
        assert marked(browser) + marked(browser, "input") == ([chosen, "two"] if is_list else ["cherry", chosen])
        assert browser.page().focused is node(browser, "list" if is_list else chosen)


def test_unsupported_keys_in_lists_are_errors_and_space_toggles_details(browser):
    open_page(browser, "/keys")
    for key in ("z", " ", "Enter", "PageDown", "Escape"):
        with pytest.raises(ActionError, match=r"does nothing in select .*: choose an option by its text"):
            browser.press(key, node(browser, "list"))
        assert marked(browser) + marked(browser, "input") == ["cherry", "two"]
    browser.press("Space", node(browser, "summary"))
    assert "open" in node(browser, "details").attrib
    browser.press(" ")
    assert "open" not in node(browser, "details").attrib


STATE = """[...document.querySelectorAll("option, input, details")].filter((each) => each.selected || each.checked || each.open)
.map((each) => each.id).join()"""


@needs.chromium
@pytest.mark.parametrize("element_id", ["list", "two", "summary"])
def test_real_keys_choose_the_same(opened, element_id):
    """What `keys` says, held against Chromium's own keyboard, which no rule of ours is between."""
    browser = opened(ChromiumBrowser(make_network()))
    browser.start([HOME], {})
    for key in ("ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End", "b", "z", " ", "Enter"):
        open_page(browser, "/keys")
        browser.hover(node(browser, element_id))
        browser.run_script(f"document.getElementById('{element_id}').focus()")
        focused = browser.page().focused
        expected = choice_by_key(key, focused)
        does = True
        try:
            check_key_effect(key, focused, browser.page().root)
        except ActionError:
            does = False
        before = browser.run_script(STATE)
        browser._act(lambda tab, key=key: tab.page.keyboard.press(key))
        after = browser.run_script(STATE)
        assert (after != before) == does, key
        assert expected is None or expected.get("id") in after, key


def test_a_form_is_sent_only_when_its_fields_are_valid(browser):
    fields = {"full": "Ann", "mail": "a@b.test", "number": "2.5", "code": "ABC"}
    open_page(browser, "/strict")
    with pytest.raises(ActionError):
        type_text(browser, "mail", "a@b.test", enter=True)
    for name, text in fields.items():
        type_text(browser, name, text)
    with pytest.raises(ActionError):  # unticked
        click(browser, "go")
    click(browser, "ok")
    for field, text in (("full", ""), ("mail", "ab"), ("number", "6"), ("number", "1.2"), ("code", "abc")):
        type_text(browser, field, text)
        with pytest.raises(ActionError):
            click(browser, "go")
        assert browser.page().title == "Strict"
        type_text(browser, field, fields[field])
    click(browser, "go")
    assert sent(browser) == {name: [text] for name, text in fields.items()} | {"ok": ["on"]}
    open_page(browser, "/strict")
    click(browser, "skip")  # whose button asks for no check
    assert sent(browser)["full"] == [""]


def test_a_restored_state_goes_on(browser):
    browser.goto(HOME + "cookies?set=a=1; Path=/")
    open_page(browser, "/form")
    type_text(browser, "name", "Bob")
    snapshot = browser.snapshot()
    type_text(browser, "name", "Eve")
    browser.goto(HOME + "cookies?set=a=2; Path=/")
    browser.new_tab(OTHER)
    for _ in range(2):
        browser.restore(snapshot)
        assert len(browser.page().tabs) == 1
        assert browser.page().focused is node(browser, "name")
        click(browser, "save")
        assert (sent(browser)["name"], echoed(browser)["cookie"]) == (["Bob"], "a=1")
    browser.go_back()
    browser.go_back()
    assert browser.page().url == HOME + "cookies?set=a=1;%20Path=/"
