"""The vector env: Gymnasium's own results, at any pace, in any number of workers, and whatever befalls them."""

import gc
import os
import random
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress

import gymnasium
import numpy
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from tests import needs
from tests.errors import expect_error
from tests.odd_envs import give_up, make_odd
from tests.processes import children, ends
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import SnapshotError, TaskError, WorkerError
from webarena_gym.suite import load
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer
from webarena_gym.vector import Result, WebArenaLiteVector
from webarena_gym.vector.pool import CONTEXTS, Command, Pool

TASKS = [
    Task(str(number), ("shopping",), "__SHOPPING__", f"Task {number}", answer(exact_match="done"), world_seed=0)
    for number in range(6)
]
SAMPLE = {"tasks": TASKS, "elements": "label", "max_steps": 3}
CART, LIST = (f'do(action="Click", element="{label}")' for label in ("Add to Cart [2]", "My Wish List"))
DONE, WRONG, BACK = 'exit(message="done")', 'exit(message="no")', "go_backward()"
MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


def make_validation(**keywords):
    return WebArenaLite(split="validation", **keywords)


@contextmanager
def vector(num_envs=2, *, workers=2, **options):
    envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=num_envs, workers=workers, **{**SAMPLE, **options})
    try:
        yield envs
    finally:
        envs.close()


def odd(*arguments, **options):
    return vector(*arguments, make_env=make_odd, **options)


@pytest.fixture(scope="module")
def three():
    """Three envs for tests that leave them as they are."""
    with odd(3, workers=3, render_mode="ansi") as envs:
        yield envs


@contextmanager
def reference(num_envs=2, mode=AutoresetMode.NEXT_STEP):
    envs = SyncVectorEnv([lambda: WebArenaLite(**SAMPLE)] * num_envs, autoreset_mode=mode)
    try:
        yield envs
    finally:
        envs.close()


