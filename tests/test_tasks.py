"""The names of `webarena_gym.tasks`: those of tasks, and those that moved to `webarena_gym.suite`."""

import pytest

from webarena_gym import suite, tasks
from webarena_gym.tasks import task


def test_former_places_of_names_lead_to_the_present_ones():
    assert {name for name in tasks._MOVED if getattr(tasks, name) is not getattr(suite, name)} == set()
    with pytest.raises(AttributeError):
        _ = tasks.absent


@pytest.mark.parametrize("name", ["OnUnreadable", "Step", "Task", "leave_out", "parse_task", "parse_tasks", "read_tasks"])
def test_names_of_tasks_are_those_of_their_module(name):
    assert getattr(tasks, name) is getattr(task, name)
