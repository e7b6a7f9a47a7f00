"""What applications make of plain HTML: styled boxes, widgets of divs, pages that change by themselves; in Chromium.

Each page stands for a class of applications; where a page has no scripts, the in-process browser must see and do the same.
"""

import threading

import gymnasium
import pytest
from werkzeug.wrappers import Request, Response

import webarena_gym  # noqa: F401 - registers the env
from tests import needs
from tests.errors import expect_error
from tests.serving import serving
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer

pytestmark = needs.chromium

HOME = "http://app.test/"
TAB = "webarena_gym.browsers.chromium.tab"
REST = "webarena_gym.browsers.chromium.rest"


@pytest.fixture
def visit():
    """Show bodies by their paths in a new browser, the first at the beginning."""
    opened = []

    def show(*bodies, kind="chromium", clock="", shown="", **options):
        pages = {f"/{place or ''}": body for place, body in enumerate(bodies)}

        def site(environ, start_response):
            body = pages.get(Request(environ).path, "<p>Elsewhere</p>")
            shown = Response(f"<!doctype html><html lang=en><title>T</title><body>{body}", content_type="text/html")
            return shown(environ, start_response)

        network = Network({"app.test": site})
        network.clock, network.ready_selector = clock, shown
        browser = ChromiumBrowser(network, **options) if kind == "chromium" else InProcessBrowser(network)
        opened.append(browser)
        browser.start([HOME], {})
        return browser

    yield show
    for browser in opened:
        browser.close()


def seen(browser, **how):
    return observe(browser.page(), elements="label", header=False, **how).text


def named(browser, label):
    return observe(browser.page(), elements="label").element(label)


def press(browser, label):
    browser.click(named(browser, label))


BOXES = {
    "beneath the label's picture": "<style>input {position: absolute; opacity: 0; z-index: -1} .b {position: relative}"
    "label::before {content: ''; position: absolute; left: 0; width: 1rem; height: 1rem; background: teal}</style>"
    "<div class=b style='padding-left: 1.5rem'><input type=TYPE id=a name=n><label for=a>Tick</label></div>",
    "clipped, deaf to the mouse": "<style>input {position: absolute; clip: rect(0, 0, 0, 0); pointer-events: none}</style>"
    "<input type=TYPE id=a name=n><label for=a>Tick</label>",
    "without a box": "<style>input {display: none}</style><input type=TYPE id=a name=n><label for=a>Tick</label>",
    "invisible": "<style>input {visibility: hidden}</style><input type=TYPE id=a name=n><label for=a>Tick</label>",
    "of one pixel": "<style>input {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)}</style>"
    "<label><input type=TYPE name=n> Tick</label>",
    "outside of the page": "<style>input {position: absolute; left: -9999px}</style>"
    "<input type=TYPE id=a name=n><label for=a>Tick</label>",
    "a switch": "<style>input {opacity: 0; width: 0; height: 0} i {position: absolute; inset: 0; background: silver}"
    "label {position: relative; display: inline-block; width: 60px; height: 34px}</style>"
    "<label><input type=TYPE aria-label=Tick name=n><i></i></label>",
    "a label with a link in its middle": "<style>input {display: none}</style><input type=TYPE id=a name=n>"
    "<label for=a>Tick <a href=/away>the very long terms and conditions</a> now</label>",
    "a label far below": "<style>input {display: none}</style><p style='height: 3000px'></p><input type=TYPE id=a name=n>"
    "<label for=a>Tick</label>",
    "in a group that is hidden": "<div hidden><input type=TYPE id=a name=n></div><label for=a>Tick</label>",
    "hidden by its markup": "<label>Tick <input type=TYPE name=n style='display: none'></label>",
}
HIDDEN_BY_MARKUP = ("in a group that is hidden", "hidden by its markup")


@pytest.mark.parametrize("script", ["", "<script></script>"], ids=["plain", "scripted"])
@pytest.mark.parametrize("kind", ["checkbox", "radio"])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.sampled(5)
def test_a_box_that_only_its_label_shows_is_listed_and_ticked(visit, box, kind, script):
    for strict in (False, True):
        browser = visit(BOXES[box].replace("TYPE", kind) + script, strict=strict)
        label = next(name for name in observe(browser.page(), elements="label").nodes if name.startswith("Tick"))
        assert f'<input label="{label}" type="{kind}">' in seen(browser)
        press(browser, label)
        assert f'type="{kind}" checked' in seen(browser)
        assert browser.page().url == HOME
        if kind == "checkbox":
            press(browser, label)
            assert "checked" not in seen(browser)


