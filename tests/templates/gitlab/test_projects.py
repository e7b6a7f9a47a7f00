"""Templates of the code host on projects, members and files: published tasks are drawn again."""

import pytest

from tests.templates.standard import expect_published, names_of
from webarena_gym.templates.gitlab import projects

NAMES = names_of(projects)


@pytest.mark.parametrize("name", NAMES)
def test_a_published_task_is_drawn_again(name):
    expect_published(name)
