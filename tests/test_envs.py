"""The contract of envs, over every implementation of it."""

from contextlib import closing

import pytest

from agents.rollouts.envs import create_envs
from tests import tiny
from tests.errors import expect_error
from webarena_gym import suite as task_suite

TASKS = tiny.tasks(6)


@pytest.fixture(params=[0, 2], ids=["in process", "in workers"])
def workers(request):
    return request.param


def create(workers, **options):
    return closing(tiny.create_envs(TASKS, 3, workers=workers, **options))


def begin(envs, env_ids, seed=1):
    envs.async_reset([seed] * len(env_ids), [{"task": TASKS[env_id]} for env_id in env_ids], env_ids)


def wait_for(envs, count):
    results = {}
    while len(results) < count:
        results |= envs.poll(5.0)
    return dict(sorted(results.items()))


def test_envs_begin_and_act_one_by_one_and_each_result_is_handed_out_once(workers):
    with create(workers) as envs:
        assert envs.num_envs == 3
        assert envs.poll() == {}
        begin(envs, [0, 2])
        results = wait_for(envs, 2)
        assert {env_id: result.info["task_id"] for env_id, result in results.items()} == {0: "tiny/0", 2: "tiny/2"}
        assert {result[1:4] for result in results.values()} == {(0.0, False, False)}
        envs.send([tiny.reply_to(TASKS[2].target)], [2])
        begin(envs, [1])
        results = wait_for(envs, 2)
        assert (results[2].reward, results[2].terminated, results[2].info["success"]) == (1.0, True, True)
        assert results[1].info["task_id"] == "tiny/1"
        assert envs.poll() == {}
        begin(envs, [0])  # in the middle of its episode
        assert wait_for(envs, 1)[0].info["step"] == 0


def test_equal_seeds_give_equal_episodes_wherever_they_are_played(workers):
    with create(workers) as envs, create(0) as others:
        for these in (envs, others):
            begin(these, [0, 1, 2], seed=7)
        assert wait_for(envs, 3) == wait_for(others, 3)


def test_failures_end_the_episode_and_the_next_one_starts(workers):
    with create(workers, broken=True) as envs:
        begin(envs, [0])
        wait_for(envs, 1)
        envs.send(["anything"], [0])
        result = wait_for(envs, 1)[0]
        assert result.truncated
        assert "the browser is gone" in result.info["failure"]
        begin(envs, [0])
        assert "failure" not in wait_for(envs, 1)[0].info
    with create(workers) as envs:  # a bug is raised
        envs.async_reset([1], [{}], [0])
        with expect_error(KeyError, "'task'"):
            wait_for(envs, 1)


def test_local_envs_are_created_lazily_and_accessible():
    with create(0) as envs:
        begin(envs, [1])
        wait_for(envs, 1)
        assert envs.local(1).task is TASKS[1]
        assert envs.local(0) is envs.local(0) is not envs.local(1)


def test_the_real_env_is_the_same_in_either():
    tasks = task_suite.load("test")[:1]
    pages = []
    for workers in (0, 1):
        with closing(create_envs(tasks, 1, workers=workers, elements="label")) as envs:
            envs.async_reset([3], [{"task": tasks[0]}], [0])
            pages.append(wait_for(envs, 1)[0].info["page"])
    assert pages[0] == pages[1] != ""
