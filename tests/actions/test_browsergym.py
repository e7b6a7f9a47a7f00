"""The dialect of BrowserGym."""

import pytest

from webarena_gym.actions import DIALECTS, Action, Kind, reply_of


def test_press_enter_after_may_be_a_boolean():
    for value, kind in ((True, Kind.SEARCH), (False, Kind.TYPE)):
        reply = reply_of(DIALECTS["webarena"], "type", {"id": "5", "content": "x", "press_enter_after": value})
        assert DIALECTS["webarena"].parse(reply) == Action(kind, "5", "x")


@pytest.mark.parametrize("options", ['"Red"', "'Red'", '["Red"]', "options=['Red']"])
def test_browsergym_selects_an_option_given_alone_or_in_a_list(options):
    assert DIALECTS["browsergym"].parse(f'select_option("5", {options})') == Action(Kind.SELECT, "5", "Red")
