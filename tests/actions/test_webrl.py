"""The dialect of WebRL: it accepts what models write, and refuses the rest with a reason."""

import pytest

from tests.actions.test_dialect import MALFORMED, WEBRL
from webarena_gym.actions import Action, Kind
from webarena_gym.errors import ActionError


@pytest.mark.parametrize(("reply", "expected"), [
    ("do(action='Click', element='12')", Action(Kind.CLICK, "12")),
    ('do(action="Click", element=12)', Action(Kind.CLICK, "12")),
    ('do(\n  action = "Click",\n  element = "12",\n)', Action(Kind.CLICK, "12")),
    ('do("Click", element="12")', Action(Kind.CLICK, "12")), ('do(action="click", element="12")', Action(Kind.CLICK, "12")),
    ('# Element: the link that says "exit(now)"\ndo(action="Click", element="12")', Action(Kind.CLICK, "12")),
    ('I will search.\n```\ndo(action="Search", argument="a b", element="3")\n```', Action(Kind.SEARCH, "3", "a b")),
    ('do(action="Type", argument="5" pipe", element="3")', Action(Kind.TYPE, "3", '5" pipe')),
    ("do(action='Type', argument='men's shoes', element='3')", Action(Kind.TYPE, "3", "men's shoes")),
    ('do(action="Type", argument="", element="3")', Action(Kind.TYPE, "3", "")),
    ('do(action="Click", element="Add to Cart [2]")', Action(Kind.CLICK, "Add to Cart [2]")),
    ('do(action="Press Enter")', Action(Kind.PRESS, argument="Enter")),
    ('do(action="Press Enter", element="")', Action(Kind.PRESS, argument="Enter")),
    ('do(action="Go Backward")', Action(Kind.GO_BACKWARD)), ("go_backward()", Action(Kind.GO_BACKWARD)),
    ("go_forward( )", Action(Kind.GO_FORWARD)),
    ('do(action="Switch Tab", argument=1)', Action(Kind.SWITCH_TAB, argument="1")),
    ("exit()", Action(Kind.EXIT, argument="")), ('exit("$5.00")', Action(Kind.EXIT, argument="$5.00")),
    ('exit(message="one\ntwo")', Action(Kind.EXIT, argument="one\ntwo")),
    (r'exit(message="caf\u00e9 \ud83d\ude00 \xe9 \U0001F600")', Action(Kind.EXIT, argument="café 😀 é 😀")),
    (r'exit(message="a\ud83d")', Action(Kind.EXIT, argument="a\N{REPLACEMENT CHARACTER}")),
    (r'exit(message="C:\users \\u00e9 \x \U00110000")', Action(Kind.EXIT, argument=r"C:\users \u00e9 \x \U00110000")),
    ('<think>do(action="Wait")?</think><answer>exit(message="do(x)")</answer>', Action(Kind.EXIT, argument="do(x)")),
])  # fmt: skip
def test_webrl_accepts_what_models_write(reply, expected):
    assert WEBRL.parse(reply) == expected


@pytest.mark.parametrize(("reply", "reason"), MALFORMED)
def test_webrl_refuses_with_a_reason(reply, reason):
    with pytest.raises(ActionError) as caught:
        WEBRL.parse(reply)
    assert reason in str(caught.value)
