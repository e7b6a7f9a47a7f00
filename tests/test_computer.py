"""The dialect of computer use: it reads what vendors' agents write, writes each of their shapes, and acts with mouse and keyboard alone."""

import json
from contextlib import suppress
from dataclasses import replace
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.wrappers import Response

from tests import needs
from tests.actions.test_dialect import TEXT
from tests.coordinates import EYES, CoordinatePlayer
from tests.errors import expect_error
from tests.growth import grows_too_fast, text_of
from webarena_gym import suite
from webarena_gym.actions import Action, Kind, instructions, reply_of, tools
from webarena_gym.actions.computer import NAMES, Computer
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Network
from webarena_gym.spaces import reply_space

VENDORS = ("openai", "anthropic", "ui-tars", "qwen")
EVERY = [Computer(vendor=vendor, coordinates=unit) for vendor in VENDORS for unit in ("pixels", "thousandths")]
every = pytest.mark.parametrize("dialect", EVERY, ids=lambda each: f"{each.vendor} in {each.coordinates}")

PLACE = st.tuples(st.integers(0, 1279), st.integers(0, 719))
AT = PLACE.map(lambda place: (place,)) | st.just(())
HELD = st.sampled_from((None, "Control", "Control+Shift", "Alt"))
KEYS = st.sampled_from(
    ("Enter", "a", "A", "+", "é", "Space", "F5", "Control+a", "Control++", "Control+Shift+ArrowLeft", "PageDown", "Escape", "/")
)
STRAIGHT = st.integers(-3000, 3000).flatmap(lambda far: st.sampled_from(((0, far), (far, 0))))
ACTIONS = st.one_of(
    st.builds(
        Action,
        st.sampled_from((Kind.CLICK, Kind.RIGHT_CLICK, Kind.MIDDLE_CLICK, Kind.DOUBLE_CLICK, Kind.TRIPLE_CLICK, Kind.HOVER)),
        st.none(), HELD, AT,
    ),
    st.builds(Action, st.just(Kind.DRAG), st.none(), st.none(), st.lists(PLACE, min_size=1, max_size=2).map(tuple)),
    st.builds(Action, st.just(Kind.SCROLL), st.none(), HELD, AT, STRAIGHT),
    st.builds(Action, st.just(Kind.WRITE), st.none(), TEXT, st.just(())),
    st.builds(Action, st.just(Kind.PRESS), st.none(), KEYS, st.just(())),
    st.builds(Action, st.just(Kind.WAIT), st.none(), st.none() | st.integers(0, 9999).map(str)),
    st.builds(Action, st.sampled_from((Kind.GOTO, Kind.EXIT)), st.none(), TEXT),
    st.builds(Action, st.just(Kind.SWITCH_TAB), st.none(), st.integers(0, 7).map(str)),
    st.sampled_from([Action(kind) for kind in (Kind.GO_BACKWARD, Kind.GO_FORWARD, Kind.NEW_TAB, Kind.CLOSE_TAB)]),
    st.just(Action(Kind.LOOK, points=())),
)  # fmt: skip


@every
@given(action=ACTIONS)
def test_every_shape_is_read_as_it_was_written(dialect, action):
    written = dialect.format(action)
    assert dialect.parse(written) == action
    assert replace(dialect, vendor="openai").parse(f"<think>Now.</think>{written}") == action


@given(st.lists(PLACE, min_size=3, max_size=5), PLACE)
def test_only_openai_writes_paths_and_slanting_scrolls(path, by):
    drag, scroll = Action(Kind.DRAG, points=tuple(path)), Action(Kind.SCROLL, points=(), by=(by[0] + 1, by[1] + 1))
    for action in (drag, scroll):
        assert EVERY[0].parse(EVERY[0].format(action)) == action
        for dialect in EVERY[2:]:
            with expect_error(ValueError, action):
                dialect.format(action)
    for action in (Action(Kind.CLICK, "12"), Action(Kind.SELECT, "12", "x"), Action(Kind.SCROLL_DOWN)):
        with expect_error(ValueError, "computer", action):
            EVERY[0].format(action)


