"""Templates of the map: published tasks are drawn again and solved."""

import pytest

from tests.templates.standard import expect_published, expect_solved, names_of
from webarena_gym.templates import map


@pytest.mark.parametrize("name", names_of(map))
def test_a_published_task_is_drawn_again(name):
    expect_published(name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", names_of(map))
def test_the_reference_solution_of_a_task_earns_the_reward(name):
    expect_solved(name)
