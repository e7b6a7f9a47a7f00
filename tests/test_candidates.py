"""`WebArenaLiteCandidates-v0` as libraries without text see it; what is in its arrays is in `test_sb3.py`."""

import pickle
import subprocess
import sys

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env
from lxml.html import fromstring

from tests.errors import expect_error
from webarena_gym.actions import Action, Kind
from webarena_gym.candidates import PAGE, ROW, _control_candidates, make
from webarena_gym.errors import SnapshotError
from webarena_gym.suite import load

ID = "WebArenaLiteCandidates-v0"
TASKS = [task.task_id for task in load("test") if task.template == "shopping.account_place"]


@pytest.mark.parametrize(
    ("markup", "forms"),
    [
        ("<a href=/x>Go</a>", [("link", Kind.CLICK, None, False)]),
        ("<button>Go</button>", [("button", Kind.CLICK, None, False)]),
        ("<input type=submit>", [("button", Kind.CLICK, None, False)]),
        ("<input type=checkbox checked>", [("box", Kind.CLICK, None, True)]),
        ("<input type=radio>", [("box", Kind.CLICK, None, False)]),
        ("<select><option>a<option selected>b</select>", [("option", Kind.SELECT, "a", False), ("option", Kind.SELECT, "b", True)]),
        ("<input value=tea>", [("type", Kind.TYPE, "tea", True), ("search", Kind.SEARCH, "tea", True), ("type", Kind.TYPE, "cup", False), ("search", Kind.SEARCH, "cup", False)]),
        ("<textarea>cup</textarea>", [("type", Kind.TYPE, "tea", False), ("search", Kind.SEARCH, "tea", False), ("type", Kind.TYPE, "cup", True), ("search", Kind.SEARCH, "cup", True)]),
    ],
)  # fmt: skip
def test_each_control_has_the_actions_of_its_kind(markup, forms):
    found = _control_candidates("Label [2]", fromstring(markup), "line", ["tea", "cup"])
    assert [(item.form, item.action, item.label, item.line, item[-1]) for item in found] == [
        (form, Action(kind, "Label [2]", argument), "Label", "line", is_set) for form, kind, argument, is_set in forms
    ]


@pytest.fixture(params=[False, True], ids=["Dict", "flat"])
def env(request, opened):
    return opened(gymnasium.make(ID, tasks=TASKS, flat=request.param))


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_gymnasium_s_own_check_passes(env):
    check_env(env, skip_render_check=True)


def test_masked_samples_are_candidates_and_equal_seeds_give_equal_episodes(env):
    def play():
        env.action_space.seed(3)
        observation, info = env.reset(seed=3)
        seen = [gymnasium.spaces.flatten(env.observation_space, observation)]
        over = False
        while not over:
            assert info["action_mask"].dtype == numpy.int8
            action = env.action_space.sample(info["action_mask"])
            assert info["action_mask"][action]
            observation, reward, terminated, truncated, info = env.step(action)
            assert env.observation_space.contains(observation)
            assert reward in (0.0, 1.0)
            assert not truncated
            seen.append(gymnasium.spaces.flatten(env.observation_space, observation))
            over = terminated
        return numpy.concatenate(seen)

    assert numpy.array_equal(play(), play())


def test_the_flat_form_is_the_dict_as_gymnasium_flattens_it():
    envs = [gymnasium.make(ID, tasks=TASKS, flat=flat, candidates=20) for flat in (False, True)]
    (parts, info), (flat, _) = (env.reset(seed=0) for env in envs)
    assert flat.shape == (20 * ROW + PAGE,)
    assert numpy.array_equal(gymnasium.spaces.flatten(envs[0].observation_space, parts), flat)
    assert numpy.array_equal(flat[: 20 * ROW].reshape(20, ROW)[:, 0], info["action_mask"])
    for env in envs:
        env.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasium_s_vector_envs_take_it(opened, mode):
    envs = opened(gymnasium.make_vec(ID, num_envs=3, vectorization_mode=mode, tasks=TASKS, flat=True))
    observations, infos = envs.reset(seed=0)
    assert observations.shape == (3, 48 * ROW + PAGE)
    assert infos["action_mask"].shape == (3, 48)
    _, rewards, terminated, _, _ = envs.step(numpy.zeros(3, int))  # to leave
    assert terminated.all()
    assert not rewards.any()


def test_the_keywords_of_the_env_are_taken_and_the_spec_makes_it_again(opened):
    env = opened(gymnasium.make(ID, tasks=TASKS, max_steps=1, candidates=8))
    env.reset(seed=0)
    info = env.step(1)[-1]
    assert info["success"] is False
    again = opened(gymnasium.make(pickle.loads(pickle.dumps(env.spec))))
    assert again.action_space == env.action_space


def test_the_number_of_candidates_is_an_integer(opened):
    assert opened(make(numpy.int64(8), tasks=TASKS)).action_space.n == 8
    for count in (2, True, 8.0, "8"):
        with expect_error(ValueError, "candidates", repr(count), 3):
            make(count, tasks=TASKS)


def flat(env, observation):
    return gymnasium.spaces.flatten(env.observation_space, observation)


def test_a_restored_episode_has_the_arrays_and_the_continuation_of_its_snapshot(env, opened):
    env.reset(seed=0)
    env.step(6)
    before, _, is_over, _, info = env.step(2)
    assert not is_over
    snapshot = env.get_wrapper_attr("snapshot")()
    arrays = []
    other = opened(gymnasium.make(env.spec))
    for copy in (env, other, env):
        observation, again = copy.get_wrapper_attr("restore")(pickle.loads(pickle.dumps(snapshot)))
        assert numpy.array_equal(flat(copy, observation), flat(env, before))
        assert numpy.array_equal(again["action_mask"], info["action_mask"])
        arrays.append([flat(copy, copy.step(action)[0]) for action in (1, 4)])  # 1 goes back
    assert all(numpy.array_equal(arrays[0], others) for others in arrays[1:])


def test_actions_for_a_page_that_is_no_longer_there_are_refused(env):
    env.reset(seed=0)
    text_env = env.unwrapped
    snapshot = text_env.snapshot()
    for change in (lambda: text_env.restore(snapshot), lambda: text_env.step('do(action="Wait")')):
        change()
        with expect_error(gymnasium.error.ResetNeeded, "env.unwrapped"):
            env.step(2)
        env.reset()
    with expect_error(SnapshotError, "with candidates"):
        env.get_wrapper_attr("restore")(snapshot)
    assert env.step(2)[-1]["step"] == 1  # the episode goes on


def test_vector_envs_restore_candidates(opened):
    envs = opened(gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=1, make_env=make, tasks=TASKS))
    envs.reset(seed=0)
    observations, *_, infos = envs.step([4, 6])
    arrays, info = envs.restore(1, envs.snapshot(0))
    for name, array in arrays.items():
        assert numpy.array_equal(array, observations[name][0])
    assert numpy.array_equal(info["action_mask"], infos["action_mask"][0])
    assert envs.step([1, 1])[-1]["step"].tolist() == [2, 2]


def test_it_needs_neither_torch_nor_a_library():
    code = (
        f"import sys, gymnasium, webarena_gym; e = gymnasium.make({ID!r}, tasks={TASKS!r}); e.reset(seed=0); e.step(1); "
        "print([name for name in ('torch', 'stable_baselines3', 'sb3_contrib', 'agents') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
