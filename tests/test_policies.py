import hashlib
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from agents.data.prompts import PromptEncoder, system_prompt, with_system_prompt
from agents.models.checkpoints import agent_record
from agents.rollouts.policies import ExpertReplies, RandomReplies, Request, ScriptedPolicy
from tests import tiny
from tests.errors import expect_error
from webarena_gym import suite as task_suite
from webarena_gym.env import WebArenaLite


@pytest.fixture(scope="module")
def env():
    env = WebArenaLite(tasks=task_suite.load("test")[:1], elements="label")
    yield env
    env.close()


def messages(text):
    return {"messages": [{"role": "user", "content": text}]}


def all_replies(policy, requests):
    policy.ask(requests)
    replies = {}
    while len(replies) < len(requests):
        replies |= dict(policy.replies())
    assert policy.replies() == []
    return replies


def test_a_scripted_policy_replies_at_once_and_once():
    policy = ScriptedPolicy(lambda request: f"{request.slot} at {request.info['step']}")
    policy.ask([Request(4, None, {"step": 0})])
    policy.ask([Request(2, None, {"step": 7})])
    assert [(slot, reply.text) for slot, reply in policy.replies()] == [(4, "4 at 0"), (2, "2 at 7")]
    assert policy.replies(0.0) == []


@pytest.mark.parametrize("choose", [RandomReplies(), ExpertReplies()], ids=["random", "expert"])
def test_policies_that_read_the_env_itself_need_it_in_this_process(choose):
    with expect_error(ValueError, "env 3", "workers=0"):
        ScriptedPolicy(choose).ask([Request(3, None, {"step": 0})])


def test_the_seed_decides_what_a_random_reply_is_and_the_expert_solves_its_task(env):
    _, info = env.reset(seed=1)
    replies = [RandomReplies()(Request(0, env, info, seed)) for seed in range(30)]
    assert replies == [RandomReplies()(Request(slot, env, info, slot)) for slot in range(30)]
    assert len(set(replies)) > 10
    expert, over = ExpertReplies(), False
    while not over:
        _, reward, terminated, truncated, info = env.step(expert(Request(0, env, info)))
        over = terminated or truncated
    assert reward == 1.0


def test_too_long_prompts_are_reported_at_once_and_replies_have_the_policy_version():
    policy = tiny.policy(max_prompt_tokens=20)
    policy.ask([Request(0, None, messages("Round 0")), Request(1, None, messages("Round 0 " * 20))])
    policy.engine.load(policy.engine._model, 4)
    ((slot, reply),) = [(slot, reply) for slot, reply in policy.replies(0.0) if reply.too_long]
    assert (slot, reply.text, reply.policy_version) == (1, "", 4)
    policy = tiny.policy()
    model = policy.engine._model
    assert all_replies(policy, [Request(0, None, messages("Round"))])[0].policy_version == 0
    policy.engine.load(model, 3)
    assert all_replies(policy, [Request(0, None, messages("Round"))])[0].policy_version == 3
    policy.close()
    with pytest.raises(RuntimeError, match="closed"):
        policy.ask([Request(0, None, messages("Round"))])


def digest(value):
    return hashlib.sha256(value.encode()).hexdigest()


# What agents were trained with is what they are used with, so these may not change.
@pytest.mark.parametrize(("style", "elements", "expected"), [
    ("act", "id", "1ecf8e46ed76d2b13ca78f0870ca25ca17561b7c80be9b3da89c17ea74862a45"),
    ("act", "label", "d8126c3b681b1acb5eb67a1c3cf8afb532f81c27f660c49480d3088000c47880"),
    ("think", "id", "29b4439595bc3d737952744d26594c150c7813cb998c478727377e685a25c228"),
    ("think", "label", "0a39cb7712cfac6a74d9f35846ae47e080d57c4825f37c8589cd51066cd1a2eb"),
])  # fmt: skip
def test_recorded_system_prompts_stay_as_they_are(style, elements, expected):
    assert digest(system_prompt(style, elements=elements)) == expected


CHAT = [
    {"role": "user", "content": "Task Instruction: Add the Blue Bag to the wish list.\n\nRound 0\n\n** Simplified html **"},
    {"role": "assistant", "content": 'do(action="Click", element="Blue Bag")'},
    {
        "role": "user",
        "content": "Round 1\n\nURL: http://shop.test/blue-bag.html\n<h1>Blue Bag</h1>\n<a>Add to Wish List</a> $3.00",
    },
]


@pytest.mark.parametrize("name", ["language-model-1.7m", "language-model-1.2m"])
def test_shipped_agents_read_the_tokens_that_they_were_trained_with(name, env):
    folder = Path("agents/checkpoints") / name
    encoder = PromptEncoder(AutoTokenizer.from_pretrained(folder), system_prompt(agent_record(folder)["system"]))
    for before in ([], [{"role": "system", "content": "What the env says."}]):
        (ids,) = encoder.encode_all([[*before, *CHAT]])
        assert digest(repr(ids)) == "44f60a81e8cc2a0bd00e41c976027456691004105d33a13f251c6ba75b8033de"
    text, info = env.reset(seed=0)
    (ids,) = encoder.encode_all([info["messages"]])
    assert encoder.tokenizer.decode(ids) == f"<|user|>{text}<|assistant|>"


def test_the_env_s_own_system_prompt_is_a_style(env):
    assert system_prompt("env", elements="label") == env.system_prompt
    _, info = env.reset(seed=0)
    assert with_system_prompt(info["messages"], env.system_prompt) == info["messages"]
    assert with_system_prompt(info["messages"], "") == info["messages"][1:]