def test_both_browsers_tick_what_markup_hides_if_its_label_is_shown(visit):
    for box in HIDDEN_BY_MARKUP:
        pair = [visit(BOXES[box].replace("TYPE", "checkbox"), kind=kind) for kind in ("inprocess", "chromium")]
        for acts in (False, True):
            for browser in pair if acts else ():
                press(browser, "Tick")
            assert seen(pair[0]) == seen(pair[1])
            assert seen(pair[0], style="axtree") == seen(pair[1], style="axtree")
        assert "checked" in seen(pair[0])
    for kind in ("inprocess", "chromium"):
        browser = visit("<input hidden type=checkbox id=a><p hidden><label for=a>A</label></p><button>B</button>", kind=kind)
        assert set(observe(browser.page(), elements="label").nodes) == {"B"}
        with expect_error(ActionError, "hidden"):
            browser.click(browser.page().root.get_element_by_id("a"))


CONSEQUENCES = {
    "another page": "location = '/1'",
    "another page, in a moment": "setTimeout(() => location = '/1')",
    "the form is sent": "this.form.action = '/1'; this.form.submit()",
    "it is taken away": "this.remove(); document.title = '1'",
    "it is drawn anew": "const html = this.outerHTML; this.outerHTML = html; document.title = '1'",
    "everything is drawn anew": "document.body.innerHTML = '<p>One'; document.title = '1'",
}


@pytest.mark.parametrize("consequence", CONSEQUENCES.values(), ids=CONSEQUENCES)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.sampled(5)
def test_an_action_that_has_been_done_is_no_error_whatever_it_leads_to(visit, consequence, strict):
    for event, control, act in (
        ("onchange", "<select aria-label=C EVENT><option>a<option>b</select>", lambda browser, it: browser.select(it, "b")),
        ("oninput", "<select aria-label=C EVENT><option>a<option>b</select>", lambda browser, it: browser.select(it, "b")),
        ("oninput", "<input aria-label=C EVENT>", lambda browser, it: browser.type(it, "word")),
        ("oninput", "<input aria-label=C EVENT type=date>", lambda browser, it: browser.type(it, "2023-02-03")),
        ("oninput", "<textarea aria-label=C EVENT></textarea>", lambda browser, it: browser.type(it, "two\nlines")),
        ("onkeydown", "<input aria-label=C EVENT>", lambda browser, it: browser.press("a", it)),
        ("onclick", "<button aria-label=C EVENT type=button>", lambda browser, it: browser.click(it)),
        ("onchange", "<input type=checkbox aria-label=C EVENT>", lambda browser, it: browser.click(it)),
    ):
        handler = f'{event}="{consequence}"'
        page = f"<form>{control.replace('EVENT', handler)}</form>"
        browser = visit(page, "<title>1</title><p>One</p>", strict=strict)
        act(browser, named(browser, "C"))
        assert browser.page().title == "1" or browser.page().url.partition("?")[0] == HOME + "1"
        browser.close()


DUE = {
    "text": ("<p id=out></p>", "out.textContent = 'Arrived'"),
    "an attribute": ("<input id=out aria-label=Out>", "out.setAttribute('placeholder', 'x'); out.value = 'Arrived'"),
    "a part of the page": ("<ul id=out></ul>", "out.innerHTML = '<li>Arrived'"),
    "in a frame": ("<iframe srcdoc='<p>frame'></iframe>", "frames[0].document.body.textContent = 'Arrived'"),
    "in a shadow": (
        "<p id=host></p><script>host.attachShadow({mode: 'open'})</script>",
        "host.shadowRoot.innerHTML = 'Arrived'",
    ),
    "another page": ("", "location = '/1'"),
    "what is fetched": ("<p id=out></p>", "fetch('/1').then((it) => it.text()).then((it) => out.innerHTML = it)"),
}


