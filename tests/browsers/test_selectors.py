"""Pseudo-classes match the same elements in both browsers."""

import pytest

from tests import needs
from tests.browsers.test_styles import acted, css, site
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages import dom

CONTROLS = (
    "<a href=/a>Link</a>", "<a>Anchor</a>", "<input value=1 readonly>", "<input value=2>", "<input type=number min=1 max=3 value=5>",
    "<input type=number min=1 max=3 value=2>", "<input type=number min=1 max=3>", "<input type=number value=1>",
    "<input type=number min=1 value=0 readonly>", "<input type=checkbox checked>", "<input type=checkbox>", "<button>One</button>",
    "<select><option selected>A<option>B</select>", "<progress></progress>", "<progress value=1></progress>", "<input type=radio name=r>",
    "<input type=radio name=s checked>", "<input type=radio name=s>", "<input type=radio>", "<textarea></textarea>",
    "<textarea disabled></textarea>", "<div contenteditable>Text</div>", "<div contenteditable=false>Text</div>", "<x-a>x</x-a>",
    "<annotation-xml>y</annotation-xml>", "<input type=range min=0 max=5 value=3>", "<input type=date min=2020-01-01 value=2019-01-01>",
    "<input type=time min=10:00 max=09:00 value=09:30>", "<select disabled><option>C</select>", "<fieldset><input required></fieldset>",
    "<fieldset disabled><input></fieldset>", "<p dir=rtl>Right</p>", "<div dir=RTL><p>Right</p><p dir=ltr>Left</p></div>",
    "<input type=file>", "<input type=hidden>", "<input type=submit>", "<div contenteditable><p contenteditable>Nested</p></div>",
    "<input data-is-invalid data-is-editable readonly>",
)  # fmt: skip
BODY = "".join(f"{control}<i>#{number}.</i>" for number, control in enumerate(CONTROLS))
PSEUDO_CLASSES = (
    "in-range", "out-of-range", "read-only", "read-write", "indeterminate", "any-link", "link", "active", "defined",
    "autofill", "fullscreen", "target-within", "local-link", "playing", "paused", "buffering", "muted", "dir(ltr)",
    "dir(rtl)", "dir(x)", "user-valid", "user-invalid", "blank", "focus", "focus-within", "enabled", "disabled", "checked",
    "optional", "required", "valid", "invalid", "open", "modal", "popover-open", "placeholder-shown", "empty", "root",
    "scope", "first-child", "only-child", "host", "state(x)", "picture-in-picture", "-webkit-autofill", "-webkit-any-link",
    "is(:foo,p)", "is(:foo)", "where()", "not(:foo)", "has(:foo)", "is(:user-invalid,:checked)", "not(:user-valid,:playing)",
    "is(::before,a)",
)  # fmt: skip


@needs.chromium
def test_pseudo_classes_match_what_they_match_in_chromium(opened):
    page = [""]
    browsers = [opened(make(site(page), strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]
    different = {}
    for name in PSEUDO_CLASSES:
        for selector in (f"*:{name}", f":not(:{name})"):
            page[0] = css(f"{selector} + i {{ display: none }}", BODY)
            ours, theirs = ({part for part in acted(browser)[0].split() if part[0] == "#"} for browser in browsers)
            if ours != theirs:
                different[selector] = {CONTROLS[int(part[1:-1])] for part in ours ^ theirs if part[1:-1].isdigit()}
    assert different == {}


FORM = (
    "<form><input id=m type=email required><b>M</b><input id=n required value=x><b>N</b><select id=s required><option value=''>-"
    "<option>One</select><b>S</b><input type=checkbox id=c required><b>C</b><textarea id=t required></textarea><b>T</b>"
    "<button id=go>Send</button><button id=free formnovalidate formtarget=win>Free</button><button type=reset id=re>Reset</button></form>"
    "<input id=o required><b>O</b><a id=l href=/next>Link</a>"
)
WALKS = {
    "sent": [("click", "go"), ("type", "m", "a@b.c"), ("select", "s", "One"), ("select", "s", "-"), ("click", "re")],
    "sent by a key": [("type", "m", "x"), ("press", "Enter"), ("click", "c")],
    "sent without validation": [("click", "free"), ("switch_tab", 0)],
    "left": [("click", "go"), ("click", "l"), ("go_back",)],
    "only typed": [("type", "m", "x"), ("press", "Tab"), ("type", "m", "a@b.c"), ("press", "Tab")],
}


@needs.chromium
@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("name", ["user-valid", "user-invalid"])
def test_a_form_that_the_user_has_tried_to_send_shows_its_validity(opened, name, walk):
    page = css(f"b {{ display: none }} :{name} + b {{ display: inline }}", FORM)
    shown = []
    for make in (InProcessBrowser, ChromiumBrowser):
        browser = opened(make(site(page), strict=True))
        browser.start(["http://app.test/"], {})
        states = []
        for method, *arguments in WALKS[walk]:
            if method in ("click", "type", "select"):
                arguments[0] = next(part for part in browser.page().root.iter() if part.get("id") == arguments[0])
            try:
                getattr(browser, method)(*arguments)
            except ActionError as error:
                states.append(str(error))
            states.append([part.text for part in browser.page().root.iter("b") if dom.is_visible(part)])
        shown.append((states, observe(browser.page()).text))
    assert shown[0] == shown[1]


def test_the_state_of_a_form_is_in_a_snapshot(opened):
    page = css("b { display: none } :user-invalid + b { display: inline }", FORM)
    browser = opened(InProcessBrowser(site(page), strict=True))
    browser.start(["http://app.test/"], {})
    before = browser.snapshot()
    with pytest.raises(ActionError):
        browser.click(browser.page().root.get_element_by_id("go"))
    after, text = browser.snapshot(), observe(browser.page()).text
    browser.restore(before)
    assert observe(browser.page()).text != text
    browser.restore(after)
    assert observe(browser.page()).text == text