def plain(value):
    """What a batch holds, as lists and dictionaries that can be compared; NaN is equal to NaN."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, numpy.ndarray):
        return [str(value.dtype), plain(value.tolist())]
    return "NaN" if value != value else value  # noqa: PLR0124 - only NaN differs from itself


def replies(rng):
    search = 'do(action="Search", argument="lamp", element="Search entire store")'
    return rng.choice([CART, LIST, DONE, WRONG, BACK, search, "?"])


@pytest.fixture
def door(tmp_path):
    """A named pipe: an env that is told to await it does so until the test opens it."""
    path = tmp_path / "door"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("mode", MODES)
def test_everything_is_what_gymnasium_s_own_vector_env_returns(mode):
    with vector(3, autoreset_mode=mode) as envs, reference(3, mode) as sync:
        assert (envs.observation_space, envs.action_space) == (sync.observation_space, sync.action_space)
        assert envs.metadata["autoreset_mode"] is mode
        rng = random.Random(1)
        assert plain(envs.reset(seed=5)) == plain(sync.reset(seed=5))
        for _ in range(10):
            actions = tuple(replies(rng) for _ in range(3))
            got = envs.step(actions)
            assert plain(got) == plain(sync.step(actions))
            assert [column.dtype for column in got[1:4]] == [numpy.float64, numpy.bool_, numpy.bool_]
        assert plain(envs.reset(seed=[3, None, 4])) == plain(sync.reset(seed=[3, None, 4]))
        assert plain(envs.reset(options={"task": "4"})) == plain(sync.reset(options={"task": "4"}))


def test_reset_masks_select_envs_without_autoreset():
    with vector(autoreset_mode="Disabled") as envs, reference(mode=AutoresetMode.DISABLED) as sync:
        assert plain(envs.reset(seed=5)) == plain(sync.reset(seed=5))
        assert plain(envs.step([DONE, LIST])) == plain(sync.step([DONE, LIST]))
        with expect_error(ResetNeeded, "env 0"):
            envs.step([LIST, LIST])
        mask = numpy.array([True, False])
        options = {"reset_mask": mask}
        assert plain(envs.reset(options=options)) == plain(sync.reset(options={"reset_mask": mask}))
        assert options == {"reset_mask": mask}
        assert plain(envs.step([LIST, DONE])) == plain(sync.step([LIST, DONE]))
        with expect_error(ValueError, "reset_mask", [False, False], (2,)):
            envs.reset(options={"reset_mask": numpy.array([False, False])})


def test_the_mode_of_autoreset_is_named_by_its_value_or_its_name():
    for name in ("SameStep", "SAME_STEP"):
        with vector(autoreset_mode=name) as envs:
            assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_a_group_has_the_same_task_in_worlds_of_its_own(three):
    pages, infos = three.reset(options=[{"task": TASKS[2]}] * 3)
    assert (len({*pages}), infos["task_id"].tolist()) == (1, ["2"] * 3)
    one, other, third = three.step([CART, LIST, LIST])[0]
    assert one != other == third


def test_wrappers_of_gymnasium_accept_it():
    with odd(3, workers=3) as envs:  # of its own: in Gymnasium 1.1 a wrapper closes its envs when it is deleted
        wrapped, listed = RecordEpisodeStatistics(envs), DictInfoToList(envs)
        wrapped.reset(seed=1)
        *_, infos = wrapped.step([DONE, LIST, LIST])
        assert (infos["episode"]["r"].tolist(), infos["_episode"].tolist()) == ([1.0, 0.0, 0.0], [True, False, False])
        listed.reset(seed=1)
        *_, lists = listed.step([DONE, LIST, LIST])
        assert [info.get("success") for info in lists] == [True, None, None]


def test_attributes_and_methods_of_the_envs_can_be_reached(three):
    _, infos = three.reset(seed=[8, 9, 7])
    assert three.render() == tuple(infos["page"])
    assert three.np_random_seed == (8, 9, 7)
    assert three.call("task") == three.get_attr("task")
    for value, each in ((["a", "b", "c"], ("a", "b", "c")), ("all", ("all",) * 3)):
        three.set_attr("tag", value)
        assert three.get_attr("tag") == each
    with expect_error(ValueError, "tag", 2, 3):
        three.set_attr("tag", [1, 2])
    with expect_error(ValueError, "seed", 1, 3):
        three.reset(seed=[1])
    with expect_error(ValueError, "actions", "'exit'", 3):
        three.send("exit")
    with expect_error(TypeError, "actions", {0: "exit"}, 3):
        three.send({0: "exit"})
    with expect_error(TypeError, "env 1", "str", "int"):
        three.send(["exit()", 5, "exit()"])
    with expect_error(AttributeError, "'step_async'", "send()", "recv()"):
        three.step_async(["exit()"] * 3)
    with pytest.raises(AttributeError):
        three.get_attr("colour")
    with expect_error(TypeError, "sqlite3.Connection"):
        three.call("database", "shopping")


def test_workers_can_be_spawned_too():
    with vector(1, workers=1, context="spawn") as envs:
        assert plain(envs.reset(seed=1)[0]) == [WebArenaLite(**SAMPLE).reset(seed=1)[0]]


@pytest.mark.parametrize(("options", "error", "values"), [
    ({"num_envs": 0}, ValueError, ("num_envs", 0, 1)),
    ({"batch_size": 3}, ValueError, ("batch_size", 3, 1, 2)),
    ({"batch_size": 0}, ValueError, ("batch_size", 0, 1, 2)),
    ({"workers": 0}, ValueError, ("workers", 0, 1)),
    ({"num_envs": "2"}, ValueError, ("num_envs", "'2'", 1)),
    ({"num_envs": True}, ValueError, ("num_envs", True, 1)),
    ({"workers": numpy.True_}, ValueError, ("workers", "True_")),
    ({"batch_size": 1.5}, ValueError, ("batch_size", 1.5, 1, 2)),
    ({"max_episode_steps": True}, ValueError, ("max_episode_steps", True)),
    ({"context": "fork"}, ValueError, ("context", "'fork'")),
    ({"step_timeout_s": 0}, ValueError, ("step_timeout_s", 0)),
    ({"autoreset_mode": "Later"}, ValueError, ("'Later'", "'NextStep'", "'SameStep'", "'Disabled'")),
    ({"make_env": "WebArenaLite-v0"}, TypeError, ("make_env", "'WebArenaLite-v0'")),
    ({"make_env": dict}, TypeError, ("make_env", "{}")),
    ({"num_workers": 2}, TypeError, ("'num_workers'", "'workers'")),
    ({"split": "test"}, ValueError, ("split='test'", "tasks=")),
    ({"judge": "gpt-5"}, ValueError, ("judge", "'gpt-5'")),
    ({"split": "everything", "tasks": None}, TaskError, ("'everything'", "'train', 'validation', 'test'")),
    ({"colour": "red"}, TypeError, ("'colour'",)),
])  # fmt: skip
def test_bad_keywords_are_refused_before_any_worker_starts(options, error, values):
    with expect_error(error, *values):
        WebArenaLiteVector(**{"num_envs": 2, **SAMPLE, **options})


def test_tasks_of_splits_are_loaded_once():
    with vector(1, workers=1, make_env=make_validation, tasks=None) as envs:
        assert envs.call("tasks")[0] == load("validation")
    with vector(1, workers=1, split="validation", tasks=None) as envs:
        assert envs.call("tasks")[0] == load("validation")


def test_values_that_are_no_lists_are_refused():
    with vector(workers=1) as envs:
        envs.reset()
        for call, name in ((lambda: envs.step(3), "actions"), (lambda: envs.reset(options=3), "options")):
            with expect_error(TypeError, name, 3, 2):
                call()


def test_render_without_a_mode_warns_and_returns_none_for_each_env():
    with vector() as envs, pytest.warns(UserWarning, match=r"render\(\) returns None without a render mode"):
        assert envs.render() == (None, None)


def test_numbers_and_seeds_may_be_numpys():
    two, one = numpy.array([2, 1])
    with vector(two, workers=one, batch_size=one, max_episode_steps=one) as envs, vector(2, max_steps=1) as plain_envs:
        assert (type(envs.num_envs), type(envs.batch_size)) == (int, int)
        for seed in (two, numpy.array([3, 4]), [one, None]):
            expected = plain_envs.reset(seed=seed if seed is two else [seed and int(seed) for seed in seed])
            assert plain(envs.reset(seed=seed)) == plain(expected)
            assert envs.step([LIST, LIST])[3].all()


def play(num_envs, workers, batch_size, seed):
    """Play for a while in the order that comes about, and return what each env has seen."""
    order = random.Random(seed)
    seen = {env: [] for env in range(num_envs)}
    choices = {env: random.Random(env) for env in seen}
    with vector(num_envs, workers=workers, batch_size=batch_size) as envs:
        envs.async_reset(seed=7)
        while any(len(history) < 9 for history in seen.values()):
            pages, rewards, terminated, truncated, infos = envs.recv()
            assert len(pages) == len(infos["env_id"]) <= batch_size
            waiting = []
            for row, env in enumerate(infos["env_id"].tolist()):
                seen[env].append((pages[row], rewards[row], terminated[row], truncated[row], infos["messages"][row]))
                if len(seen[env]) < 9:
                    waiting.append(env)
            order.shuffle(waiting)
            envs.send([replies(choices[env]) for env in waiting], waiting)
    return seen


def test_equal_seeds_give_equal_episodes_in_any_number_of_workers_and_any_order():
    expected = play(4, workers=1, batch_size=4, seed=0)
    assert play(4, workers=2, batch_size=1, seed=1) == expected
    assert play(4, workers=3, batch_size=2, seed=2) == expected


def test_batches_contain_ready_envs_and_finally_the_rest(door):
    with odd(3, workers=3, batch_size=2) as envs:
        envs.reset(seed=1)
        envs.send([f"await {door}", LIST, LIST])
        pages, rewards, _, _, infos = envs.recv()
        assert sorted(infos["env_id"].tolist()) == [1, 2]
        assert (len(pages), rewards.shape, infos["step"].tolist(), infos["_step"].tolist()) == (2, (2,), [1, 1], [True, True])
        door.write_text("")
        assert envs.recv()[4]["env_id"].tolist() == [0]
        with expect_error(NoAsyncCallError, "send()", "recv()"):
            envs.recv()


def test_polling_returns_ready_envs_within_the_timeout(door):
    with odd(4, workers=2) as envs:
        envs.reset(seed=1)
        assert envs.poll() == {}
        envs.send([f"await {door}", LIST, LIST], [0, 1, 3])
        results = {}
        while len(results) < 2:
            results |= envs.poll(1.0)
        assert {env: (type(result), result.info["step"]) for env, result in results.items()} == {1: (Result, 1), 3: (Result, 1)}
        assert envs.poll(0.0) == envs.poll(0.05) == {}
        door.write_text("")
        ((env, result),) = envs.poll().items()
        assert (env, result.reward, result.terminated, result.truncated, result.info["step"]) == (0, 0.0, False, False, 1)
        assert envs.poll() == {}


def test_polling_reports_lost_episodes_and_raises_errors():
    with odd(3, workers=3, autoreset_mode="Disabled") as envs:
        envs.reset(seed=1)
        envs.send(["die", LIST, "blunder"])
        results, raised = {}, 0
        while len(results) + raised < 3:
            try:
                results |= envs.poll()
            except ZeroDivisionError:
                raised += 1
        assert sorted(results) == [0, 1]
        assert results[0].truncated
        assert numpy.isnan(results[0].reward)
        assert "SIGKILL" in results[0].info["failure"]
        envs.close()
        with pytest.raises(ClosedEnvironmentError):
            envs.poll(0.0)


def test_a_worker_that_hangs_is_noticed_however_short_the_polls_are():
    with odd(step_timeout_s=0.5) as envs:
        envs.reset(seed=1)
        envs.send(["hang"], [0])
        results = {}
        while not results:
            results = envs.poll(0.05)
        assert "gave no answer within 0.5 s and was killed" in results[0].info["failure"]
        assert (numpy.isnan(results[0].reward), results[0].truncated) == (True, True)


def test_a_command_that_cannot_be_handed_over_is_not_under_way(three):
    with expect_error(TypeError, "'generator'"):
        three.async_reset(options={"task": (number for number in ())})
    three.reset(seed=1)
    with expect_error(TypeError, "'generator'"):
        three.call("render", (number for number in ()))
    assert len(three.step([LIST] * 3)[0]) == 3


def test_an_env_does_one_thing_at_a_time(three):
    three.reset(seed=1)
    three.send([LIST], [1])
    for refused in (
        lambda: three.send([LIST], [1]),
        lambda: three.async_reset(env_ids=[1]),
        lambda: three.snapshot(1),
        lambda: three.step([LIST] * 3),
        three.reset,
    ):
        with expect_error(AlreadyPendingCallError, "env 1"):
            refused()
    three.send([LIST], [2])
    assert three.snapshot(0)
    assert sorted(three.recv()[4]["env_id"].tolist()) == [1, 2]
    assert three.step([LIST] * 3)[4]["step"].tolist() == [1, 2, 2]


def test_envs_are_named_by_their_numbers_and_get_one_action_and_one_seed_each(three):
    for refused in (
        lambda: three.send([LIST]),
        lambda: three.step(LIST),
        lambda: three.step([LIST] * 4),
        lambda: three.reset(seed=[1]),
        lambda: three.async_reset(seed=[1, 2], env_ids=[0]),
        lambda: three.reset(options=[{}]),
    ):
        with pytest.raises(ValueError, match="expected one for each of"):
            refused()
    for env_ids in ([0, 0], [3], [-1]):
        with expect_error(ValueError, "env_ids", "0 to 2"):
            three.send([LIST] * len(env_ids), env_ids)
    assert len(three.reset(seed=1)[0]) == 3


def test_sending_does_not_block_when_a_worker_is_busy_and_its_pipe_is_full(door):
    with odd(8, workers=1, batch_size=8) as envs:
        envs.reset(seed=1)
        envs.send([f"await {door}", *["x" * 90_000] * 7])
        door.write_text("")
        assert envs.recv()[4]["step"].tolist() == [1] * 8


def test_a_snapshot_goes_on_in_the_envs_of_all_workers():
    with odd(3, workers=3) as envs:
        with pytest.raises(ResetNeeded):
            envs.step([LIST] * 3)
        envs.reset(seed=1)
        envs.step([LIST, CART, DONE])
        here = envs.snapshot(0)
        for env in (1, 2):
            _, info = envs.restore(env, here)
            assert info["step"] == 1
        pages, *_ = envs.step([LIST] * 3)
        assert len(set(pages)) == 1
        assert envs.step([DONE] * 3)[2].all()
        with expect_error(SnapshotError, "Snapshot", "str"):
            envs.restore(1, "nothing")
        envs.reset(seed=1)
        envs.step(["die", LIST, LIST])
        assert envs.restore(0, here)[1]["step"] == 1  # a lost episode is taken up
        assert envs.step([DONE, LIST, LIST])[1][0] == 1.0


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_an_episode_that_was_over_is_over_when_it_is_restored(mode):
    alone = WebArenaLite(**SAMPLE)
    alone.reset(seed=1)
    alone.step(DONE)
    over = alone.snapshot()
    with vector(autoreset_mode=mode) as envs:
        envs.reset(seed=1)
        envs.step([LIST, LIST])
        _, info = envs.restore(0, over)
        assert info["step"] == 1
        if mode is AutoresetMode.DISABLED:
            with expect_error(ResetNeeded, "env 0"):
                envs.step([LIST, LIST])
            envs.reset(options={"reset_mask": numpy.array([True, False])})
        else:
            _, rewards, terminated, truncated, infos = envs.step([LIST, LIST])
            assert (rewards.tolist(), terminated.any(), truncated.any()) == ([0.0, 0.0], False, False)
            assert infos["step"].tolist() == [0, 2]
            assert "final_info" not in infos
        _, rewards, *_ = envs.step([DONE, LIST])
        assert rewards.tolist() == [1.0, 0.0]
        if mode is not AutoresetMode.SAME_STEP:  # one of its own is over, too
            ended = envs.snapshot(0)
            assert envs.restore(1, ended)[1]["step"] == len(ended.episode.turns)
            assert ended.episode.is_over
        with expect_error(SnapshotError, "digest"):
            envs.restore(0, over._replace(seal=b""))


def test_an_exception_in_a_worker_is_raised_here_with_its_traceback(three):
    three.reset(seed=1)
    with expect_error(ZeroDivisionError, "a blunder") as caught:
        three.step(["blunder", LIST, LIST])
    assert "in obey" in caught.value.__notes__[0]
    with expect_error(RuntimeError, "UnportableError", "ab"):
        three.step(["mumble", LIST, LIST])
    with expect_error(TypeError, "env 0", "str", "int"):
        three.step([1, 'do(action="Wait")', LIST])
    with expect_error(TaskError, "'nowhere'"):
        three.reset(options={"task": "nowhere"})
    three.reset(seed=1)
    assert three.step([DONE] * 3)[1].tolist() == [1.0] * 3


def test_errors_of_env_creation_in_workers_are_raised(monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_TEST_PARENT", str(os.getpid()))
    with vector(make_env=give_up) as envs, expect_error(ValueError, "no env here"):
        envs.reset()


FAULTS = {
    "die": "was killed by SIGKILL", "leave": "exited with status 3", "starve": "ran out of memory",
    "disconnect": "the server has gone",
}  # fmt: skip


def test_a_broken_worker_costs_the_episodes_in_it_and_no_reward():
    with odd() as envs, reference() as unhurt:
        expected = [unhurt.reset(seed=5), unhurt.step([LIST, LIST]), unhurt.step([DONE, LIST]), unhurt.step(["", LIST])]
        for fault, message in FAULTS.items():
            assert plain(envs.reset(seed=5)) == plain(expected[0])
            assert plain(envs.step([LIST, LIST])) == plain(expected[1])
            pages, rewards, terminated, truncated, infos = envs.step([fault, LIST])
            assert numpy.isnan(rewards[0])
            assert (terminated.tolist(), truncated.tolist()) == ([False, False], [True, False])
            assert message in infos["failure"][0]
            assert infos["_failure"].tolist() == [True, False]
            assert (pages[0], infos["goal"][0], infos["step"][0]) == (expected[1][0][0], expected[0][1]["goal"][0], 1)
            assert pages[1] == expected[2][0][1]
            assert plain(envs.step(["", LIST])) == plain(expected[3])  # the next tasks are those that would have come


def test_a_killed_worker_is_noticed_and_others_continue(door):
    with odd(4, batch_size=2) as envs:
        envs.reset(seed=1)
        before = envs.worker_pids
        envs.send([f"await {door}", LIST], [0, 1])
        os.kill(before[0], signal.SIGKILL)
        _, rewards, *_, infos = envs.recv()
        failures = dict(zip(infos["env_id"].tolist(), infos["failure"], strict=True))
        assert str(before[0]) in failures[0]
        assert failures[1] is None
        assert numpy.isnan(rewards[infos["env_id"].tolist().index(0)])
        with expect_error(WorkerError, "SIGKILL"):
            envs.snapshot(2)  # was in the same worker, and idle
        envs.send([LIST, LIST], [2, 3])
        _, rewards, _, truncated, infos = envs.recv()
        assert dict(zip(infos["env_id"].tolist(), truncated.tolist(), strict=True)) == {2: True, 3: False}
        _, rewards, *_, infos = envs.step([LIST] * 4)
        assert infos["step"].tolist() == [0, 2, 0, 2]
        assert rewards.tolist() == [0.0] * 4
        assert ends(before[0])
        assert envs.worker_pids[1] == before[1]


def test_a_reset_that_was_lost_is_done_again(tmp_path):
    with odd(3) as envs, reference(3) as unhurt:
        expected = unhurt.reset(seed=5)
        assert plain(envs.reset(seed=5, options={"odd": f"die_once {tmp_path / 'died'}"})) == plain(expected)


def test_repeatedly_failing_resets_raise_or_lose_the_episode():
    with odd() as envs:
        with expect_error(WorkerError, "env 0", "SIGKILL"):
            envs.reset(seed=1, options={"odd": "die"})
        envs.async_reset(options={"odd": "disconnect"})
        _, rewards, _, truncated, infos = envs.recv()
        assert numpy.isnan(rewards).all()
        assert truncated.all()
        assert infos["failure"].tolist() == ["the server has gone"] * 2
        envs.reset(seed=1)
        assert envs.step([DONE, DONE])[1].tolist() == [1.0, 1.0]


def kill(pid):
    with suppress(ProcessLookupError):  # it was killed before
        os.kill(pid, signal.SIGKILL)


def test_killing_workers_at_random_loses_only_the_episodes_that_were_in_them():
    rng = random.Random(3)
    tasks = [str(number % 6) for number in range(16)]
    outcomes = []
    with vector(4, batch_size=1, autoreset_mode="Disabled") as envs:
        files = os.listdir("/proc/self/fd")
        envs.async_reset(options=[{"task": tasks.pop()} for _ in range(4)])
        playing, lost = 4, False
        while playing:
            if rng.random() < 0.1:
                kill(rng.choice(envs.worker_pids))
            _, rewards, terminated, truncated, infos = envs.recv()
            (env,) = infos["env_id"].tolist()
            if not (terminated[0] or truncated[0]):
                if not lost:  # all, while an episode is under way for certain: with a free worker none is lost
                    for pid in envs.worker_pids:
                        kill(pid)
                    lost = True
                envs.send([LIST if infos["step"][0] == 0 else DONE], [env])
                continue
            outcomes.append((rewards[0], "failure" in infos))
            playing -= 1
            if tasks:
                envs.async_reset(options=[{"task": tasks.pop()}], env_ids=[env])
                playing += 1
        envs.reset(seed=1)  # so that both workers are there again
        assert len(os.listdir("/proc/self/fd")) == len(files)
    assert len(outcomes) == 16
    assert any(failed for _, failed in outcomes)
    assert all(numpy.isnan(reward) if failed else reward == 1.0 for reward, failed in outcomes)


def test_closing_ends_the_workers_whatever_they_do(door):
    with odd() as envs:
        pids = envs.worker_pids
        envs.reset(seed=1)
        envs.send(["hang", LIST])
        envs.close(terminate=True)
        assert all(ends(pid, 5) for pid in pids)
        envs.close()
        for refused in (envs.recv, envs.reset, lambda: envs.step([LIST] * 2), lambda: envs.get_attr("task")):
            with pytest.raises(ClosedEnvironmentError):
                refused()


def test_a_vector_env_that_nobody_holds_ends_its_workers():
    envs = WebArenaLiteVector(2, workers=2, **SAMPLE)
    pids = envs.worker_pids
    envs.reset(seed=1)
    del envs
    gc.collect()
    assert all(ends(pid, 5) for pid in pids)


SCRIPT = """
print("main", flush=True)
import os, signal, sys
import webarena_gym, gymnasium
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer
task = Task("1", ("shopping",), "__SHOPPING__", "Look", answer(exact_match="done"), world_seed=0)
class Wrapped(gymnasium.Wrapper):
    def step(self, action):
        if action == "hang":
            import threading
            threading.Event().wait()
        return self.env.step(action)
