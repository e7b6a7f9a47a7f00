"""Controls that scripts render again after the reading of a page."""

import pytest

from tests import needs
from tests.browsers.chromium.pages import HOME, PAGES, site
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

pytestmark = needs.chromium

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
        with pytest.raises(ActionError, match="scripts have replaced"):
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


def test_an_invalid_field_of_a_form_that_was_rendered_again_is_named(browser, monkeypatch):
    form = "<form><input aria-label=First value=a required><input aria-label=Last required><button>Send</button></form>"
    script = f"<div id=box></div><script>const show = (before) => {{ box.innerHTML = before + `{form}` }}; show('')</script>"
    monkeypatch.setitem(PAGES, "/replaced", script)
    browser.goto(HOME + "replaced")
    element = observe(browser.page(), elements="label").element("Send")
    render_again(browser, "show('<p>New</p>')")
    with pytest.raises(ActionError, match="Last"):
        browser.click(element)
