"""Coordinate actions: points must be in the window, and a first action needs one."""

import pytest

from tests.errors import expect_error
from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.chromium.window import check_points
from webarena_gym.errors import ActionError

SIZE = (100, 50)


@pytest.mark.parametrize("point", [(0, 0), (99, 49), (0, 49), (99, 0)])
def test_points_in_the_window_are_accepted(point):
    check_points(Action(Kind.CLICK, points=(point,)), SIZE, None)
    check_points(Action(Kind.DRAG, points=((5, 5), point)), SIZE, None)


@pytest.mark.parametrize("point", [(100, 0), (0, 50), (-1, 0), (0, -1)])
def test_points_outside_of_the_window_are_rejected(point):
    for points in ((point,), ((5, 5), point)):
        with expect_error(ActionError, 100, 50):
            check_points(Action(Kind.DRAG, points=points), SIZE, (1, 1))


def test_before_the_mouse_is_in_the_window_an_action_needs_its_points():
    no_point, one = Action(Kind.CLICK, points=()), Action(Kind.DRAG, points=((5, 5),))
    for action in (no_point, one):
        with expect_error(ActionError, action.kind.value):
            check_points(action, SIZE, None)
        check_points(action, SIZE, (1, 1))
    for action in (
        Action(Kind.PRESS, argument="Enter", points=()),
        Action(Kind.SCROLL, points=(), by=(0, 5)),
        Action(Kind.WRITE, argument="a", points=()),
    ):
        check_points(action, SIZE, None)