def clicked(*place, kind=Kind.CLICK, **more):
    return Action(kind, points=(place,), **more)


def typed(text):
    return Action(Kind.WRITE, argument=text, points=())


def pressed(keys):
    return Action(Kind.PRESS, argument=keys, points=())


@pytest.mark.parametrize(("reply", "expected"), [
    # OpenAI: an action, a call with one, the output of a response, functions beside them
    ('{"type": "click", "x": 5, "y": 9, "button": "left"}', clicked(5, 9)),
    ('I click.\n{"type": "computer_call", "call_id": "c", "action": {"type": "click", "x": 5, "y": 9, "button": "wheel"}}', clicked(5, 9, kind=Kind.MIDDLE_CLICK)),
    ('[{"type": "reasoning", "summary": [{"type": "text", "text": "so"}]}, {"type": "computer_call", "actions": [{"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": -300}]}]',
     clicked(1, 2, kind=Kind.SCROLL, by=(0, -300))),
    ('{"type": "keypress", "keys": ["CTRL", "SHIFT", "T"]}', pressed("Control+Shift+T")),
    ('{"type": "computer_call", "action": {"type": "screenshot"}, "actions": [{"type": "click", "x": 5, "y": 9}]}', clicked(5, 9)),
    ('{"type": "computer_call", "action": {"type": "click", "x": 5, "y": 9}, "actions": []}', clicked(5, 9)),
    ('{"action": "key", "text": "Tab", "repeat": 3}', Action(Kind.PRESS, argument="Tab", points=(), by=(0, 3))),
    ('{"action": "key", "text": "Tab", "repeat": 1}', pressed("Tab")),
    ('{"type": "drag", "path": [[1, 2], {"x": 3, "y": 4}]}', Action(Kind.DRAG, points=((1, 2), (3, 4)))),
    ('{"type": "click", "x": 1, "y": 1, "button": "back"}', Action(Kind.GO_BACKWARD)),
    ('{"type": "function_call", "name": "goto", "arguments": "{\\"url\\": \\"http://shop.test/\\"}"}', Action(Kind.GOTO, argument="http://shop.test/")),
    ('{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "84 km"}]}', Action(Kind.EXIT, argument="84 km")),
    ('{"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function": {"name": "type", "arguments": "{\\"text\\": \\"a\\"}"}}]}',
     typed("a")),
    # Anthropic: an input, a block, a whole message
    ('{"action": "left_click", "coordinate": [5, 9]}', clicked(5, 9)),
    ('{"action": "left_click", "coordinate": [5, 9], "text": "ctrl"}', clicked(5, 9, argument="Control")),
    ('{"action": "key", "text": "ctrl+Page_Down"}', pressed("Control+PageDown")),
    ('{"action": "key", "text": "alt+Left"}', Action(Kind.GO_BACKWARD)),
    ('{"action": "scroll", "coordinate": [5, 9], "scroll_direction": "up", "scroll_amount": 3}', clicked(5, 9, kind=Kind.SCROLL, by=(0, -300))),
    ('{"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}', Action(Kind.DRAG, points=((1, 2), (3, 4)))),
    ('{"action": "wait", "duration": 1.5}', Action(Kind.WAIT, argument="1500")),
    ('{"action": "cursor_position"}', Action(Kind.LOOK, points=())),
    ('{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "computer", "input": {"action": "screenshot"}}]}',
     Action(Kind.LOOK, points=())),
    ('{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "84 km"}]}', Action(Kind.EXIT, argument="84 km")),
    # UI-TARS and Doubao
    ("Thought: type(content='no')\nAction: click(start_box='<|box_start|>(5,9)<|box_end|>')", clicked(5, 9)),
    ("Action: click(start_box='[4, 8, 6, 10]')", clicked(5, 9)),
    ("Action: left_double(point='<point>5 9</point>')", clicked(5, 9, kind=Kind.DOUBLE_CLICK)),
    ("Action: drag(start_box='(1,2)', end_box='(3,4)')", Action(Kind.DRAG, points=((1, 2), (3, 4)))),
    ("Action: hotkey(key='ctrl c')", pressed("Control+c")),
    ("Action: type(content='it\\'s {\"a\": 1}\\n')", Action(Kind.WRITE, argument='it\'s {"a": 1}\n', points=())),
    ("Action: scroll(start_box='(5,9)', direction='down')", clicked(5, 9, kind=Kind.SCROLL, by=(0, 500))),
    ("Action: finished(content='84 km')", Action(Kind.EXIT, argument="84 km")),
    ("Action: finished()", Action(Kind.EXIT, argument="")),
    ("Action: call_user()", Action(Kind.EXIT, argument="N/A")),
    # Qwen
    ('<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [5, 9]}}\n</tool_call>', clicked(5, 9)),
    ('<tool_call>{"name": "computer_use", "arguments": {"action": "key", "keys": ["ctrl", "a"]}}</tool_call>',
     pressed("Control+a")),
    ('{"action": "scroll", "pixels": -200}', Action(Kind.SCROLL, points=(), by=(0, 200))),
    ('{"action": "terminate", "status": "success"}', Action(Kind.EXIT, argument="")),
    ('{"action": "terminate", "status": "failure"}', Action(Kind.EXIT, argument="N/A")),
    ('{"action": "answer", "text": "84 km"}', Action(Kind.EXIT, argument="84 km")),
])  # fmt: skip
def test_replies_of_vendor_agents_are_parsed(reply, expected):
    assert Computer().parse(reply) == expected