RESTLESS = {
    "nothing else": "",
    "a clock": "<b id=c></b><script>setInterval(() => c.textContent = performance.now(), 20)</script>",
    "a clock that pauses": "<b id=c></b><script>let n = 0; setInterval(() => n++ % 20 < 15 && (c.textContent = n), 20)</script>",
}


@pytest.mark.parametrize("what", DUE)
@pytest.mark.parametrize("restless", RESTLESS.values(), ids=RESTLESS)
@pytest.mark.sampled(3)
def test_one_wait_is_enough_for_what_is_due(visit, what, restless):
    markup, script = DUE[what]
    browser = visit(f'{markup}{restless}<button onclick="setTimeout(() => {{{script}}}, 1500)">Go</button>', "<p>Arrived</p>")
    press(browser, "Go")
    browser.wait()
    assert "Arrived" in seen(browser)


PUT_OFF = {
    "a timer": "setTimeout(arrive, 700)",
    "one after another": "setTimeout(() => setTimeout(arrive, 400), 400)",
    "a promise": "new Promise((done) => setTimeout(done, 600)).then(arrive)",
    "what is fetched then": "setTimeout(() => fetch('/1').then(arrive), 500)",
    "an animation": "out.animate([{opacity: 0}, {opacity: 1}], 700).onfinish = arrive",
    "a transition": "out.style.transition = 'left 600ms'; out.offsetTop; out.ontransitionend = arrive; out.style.left = '9px'",
    "until some time has passed": """
        const begun = Date.now();
        const look = () => Date.now() - begun >= 450 ? arrive() : setTimeout(look, 450 - (Date.now() - begun));
        setTimeout(look, 300)""",
}
POLLS = {
    "often": "const poll = () => setTimeout(poll, 60); poll()",
    "seldom": "const poll = () => setTimeout(poll, 900); poll()",
    "as a loop": "(async () => { for (;;) await new Promise((done) => setTimeout(done, 100)) })()",
}


@pytest.mark.parametrize("script", PUT_OFF.values(), ids=PUT_OFF)
@pytest.mark.parametrize("poll", ["", *POLLS.values()], ids=["no poll", *POLLS])
@pytest.mark.parametrize("clock", ["", "2030-03-05T09:00:00+00:00"])
@pytest.mark.sampled(11)
def test_effects_delayed_by_less_than_a_second_are_awaited(visit, script, poll, clock):
    page = f"""<p id=out style='position: relative; left: 0'>Out</p><button id=go>Go</button><script>
        {poll}; const arrive = () => {{ out.textContent = 'Arrived' }}; go.onclick = () => {{ {script} }}</script>"""
    browser = visit(page, clock=clock)
    press(browser, "Go")
    assert "Arrived" in seen(browser)


@pytest.mark.parametrize("poll", POLLS.values(), ids=POLLS)
def test_recurring_timers_are_not_awaited(visit, poll):
    browser = visit(f"<p id=out>0</p><button onclick='out.textContent++'>Go</button><script>{poll}</script>")
    for count in (1, 2):
        press(browser, "Go")
        assert str(count) in seen(browser)
    assert browser.run_script('window[Symbol.for("webarena_gym.time")].isDue()') is False


def test_many_simultaneous_timers_of_one_function_are_not_recurring(visit):
    script = "const later = (work) => setTimeout(() => work(), 400)"
    start = "for (let i = 0; i < 9; i++) later(() => i < 8 || later(() => { out.textContent = 'Arrived' }))"
    browser = visit(f'<p id=out></p><script>{script}</script><button onclick="{start}">Go</button>')
    press(browser, "Go")
    assert "Arrived" in seen(browser)


@pytest.mark.parametrize("clear", ["clearTimeout", "clearInterval"])
def test_cancelled_timers_are_not_due(visit, clear):
    odd = "Object.assign(() => 0, {toString() { throw 1 }})"
    script = f'(() => {{ const put = setTimeout({odd}, 900), is = () => window[Symbol.for("webarena_gym.time")].isDue()'
    assert visit("<p>T").run_script(f"{script}; return [is(), {clear}(put), is()] }})()") == [True, None, False]


