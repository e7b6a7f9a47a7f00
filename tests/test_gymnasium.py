"""What Gymnasium's own functions and wrappers, and libraries that call them, make of the env and its spaces."""

import pickle
from copy import deepcopy
from math import isnan

import gymnasium
import numpy
import pytest
from gymnasium.spaces import Text, Tuple
from gymnasium.vector.utils import batch_space as gymnasium_batch_space
from gymnasium.wrappers import NormalizeReward, RecordEpisodeStatistics, TimeLimit

from tests.errors import expect_error
from tests.odd_envs import make_odd
from tests.vector.test_pool import TASKS
from webarena_gym import suite
from webarena_gym.actions import DIALECTS
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import BrowserError, TaskError, WorkerError
from webarena_gym.spaces import CHARSET, MAX_OBSERVATION, MAX_REPLY, batch_space, reply_space, text_space
from webarena_gym.tasks import Expert

WAIT = 'do(action="Wait")'


def judged_task():
    """A task that is done by acts alone, so that an episode which is cut off at the right moment has earned its reward."""
    (task,) = suite.draw(["shopping.wish_list_add"], world_seed=1000, count=1)
    return task


def play(env, task):
    env.reset(options={"task": task})
    expert = Expert(task)
    steps, over = [], False
    while not over:
        page = env.unwrapped
        reply = expert.reply(page.page, page.observation)
        if reply.startswith("exit"):
            reply = WAIT
        step = env.step(reply)
        steps.append(step)
        over = step[2] or step[3]
    return steps


def acts(task):
    return sum(step.action.kind.name != "EXIT" for step in task.solution)


@pytest.mark.parametrize("options", [{}, {"max_episode_steps": 15}], ids=["max_steps", "both"])
def test_an_episode_that_is_truncated_by_the_env_is_judged(opened, options):
    task = judged_task()
    env = gymnasium.make("WebArenaLite-v0", tasks=[task], max_steps=acts(task), **options)
    steps = play(env, task)
    assert len(steps) == acts(task)
    assert (steps[-1][1:4], steps[-1][4]["success"]) == ((1.0, False, True), True)
    env.close()
    (only,) = play(opened(gymnasium.make("WebArenaLite-v0", tasks=[task], max_steps=1, **options)), task)
    assert (only[1:4], only[4]["success"]) == ((0.0, False, True), False)


@pytest.mark.parametrize("limited", [
    lambda task, limit: gymnasium.make("WebArenaLite-v0", tasks=[task], max_episode_steps=limit),
    lambda task, limit: TimeLimit(WebArenaLite(tasks=[task]), limit),
], ids=["make", "TimeLimit"])  # fmt: skip
def test_the_env_does_not_notice_gymnasiums_limit_and_can_judge_the_episode_afterwards(opened, limited):
    task = judged_task()
    env = opened(limited(task, acts(task)))
    last = play(env, task)[-1]
    assert last[1:4] == (0.0, False, True)
    assert "success" not in last[4]
    _, reward, *_, info = env.unwrapped.submit("")
    assert (reward, info["success"]) == (1.0, True)


def test_the_smaller_limit_counts_also_in_vector_envs():
    env = gymnasium.make("WebArenaLite-v0", tasks=TASKS, max_steps=2, max_episode_steps=5)
    env.reset()
    assert [env.step(WAIT)[3] for _ in range(2)] == [False, True]
    env.close()
    envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=1, tasks=TASKS, max_episode_steps=2)
    envs.reset(seed=1)
    assert [envs.step([WAIT] * 2)[3].tolist() for _ in range(2)] == [[False] * 2, [True] * 2]
    envs.close()
    with expect_error(ValueError, "max_episode_steps", 0):
        gymnasium.make_vec("WebArenaLite-v0", num_envs=1, tasks=TASKS, max_episode_steps=0)


