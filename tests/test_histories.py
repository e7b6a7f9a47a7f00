"""Back and forward, fragments, focus, and what was entered: the same on both browsers after any sequence of acts."""

from itertools import count
from random import Random

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Network

pytestmark = needs.chromium

HOME = "http://site.test/"
PAGE = """<!doctype html><html lang=en><title>T</title>{signed}<h1>{method} {here} no. {number}</h1>
<p><a id=empty href="">Reload</a> <a id=self href="{here}">Self</a> <a id=other href="/other">Other</a> <a id=auto href="/auto">Auto</a>
<a id=redirected href="/to?to={here}">Round</a> <a id=away href="/to?to=/other">Away</a> <a id=gone href="http://nowhere.test/">Gone</a>
<p><a id=to-place href="#place">Place</a> <a id=to-field href="#field">Field</a> <a id=to-none href="#none">None</a> <a id=to-top href="#">Top</a>
<a id=to-name href="#named">Name</a> <a id=to-inside href="#inside">Inside</a> <a id=to-off href="#off">Off</a> <a id=to-tab href="#tab">Tab</a>
<p id=place>Place</p> <div id=tab tabindex=0>Tab</div> <a name=named href="/named">Named</a> <input id=off disabled>
<details id=more><summary id=summary>More</summary><p id=inside>Inside</p></details>
<form id=get><p><input id=field name=q aria-label=Q value=1> <input type=checkbox id=tick name=t> <button id=send>Get</button></form>
<form method=post><p><textarea id=story name=q>first</textarea> <input type=password id=secret name=s> <input id=private name=p autocomplete=off>
<button id=post>Post</button></form>
<form method=post action="/to?to={here}"><p><select id=size name=size><option>S<option>M<option>L</select> <button id=around>Post and come back</button></form>
<form action="/to"><p><input type=hidden name=to value="{here}"> <button id=get-around>Get and come back</button></form>
<form method=post action=/out><p><button id=out>Out</button></form>{tail}"""
CLICKED = (
    "empty", "self", "other", "auto", "redirected", "away", "gone", "to-place", "to-field", "to-none", "to-top", "to-name", "to-inside", "to-off",
    "to-tab", "summary", "field", "tick", "send", "post", "around", "get-around", "out", "place", "tab",
)  # fmt: skip
TYPED = ("field", "story", "secret", "private")
KEYS = ("Tab", "Shift+Tab", "x", "\u00e9", "Shift+1", "Backspace", "Control+A", "Enter", "Space")
ADDRESSES = ("", "#place", "#field", "#", "#none", "other", "auto", "to?to=/other#x", "?q=1", "?q=1#field")
UNKNOWN = (
    "about:blank", "about:blank#x", "chrome://version", "http://site.test:1/", "http://me@site.test/", "HTTP://SITE.test:80/%7e/../a b", "1", "a b",
)  # fmt: skip


def make_site():
    numbers = count(1)

    def site(environ, start_response):
        request = Request(environ)
        here = request.full_path.rstrip("?")
        if request.path in ("/to", "/out"):
            answer = Response(status=302, headers={"Location": request.args.get("to", "/")})
            if request.path == "/out":
                answer.set_cookie("out", "yes")
        else:
            signed = "<p>Out</p>" if request.cookies.get("out") else "<p>In</p>"
            tail = "<input id=first autofocus>" if request.path == "/auto" else ""
            values = {"method": request.method, "here": here, "number": next(numbers), "signed": signed, "tail": tail}
            answer = Response(PAGE.format(**values), content_type="text/html")
        return answer(environ, start_response)

    return site


def draw(dice):
    """One act, as a name and an argument."""
    kind = dice.random()
    if kind < 0.4:
        return "click", dice.choice(CLICKED)
    if kind < 0.5:
        return "type", dice.choice(TYPED)
    if kind < 0.6:
        return "press", dice.choice(KEYS)
    if kind < 0.65:
        return "select", dice.choice(("L", "none"))
    if kind < 0.75:
        return "goto", HOME + dice.choice(ADDRESSES) if dice.random() < 0.8 else dice.choice(UNKNOWN)
    if kind < 0.78:
        return "right_click", dice.choice(CLICKED)
    return ("go_back" if kind < 0.92 else "go_forward"), None


def do(browser, act, argument):
    """Do it and return all that can be seen afterwards."""
    find = browser.page().root.get_element_by_id
    try:
        if act in ("click", "right_click", "type", "select"):
            identity = "size" if act == "select" else argument
            element = find(identity, None)
            if element is None:
                return "no such element"
            getattr(browser, act)(element, *({"type": ["typed"], "select": [argument]}.get(act, [])))
        else:
            getattr(browser, act)(*([] if argument is None else [argument]))
        message = ""
    except ActionError as error:
        message = str(error)
    page = browser.page()

    def held(element):
        return element.text or "" if element.tag == "textarea" else element.get("value", "")

    controls = page.root.iter("input", "textarea")
    fields = {element.get("id"): (held(element), "checked" in element.attrib) for element in controls}
    chosen = [option.text for option in page.root.iter("option") if "selected" in option.attrib]
    opened = ["open" in details.attrib for details in page.root.iter("details")]
    focused = None if page.focused is None else page.focused.get("id") or page.focused.tag
    return (
        message,
        page.url,
        page.title,
        page.root.findtext(".//h1"),
        page.root.findtext(".//p"),
        focused,
        fields,
        chosen,
        opened,
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sampled(5)
def test_random_acts_lead_to_the_same(pair, seed):
    dice = Random(seed)
    for browser, network in pair:
        network._sites["site.test"] = make_site()
        browser.start([HOME], {})
    done = []
    for _ in range(25):
        done.append(draw(dice))
        one, other = (do(browser, *done[-1]) for browser, _ in pair)
        assert one == other, done


@pytest.fixture(scope="module")
def pair():
    networks = [Network({"site.test": make_site()}) for _ in range(2)]
    browsers = [make(network) for make, network in zip((InProcessBrowser, ChromiumBrowser), networks, strict=True)]
    yield list(zip(browsers, networks, strict=True))
    for browser in browsers:
        browser.close()
