"""Actions on elements: the script for pages without scripts, keys and mouse for others, click points, drags and invalid fields."""

import pytest

from tests import needs
from tests.browsers.chromium.pages import HOME, PAGES, press, seen
from tests.errors import expect_error
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe

pytestmark = needs.chromium

SCRIPTED = "<script>window.isScripted = true</script>"


def find(browser, label):
    return observe(browser.page(), elements="label").element(label)


@pytest.fixture
def show(browser, monkeypatch):
    """Show a page with this body in the browser."""

    def open_page(body):
        monkeypatch.setitem(PAGES, "/shown", body)
        browser.goto(HOME + "shown")
        return browser

    return open_page


def test_key_events_action_speed_and_editable_text(browser):
    browser.goto(HOME + "checks")
    press(browser, "Early")
    assert "true" in seen(browser)
    browser.type(observe(browser.page(), elements="label").element("Name"), "Ann")
    assert "unsaved" in seen(browser)
    for path, label, text in (("keys", "Find", "abc"), ("editable", "old", "new text")):
        browser.goto(HOME + path)
        browser.type(observe(browser.page(), elements="label").element(label), text)
        assert text in seen(browser).splitlines()[-1]


@pytest.mark.parametrize("script", ["", SCRIPTED], ids=["no scripts", "scripts"])
def test_typing_replaces_the_text_and_enter_adds_at_its_end(show, script):
    browser = show(f"<form action=/other><input aria-label=Name value=old><input aria-label=Note value=a></form>{script}")
    browser.type(find(browser, "Name"), "new \u00fc")
    assert find(browser, "Name").get("value") == "new \u00fc"
    browser.type(find(browser, "Name"), "")
    assert find(browser, "Name").get("value") == ""
    browser.press("b", find(browser, "Note"))
    assert find(browser, "Note").get("value") == ("ab" if not script else "ba")


@pytest.mark.parametrize("script", ["", SCRIPTED], ids=["no scripts", "scripts"])
def test_a_form_with_an_invalid_field_is_not_sent(show, script):
    browser = show(f"<form action=/other><input type=email aria-label=Mail value=x><button>Send</button></form>{script}")
    with expect_error(ActionError, "Mail"):
        press(browser, "Send")
    assert browser.page().url == HOME + "shown"
    browser.type(find(browser, "Mail"), "a@b.test")
    press(browser, "Send")
    assert browser.page().url.startswith(HOME + "other")


def test_a_hidden_control_is_clicked_on_its_label(show):
    browser = show(
        f"<input type=checkbox id=box style='opacity: 0; width: 0; height: 0'><label for=box>Agree</label>{SCRIPTED}"
    )
    browser.click(browser.page().root.get_element_by_id("box"))
    assert browser.run_script("box.checked")


def test_text_that_a_page_rebuilds_is_not_typed_into_the_page(show):
    """The script replaces the field at the first character, and nothing has the focus afterwards."""
    browser = show("""<div id=box><input aria-label=Name></div><p id=keys></p><script>
        box.oninput = () => setTimeout(() => { box.innerHTML = "<input aria-label=Name>" });
        onkeydown = (event) => { if (event.target === document.body) keys.textContent += event.key }</script>""")
    browser.type(find(browser, "Name"), "abc")
    assert browser.run_script("keys.textContent") == ""


def test_a_drop_happens_in_the_centre_of_the_target(show):
    browser = show("""<p id=a tabindex=0>Apple</p><div id=b tabindex=0 style="width: 200px; height: 100px">Basket</div><script>
        a.onmousedown = () => false;
        onmouseup = ({clientX, clientY}) => { const box = b.getBoundingClientRect();
            window.dropped = [clientX - box.left, clientY - box.top] }</script>""")
    root = browser.page().root
    browser.drag(root.get_element_by_id("a"), root.get_element_by_id("b"))
    assert browser.run_script("dropped") == pytest.approx([100, 50], abs=1)