@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
def test_specs_of_vector_envs_contain_the_limit_and_recreate_them(opened, mode):
    """The field `max_episode_steps` stays as the env was registered: Gymnasium sets it in `make` alone."""
    envs = opened(gymnasium.make_vec("WebArenaLite-v0", 2, vectorization_mode=mode, tasks=TASKS, max_episode_steps=1))
    assert (envs.spec.max_episode_steps, envs.spec.kwargs["max_episode_steps"]) == (None, 1)
    again = opened(gymnasium.make_vec(envs.spec))
    assert (type(again), again.num_envs) == (type(envs), 2)
    again.reset(seed=1)
    assert again.step([WAIT] * 2)[3].all()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasiums_own_vector_envs_work_and_judge_what_they_cut_off(opened, mode):
    envs = opened(gymnasium.make_vec("WebArenaLite-v0", 2, vectorization_mode=mode, tasks=TASKS, max_steps=1))
    assert len(envs.reset(seed=1)[0]) == 2
    _, *columns, infos = envs.step(['exit(message="done")', WAIT])
    assert [column.tolist() for column in columns] == [[1.0, 0.0], [True, False], [False, True]]
    assert infos["_success"].tolist() == [True, True]


def test_stable_baselines_makes_its_vector_envs(opened):
    env_util = pytest.importorskip("stable_baselines3.common.env_util", reason="pip install 'webarena-gym[baselines]'")
    from webarena_gym.candidates import CandidateActions  # noqa: PLC0415

    options = {"tasks": TASKS, "max_steps": 1, "elements": "label"}  # it asks for render_mode="rgb_array", and does without
    envs = opened(env_util.make_vec_env("WebArenaLite-v0", 2, env_kwargs=options, wrapper_class=CandidateActions))
    assert envs.reset()["candidates"].shape[0] == 2
    assert envs.step([0, 0])[2].tolist() == [True, True]


def fail(env, monkeypatch):
    """Let the browser of an env fail in its next step."""

    def broken(*_):
        raise BrowserError("the browser has gone")

    monkeypatch.setattr(type(env.unwrapped.backend.browser), "page", broken)


@pytest.mark.parametrize(("options", "error", "values"), [
    ({"task_id": "x"}, TaskError, ("'task_id'", "'task'")),
    ("shopping.cart_add/1000/0", TypeError, ("options", "str", "dict")),
    ({"task": ["shopping.cart_add/1000/0"]}, TaskError, ("list",)),
    ({"max_steps": 100}, ValueError, ("max_steps", 100, 15)),
])  # fmt: skip
def test_an_env_is_usable_after_a_reset_that_was_refused(opened, options, error, values):
    env = opened(gymnasium.make("WebArenaLite-v0", tasks=TASKS))
    with expect_error(error, *values):
        env.reset(options=options)
    env.reset(options={"max_steps": 15})
    assert env.step("exit()")[2]


@pytest.mark.parametrize("on_failure", ["nan", "zero", "raise"])
def test_a_lost_episode_ends_as_its_user_wants(opened, on_failure, monkeypatch):
    env = opened(WebArenaLite(tasks=TASKS, on_failure=on_failure))
    env.reset(seed=1)
    with monkeypatch.context() as patch:
        fail(env, patch)
        if on_failure == "raise":
            with pytest.raises(BrowserError, match="has gone"):
                env.step(WAIT)
        else:
            _, reward, terminated, truncated, info = env.step(WAIT)
            assert isnan(reward) == (on_failure == "nan")
            assert (terminated, truncated, info["failure"]) == (False, True, "the browser has gone")
            assert "success" not in info
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(WAIT)
    env.reset()
    assert env.step('exit(message="done")')[1] == 1.0


@pytest.mark.parametrize(
    ("mode", "on_failure"),
    [("NextStep", "nan"), ("NextStep", "raise"), ("SameStep", "zero"), ("SameStep", "raise"), ("Disabled", "nan")],
)
def test_a_lost_worker_ends_its_episodes_as_their_user_wants(mode, on_failure):
    envs = gymnasium.make_vec(
        "WebArenaLite-v0", 2, workers=2, tasks=TASKS, make_env=make_odd, on_failure=on_failure, autoreset_mode=mode
    )
    first, _ = envs.reset(seed=1)
    if on_failure == "raise":
        with pytest.raises(WorkerError):
            envs.step(["die", WAIT])
        envs.reset(seed=1)
    else:
        _, rewards, _, truncated, infos = envs.step(["die", WAIT])
        assert truncated.tolist() == [True, False]
        assert isnan(rewards[0]) == (on_failure == "nan")
        assert rewards[1] == 0.0
        lost = infos["final_info"] if mode == "SameStep" else infos
        assert "SIGKILL" in lost["failure"][0]
        if mode == "SameStep":
            assert (infos["final_obs"][0], infos["step"].tolist()) == (first[0], [0, 1])
        if mode == "Disabled":
            envs.reset(options={"reset_mask": numpy.array([True, False])})
        elif mode == "NextStep":
            envs.step([WAIT] * 2)
    assert envs.step(['exit(message="done")'] * 2)[1].tolist() == [1.0, 1.0]
    envs.close()


