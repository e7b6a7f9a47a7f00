"""Style sheets that depend on the validity of controls, and transitions, in both browsers."""

from random import Random

import pytest

from tests import needs
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

pytestmark = needs.chromium

CONTROLS = (
    "<input name={n} required>", "<input name={n} required value=x>", "<input name={n} type=email value={v}>", "<input name={n} type=url value={v}>",
    "<input name={n} type=number min=2 max=8 step=2 value={v}>", "<input name={n} pattern='[a-z]+' value={v}>", "<input name={n} minlength=3 value={v}>",
    "<input name={n} type=checkbox required>", "<input name=r type=radio required>", "<input name=r type=radio checked>",
    "<select name={n} required><option value=''>-<option>A</select>", "<select name={n}><option>A</select>", "<textarea name={n} required></textarea>",
    "<textarea name={n} maxlength=1>ab</textarea>", "<input name={n} type=date max=2023-01-01 value=2023-05-05>", "<button>B</button>",
    "<button type=button>B</button>", "<input type=hidden required>", "<input name={n} required readonly>", "<input name={n} required disabled>",
    "<output>O</output>", "<input type=range required>", "<fieldset><input name={n} required></fieldset>", "<fieldset disabled><input name={n} required></fieldset>",
)  # fmt: skip
VALUES = ("a", "ab", "abc", "3", "4", "9", "a@b.c", "http://a.b/", "''")
SELECTORS = (":invalid", ":valid", ":required", ":optional", "input:invalid", ":not(:valid)", "form:invalid", "fieldset:valid", "div:has(:invalid)",
             ":invalid:focus", ":focus:valid", "select:valid", ":is(input, textarea):invalid")  # fmt: skip


def random_form(seed):
    """A form whose parts are shown by the validity of the control before them."""
    dice = Random(seed)
    parts = []
    for number in range(dice.randint(2, 6)):
        control = dice.choice(CONTROLS).format(n=f"n{number}", v=dice.choice(VALUES))
        parts.append(f"<div>{control}<b class={dice.choice('xy')}>T{number}</b></div>")
    rules = [f"{dice.choice(SELECTORS)} {dice.choice('~+')} .{name} {{ display: inline }}" for name in "xxyy"]
    rules += [f"{dice.choice(SELECTORS)} .{name} {{ display: inline }}" for name in "xy"]
    return f"<style>.x, .y {{ display: none }} {' '.join(rules)}</style><form>{''.join(parts)}</form><p>End"


def both(opened, pages):
    """Both browsers on a site whose page is the only item of a list."""

    def answer(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [f"<!doctype html><title>Page</title>{pages[0]}".encode()]

    network = Network({"app.test": answer}, {"a.txt": b"a"})
    return [opened(make(network, strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]


def typed(browser, seed):
    """The texts of a page after the start and after some values are typed, and boxes are checked."""
    dice = Random(seed)
    browser.start(["http://app.test/"], {})
    texts = [observe(browser.page()).text]
    for _ in range(3):
        elements = [node.element for node in observe(browser.page()).nodes.values()]
        fields = [
            element
            for element in elements
            if element.tag in ("input", "textarea") and "disabled" not in element.attrib and "readonly" not in element.attrib
        ]
        if fields:
            field = dice.choice(fields)
            if field.get("type") in ("checkbox", "radio"):
                browser.click(field)
            elif field.get("type") not in ("number", "date", "range"):
                browser.type(field, dice.choice(VALUES[:-1]))
        texts.append(observe(browser.page()).text)
    return texts


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_validity_of_controls_shows_and_hides_what_it_does_in_chromium(opened, seed):
    pages, different, texts = [""], [], set()
    browsers = both(opened, pages)
    for number in range(60 if seed == 0 else 500):
        pages[0] = random_form(1000 * seed + number)
        first, second = (typed(browser, number) for browser in browsers)
        texts.update(first)
        if first != second:
            different.append((pages[0], first, second))
    assert different == []
    assert len(texts) > 60


TRANSITIONS = {
    "a height": ".b { max-height: 0; overflow: hidden; transition: max-height .3s } :checked ~ .b { max-height: 9rem }",
    "visibility": ".b { visibility: hidden; transition: visibility .3s } :checked ~ .b { visibility: visible }",
    "a delay": ".b { visibility: hidden; transition: visibility 0s .4s } :checked ~ .b { visibility: visible }",
    "opacity": ".b { opacity: 0; pointer-events: none; transition: opacity .3s } :checked ~ .b { opacity: 1; pointer-events: auto }",
    "an animation without an end": ".b { display: none } :checked ~ .b { display: block; animation: t 1s infinite } @keyframes t { to { color: red } }",
}


@pytest.mark.parametrize("name", TRANSITIONS)
def test_transitions_have_ended_when_the_page_is_read(opened, name):
    pages = [
        f"<style>{TRANSITIONS[name]}</style><input type=checkbox id=i><label for=i>Menu</label><div class=b><a href=/x>Inside</a></div>"
    ]
    shown = []
    for browser in both(opened, pages):
        browser.start(["http://app.test/"], {})
        texts = []
        for _ in range(4):
            texts.append("Inside" in observe(browser.page()).text)
            browser.click(next(browser.page().root.iter("input")))
        shown.append(texts)
    assert shown == [[False, True, False, True]] * 2


def test_a_label_over_its_field_is_shown(opened):
    pages = [
        "<style>div { position: relative } label { position: absolute; top: 2px; left: 4px; pointer-events: none }</style>"
        "<div><label>Email</label><input name=e></div>"
    ]
    for browser in both(opened, pages):
        browser.start(["http://app.test/"], {})
        assert "Email" in observe(browser.page()).text


@pytest.mark.parametrize("style", ["", "opacity: 0", "display: none"])
def test_a_chosen_file_leaves_the_focus_where_a_click_would(opened, style):
    pages = [f"<input name=a autofocus><label for=f>Picture</label><input type=file id=f style='{style}'>"]
    focused = []
    for browser in both(opened, pages):
        browser.start(["http://app.test/"], {})
        (field,) = (field for field in browser.page().root.iter("input") if field.get("type") == "file")
        browser.select(field, "a.txt")
        focused.append(browser.page().focused.get("type"))
        (field,) = (field for field in browser.page().root.iter("input") if field.get("type") == "file")
        assert field.get("value") == "a.txt"
    assert focused[0] == focused[1]
    assert (focused[0] == "file") is (style != "display: none")
