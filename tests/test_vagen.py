"""The adapter to VAGEN, which no index has, by VAGEN's protocol."""

import asyncio

import pytest

from webarena_gym.actions import DIALECTS
from webarena_gym.integrations.vagen import WebArenaGym
from webarena_gym.suite import load

TASK = next(task for task in load("test") if task.template == "shopping.wish_list_add")
WEBRL = DIALECTS["webrl"].naming_by("label")


@pytest.mark.parametrize("concat", [True, False])
def test_vagen_s_loop_rewards_the_expert(concat):
    """As VAGEN's agent loop calls an env: system prompt, reset by seed, steps until done."""

    async def play(replies):
        env = WebArenaGym({"tasks": [TASK], "elements": "label", "max_steps": 5, "concat": concat})
        assert "do(action=" in (await env.system_prompt())["obs_str"]
        observation, info = await env.reset(seed=3)
        assert info["task_id"] == TASK.task_id
        assert TASK.intent in observation["obs_str"]
        steps = []
        for reply in replies:
            steps.append(await env.step(reply))
            assert (TASK.intent in steps[-1][0]["obs_str"]) != concat
        await env.close()
        return steps

    steps = asyncio.run(play([WEBRL.format(step.action) for step in TASK.solution]))
    assert [(reward, done) for _, reward, done, _ in steps] == [(0.0, False)] * 3 + [(1.0, True)]
    assert (steps[-1][3]["success"], steps[-1][3]["truncated"]) == (True, False)
    *_, (_, reward, done, info) = asyncio.run(play(["Hm."] * 5))
    assert (reward, done, info["success"], info["truncated"]) == (0.0, True, False, True)


def test_the_placeholder_of_pictures_does_not_come_from_a_page():
    env = WebArenaGym({"tasks": [TASK]})
    assert env._as_observation("a <image> b") == {"obs_str": "a <img> b"}
    asyncio.run(env.close())
