"""Tasks over several sites and the map: tasks agree with independent oracles."""

import pytest

from tests.templates.hard.solutions import expect_agreement, names_of
from webarena_gym.templates.hard import several_places


@pytest.mark.parametrize("name", names_of(several_places))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)
