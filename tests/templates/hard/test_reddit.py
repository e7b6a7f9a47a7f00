"""Submissions and comments: tasks agree with independent oracles."""

import pytest

from tests.templates.hard.solutions import expect_agreement, names_of
from webarena_gym.templates.hard import reddit


@pytest.mark.parametrize("name", names_of(reddit))
def test_a_task_agrees_with_its_oracle(name):
    expect_agreement(name)
