"""Templates of the code host on issues, merge requests and milestones: published tasks are drawn again."""

import pytest

from tests.templates.standard import expect_published, names_of
from webarena_gym.templates.gitlab import planning

NAMES = names_of(planning)


@pytest.mark.parametrize("name", NAMES)
def test_a_published_task_is_drawn_again(name):
    expect_published(name)
