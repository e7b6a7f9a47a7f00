"""The reward by items: their weights, when they are satisfied, and that success satisfies all."""

from math import isclose

import pytest

from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.evaluators.checklist import build_checklist, completion, f1, update
from webarena_gym.suite import draw
from webarena_gym.tasks import Expert

TEMPLATES = (
    "shopping.wish_list_add",
    "shopping.cart_add",
    "wikipedia.birthplace_of_maker",
    "reddit.subscription",
    "gitlab.star_one",
)
TASKS = draw(TEMPLATES, world_seed=5, count=1)
EMPTY = {"before": None, "after": None}


def change(key, before, after, table="item"):
    return Change("shopping", table, (key,), before, after, {})


ADDED, CHANGED, REMOVED = (
    change(1, None, {"name": "a", "count": 2}),
    change(2, {"x": 1, "y": 1}, {"x": 2, "y": 1}),
    change(3, {"x": 1}, None),
)


def test_weights_sum_to_one_and_success_comes_last():
    for pages in range(4):
        for changes in ([], [ADDED], [ADDED, CHANGED, REMOVED]):
            items = build_checklist([f"http://shop.test/{page}" for page in range(pages)], changes)
            assert isclose(sum(item.weight for item in items), 1)
            assert items[-1].weight == (0.5 if pages or changes else 1)
            assert [str(item) for item in items][-1] == "solve the task"
            assert completion(items, (None,) * len(items)) == 0
            solved = update(items, (None,) * len(items), step=3, url="", changes=(), is_solved=True)
            assert solved == (3,) * len(items)
            assert completion(items, solved) == 1


@pytest.mark.parametrize(
    ("required", "made", "counts"),
    [
        (ADDED, change(9, None, {"name": "a", "count": 2}), True),
        (ADDED, change(9, None, {"name": "b", "count": 2}), False),
        (ADDED, change(9, None, {"name": "a", "count": 2}, "other"), False),
        (CHANGED, change(2, {"x": 1, "y": 1}, {"x": 2, "y": 5}), True),
        (CHANGED, change(2, {"x": 1, "y": 1}, {"x": 3, "y": 1}), False),
        (CHANGED, change(4, {"x": 1, "y": 1}, {"x": 2, "y": 1}), False),
        (CHANGED, change(2, {"x": 1, "y": 1}, None), False),
        (REMOVED, change(3, {"x": 1}, None), True),
        (REMOVED, change(3, {"x": 1}, {"x": 2}), False),
    ],
)
def test_a_change_counts_with_equal_values(required, made, counts):
    items = build_checklist([], [required])
    assert update(items, (None, None), step=1, url="", changes=[made], is_solved=False) == ((1 if counts else None), None)


def test_pages_count_in_their_order_and_once():
    one, two = "http://shop.test/1", "http://shop.test/2"
    items, satisfied = build_checklist([one, two, one], []), (None, None, None)
    for step, (url, expected) in enumerate(
        ((two, (None, None)), (f"{one}#top", (2, None)), (one, (2, None)), (two, (2, 4))), 1
    ):
        satisfied = update(items, satisfied, step=step, url=url, changes=(), is_solved=False)
        assert satisfied[:2] == expected
    assert satisfied[2] is None


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.template)
def test_the_solution_gains_one_and_its_parts_less(task):
    env = WebArenaLite(tasks=[task], reward="checklist", elements="label")
    _, info = env.reset(seed=0)
    assert isclose(sum(item["weight"] for item in info["checklist"]), 1)
    assert not any(item["satisfied_at"] for item in info["checklist"])
    expert, rewards, done, snapshots = Expert(task), [], False, []
    while not done:
        snapshots.append(env.snapshot())
        _, reward, terminated, truncated, info = env.step(expert.reply(env.page, env.observation))
        rewards.append(reward)
        done = terminated or truncated
    assert info["success"]
    assert isclose(sum(rewards), 1)
    assert rewards[-1] >= 0.5
    assert all(item["satisfied_at"] for item in info["checklist"])
    env.restore(snapshots[-1])
    _, reward, *_, info = env.step('exit(message="surely not")')
    if not info["success"]:
        assert reward == 0
        assert sum(rewards[:-1]) <= 0.5
    plain = WebArenaLite(tasks=[task], elements="label")
    assert "checklist" not in plain.restore(snapshots[-1])[1]
    plain.reset(seed=0)
    assert not any(item["satisfied_at"] for item in env.restore(plain.snapshot())[1]["checklist"])
    for each in (env, plain):
        each.close()


@pytest.mark.parametrize(
    ("completed", "steps", "needed", "expected"),
    [
        (1.0, 4, 4, 1.0),
        (1.0, 2, 4, 1.0),  # a tool saved two steps: the economy is at most 1
        (1.0, 8, 4, 2 / 3),  # recall 1, precision 4 / 8: 2 * 1 * 0.5 / 1.5
        (0.5, 8, 4, 1 / 3),  # recall 0.5, precision 0.5 * 4 / 8 = 0.25: 2 * 0.5 * 0.25 / 0.75
        (0.0, 1, 4, 0.0),
        (1.0, 7, 0, 1.0),  # without a reference solution the economy is 1
        (1.0, 0, 4, 1.0),  # an answer that was submitted without a step
    ],
)
def test_f1_of_completion_and_economy(completed, steps, needed, expected):
    assert f1(completed, steps=steps, needed=needed) == pytest.approx(expected)


@pytest.mark.parametrize("detour", [0, 2])
def test_f1_is_given_at_the_end_and_falls_with_detours(detour):
    task = TASKS[0]
    env = WebArenaLite(tasks=[task], reward="f1", elements="label")
    env.reset(seed=0)
    expert, rewards, done = Expert(task), [], False
    for _ in range(detour):
        rewards.append(env.step("this is no action")[1])
    while not done:
        _, reward, terminated, truncated, info = env.step(expert.reply(env.page, env.observation))
        rewards.append(reward)
        done = terminated or truncated
    needed = len(task.solution)
    assert info["success"]
    assert not any(rewards[:-1])
    # recall 1 and precision n / (n + detour), whose F1 value is 2 n / (2 n + detour)
    assert rewards[-1] == pytest.approx(2 * needed / (2 * needed + detour))
    env.close()


def test_a_checklist_needs_the_embedded_sites():
    for options in ({"rules": "webarena"}, {"application": "nowhere"}, {"reward": "f2"}):
        with pytest.raises(ValueError, match=r"reward|application|nowhere"):
            WebArenaLite(**{"reward": "checklist", **options})
