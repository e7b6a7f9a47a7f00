"""The contract of `Browser`, run over every implementation."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lxml.html import HtmlElement

from tests import needs
from tests.browser_site import HOME, OTHER, make_network
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.browsers.keys import expect_effect, picked_by_key
from webarena_gym.errors import ActionError, BrowserError

pytestmark = pytest.mark.usefixtures("one_chromium")

BROWSERS: dict[str, Callable[[], Browser]] = {
    "inprocess": lambda: InProcessBrowser(make_network()),
    "chromium": lambda: ChromiumBrowser(make_network()),
}


@pytest.fixture(params=["inprocess", pytest.param("chromium", marks=needs.chromium)])
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    made = BROWSERS[request.param]()
    made.start([HOME], {})
    yield made
    made.close()


def node(browser: Browser, element_id: str) -> HtmlElement:
    (found,) = browser.page().root.xpath("//*[@id=$id]", id=element_id)
    return found


def click(browser: Browser, element_id: str) -> None:
    browser.click(node(browser, element_id))


def type_text(browser: Browser, element_id: str, text: str, *, enter: bool = False) -> None:
    browser.type(node(browser, element_id), text, enter=enter)


def choose(browser: Browser, element_id: str, option: str) -> None:
    browser.select(node(browser, element_id), option)


def open_page(browser: Browser, path: str) -> None:
    browser.goto(HOME.rstrip("/") + path)


def echoed(browser: Browser) -> dict[str, Any]:
    return json.loads(browser.page().root.findtext(".//pre"))


def sent(browser: Browser) -> dict[str, list[str]]:
    answer = echoed(browser)
    fields: dict[str, list[str]] = {}
    for name, value in answer["form"] or answer["query"]:
        fields.setdefault(name, []).append(value)
    return fields


def texts(browser: Browser) -> str:
    return " ".join(browser.page().root.text_content().split())


class TestLinks:
    def test_first_page(self, browser):
        page = browser.page()
        assert (page.url, page.title, page.active_tab) == (HOME, "The site", 0)
        assert page.tabs == (("The site", HOME),)

    @pytest.mark.parametrize(
        ("link", "url"),
        [
            ("relative", "http://site.test/sub/page?x=1"),
            ("nested", "http://site.test/plain"),
            ("inner", "http://site.test/plain"),
            ("self", "http://site.test/plain"),
            ("other", "http://other.site.test/echo"),
            ("echo", "http://site.test/echo?q=a%20b&r=%C3%A9#end"),
        ],
    )
    def test_followed(self, browser, link, url):
        click(browser, link)
        assert browser.page().url == url

    @pytest.mark.parametrize("link", ["mail", "script", "file", "text"])
    def test_leads_nowhere(self, browser, link):
        click(browser, link)
        assert browser.page().url == HOME

    def test_relative_to_the_page(self, browser):
        open_page(browser, "/sub/page?x=1")
        click(browser, "here")
        assert browser.page().url == "http://site.test/sub/page?y=2"
        click(browser, "up")
        assert browser.page().url == "http://site.test/plain"

    def test_fragment_keeps_the_document(self, browser):
        type_text(browser, "note", "kept")
        click(browser, "fragment")
        assert browser.page().url == HOME + "#below"
        assert node(browser, "note").get("value") == "kept"
        click(browser, "top")
        assert browser.page().url == HOME + "#"
        browser.go_back()
        browser.go_back()
        assert browser.page().url == HOME
        assert node(browser, "note").get("value") == "kept"

    def test_new_tab(self, browser):
        click(browser, "blank")
        page = browser.page()
        assert page.tabs == (("The site", HOME), ("Plain", "http://site.test/plain"))
        assert (page.active_tab, page.title) == (1, "Plain")

    def test_base(self, browser):
        open_page(browser, "/based")
        click(browser, "link")
        assert browser.page().url == "http://site.test/sub/page"
        assert len(browser.page().tabs) == 2

    @pytest.mark.parametrize("link", ["hidden", "unseen", "inside"])
    def test_hidden(self, browser, link):
        with pytest.raises(ActionError, match="hidden"):
            click(browser, link)

    def test_details(self, browser):
        click(browser, "summary")
        assert "open" in node(browser, "more").attrib
        click(browser, "summary")
        assert "open" not in node(browser, "more").attrib
        click(browser, "summary")
        click(browser, "inside")
        assert browser.page().title == "Plain"

    def test_element_of_an_earlier_page(self, browser):
        link = node(browser, "nested")
        browser.click(link)
        for act in (browser.click, browser.hover, browser.right_click):
            with pytest.raises(ActionError, match="no longer on the page"):
                act(link)

    def test_hover_and_right_click_change_nothing(self, browser):
        browser.hover(node(browser, "nested"))
        browser.right_click(node(browser, "nested"))
        assert browser.page().url == HOME


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
            assert node(browser, "name").get("value") == "Bob"
            assert "checked" in node(browser, "news").attrib
            assert [option.text for option in node(browser, "size").iter("option") if "selected" in option.attrib] == ["Large"]
            browser.go_forward()
            assert sent(browser)["name"] == ["Bob"]

    def test_new_page_forgets_what_lay_ahead(self, browser):
        open_page(browser, "/plain")
        browser.go_back()
        open_page(browser, "/form")
        with pytest.raises(ActionError, match="forward"):
            browser.go_forward()

    def test_start_of_history(self, browser):
        with pytest.raises(ActionError, match="back"):
            browser.go_back()

    def test_same_address_replaces(self, browser):
        open_page(browser, "/plain")
        browser.go_back()
        click(browser, "same")
        browser.goto(HOME)
        with pytest.raises(ActionError):
            browser.go_back()

    def test_tabs(self, browser):
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

    @pytest.mark.parametrize("index", [-1, 1])
    def test_no_such_tab(self, browser, index):
        with pytest.raises(ActionError, match="tab"):
            browser.switch_tab(index)

    def test_start_forgets_everything(self, browser):
        browser.goto(HOME + "cookies?set=a=1")
        browser.new_tab()
        browser.start([HOME + "echo", HOME], {"site.test": {"sid": "42"}})
        assert (len(browser.page().tabs), browser.page().active_tab) == (2, 0)
        assert echoed(browser)["cookie"] == "sid=42"

    def test_closed(self, browser):
        browser.close()
        for act in (browser.page, browser.snapshot, browser.go_back, lambda: browser.goto(HOME), lambda: browser.start([], {})):
            with pytest.raises(BrowserError):
                act()


class TestNetwork:
    def test_unknown_host(self, browser):
        click(browser, "gone")
        page = browser.page()
        assert (page.url, page.title) == ("http://nowhere.test/x", "This site can't be reached")
        assert "nowhere.test" in texts(browser)
        browser.go_back()
        assert browser.page().url == HOME

    @pytest.mark.parametrize("first", ["x", "x#y", "x#"])
    @pytest.mark.parametrize("second", ["x", "x#y", "x#z", "x#"])
    def test_a_place_in_a_page_that_is_not_there_is_asked_for_anew(self, browser, first, second):
        for path in (first, second):
            browser.goto(f"http://nowhere.test/{path}")
            assert browser.has_failed
        browser.go_back()
        assert browser.page().url == (HOME if first == second else f"http://nowhere.test/{first}")

    @pytest.mark.parametrize("url", ["https://site.test/", "file:///etc/passwd", "http://localhost/", "http://127.0.0.1:80/"])
    def test_nothing_else_can_be_reached(self, browser, url):
        browser.goto(url)
        assert browser.page().title == "This site can't be reached"
        assert browser.has_failed
        browser.goto(HOME)
        assert not browser.has_failed

    @pytest.mark.parametrize("url", ["", "http://[x/"])
    def test_no_address(self, browser, url):
        with pytest.raises(ActionError, match="address"):
            browser.goto(url)
        assert browser.page().url == HOME

    @pytest.mark.parametrize("text", ["site.test/plain", " HTTP://SITE.test:80/plain\n", "http://site.test/sub/../plain"])
    def test_typed_address(self, browser, text):
        browser.goto(text)
        assert browser.page().url == "http://site.test/plain"

    @pytest.mark.parametrize(
        ("status", "method"), [("301", "GET"), ("302", "GET"), ("303", "GET"), ("307", "POST"), ("308", "POST")]
    )
    def test_redirected_post(self, browser, status, method):
        open_page(browser, "/moved")
        click(browser, f"by-{status}")
        assert echoed(browser)["method"] == method
        assert bool(echoed(browser)["form"]) == (method == "POST")
        assert browser.page().url == HOME + "echo"

    def test_redirect_to_another_site(self, browser):
        browser.goto(HOME + "redirect/302?to=http://other.site.test/echo#x")
        assert browser.page().url == "http://other.site.test/echo#x"
        browser.go_back()
        assert browser.page().url == HOME

    def test_redirect_out(self, browser):
        browser.goto(HOME + "redirect/302?to=http://nowhere.test/")
        assert browser.page().title == "This site can't be reached"
        assert browser.has_failed
        browser.goto(HOME)
        assert not browser.has_failed

    def test_redirect_loop(self, browser):
        browser.goto(HOME + "loop")
        assert browser.page().title == "This page isn't working"

    def test_referrer(self, browser):
        browser.goto(HOME + "#x")
        click(browser, "echo")
        assert echoed(browser)["referrer"] == HOME
        browser.goto(HOME)
        click(browser, "silent")
        assert echoed(browser)["referrer"] is None
        browser.goto(HOME + "?secret")
        click(browser, "other")
        assert echoed(browser)["referrer"] == HOME
        browser.goto(HOME + "echo")
        assert echoed(browser)["referrer"] is None

    def test_cookies(self, browser):
        browser.goto(
            HOME + 'cookies/a?set=plain=1&set=sub=2; Path=/echo; HttpOnly&set=quoted="a b"; Path=/&set=gone=3; Path=/none'
        )
        browser.goto(HOME + "echo")
        assert echoed(browser)["cookie"] == 'sub=2; quoted="a b"'
        browser.goto(OTHER + "echo")
        assert echoed(browser)["cookie"] is None
        browser.goto(HOME + "cookies?set=sub=; Path=/echo; Max-Age=0&set=quoted=9; Path=/; Max-Age=60")
        browser.goto(HOME + "echo")
        assert echoed(browser)["cookie"] == "quoted=9"
        browser.goto(HOME + "cookies?set=quoted=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
        browser.goto(HOME + "cookies?set=wide=1; Domain=.site.test; Path=/&set=foreign=1; Domain=elsewhere.test")
        browser.goto(OTHER + "echo")
        assert echoed(browser)["cookie"] == "wide=1"

    def test_answers_that_are_no_html(self, browser):
        browser.goto(HOME + "raw?type=text/plain&body=a <b>%26amp;")
        assert browser.page().root.findtext(".//pre") == "a <b>&amp;"
        browser.goto(HOME + "empty")
        assert (browser.page().url, texts(browser)) == (HOME + "empty", "")
        browser.goto(HOME + "nothing")
        assert browser.page().url == HOME + "empty"
        open_page(browser, "/missing")
        assert browser.page().title == "Not found"


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
        type_text(browser, "name", "Zoë & co~*")
        type_text(browser, "story", "one\ntwo")
        type_text(browser, "count", "7")
        type_text(browser, "day", "2023-02-28")
        click(browser, "news-label")
        click(browser, "terms")
        click(browser, "blue")
        choose(browser, "size", "extra large")
        choose(browser, "tags", "three")
        click(browser, "send")
        fields = sent(browser)
        assert fields["name"] == ["Zoë & co~*"]
        assert fields["story"] == ["one\r\ntwo"]
        assert (fields["count"], fields["day"]) == (["7"], ["2023-02-28"])
        assert fields["news"] == ["on"]
        assert "terms" not in fields
        assert (fields["paint"], fields["size"], fields["do"]) == (["blue"], ["xl"], ["send"])
        assert fields["tags"] == ["one", "three"]

    def test_get_replaces_the_query(self, browser):
        click(browser, "get")
        assert echoed(browser)["method"] == "GET"
        assert browser.page().url.startswith(HOME + "echo?name=Ann&colour=&token=t%261&story=first%0D%0Asecond&")
        assert "dropped" not in sent(browser)

    def test_multipart(self, browser):
        type_text(browser, "story", "a\nb")
        click(browser, "multi")
        assert echoed(browser)["type"] == "multipart/form-data"
        assert sent(browser)["story"] == ["a\r\nb"]
        assert sent(browser)["outside"] == ["o"]

    def test_image(self, browser):
        click(browser, "image")
        assert {"point.x", "point.y"} <= set(sent(browser))

    def test_in_a_new_tab(self, browser):
        click(browser, "tab")
        assert browser.page().active_tab == 1
        assert sent(browser)["name"] == ["Ann"]

    @pytest.mark.parametrize("button", ["nothing", "loose"])
    def test_buttons_that_do_nothing(self, browser, button):
        click(browser, button)
        assert browser.page().title == "Form"

    def test_reset(self, browser):
        type_text(browser, "name", "Bob")
        type_text(browser, "colour", "red")
        type_text(browser, "story", "x")
        click(browser, "news")
        click(browser, "blue")
        choose(browser, "size", "Large")
        click(browser, "reset")
        click(browser, "save")
        fields = sent(browser)
        assert (fields["name"], fields["colour"], fields["story"]) == (["Ann"], [""], ["first\r\nsecond"])
        assert ("news" in fields, fields["paint"], fields["size"]) == (False, ["red"], ["s"])

    def test_radios_of_other_forms_stay(self, browser):
        click(browser, "blue")
        assert "checked" in node(browser, "alone").attrib
        assert "checked" not in node(browser, "red").attrib

    def test_live_state_stands_in_the_tree(self, browser):
        type_text(browser, "name", "Bob")
        type_text(browser, "story", "x\ny")
        assert node(browser, "name").get("value") == "Bob"
        assert node(browser, "story").text == "x\ny"
        click(browser, "wrap")
        assert browser.page().focused is node(browser, "colour")

    def test_options_of_a_list_for_several(self, browser):
        click(browser, "two")
        assert "selected" in node(browser, "two").attrib
        click(browser, "two")
        assert "selected" not in node(browser, "two").attrib

    @pytest.mark.parametrize("field", ["off", "inset", "fixed"])
    def test_locked_fields(self, browser, field):
        with pytest.raises(ActionError, match=r"disabled|read-only"):
            type_text(browser, field, "x")

    def test_field_in_the_legend_of_a_disabled_group(self, browser):
        type_text(browser, "legend", "x")
        assert node(browser, "legend").get("value") == "x"

    @pytest.mark.parametrize("element", ["off", "dead", "inset"])
    def test_disabled_clicks(self, browser, element):
        with pytest.raises(ActionError, match="disabled"):
            click(browser, element)

    @pytest.mark.parametrize("element", ["save", "size", "news", "wrap", "token"])
    def test_typing_where_nothing_can_be_typed(self, browser, element):
        with pytest.raises(ActionError):
            type_text(browser, element, "x")

    @pytest.mark.parametrize(("field", "text"), [("count", "many"), ("day", "2023-02-30"), ("day", "3/5/2023")])
    def test_ill_formed(self, browser, field, text):
        with pytest.raises(ActionError):
            type_text(browser, field, text)

    def test_maxlength(self, browser):
        type_text(browser, "name", "a" * 12)
        assert node(browser, "name").get("value") == "a" * 10

    @pytest.mark.parametrize(("wanted", "value"), [("Large", "l"), ("EXTRA", "xl"), (" extra  large ", "xl"), ("small", "s")])
    def test_select(self, browser, wanted, value):
        choose(browser, "size", wanted)
        click(browser, "save")
        assert sent(browser)["size"] == [value]

    @pytest.mark.parametrize("wanted", ["Medium", "", "Choose", "Giant"])
    def test_select_what_is_not_there(self, browser, wanted):
        with pytest.raises(ActionError):
            choose(browser, "size", wanted)

    def test_select_in_what_is_no_list(self, browser):
        with pytest.raises(ActionError, match="input"):
            choose(browser, "name", "x")


class TestKeys:
    @pytest.fixture(autouse=True)
    def form(self, browser):
        open_page(browser, "/implicit")

    def test_enter_without_a_button(self, browser):
        with pytest.raises(ActionError, match=r'"Enter" does nothing in input "b": a form is sent by its button'):
            type_text(browser, "b", "x", enter=True)
        assert (browser.page().title, node(browser, "b").get("value")) == ("Implicit", "x")
        type_text(browser, "a", "x y", enter=True)
        assert browser.page().url == HOME + "echo?a=x+y&c=on"

    def test_enter_with_a_disabled_button(self, browser):
        with pytest.raises(ActionError, match=r'"Enter" does nothing in input "d"'):
            type_text(browser, "d", "x", enter=True)
        assert browser.page().title == "Implicit"

    def test_enter_presses_the_first_button(self, browser):
        type_text(browser, "e", "x")
        browser.press("Enter")
        assert browser.page().url == HOME + "echo?e=x&v=1&t="

    def test_form_without_an_action(self, browser):
        type_text(browser, "f", "x", enter=True)
        assert browser.page().url == HOME + "implicit?f=x"

    def test_enter_in_a_text_area(self, browser):
        type_text(browser, "area", "a", enter=True)
        browser.press("Enter")
        browser.press("b")
        assert node(browser, "area").text == "a\n\nb"

    def test_enter_on_a_link_reached_by_tab(self, browser):
        click(browser, "area")
        browser.press("Shift+Tab")
        assert browser.page().focused is node(browser, "link")
        browser.press("Enter")
        assert browser.page().title == "Plain"

    def test_key_in_an_element(self, browser):
        type_text(browser, "b", "x")
        browser.press("Enter", node(browser, "a"))
        assert browser.page().url == HOME + "echo?a=&c=on"

    @pytest.mark.parametrize("element_id", ["a", "area", "link"])
    @pytest.mark.parametrize("key", ["Escape", "ArrowDown", "ArrowLeft", "PageDown", "Home", "F5", "Control+C", "Shift"])
    def test_keys_that_do_nothing_say_so(self, browser, key, element_id):
        with pytest.raises(ActionError, match=rf'the key "{re.escape(key)}" does nothing here: no element has the focus'):
            browser.press(key)
        with pytest.raises(ActionError, match=rf'the key "{re.escape(key)}" does nothing in'):
            browser.press(key, node(browser, element_id))
        assert browser.page().title == "Implicit"

    @pytest.mark.parametrize("key", ["", "Any", "Hyper+A", "enter it"])
    def test_unknown_keys(self, browser, key):
        with pytest.raises(ActionError, match="key"):
            browser.press(key)


class TestKeysInFields:
    @pytest.mark.parametrize(
        ("element_id", "key", "said"),
        [
            ("count", "t", 'takes a number such as 12.5, not "2t"'),
            ("day", "1", "takes a date such as 2023-03-05"),
            ("fixed", "x", "does nothing in input .*: it is read-only"),
            ("fixed", "Backspace", "does nothing in input .*: it is read-only"),
            ("colour", "Backspace", "does nothing in input .*: type its whole text"),
            ("count", "ArrowUp", "does nothing in input .*: type its whole text"),
            ("news", "x", "does nothing in input"),
            ("red", " ", "does nothing in input"),
            ("save", "x", "does nothing in button"),
        ],
    )
    def test_what_a_field_does_not_take_is_told(self, browser, element_id, key, said):
        open_page(browser, "/form")
        with pytest.raises(ActionError, match=said):
            browser.press(key, node(browser, element_id))
        assert browser.page().title == "Form"
        assert node(browser, "count").get("value") == "2"


KEYS = ("ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End", "b", "z", " ", "Enter")


class TestKeysThatChoose:
    @pytest.fixture(autouse=True)
    def form(self, browser):
        open_page(browser, "/keys")

    def state(self, browser):
        root = browser.page().root
        return [
            each.get("id") for each in root.iter("option", "input") if "selected" in each.attrib or "checked" in each.attrib
        ]

    @pytest.mark.parametrize(
        ("pressed", "chosen"),
        [
            (["ArrowDown"], "berry"),
            (["ArrowUp"], "banana"),
            (["ArrowRight"], "berry"),
            (["ArrowLeft", "ArrowLeft"], "apple"),
            (["Home"], "apple"),
            (["End"], "boat"),
            (["b"], "berry"),
            (["B", "b"], "boat"),
            (["b", "b", "b"], "banana"),
        ],
    )
    def test_in_a_list(self, browser, pressed, chosen):
        browser.press(pressed[0], node(browser, "list"))
        for key in pressed[1:]:
            browser.press(key)
        assert self.state(browser) == [chosen, "two"]
        assert browser.page().focused is node(browser, "list")

    @pytest.mark.parametrize(
        ("pressed", "chosen"), [(["ArrowDown"], "four"), (["ArrowUp"], "one"), (["ArrowRight", "ArrowDown"], "one")]
    )
    def test_in_a_group_of_radio_buttons(self, browser, pressed, chosen):
        browser.press(pressed[0], node(browser, "two"))
        for key in pressed[1:]:
            browser.press(key)
        assert self.state(browser) == ["cherry", chosen]
        assert browser.page().focused is node(browser, chosen)

    @pytest.mark.parametrize("key", ["z", " ", "Enter", "PageDown", "Escape"])
    def test_what_chooses_nothing_says_so(self, browser, key):
        with pytest.raises(ActionError, match=r"does nothing in select .*: choose an option by its text"):
            browser.press(key, node(browser, "list"))
        assert self.state(browser) == ["cherry", "two"]

    def test_a_space_opens_and_closes_details(self, browser):
        browser.press("Space", node(browser, "summary"))
        assert "open" in node(browser, "details").attrib
        browser.press(" ")
        assert "open" not in node(browser, "details").attrib


@needs.chromium
@pytest.mark.parametrize("element_id", ["list", "two", "summary"])
def test_real_keys_choose_the_same(element_id):
    """What `strokes` says, held against Chromium's own keyboard, which no rule of ours is between."""
    browser = ChromiumBrowser(make_network())
    browser.start([HOME], {})
    for key in KEYS:
        open_page(browser, "/keys")
        browser.hover(node(browser, element_id))
        browser.run_script(f"document.getElementById('{element_id}').focus()")
        focused = browser.page().focused
        expected = picked_by_key(key, focused)
        wanted = None if expected is None else expected.get("id")
        does = True
        try:
            expect_effect(key, focused)
        except ActionError:
            does = False
        before = browser.run_script(STATE)
        press_really(browser, key)
        after = browser.run_script(STATE)
        assert (after != before) == does, key
        if wanted:
            assert wanted in after, key
    browser.close()