def test_a_fixed_clock_advances_only_in_delayed_callbacks(visit):
    script = "[Date.now(), +new Date(), Date.parse(Date()), +new Date(2020, 0, 2), new Date() instanceof Date, Date.UTC(1970)]"
    page = "<p id=out></p><button onclick='setTimeout(() => { const at = Date.now(); setTimeout(() => out.append(Date.now() - at), 300) }, 300)'>"
    browser = visit(f"{page}Go</button><iframe srcdoc='<p>'></iframe>", clock="2030-03-05T09:00:00+00:00")
    stands = [1898931600000] * 3 + [1577923200000, True, 0]
    assert browser.run_script(script) == browser.run_script(f"frames[0].eval('{script}')") == stands
    press(browser, "Go")
    assert "300" in seen(browser)
    assert browser.run_script(script) == stands


def test_elements_built_by_scripts_are_awaited_in_each_document(visit, monkeypatch):
    late = "<p id=out></p><a href=/1>On</a><script>setTimeout(() => { out.innerHTML = '<input id=late aria-label=Late>' }, 1300)</script>"
    browser = visit(late, late.replace("Late", "Later"), "<p>no script", "<p>never<script>1</script>", shown="#late")
    browser.type(named(browser, "Late"), "kept")
    saved = browser.snapshot()
    browser.restore(saved)
    assert 'value="kept"' in seen(browser)
    press(browser, "On")
    assert "Later" in seen(browser)
    browser.go_back()
    assert named(browser, "Late") is not None
    browser.goto(f"{HOME}2")
    assert not browser.page().notices
    monkeypatch.setattr(f"{TAB}.LOAD_S", 1.0)
    browser.goto(f"{HOME}3")
    assert "never" in seen(browser)
    assert any("#late" in notice for notice in browser.page().notices)
    wrong = visit("<p>some<script>1</script>", shown="p[")
    assert any("p[" in notice for notice in wrong.page().notices), "a selector that is none is told"


def test_refreshing_pages_are_awaited_and_clocks_do_not_end_later_waits(visit):
    """The first wait ends with the clock's next second, the second knows the clock."""
    browser = visit("<meta http-equiv=refresh content='1; url=/1'><p>Soon", "<p>Arrived")
    assert "Soon" in seen(browser)
    browser.wait()
    assert "Arrived" in seen(browser)
    script = "setInterval(() => now.textContent = performance.now(), 400); setTimeout(() => out.textContent = 'Arrived', 3000)"
    browser = visit(f'<p id=now></p><p id=out></p><button onclick="{script}">Go</button>')
    press(browser, "Go")
    browser.wait()
    browser.wait()
    assert "Arrived" in seen(browser)


def test_a_wait_of_some_milliseconds_is_as_long_as_that_where_something_can_happen(visit, monkeypatch):
    browser = visit("<p id=out></p><script>out.textContent = 'x'</script>")
    begun = browser.run_script("performance.now()")
    browser.wait(700)
    assert browser.run_script("performance.now()") - begun >= 700
    monkeypatch.setattr(f"{TAB}.MAX_WAIT_S", 0.1)
    browser.wait(1e12)
    monkeypatch.setattr(f"{TAB}.MAX_WAIT_S", 1e6)
    monkeypatch.setattr(f"{TAB}.WAIT_S", 1e6)
    browser.wait(0)
    for kind in ("chromium", "inprocess"):  # without scripts nothing is due: no time passes
        plain = visit("<p>Plain", kind=kind)
        plain.wait()
        plain.wait(1e9)


TICKERS = {
    "a text": "setInterval(() => out.textContent = performance.now(), 5)",
    "an attribute": "setInterval(() => out.style.left = performance.now() + 'px', 5)",
    "a frame of an animation": "(function turn() { out.className = performance.now(); requestAnimationFrame(turn) })()",
    "a part that is drawn anew": "setInterval(() => out.innerHTML = '<i>' + performance.now(), 5)",
}
_LIMIT = 'window[Symbol.for("webarena_gym.changing")].limit'


@pytest.mark.parametrize("script", TICKERS.values(), ids=TICKERS)
def test_ticking_pages_are_detected_once_and_no_longer_awaited(visit, script):
    browser = visit(f"<p id=out></p><button onclick=\"this.textContent = 'Pressed'\">Go</button><script>{script}</script>")
    first = browser.run_script(_LIMIT)
    press(browser, "Go")
    for _ in range(3):
        browser.wait(0)
    assert "Pressed" in seen(browser)
    # It is halved whenever a page has not come to rest in its time, as may happen once more where the machine gave it none at first.
    assert browser.run_script(_LIMIT) >= first / 2


