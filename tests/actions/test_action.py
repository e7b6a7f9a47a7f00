"""Actions and their fields."""

from hypothesis import given
from hypothesis import strategies as st

from tests.errors import expect_error
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.actions.action import NEEDS_POINTS


@given(st.integers(0, 999_999).map(str))
def test_a_wait_of_some_milliseconds_is_read_as_it_is_written(number):
    action = Action(Kind.WAIT, argument=number)
    assert DIALECTS["browsergym"].parse(DIALECTS["browsergym"].format(action)) == action
    for other in ("webrl", "webarena"):
        with expect_error(ValueError, other, action):
            DIALECTS[other].format(action)


def test_an_action_needs_its_fields():
    with expect_error(ValueError, "Click", "element"):
        Action(Kind.CLICK)
    with expect_error(ValueError, "Exit", "argument"):
        Action(Kind.EXIT)
    for kind in NEEDS_POINTS:
        with expect_error(ValueError, kind.value, "points"):
            Action(kind, "12", "x")