def make_env(**arguments):
    return Wrapped(gymnasium.make("WebArenaLite-v0", **arguments).unwrapped)
envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=2, tasks=[task], make_env=make_env)
envs.reset(seed=1)
print(*envs.worker_pids, flush=True)
"""


def run_script(tmp_path, ending):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + ending)
    process = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "main\n"
    return process, [int(pid) for pid in process.stdout.readline().split()]


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), pytest.param("1 / 0", 1, marks=pytest.mark.slow), ("os.kill(os.getpid(), signal.SIGKILL)", -9)],
)
def test_workers_end_with_the_script_which_needs_no_guard(tmp_path, ending, status):
    process, pids = run_script(tmp_path, ending)
    assert len(pids) == 2
    out, err = process.communicate(timeout=120)
    assert process.returncode == status
    assert out == ""
    assert err.count("Traceback") == (status == 1)
    assert all(ends(pid) for pid in pids)


def test_ctrl_c_ends_script_and_workers_without_a_word_from_these(tmp_path):
    process, pids = run_script(tmp_path, "print('here', flush=True)\nenvs.step(['hang', 'exit()'])")
    assert process.stdout.readline() == "here\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1
    assert all(ends(pid) for pid in pids)


@needs.chromium
def test_each_worker_has_a_chromium_of_its_own_and_takes_it_along():
    with vector(browser="chromium", render_mode="rgb_array") as envs, reference() as inprocess:
        assert plain(envs.reset(seed=5)) == plain(inprocess.reset(seed=5))
        assert plain(envs.step([LIST, DONE])) == plain(inprocess.step([LIST, DONE]))
        assert [frame.shape for frame in envs.render()] == [(720, 1280, 3)] * 2
        families = [children(pid) for pid in envs.worker_pids]
        assert all(families)
        os.kill(envs.worker_pids[0], signal.SIGKILL)
        *_, infos = envs.step([LIST, LIST])
        assert "SIGKILL" in infos["failure"][0]
        assert all(ends(pid) for pid in families[0])
        envs.reset(seed=2)
        families[0] = children(envs.worker_pids[0])
        assert families[0]
    assert all(ends(pid) for family in families for pid in family)


def test_forked_children_cannot_use_the_envs_of_their_parent(opened):
    pool = opened(Pool(WebArenaLite, 1, 1, 60.0, CONTEXTS[0]))
    pool._pid += 1  # what a child sees
    for use in (lambda: pool.submit(Command(0, "reset", ())), lambda: pool.wait(0), pool.kill, lambda: pool.pids):
        with pytest.raises(WorkerError, match="create new envs in the child"):
            use()
