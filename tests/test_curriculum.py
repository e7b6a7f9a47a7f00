from collections import Counter

import pytest

from agents.data.trajectories import Trajectory
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import Group
from tests import tiny

TASKS = [tiny.TinyTask(f"tiny/{number}", "", "", template=f"kind {number % 3}") for number in range(12)]


def group(task, *rewards, ending="exited"):
    return Group(0, task, [Trajectory("t", "g", (), reward, ending) for reward in rewards])


def drawn(curriculum, count=600):
    return Counter(curriculum.draw(number).template for number in range(count))


def test_a_group_s_task_follows_from_the_run_s_seed_its_number_and_the_rates():
    first, again = (Curriculum(TASKS, seek_mixed=True, seed=4, rates={"kind 0": 0.9}) for _ in range(2))
    tasks = [first.draw(number) for number in range(20)]
    assert [again.draw(number) for number in reversed(range(20))] == tasks[::-1]
    assert [Curriculum(TASKS, seek_mixed=True, seed=5).draw(number) for number in range(20)] != tasks
    assert len({task.task_id for task in tasks}) > 6


def test_templates_that_neither_always_succeed_nor_always_fail_come_more_often():
    rates = {"kind 0": 0.5, "kind 1": 1.0, "kind 2": 0.0}
    counts = drawn(Curriculum(TASKS, seek_mixed=True, seed=0, rates=rates))
    assert counts["kind 0"] > 0.7 * 600
    assert min(counts.values()) > 20
    assert min(drawn(Curriculum(TASKS, seek_mixed=False, seed=0, rates=rates)).values()) > 160


def test_the_running_success_moves_halfway_to_the_newest_group():
    curriculum = Curriculum(TASKS, seek_mixed=True, seed=0)
    curriculum.note([group(TASKS[0], 1.0, 0.0), group(TASKS[1], 0.0)])
    assert curriculum.rates == {"kind 0": 0.5, "kind 1": 0.0}
    curriculum.note([group(TASKS[3], 1.0, 1.0), group(TASKS[2], 0.0, 0.0, ending="failed")])
    assert curriculum.rates == {"kind 0": 0.75, "kind 1": 0.0}


def test_the_running_success_is_a_mean_of_as_many_groups_as_it_remembers():
    curriculum = Curriculum(TASKS, seek_mixed=True, seed=0, memory=3)
    rates = []
    for reward in (1.0, 0.0, 0.0, 0.0):
        curriculum.note([group(TASKS[0], reward)])
        rates.append(curriculum.rates["kind 0"])
    assert rates == pytest.approx([1, 1 / 2, 1 / 3, 2 / 9])
    other = Curriculum(TASKS, seek_mixed=True, seed=0, memory=3)
    other.load_state_dict(curriculum.state_dict())
    for each in (curriculum, other):
        each.note([group(TASKS[0], 1.0), group(TASKS[1], 1.0)])
    assert other.state_dict() == curriculum.state_dict()


def test_a_curriculum_without_tasks_is_refused():
    with pytest.raises(ValueError, match="there are no tasks"):
        Curriculum([], seek_mixed=True, seed=4)