def test_thousandths_are_of_the_window():
    dialect = Computer(window=(390, 844), coordinates="thousandths")
    assert dialect.parse('{"action": "left_click", "coordinate": [500, "500"]}') == clicked(195, 422)


@pytest.mark.parametrize(("reply", "message"), [
    ("The answer is 84 km.", "no action"), ('{"type": "click", "x": 1, "y": 2}{"type": "wait"}', "2 actions"),
    ('{"type": "computer_call", "actions": [{"type": "wait"}, {"type": "wait"}]}', "2 actions"),
    ('{"type": "fly"}', "no action 'fly'"), ('{"type": "click", "x": 1}', "a coordinate is 'None'"),
    ('{"type": "click", "x": 1, "y": 1e300}', "far outside"), ('{"type": "click", "x": 1, "y": NaN}', "far outside"),
    ('{"type": "click", "x": true, "y": 1}', "expected a number"),
    ('{"type": "click", "x": 1, "y": 1, "button": "third"}', "no mouse button 'third'"),
    ('{"action": "left_click", "coordinate": [1, 2, 3]}', "two numbers of a place"),
    ('{"action": "left_click", "coordinate": {"a": 1}}', "a coordinate"),
    ('{"type": "keypress", "keys": 5}', "expected a list"), ('{"type": "keypress", "keys": ["HYPER"]}', "no key 'HYPER'"),
    ('{"type": "keypress", "keys": []}', "no key is named"), ('{"action": "key", "text": "a", "repeat": 0}', "repeat is 0"),
    ('{"action": "key", "text": "a", "repeat": 1.5}', "expected a whole number"),
    ('{"action": "scroll", "scroll_direction": "in"}', "needs a direction"),
    ('{"type": "drag", "path": []}', "begins and ends"), ('{"type": "type"}', "type needs a text"),
    ("Action: click(5, 9)", "takes named arguments"), ("Action: drag(end_box='x')", "two numbers of a place"),
])  # fmt: skip
def test_invalid_replies_are_reported_with_all_actions(reply, message):
    with pytest.raises(ActionError, match="The actions are") as caught:
        Computer().parse(reply)
    assert message in str(caught.value)