def test_continuous_requests_are_not_awaited(visit, monkeypatch):
    monkeypatch.setattr(f"{REST}.QUIET_S", 1e6)  # so that a wait for it would not end
    browser = visit("<p>Polls</p><script>(async () => { while (true) await fetch('/1?' + Math.random()) })()</script>")
    browser.wait(0)
    assert "Polls" in seen(browser)


WIDGETS = {
    "a listener": ("<div id=w>Widget</div>", "w.addEventListener('click', () => out.textContent = 'Used')"),
    "a property": ("<div id=w>Widget</div>", "w.onclick = () => out.textContent = 'Used'"),
    "a listener to the mouse": ("<li id=w>Widget</li>", "w.addEventListener('mousedown', () => out.textContent = 'Used')"),
    "a listener to the pointer": ("<span id=w>Widget</span>", "w.addEventListener('pointerup', () => out.textContent = 'Used')"),
    "a place for the Tab key": ("<div tabindex=0 onfocus=\"out.textContent = 'Used'\">Widget</div>", ""),
    "a pointing hand": (
        "<style>b {cursor: pointer}</style><p id=box><b>Widget <i>of parts</i></b></p>",
        "box.addEventListener('click', ({target}) => target.closest('b') && (out.textContent = 'Used'))",
    ),
    "a link without an address": (
        "<style>a {cursor: pointer}</style><nav id=box><a data-route=w><i></i><span>Widget</span></a></nav>",
        "box.addEventListener('click', ({target}) => target.closest('a') && (out.textContent = 'Used'))",
    ),
    "a link without an address in a row": (
        "<style>tr {cursor: pointer}</style><table id=box><tr><td><a data-id=w>Widget</a><td></table>",
        "box.addEventListener('click', ({target}) => target.closest('a') && (out.textContent = 'Used'))",
    ),
    "the role of a slider": ("<div role=slider aria-label=Widget id=w style='height: 9px'></div>", "w.onclick = () => out.textContent = 'Used'"),
    "something to drag": ("<div draggable=true id=w>Widget</div>", "document.body.onclick = () => out.textContent = 'Used'"),
    "a row of a table": ("<table><tr id=w><td>Widget<td>2</table>", "w.onclick = () => out.textContent = 'Used'"),
}  # fmt: skip


@pytest.mark.parametrize("script", ["", "board.onkeydown = () => {}", "board.addEventListener('keyup', () => {})"])
def test_guards_of_the_focus_are_not_listed_and_areas_that_listen_to_keys_are(visit, script):
    guard, board = "<div tabindex=0></div>", "<div id=board tabindex=0 style='height: 50px'></div>"
    browser = visit(f"{guard}<p>Text</p>{board}{guard}<script>{script}</script>")
    assert seen(browser).count("<div") == bool(script)


