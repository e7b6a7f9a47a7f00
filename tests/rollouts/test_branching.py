from dataclasses import replace

import gymnasium
import pytest

from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Step, Trajectory
from agents.rollouts.branching import fork
from agents.rollouts.collector import EpisodeSpec
from agents.rollouts.policies import ExpertReplies, Reply, Request, ScriptedPolicy
from tests import tiny
from tests.errors import expect_error
from tests.odd_policies import Same
from webarena_gym.errors import BrowserError

TASK = tiny.tasks(1)[0]
EPISODE = EpisodeSpec(TASK, seed=5)
COIN = ScriptedPolicy(lambda request: tiny.reply_to(TASK.target if request.seed % 2 else "nothing"))
RIGHT = ScriptedPolicy(lambda _: tiny.reply_to(TASK.target))


def play(envs, *, starts=(0, 1), continuations=4, policy=None, trajectory=None, **options):
    return fork(envs, policy or COIN, EPISODE, trajectory or recorded(), starts=starts, continuations=continuations, **options)


def recorded():
    """An episode that clicks on nothing first, then on the right name."""
    env = tiny.TinyShop()
    _, info = env.reset(seed=EPISODE.seed, options={"task": TASK})
    steps = []
    for reply in (tiny.reply_to("nothing"), tiny.reply_to(TASK.target)):
        page = info["page"]
        _, reward, _, _, info = env.step(reply)
        steps.append(Step(page, reply, info["action_error"]))
    return Trajectory(TASK.task_id, TASK.intent, tuple(steps), reward, "exited")


def returns(trajectory):
    return [step.continuations for step in trajectory.steps]


@pytest.mark.parametrize("num_envs", [1, 3])
def test_continuations_are_as_many_as_were_asked_for_and_the_rest_stays(num_envs):
    forked = play([tiny.TinyShop() for _ in range(num_envs)], policy=RIGHT)
    assert returns(forked) == [(1.0,) * 4] * 2
    assert replace(forked, steps=recorded().steps) == recorded()


def test_the_step_limit_is_that_of_the_whole_episode():
    never = ScriptedPolicy(lambda _: "no")
    requests = []
    counting = ScriptedPolicy(lambda request: requests.append(request.info["step"]) or "no")
    assert returns(play([tiny.TinyShop()], policy=never)) == [(0.0,) * 4] * 2
    play([tiny.TinyShop()], policy=counting, continuations=1)
    assert requests == [0, 1, 1]  # two steps from the first, one from the second


def test_equal_seeds_give_equal_continuations_on_any_number_of_envs():
    one, three = (play([tiny.TinyShop() for _ in range(count)], continuations=12, seed=1) for count in (1, 3))
    assert returns(one) == returns(three)
    assert {0.0, 1.0} == set(returns(one)[1])  # and the continuations of one step differ
    assert returns(one) == returns(play([tiny.TinyShop()], continuations=12, seed=1))
    assert returns(one) != returns(play([tiny.TinyShop()], continuations=12, seed=2))


def test_only_the_chosen_steps_are_forked_and_one_that_is_not_there_is_refused():
    assert returns(play([tiny.TinyShop()], policy=RIGHT, starts=[1], continuations=2)) == [(), (1.0, 1.0)]
    assert returns(play([tiny.TinyShop()], starts=[])) == [(), ()]
    with expect_error(ValueError, "step 2", "0 to 1"):
        play([tiny.TinyShop()], starts=[2])


def test_failed_forks_are_omitted_and_too_long_prompts_fail():
    class Fragile(tiny.TinyShop):
        def step(self, action):
            if action == "break":
                raise BrowserError("the browser is gone")
            return super().step(action)

    breaking = ScriptedPolicy(lambda request: "break" if request.seed % 2 else tiny.reply_to(TASK.target))
    first, _ = returns(play([Fragile()], policy=breaking, continuations=20))
    assert 0 < len(first) < 20
    assert set(first) == {1.0}

    assert returns(play([tiny.TinyShop()], policy=Same(Reply("", too_long=True)))) == [(0.0,) * 4] * 2
    assert returns(play([tiny.TinyShop()], policy=Same(Reply("", failure="the engine is gone")))) == [(), ()]


def test_a_replay_that_goes_astray_is_refused():
    first, second = recorded().steps
    other = replace(recorded(), steps=(first, replace(second, page="another")))
    with expect_error(ValueError, "step 1"):
        play([tiny.TinyShop()], trajectory=other)


def test_a_real_episode_is_continued_from_its_middle():
    (task,) = draw_tasks([1], 1, templates=["shopping.cart_add"])
    with gymnasium.make("WebArenaLite-v0", tasks=[task], disable_env_checker=True) as env:
        _, info = env.reset(seed=0, options={"task": task})
        expert, steps, over = ExpertReplies(), [], False
        while not over:
            page = info["page"]
            reply = expert(Request(0, env.unwrapped, info))
            _, reward, terminated, truncated, info = env.step(reply)
            steps.append(Step(page, reply))
            over = terminated or truncated
        trajectory = Trajectory(task.task_id, task.intent, tuple(steps), reward, "exited")
        last = len(steps) - 1
        leave = ScriptedPolicy(lambda _: steps[-1].reply)
        forked = fork([env], leave, EpisodeSpec(task, 0), trajectory, starts=[0, last], continuations=2)
    assert reward == 1
    assert returns(forked) == [(0.0, 0.0), *[()] * (last - 1), (1.0, 1.0)]