@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(("x", "y", "keys", "text", "path", "coordinate", "start_box", "button", "pixels", "duration", "scroll_x")),
       st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner))))  # fmt: skip
def test_no_arguments_raise_anything_but_an_action_error(name, given_arguments):
    for reply in (json.dumps({"type": name, **given_arguments}), json.dumps({"name": name, "arguments": given_arguments})):
        with suppress(ActionError):
            Computer().parse(reply)


@pytest.mark.parametrize("unit", ['{"a":', "[", "{", '{"type": "wait"}', "Action: click(", '"', "Action:\n"])
def test_reading_takes_linear_time(unit):
    def read(text):
        with suppress(ActionError):
            Computer().parse(text)

    assert not grows_too_fast(read, lambda size: text_of("", unit, size))


@every
def test_instructions_tools_and_samples_are_written_in_the_shape(dialect):
    text = instructions(dialect, "pixels")
    assert ("thousandths" in text) == (dialect.coordinates == "thousandths")
    for form in dialect.forms:
        assert dialect.example(form) in text
        assert dialect.parse(dialect.example(form)).kind is form.kind
    named = {tool["function"]["name"] for tool in tools(dialect)}
    assert named == {form.name for form in dialect.forms} <= {*NAMES}
    assert dialect.parse(reply_of(dialect, "click", {"x": 5, "y": 9, "button": "right"})) == clicked(
        5, 9, kind=Kind.RIGHT_CLICK
    )
    with expect_error(ActionError, "'fly'"):
        dialect.parse(reply_of(dialect, "fly", {"x": 5}))
    space = reply_space(dialect)
    space.seed(1)
    assert {dialect.parse(space.sample()).kind for _ in range(300)} >= {form.kind for form in dialect.forms}


TASKS = (
    "shopping.cart_add_option/1000/0", "shopping.sorted_place/1000/0", "shopping_admin.cancel_order/1000/0", "reddit.comment_here/1000/0",
    "gitlab.project_empty/1000/0", "gitlab.sorted_place/1000/0", "map.drive_time/1000/0", "map.place_phone/1000/0",
    "several.nearest_park/1000/0", "shopping_admin.accounts_of_month/1000/0",
)  # fmt: skip


@pytest.fixture(scope="module")
def eyes():
    env = WebArenaLite(split="test", window_size=(1024, 640), coordinates="thousandths", **EYES)
    yield env
    env.close()


@pytest.mark.sampled(3)
@needs.chromium
@pytest.mark.parametrize(("task", "vendor"), [*zip(TASKS, cycle(VENDORS), strict=False)])
def test_solutions_are_played_at_coordinates_alone(eyes, task, vendor):
    dialect = Computer(vendor=vendor, window=(1024, 640), coordinates="thousandths")
    assert CoordinatePlayer(eyes, dialect).play(suite.find(task)) == 1.0


PAGE = """<!doctype html><title>Page</title><style>* { margin: 0 } body { height: 3000px } p, form, a { position: absolute; left: 20px }</style>
<a href="/next" style="top: 20px">Next</a> <a href="/next" target="_blank" style="top: 50px">Other</a> <p style="top: 80px">Prose</p>
<form action="/sent" style="top: 110px"><input name="q" required aria-label="Query"><button>Send</button> <button disabled>Never</button>
<select name="s"><option>One<option>Two<option>Three</select></form>"""
SCRIPTED = """<!doctype html><title>Scripted</title><div id=log style="position: absolute; top: 200px"></div><script>
for (const kind of ["click", "dblclick", "contextmenu", "mousedown", "mouseup", "keydown"])
  document.addEventListener(kind, (event) => { log.textContent += ` ${kind} ${event.detail || ""}${event.key ?? ""}${event.ctrlKey ? "!" : ""};`; });
</script>"""