@pytest.mark.parametrize("what", WIDGETS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.sampled(3)
def test_elements_with_script_listeners_are_listed_and_usable(visit, what, strict):
    markup, script = WIDGETS[what]
    browser = visit(f"{markup}<p id=out></p><script>{script}</script>", strict=strict)
    (label,) = observe(browser.page(), elements="label").nodes
    assert label.startswith("Widget")
    press(browser, label)
    assert "Used" in seen(browser)


ROWS = {
    "a row of a list": "<div class=row><input type=checkbox><b>Ann</b><p><span>Widget</span> <i>WORDS</i></p><button>Keep</button></div>",
    "a row of a table": "<table><tr class=row><td><input type=checkbox><td>Ann<td>Widget<td><a href=/1>Open</a></table>",
    "a card to drag": "<div class=row draggable=true><h3>Widget</h3><p><a data-menu>Menu</a></p></div>",
    "a part that listens itself": "<div class=row><span>Widget</span><s id=own>Mute this conversation</s></div>",
    "a row that reveals its controls": "<style>.row p {display: none} .row:hover p {display: block}</style><div class=row><input type=checkbox><span>Widget</span><p><button>Keep</button></p></div>",
    "a long text alone": "<div class=row><p>Widget WORDS</p><button>Keep</button></div>",
}


@pytest.mark.parametrize("what", ROWS)
@pytest.mark.parametrize("strict", [False, True])
def test_a_clickable_row_with_controls_in_it_is_clicked_at_its_text(visit, what, strict):
    script = """document.body.addEventListener('click', ({target}) => {
        if (target.closest('input, button, a, s')) out.textContent = 'Control';
        else if (target.closest('.row')) out.textContent = 'Used'})
        document.querySelector('#own')?.addEventListener('click', () => {})"""
    markup = ROWS[what].replace("WORDS", "word " * 60)
    browser = visit(f"<style>.row {{cursor: pointer}}</style>{markup}<p id=out></p><script>{script}</script>", strict=strict)
    labels = list(observe(browser.page(), elements="label").nodes)
    (label,) = [label for label in labels if label.startswith("Widget")]
    controls = sum(map(markup.count, ("<input", "<button", "<a ", "<s "))) - markup.count("display: none")
    assert len(labels) == controls + 1
    press(browser, label)
    assert "Used" in seen(browser)


POINTED = {
    "a star": ("<p class=row><b>Ann</b><span>Widget</span><i class=star>Star</i></p>", ["Widget", "Star"]),
    "a symbol": ("<p class=row><span>Widget</span><i class=star title=Star><svg width=9 height=9></svg></i></p>", ["Widget", "Star"]),
    "a box in a box": ("<div class=row><p>Widget</p><p class=star><span>Star</span><i class=star>More</i></p></div>", ["Widget", "Star", "More"]),
    "cells": ("<table><tr class=row><td>Widget<td class=star>Star<td><button>Keep</button></table>", ["Widget", "Star", "Keep"]),
    "the whole box": ("<p class=row><i class=star>Widget</i></p>", ["Widget"]),
    "a style of all elements": ("<style>.row * {cursor: pointer}</style><div class=row><p>Widget</p><p>in <i>parts</i></p></div>", ["Widget in parts"]),
    "an important style": ("<style>.row {cursor: pointer !important}</style><p class=row><b>Widget</b> <i class=star>Star</i></p>", ["Widget Star"]),
    "a cursor of its own in a control": ("<button class=row><b>Widget</b><i class=star>Star</i></button>", ["WidgetStar"]),
}  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("markup", "labels"), POINTED.values(), ids=POINTED)
@pytest.mark.sampled(5)
def test_an_element_with_a_pointer_cursor_of_its_own_in_a_clickable_box_is_a_control(visit, markup, labels, strict):
    script = """let changes = 0; new MutationObserver(() => changes++).observe(document.body, {subtree: true, attributes: true});
        document.body.addEventListener('click', ({target}) => out.textContent =
        `${target.closest('.star') ? 'Starred' : target.closest('.row') ? 'Opened' : ''} ${changes} ${document.getAnimations().length}`)"""
    browser = visit(
        f"<style>.row, .star {{cursor: pointer}}</style>{markup}<p id=out></p><script>{script}</script>", strict=strict
    )
    assert list(observe(browser.page(), elements="label").nodes) == labels
    for label, result in (("Star", "Starred 0 0"), ("Widget", "Opened 0 0")):
        if label in labels:
            press(browser, label)
            assert result in seen(browser) or labels == ["Widget"]


@pytest.mark.parametrize("strict", [False, True])
def test_elements_that_listen_behind_a_dialog_are_text(visit, strict):
    browser = visit(
        """<style>.row, .tab {cursor: pointer} .shade {position: fixed; inset: 0; background: gray} .far {margin-top: 3000px}</style>
        <div class=row><b>Row</b><i class=tab>Star</i><button>Keep</button></div><div id=own>Own</div><p class='row far'>Far</p>
        <div class=shade><div class=row>Choice</div><button>Close</button></div><p id=out></p>
        <script>own.onclick = () => 1; document.querySelector('.shade button').onclick = ({target}) => target.parentElement.remove()</script>""",
        strict=strict,
    )
    behind = ["Row", "Star", "Keep", "Own", "Far"]
    assert list(observe(browser.page(), elements="label").nodes) == [*([] if strict else behind), "Choice", "Close"]
    assert all(text in seen(browser) for text in ("Row", "Own", "Far"))
    press(browser, "Close")
    assert list(observe(browser.page(), elements="label").nodes) == behind