def test_wrappers_that_add_rewards_up_outlive_a_lost_episode(opened, monkeypatch):
    env = opened(NormalizeReward(RecordEpisodeStatistics(WebArenaLite(tasks=TASKS, on_failure="zero"))))
    env.reset(seed=1)
    with monkeypatch.context() as patch:
        fail(env, patch)
        env.step(WAIT)
    env.reset()
    _, reward, *_, info = env.step('exit(message="done")')
    assert reward > 0.0
    assert info["episode"]["r"] == 1.0


def test_task_ids_select_tasks_and_errors_suggest_other_draws(tmp_path, monkeypatch):
    assert [task.task_id for task in WebArenaLite(tasks="shopping.cart_add/1000/0").tasks] == ["shopping.cart_add/1000/0"]
    with expect_error(TaskError, "draw 0", "reddit.favourite_forum", "world 1") as caught:
        WebArenaLite(tasks="reddit.favourite_forum/1/0")
    named = str(caught.value).rsplit(" ", 1)[-1]
    assert [task.task_id for task in WebArenaLite(tasks=named).tasks] == [named]
    monkeypatch.chdir(tmp_path)
    for text, values in (
        ("shopping.no_such/1000/0", ("'shopping.no_such/1000/0'",)),
        ("shopping.cart_add/1000/-1", (-1, 0)), ("no.template/1/2", ("'no.template/1/2'",)), ("folder.of/tasks/1", ("folder.of/tasks/1", "task file")),
    ):  # fmt: skip
        with expect_error(TaskError, *values):
            WebArenaLite(tasks=text)


EVERY = [each.naming_by(naming) for each in DIALECTS.values() for naming in ("id", "label")]


@pytest.mark.parametrize("dialect", EVERY, ids=str)
def test_samples_are_actions_of_the_dialect(dialect):
    space = reply_space(dialect)
    space.seed(3)
    samples = [space.sample() for _ in range(300)]
    assert all(space.contains(sample) for sample in samples)
    kinds = {dialect.parse(sample).kind for sample in samples}
    assert {form.kind for form in dialect.forms} <= kinds
    space.seed(3)
    assert samples == [space.sample() for _ in range(300)]


def test_masks_follow_gymnasium_and_spaces_contain_the_dialect(opened):
    space, mask = reply_space(EVERY[0]), gymnasium.spaces.Text(1, charset=CHARSET)
    assert space.sample(mask=(0, None)) == ""
    assert len(space.sample(probability=(5, None))) == 5
    assert mask.character_set == space.character_set
    env = opened(gymnasium.make("WebArenaLite-v0", dialect="browsergym", elements="label"))
    assert env.action_space.dialect == env.unwrapped.dialect == DIALECTS["browsergym"].naming_by("label")
    assert env.action_space.max_length == MAX_REPLY
    assert all(env.unwrapped.dialect.parse(env.action_space.sample()) for _ in range(50))


@pytest.mark.parametrize("space", [text_space(MAX_OBSERVATION), reply_space(EVERY[0])], ids=["observation", "action"])
def test_spaces_print_in_a_line_and_are_gymnasium_s(space):
    assert len(repr(space)) < 100
    assert isinstance(space, Text)
    assert space == Text(space.max_length, min_length=0, charset=CHARSET)
    for other in (deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert other == space
        assert "a" * space.max_length in other
        assert "a" * (space.max_length + 1) not in other


@pytest.mark.parametrize("make", [batch_space, gymnasium_batch_space])
def test_batches_sample_apart_and_share_their_tables(make):
    space = reply_space(EVERY[0])
    space.seed(1)
    batch = make(space, 3)
    assert isinstance(batch, Tuple)
    assert batch.contains(batch.sample())
    assert len({batch.sample() for _ in range(5)}) == 5
    assert all(part.character_set is space.character_set for part in batch.spaces)
    own = [space.sample() for _ in range(5)]
    space.seed(1)
    other = deepcopy(space)
    assert own == [space.sample() for _ in range(5)] == [other.sample() for _ in range(5)]