@pytest.fixture(scope="module")
def window():
    def app(environ, start_response):
        body = {"/": PAGE, "/scripted": SCRIPTED}.get(
            environ["PATH_INFO"], f"<title>{environ['PATH_INFO']}</title>{environ['QUERY_STRING']}"
        )
        return Response(body, mimetype="text/html")(environ, start_response)

    browser = ChromiumBrowser(Network({"app.test": app}), viewport=(400, 300), for_pictures=True)
    yield browser
    browser.close()


@needs.chromium
@pytest.mark.parametrize(("gestures", "message"), [
    ([clicked(400, 10)], "(400, 10) is outside of the window, which is 400 pixels wide and 300 high"),
    ([clicked(300, 250)], "nothing is at (300, 250)"),
    ([clicked(25, 85)], "nothing at (25, 85) can be clicked: there is only a p"),
    ([Action(Kind.CLICK, points=())], "needs a place"),
    ([Action(Kind.DRAG, points=((1, 1),))], "needs a place"),
    ([typed("x")], "click a field first"),
    ([clicked(30, 120), pressed("Enter")], "the form was not sent: Query: Please fill out this field."),
    ([clicked(200, 120)], "the form was not sent: Query"),
    ([clicked(10, 10, kind=Kind.SCROLL, by=(0, -100))], "nothing more to scroll"),
])  # fmt: skip
def test_gestures_without_a_target_are_reported(window, gestures, message):
    window.start(["http://app.test/"], {})
    for gesture in gestures[:-1]:
        window.gesture(gesture)
    with pytest.raises(ActionError) as caught:
        window.gesture(gestures[-1])
    assert message in str(caught.value)
    assert window.page().url == "http://app.test/"


@needs.chromium
def test_mouse_and_keyboard_fill_a_form_and_choose_from_a_list(window):
    window.start(["http://app.test/"], {})
    page = window.page()
    fields = dict(enumerate(page.root.iter("input", "button", "select")))
    boxes = {box[0]: box[1:] for box in window.capture(fields, "png").boxes}
    middle = {number: ((box[0] + box[2]) // 2, (box[1] + box[3]) // 2) for number, box in boxes.items()}
    window.gesture(clicked(*middle[0], kind=Kind.TRIPLE_CLICK))
    window.gesture(typed("red shoes"))
    window.gesture(clicked(*middle[3]))
    below = (middle[3][0], middle[3][1] + 60)
    window.gesture(clicked(*below))
    window.gesture(clicked(*middle[0]))
    window.gesture(typed(" é\n"))
    assert window.page().url.startswith("http://app.test/sent?q=red+shoes+%C3%A9&s=T")


@needs.chromium
def test_scrolling_moves_by_pixels_and_what_opens_a_tab_turns_to_it(window):
    window.start(["http://app.test/"], {})
    window.gesture(clicked(10, 10, kind=Kind.SCROLL, by=(0, 130)))
    assert window.run_script("scrollY") == 130
    window.gesture(Action(Kind.SCROLL, points=(), by=(0, -130)))
    window.gesture(clicked(25, 55))
    assert (len(window.page().tabs), window.page().active_tab) == (2, 1)
    window.close_tab()
    window.gesture(clicked(25, 25, argument="Control"))
    assert [tab.title for tab in window.page().tabs] == ["Page", "/next"]


@needs.chromium
def test_scripts_hear_real_mouse_and_keys(window):
    window.start(["http://app.test/scripted"], {})
    for gesture in (
        clicked(50, 50, kind=Kind.DOUBLE_CLICK), clicked(50, 50, kind=Kind.RIGHT_CLICK), pressed("Control+ArrowLeft"),
        Action(Kind.DRAG, points=((50, 50), (90, 90))), Action(Kind.LOOK, points=()),
    ):  # fmt: skip
        with suppress(ActionError):  # nothing is there
            window.gesture(gesture)
    heard = " ".join(window.page().root.get_element_by_id("log").text_content().split())
    assert "dblclick 2" in heard
    assert "contextmenu" in heard
    assert "keydown ArrowLeft!" in heard
    assert heard.count("mousedown") == heard.count("mouseup") == 4