def test_a_listener_does_not_take_a_control_apart_nor_a_page_together(visit):
    words = "word " * 60
    browser = visit(
        f"""<style>button, a, label {{cursor: pointer}}</style><div id=all><button><span id=s>Buy</span></button>
        <a href=/1><i style="cursor: pointer">Read</i></a><label><input type=checkbox> Tick</label><div id=card>{words}</div></div>
        <script>for (const each of [document, document.body, all, s, card]) each.addEventListener("click", () => 1)</script>"""
    )
    nodes = observe(browser.page(), elements="label").nodes
    assert [node.element.tag for node in nodes.values()] == ["button", "a", "input", "div"]
    assert seen(browser).count("word") > 60
    plain = "<style>b {cursor: pointer}</style><b data-listens>Bold</b><b>Face</b><a href=/1>Link</a>"  # without scripts
    assert set(observe(visit(plain).page(), elements="label").nodes) == {"Link"}


@pytest.mark.parametrize("script", ["", "location = '/1'", "document.forms[0].submit()", "opener.document.title = 'N'"])
def test_a_window_that_closes_itself_gives_way_to_the_one_before_it(visit, script):
    browser = visit(
        "<button onclick=\"window.open('/1')\">Pick</button>",
        f'<form action="/2"><button type=button onclick="{script}; window.close()">Take</button>',
    )
    press(browser, "Pick")
    assert len(browser.page().tabs) == 2
    press(browser, "Take")
    assert [tab.url for tab in browser.page().tabs] == [HOME]
    assert browser.page().notices == ()


def test_prompts_get_their_default_and_emptied_documents_are_empty_pages(visit, monkeypatch):
    monkeypatch.setattr(f"{TAB}.LOAD_S", 0.3)  # as such a document never ends
    browser = visit('<button onclick="document.open()">Empty</button>')
    press(browser, "Empty")
    assert observe(browser.page(), elements="label").nodes == {}
    browser = visit("<button onclick=\"out.textContent = `(${prompt('Name?', 'Ann B')})`\">With</button>"
                    "<button onclick=\"out.textContent = `(${prompt('Name?')})`\">Bare</button><p id=out></p>")  # fmt: skip
    press(browser, "With")
    assert "(Ann B)" in seen(browser)
    assert browser.page().notices == ('Prompt dialog, answered with "Ann B": Name?',)
    press(browser, "Bare")
    assert "()" in seen(browser)


DRAGS = {
    "the browser's own": """<ul><li id=a draggable=true>Apple</li></ul><div id=b style="height: 90px">Basket</div><script>
        a.ondragstart = (event) => event.dataTransfer.setData("text/plain", "Apple");
        b.ondragover = (event) => event.preventDefault();
        b.ondrop = (event) => { event.preventDefault(); b.append(" has " + event.dataTransfer.getData("text/plain")) }</script>""",
    "a script's": """<ul><li id=a>Apple</li></ul><div id=b tabindex=0 style="height: 90px">Basket</div><script>let held;
        a.onmousedown = () => { held = a; return false };
        document.onmousemove = (event) => { if (held) Object.assign(held.style, {position: "fixed", left: event.clientX + 1 + "px",
            top: event.clientY + 1 + "px"}) };
        document.onmouseup = (event) => { if (held && document.elementsFromPoint(event.clientX, event.clientY).includes(b))
            b.append(" has Apple"); held = null }</script>""",
    "to a place far below": """<div id=a draggable=true>Apple</div><p style="height: 3000px"></p><div id=b>Basket</div><script>
        b.ondragover = (event) => event.preventDefault(); b.ondrop = () => b.append(" has Apple")</script>""",
}


def test_an_element_is_dragged_onto_another_where_scripts_can_notice(visit):
    for page in DRAGS.values():
        browser = visit(page, strict=True)
        shown = observe(browser.page(), elements="label")
        browser.drag(shown.element("Apple"), shown.element("Basket"))
        assert "Basket has Apple" in seen(browser)
    messages = []
    for kind in ("inprocess", "chromium"):
        browser = visit("<a href=/1>Apple</a><a href=/2>Basket</a>", kind=kind)
        shown = observe(browser.page(), elements="label")
        with pytest.raises(ActionError) as caught:
            browser.drag(shown.element("Apple"), shown.element("Basket"))
        messages.append(str(caught.value))
    assert messages == ['dragging a "Apple" does nothing: the page has no scripts'] * 2


