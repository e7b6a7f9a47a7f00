"""WebArena's dialect: actions are read from replies, and written so that they are read again."""

import pytest

from tests.errors import expect_error
from webarena_gym.actions import Action, Kind
from webarena_gym.actions.webarena import WebArena
from webarena_gym.errors import ActionError

DIALECT = WebArena()


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("click [12]", Action(Kind.CLICK, "12")),
        ("I think so.\n```click [Add [2]]```", Action(Kind.CLICK, "Add [2]")),
        ("type [3] [blue lamp]", Action(Kind.SEARCH, "3", "blue lamp")),
        ("type [3] [blue lamp] [0]", Action(Kind.TYPE, "3", "blue lamp")),
        ("type [3] [blue lamp] [press_enter_after=0]", Action(Kind.TYPE, "3", "blue lamp")),
        ("type [3] [blue lamp] [1]", Action(Kind.SEARCH, "3", "blue lamp")),
        ("type [Part [2] [3]] [x]", Action(Kind.SEARCH, "Part [2] [3]", "x")),
        ("select [Size] [XL [wide]]", Action(Kind.SELECT, "Size", "XL [wide]")),
        ("scroll [direction=up]", Action(Kind.SCROLL_UP)),
        ("scroll [down]", Action(Kind.SCROLL_DOWN)),
        ("page_focus [1]", Action(Kind.SWITCH_TAB, argument="1")),
        ("page_close", Action(Kind.CLOSE_TAB)),
        ("noop []", Action(Kind.WAIT)),
        ("goto [ http://a.test ]", Action(Kind.GOTO, argument="http://a.test")),
        ("stop", Action(Kind.EXIT, argument="")),
        ("stop [a\\] b]", Action(Kind.EXIT, argument="a] b")),
        ("stop [two\nlines]<|im_end|>", Action(Kind.EXIT, argument="two\nlines")),
    ],
)
def test_actions_are_read(reply, action):
    assert DIALECT.read(reply) == action


def test_a_fenced_action_is_preferred_to_a_mentioned_one():
    assert DIALECT.read("click [1]\n```click [2]```") == Action(Kind.CLICK, "2")
    with pytest.raises(ActionError):
        DIALECT.read("```click [1]``` ```click [2]```")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("click [12", "never closed"),
        ("click", "click takes one"),
        ("click [1] [2]", "click takes one"),
        ("type [1]", "an element and a text"),
        ("type [1] [a] [2]", "takes fewer"),
        ("type [1] [a] [0] [1]", "takes fewer"),
        ("select [1] [a] [1]", "takes fewer"),
        ("go_back [1]", "takes nothing"),
        ("noop [1]", "takes nothing"),
        ("scroll [left]", "expected up or down"),
        ("click the link", "cannot read"),
    ],
)
def test_other_replies_are_rejected_with_the_reason(reply, message):
    with pytest.raises(ActionError, match=message):
        DIALECT.read(reply)


TEXTS = ("", "a", "a [b]", "a] b", "[", "\\", "a\\", "\\[x]", "]] [[", "0", "x] [1", "two\nlines", "```")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", [Kind.TYPE, Kind.SEARCH, Kind.SELECT, Kind.EXIT])
def test_written_actions_are_read_again(kind, text):
    action = Action(kind, argument=text) if kind is Kind.EXIT else Action(kind, text or "1", text)
    assert DIALECT.read(DIALECT.format(action)) == action


@pytest.mark.parametrize(
    "action", [Action(Kind.PRESS, "3", "Enter"), Action(Kind.WAIT, argument="5"), Action(Kind.RIGHT_CLICK, "3")]
)
def test_actions_that_the_dialect_cannot_express_are_rejected(action):
    with expect_error(ValueError, "webarena", action):
        DIALECT.format(action)
