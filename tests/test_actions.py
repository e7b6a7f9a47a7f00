"""The dialects by name, each of which parses what it formats."""

import pytest

from webarena_gym.actions import DIALECTS, Action, Kind


def test_dialects_are_found_by_their_names_and_cannot_be_replaced():
    assert {name: dialect.name for name, dialect in DIALECTS.items()} == {
        name: name for name in ("webrl", "webarena", "browsergym")
    }
    with pytest.raises(TypeError):
        DIALECTS["webrl"] = DIALECTS["webarena"]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "action",
    [
        Action(Kind.CLICK, "7"),
        Action(Kind.TYPE, "7", "two words"),
        Action(Kind.GO_BACKWARD),
        Action(Kind.EXIT, argument="It's $5"),
    ],
    ids=lambda action: action.kind.name,
)
def test_each_dialect_parses_what_it_formats(name, action):
    dialect = DIALECTS[name].naming_by("id")
    assert dialect.parse(dialect.format(action)) == action
