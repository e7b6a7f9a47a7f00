"""The curriculum: draws by success rates, and groups that are kept."""

from collections import Counter
from random import Random

import pytest

from agents.data.trajectories import Step, Trajectory
from agents.rollouts.curriculum import Curriculum, Group
from tests import tiny
from tests.rollouts.groups import group

CURRICULUM = [tiny.TinyTask(f"tiny/{number}", "", "", template=f"kind {number % 3}") for number in range(12)]


def rated(rates, seed=0, **options):
    curriculum = Curriculum(CURRICULUM, seed, **{"seek_mixed": True, **options})
    curriculum.rates = dict(rates)
    return curriculum


def drawn(curriculum, count=600):
    return Counter(curriculum.draw(number).template for number in range(count))


def test_tasks_of_groups_depend_on_seed_number_and_rates():
    first, again = (rated({"kind 0": 0.9}, 4) for _ in range(2))
    tasks = [first.draw(number) for number in range(20)]
    assert [again.draw(number) for number in reversed(range(20))] == tasks[::-1]
    assert [rated({}, 5).draw(number) for number in range(20)] != tasks
    assert len({task.task_id for task in tasks}) > 6


def test_templates_that_neither_always_succeed_nor_always_fail_come_more_often():
    rates = {"kind 0": 0.5, "kind 1": 1.0, "kind 2": 0.0}
    counts = drawn(rated(rates))
    assert counts["kind 0"] > 0.7 * 600
    assert min(counts.values()) > 20
    assert min(drawn(rated(rates, seek_mixed=False)).values()) > 160


def test_the_running_success_is_a_mean_of_as_many_groups_as_it_remembers():
    curriculum = rated({})
    curriculum.update_rates([group(CURRICULUM[0], 1.0, 0.0), group(CURRICULUM[1], 0.0)])
    assert curriculum.rates == {"kind 0": 0.5, "kind 1": 0.0}
    curriculum.update_rates([group(CURRICULUM[3], 1.0, 1.0), group(CURRICULUM[2], 0.0, 0.0, ending="failed")])
    assert curriculum.rates == {"kind 0": 0.75, "kind 1": 0.0}
    curriculum = rated({}, memory=3)
    rates = []
    for reward in (1.0, 0.0, 0.0, 0.0):
        curriculum.update_rates([group(CURRICULUM[0], reward)])
        rates.append(curriculum.rates["kind 0"])
    assert rates == pytest.approx([1, 1 / 2, 1 / 3, 2 / 9])
    other = rated({}, memory=3)
    other.load_state_dict(curriculum.state_dict())
    for each in (curriculum, other):
        each.update_rates([group(CURRICULUM[0], 1.0), group(CURRICULUM[1], 1.0)])
    assert other.state_dict() == curriculum.state_dict()
    with pytest.raises(ValueError, match="the curriculum has no tasks"):
        Curriculum([], 4)


def won(task, *lengths, reward=1.0):
    steps = [tuple(Step("", "", "", (number,), (7,), (-0.5,)) for number in range(length)) for length in lengths]
    return Group(0, task, [Trajectory(task.task_id, "g", own, reward, "exited") for own in steps])


def keeping(*groups, rates):
    curriculum = rated(rates)
    curriculum.store_successes(groups)
    return curriculum


def test_stored_successes_are_the_shortest_of_a_group_and_newest_of_a_task(monkeypatch):
    groups = won(CURRICULUM[0], 3, 1, 2), won(CURRICULUM[3], 2, reward=0.0), won(CURRICULUM[1], 1)
    curriculum = keeping(*groups, rates={"kind 0": 0.0, "kind 1": 1.0})
    ((first, advantage),) = curriculum.replay(50, Random(0))
    assert (first.task_id, len(first.steps), advantage) == (CURRICULUM[0].task_id, 1, 1.0)
    curriculum.store_successes([won(CURRICULUM[0], 2)])
    assert [len(item.steps) for item, _ in curriculum.replay(50, Random(0))] == [2]
    monkeypatch.setattr("agents.rollouts.curriculum._MAX_SUCCESSES", 2)
    curriculum = keeping(*(won(CURRICULUM[number], 1) for number in (0, 3, 6, 9)), rates={"kind 0": 0.5})
    assert {item.task_id for item, _ in curriculum.replay(99, Random(0))} == {CURRICULUM[6].task_id, CURRICULUM[9].task_id}


def test_templates_that_fail_most_are_replayed_most():
    curriculum = keeping(won(CURRICULUM[0], 1), won(CURRICULUM[1], 1), rates={"kind 0": 0.8, "kind 1": 0.2})
    names = [item.task_id for seed in range(400) for item, _ in curriculum.replay(1, Random(seed))]
    assert 0.7 < names.count(CURRICULUM[1].task_id) / len(names) < 0.9
    assert rated({}).replay(3, Random(0)) == []