def make_env(url, **options):
    task = Task("one", ("shopping",), "__SHOPPING__/", "Look", answer(exact_match="yes"), require_login=False)
    return gymnasium.make("WebArenaLite-v0", browser="chromium", tasks=[task], sites={"shopping": url}, max_steps=40, **options)


FEEDS = {
    "when the window nears the end": (
        "<div id=feed></div>",
        "addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.scrollHeight - 200) more() })",
    ),
    "when a mark at the end is seen": (
        "<div id=feed></div><p id=mark style='height: 1px'></p>",
        "new IntersectionObserver(([{isIntersecting}]) => isIntersecting && more()).observe(mark)",
    ),
    "in a box of its own": (
        "<div id=box style='height: 500px; overflow-y: auto'><div id=feed></div></div>",
        "box.addEventListener('scroll', () => { if (box.clientHeight + box.scrollTop > box.scrollHeight - 200) more() })",
    ),
}


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("how", [{"window": 300}, {}, {"viewport": "layout"}], ids=["lines", "all", "layout"])
@pytest.mark.sampled(4)
def test_scrolling_on_at_the_end_of_a_feed_loads_more_of_it(feed, how):
    markup, script = FEEDS[feed]
    page = f"""<!doctype html><title>T</title>{markup}<script>let count = 0;
        const more = () => setTimeout(() => {{ if (count < 60) for (let i = 0; i < 15; i++)
            feed.insertAdjacentHTML("beforeend", `<p style="height: 40px">Item ${{++count}}.</p>`) }}, 20);
        more(); {script}</script>"""
    with serving(Response(page, content_type="text/html")) as url:
        env = make_env(url, **how)
        _, info = env.reset()
        texts = [info["page"]]
        for _ in range(30):
            texts.append(env.step('do(action="Scroll Down")')[4]["page"])
        assert "Item 1." in texts[0]
        assert "Item 60." not in texts[0]
        assert any("Item 60." in text for text in texts)
        assert ("Item 1." in texts[-1]) == (not how)
        env.close()


def test_an_agent_drags_and_waits_by_the_words_of_its_dialect():
    late = "<p id=late></p><script>setTimeout(() => late.textContent = 'Late', 600)</script>"
    page = "<!doctype html><title>T</title>" + DRAGS["the browser's own"] + late
    with serving(Response(page, content_type="text/html")) as url:
        env = make_env(url, dialect="browsergym", elements="label")
        env.reset()
        _, _, _, _, info = env.step("drag_and_drop('Apple', 'Basket')")
        assert info["action_error"] == ""
        assert "Basket has Apple" in info["page"]
        assert "Late" in env.step("noop(1500)")[4]["page"]
        assert "no element 'Bin'" in env.step("drag_and_drop('Apple', 'Bin')")[4]["action_error"]
        env.close()


@pytest.mark.parametrize("records", [False, True])
def test_events_of_a_server_arrive_while_it_goes_on_sending(records):
    go_on = threading.Event()

    def events():
        yield "data: First\n\n"
        go_on.wait(60)
        yield "data: Second\n\n"

    @Request.application
    def app(request):
        if request.path == "/events":
            return Response(events(), content_type="text/event-stream")
        page = """<!doctype html><title>T</title><p id=out></p><script>
            new EventSource("/events").onmessage = ({data}) => out.append(data + " ")</script>"""
        return Response(page, content_type="text/html")

    with serving(app) as url:
        browser = ChromiumBrowser(None, hosts=frozenset([url.removeprefix("http://")]), record_traffic=records)
        try:
            browser.start([url], {})
            for _ in range(20):
                if "First" in seen(browser):
                    break
                browser.wait()
            assert "First" in seen(browser)
            assert "Second" not in seen(browser)
            if records:
                (requests,) = [each for each in browser.traffic.exchanges if each.url.endswith("/events")]
                assert (requests.status, requests.response_body) == (200, b"")
            browser.start([url], {})  # which ends the first stream
        finally:
            go_on.set()
            browser.close()
