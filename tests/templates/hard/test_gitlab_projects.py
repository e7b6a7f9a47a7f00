"""Projects and their files: tasks agree with independent oracles."""

import pytest

from tests.templates.hard.solutions import expect_agreement, names_of
from webarena_gym.templates.hard import gitlab_projects


@pytest.mark.parametrize("name", names_of(gitlab_projects))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)