STATE = """[...document.querySelectorAll("option, input, details")].filter((each) => each.selected || each.checked || each.open)
.map((each) => each.id).join()"""


def press_really(browser, key):
    keyboard = browser._tab.page.keyboard
    browser._do(lambda _: keyboard.press(key))


class TestValidity:
    @pytest.fixture(autouse=True)
    def form(self, browser):
        open_page(browser, "/strict")

    def fill(self, browser, **values):
        for name, value in ({"full": "Ann", "mail": "a@b.test", "number": "2.5", "code": "ABC"} | values).items():
            type_text(browser, name, value)
        if "checked" not in node(browser, "ok").attrib:
            click(browser, "ok")

    def test_valid(self, browser):
        self.fill(browser)
        click(browser, "go")
        assert sent(browser) == {"full": ["Ann"], "mail": ["a@b.test"], "number": ["2.5"], "code": ["ABC"], "ok": ["on"]}

    @pytest.mark.parametrize(
        ("field", "value"), [("full", ""), ("mail", "ab"), ("number", "6"), ("number", "1.2"), ("code", "abc")]
    )
    def test_refused(self, browser, field, value):
        self.fill(browser, **{field: value})
        with pytest.raises(ActionError):
            click(browser, "go")
        assert browser.page().title == "Strict"

    def test_unticked(self, browser):
        self.fill(browser)
        click(browser, "ok")
        with pytest.raises(ActionError):
            click(browser, "go")

    def test_enter_is_refused_too(self, browser):
        with pytest.raises(ActionError):
            type_text(browser, "mail", "a@b.test", enter=True)

    def test_not_asked_for(self, browser):
        click(browser, "skip")
        assert sent(browser)["full"] == [""]


class TestSnapshots:
    def test_restored_state_goes_on(self, browser):
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
