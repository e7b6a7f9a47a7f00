"""Training with tools: the rewards of each method by hand, what a rollout records, and that results of tools are never trained on."""

import json
from contextlib import closing
from functools import partial
from itertools import pairwise
from math import sqrt
from random import Random
from types import SimpleNamespace
from typing import get_args

import gymnasium
import pytest
import torch

from agents.data.demonstrations import DemonstrationSettings, draw_tasks, episodes
from agents.data.prompts import PromptEncoder, Style, system_prompt
from agents.data.trajectories import EpisodeSample, Step, Trajectory, episode_sample, read_trajectories, write_trajectories
from agents.evaluation.search import create_agent_encoder
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.grpo import trajectory_advantages
from agents.methods.tool_use import (
    artist_reward,
    episode_reward,
    final_answer,
    search_r1_reward,
    turn_advantages,
    webdancer_reward,
)
from agents.models.batches import batch_logprobs, pack
from agents.models.checkpoints import agent_record
from agents.models.pointer.pages import parse_page
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.curriculum import Group
from agents.rollouts.envs import create_envs
from agents.rollouts.policies import ScriptedPolicy
from agents.settings import recorded_tools
from agents.train_rl import make_settings, train
from agents.training.cloning import _create_encoder
from agents.training.language_models import LanguageModel
from agents.training.losses import token_logprobs
from agents.training.metrics import read_metrics
from agents.training.settings import BCSettings
from benchmarks.tool_use import ARMS, ELEMENT, ENV_ID, LABEL, lookup_episodes
from tests import tiny
from tests.errors import expect_error
from tests.methods.episodes import method_of
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.suite import load

pytest.importorskip("pydantic")
WEBRL = DIALECTS["webrl"]
TASK = next(task for task in load("tools") if task.template == "tools.mayor_of_birthplace")
FOUND = "<information>\n[1] Orr: Mayor: Ada  Bell\n</information>\n<h1>Home</h1>"
CALL, EXIT, CHATTER = 'lookup(query="Orr")', 'exit(message="Ada Bell")', "I should search."


def episode(*steps, reward=0.0, ending="exited"):
    """Return an episode of steps, each a reply, the outcome of its call, its credit and its page."""
    made = [
        Step(page, reply, "", (1, number), (2,), (-1.0,), credit=credit, tool=tool)
        for number, (reply, tool, credit, page) in enumerate((*step, *PLAIN[len(step) :]) for step in steps)
    ]
    return Trajectory("t", "goal", tuple(made), reward, ending)


PLAIN = ("", "", 0.0, "page")
CALLED, FAILED = (CALL, "ok"), (CALL, "failed")
EXITED, INFORMED, LOST = (EXIT,), (EXIT, "", 0.0, FOUND), (CHATTER,)


@pytest.mark.parametrize(("item", "search_r1", "artist", "webdancer"), [
    # Success in well-formed replies. ARTIST: 2 for the answer, 0.5 for the form, 1 of 1 calls executed.
    (episode(CALLED, EXITED, reward=1.0), 1.0, 3.5, 1.0),
    # Success with a reply that is no action. Search-R1: 1 - 0.2. ARTIST: 2 + 0 + 1. WebDancer: 0.9.
    (episode(LOST, CALLED, EXITED, reward=1.0), 0.8, 3.0, 0.9),
    # A wrong answer in well-formed replies, of whose two calls one failed: 0.2; 0 + 0.5 + 1/2; 0.1.
    (episode(CALLED, FAILED, EXITED), 0.2, 1.0, 0.1),
    # The result of the call contains the reference answer: 0.2 + 0.1. No second call: 0.5 + 1.
    (episode(CALLED, INFORMED), 0.3, 1.5, 0.1),
    # Neither form nor success, but an answer: 0.1. ARTIST: 0 + 0 + 0 of 0 calls.
    (episode(LOST, EXITED), 0.1, 0.0, 0.0),
    # Neither form nor answer.
    (episode(LOST, ending="truncated"), 0.0, 0.0, 0.0),
    # No reply at all, because the first prompt was too long.
    (episode(ending="too_long"), 0.0, 0.0, 0.0),
])  # fmt: skip
def test_rewards_of_the_form_by_hand(item, search_r1, artist, webdancer):
    assert search_r1_reward(item, ["ada bell", "nobody"]) == pytest.approx(search_r1)
    assert artist_reward(item) == pytest.approx(artist)
    assert webdancer_reward(item) == pytest.approx(webdancer)


def settings(**options):
    return make_settings("tool_use", model="m", out="out", **options)


@pytest.mark.parametrize(("result", "answer", "found"), [
    ("founded in 1830", "3", False), ("1,300 people", "300", False), ("3.5 km", "3", False), ("the 3 towns", "3", True), ("Mayor: ADA\n Bell.", "Ada Bell", True),
    ("Adamant", "Ada", False), ("$4.50", "4.50", True), ("ends in 1830.", "1830", True), ("C", "C++", False), ("C++ code", "C++", True), ("3", "", False),
])  # fmt: skip
def test_answers_match_whole_words_within_the_result_tag(result, answer, found):
    for tag in ("information", "found"):
        item = episode(CALLED, (EXIT, "", 0.0, f"<{tag}>\n{result}\n</{tag}>\n<h1>Home</h1>"))
        own = settings(tool_reward="search_r1", keywords=() if tag == "information" else (f'tool_tag="{tag}"',))
        assert episode_reward(item, own, [answer]) == pytest.approx(0.3 if found else 0.2)


def test_rewards_of_items_are_sums_and_a_failed_call_costs():
    item = episode((CALL, "failed", 0.25), (EXIT, "", 0.5), reward=0.0)
    for kind in ("checklist", "f1"):
        assert episode_reward(item, settings(tool_reward=kind), ()) == 0.75
        assert episode_reward(item, settings(tool_reward=kind, failed_call_cost=0.25), ()) == 0.5
    assert episode_reward(item, settings(failed_call_cost=0.25), ()) == -0.25
    assert final_answer(item) == "Ada Bell"


def test_torls_rewards_of_one_and_minus_one_have_the_advantages_of_one_and_zero():
    # Means 1/4 and -1/2, deviations sqrt(3)/4 and sqrt(3)/2: in both cases (3/4) / (sqrt(3)/4) = sqrt(3) for the success.
    assert trajectory_advantages([1, 0, 0, 0]) == pytest.approx([sqrt(3), *[-1 / sqrt(3)] * 3])
    assert trajectory_advantages([1, -1, -1, -1]) == pytest.approx(trajectory_advantages([1, 0, 0, 0]))


@pytest.mark.parametrize(("options", "expected"), [
    # Rewards 1 and 0.5, whose mean is 0.75: the advantages are not divided by the deviation, which is 0.25.
    ({"standardized": False}, [0.25, 0.25, -0.25]),
    ({}, [1.0, 1.0, -1.0]),
    # Means of the turns: (0.25 + 0.5) / 2 = 0.375, and 0.75 of the only second turn.
    ({"standardized": False, "credit": "turn"}, [-0.125, 0.0, 0.125]),
])  # fmt: skip
def test_advantages_of_items(options, expected):
    own = method_of("tool_use", [TASK], tool_reward="checklist", **options)
    group = [episode((CALL, "ok", 0.25), (EXIT, "", 0.75), reward=1.0), episode((EXIT, "", 0.5))]
    assert own.advantages(group) == pytest.approx(expected)
    trained, metrics = own.batch([Group(0, TASK, group)], Random(0))
    assert [item.advantage for item in trained] == pytest.approx(expected)
    assert (metrics["tool_calls"], metrics["failed_calls"], metrics["tool_reward"]) == (0.5, 0.0, 0.75)


def test_turns_are_compared_with_the_same_turn_of_other_episodes():
    assert turn_advantages([]) == []
    assert turn_advantages([[0.5], [0.5]]) == [0.0, 0.0]
    assert sum(turn_advantages([[1.0, 0.0, 0.5], [0.0], [0.5, 0.5]])) == pytest.approx(0)


TURNS = {"tool_reward": "checklist", "credit": "turn", "standardized": False}


def test_settings_without_sense_are_rejected(tmp_path):
    for options, values in (
        ({"advantages": "forks"}, ("advantages", "'forks'")),
        ({"credit": "turn"}, ("credit", "'turn'")),
        ({**TURNS, "standardized": True}, ("standardized", True, "'turn'")),
        ({**TURNS, "failed_call_cost": 0.5}, ("failed_call_cost", 0.5, 0.0, "'turn'")),
        ({**TURNS, "advantages": "gigpo"}, ("advantages", "'gigpo'", "'trajectory'", "'turn'")),
        ({"standardized": False, "advantages": "state"}, ("advantages", "'state'")),
        *(({"system": style}, ("system", f"'{style}'", "'env'")) for style in get_args(Style) if style not in ("env", "none")),
        ({"constrained": True}, ("constrained", True)),
        ({"tool_budget": 0}, ("tool_budget", 0)),
        ({"failed_call_cost": -1}, ("failed_call_cost", -1)),
    ):
        with expect_error(ValueError, *values):
            settings(**options)


SUM = next(task for task in load("tools") if task.template == "tools.pages_of_genre")
BROWSED = [WEBRL.format(step.action) for step in TASK.solution]


@pytest.mark.parametrize(("task", "tools", "calls"), [
    (TASK, [], 0), (TASK, ["table_sql"], 0), (TASK, ["lookup"], {1, 2, 3}), (SUM, ["lookup"], 0), (SUM, ["table_sql"], 0), (SUM, ["lookup", "table_sql"], 2),
])  # fmt: skip
def test_demonstrations_call_the_tools_that_serve_the_task_and_their_results_support_each_step(task, tools, calls):
    keywords = {"tools": tools, "tool_budget": 4} if tools else {}
    counts = set()
    for seed in range(8 if task is TASK else 1):
        (steps,) = episodes([task], seed=seed, elements="label", window=600, max_steps=8, thoughts=False, **keywords)
        replies = [step.reply for step in steps]
        called = [reply for reply in replies if reply.startswith(("lookup(", "table_sql("))]
        counts.add(len(called))
        if not called:
            assert task is SUM or replies == BROWSED
        for before, reply in pairwise(replies):
            assert not (before in called and reply.startswith("do(") and task is TASK)  # a call leaves the page as it is
        with closing(WebArenaLite(tasks=[task], elements="label", window=600, max_steps=8, **keywords)) as env:
            env.reset(seed=0)
            results = [env.step(reply) for reply in replies]
        assert (results[-1][1], results[-1][2]) == (1.0, True)
        assert results[-1][-1].get("tools", {"failed": 0})["failed"] == 0
    assert counts == (calls if isinstance(calls, set) else {calls})


def test_thoughts_before_calls_name_what_is_looked_up():
    (steps,) = episodes([TASK], expert_thoughts="short", tools=["lookup"], elements="label", window=600, seed=1)
    for step in steps:
        if "<answer>lookup(query=" in step.reply:
            title = step.reply.partition('query="')[2].partition('"')[0]
            assert f'I look up "{title}".</think>' in step.reply


def test_a_clone_sees_its_tools_in_its_prompt_and_training_and_evaluation_keep_them(tmp_path):
    settings = BCSettings(model="small", out=tmp_path, system="env", tools=("lookup",), tool_budget=2, window=600)
    assert "lookup(" in _create_encoder(settings, None, SimpleNamespace()).system
    tiny.save_clone(tmp_path / "clone", **settings.agent())
    folder = str(tmp_path / "clone")
    trained = make_settings("tool_use", model=folder, out=tmp_path / "run")
    played = EvaluationSettings(policy=folder, **policy_defaults(folder))
    plain = make_settings("grpo", model=folder, out=tmp_path / "run")
    for made in (trained, played, plain):
        assert {**made.env_arguments(), "variation": "content"}.items() >= {
            "tools": ["lookup"],
            "tool_budget": 2,
            "window": 600,
        }.items()
        assert made.system == "env"
    assert trained.agent()["keywords"] == plain.agent()["keywords"] == settings.agent()["keywords"]
    assert make_settings("tool_use", model=folder, out=tmp_path / "run", tools=("table_sql",)).env_arguments()["tools"] == [
        "table_sql"
    ]


def test_a_file_of_demonstrations_with_calls_gives_the_clone_their_tools(tmp_path):
    written = DemonstrationSettings(out=tmp_path / "demos.jsonl", tools=("lookup",), tool_budget=3)
    assert recorded_tools(written.agent()) == {"tools": ("lookup",), "tool_budget": 3}
    with expect_error(ValueError, "mistakes", 0.1, "tools", ("lookup",)):
        DemonstrationSettings(out=tmp_path / "demos.jsonl", tools=("lookup",), mistakes=0.1)
    with expect_error(ValueError, "mistakes", 0.1, "tools", ("lookup",)):
        BCSettings(model="small", out=tmp_path, tools=("lookup",), mistakes=0.1)


REPLIES = [
    CALL,
    'lookup(query="Orr", k=99)',
    "nothing at all",
    *(WEBRL.format(step.action) for step in TASK.solution),
]


def scripted_episodes(tmp_path, **env):
    """Play the same replies in envs with tools, and return the episodes from their file."""
    envs = create_envs([TASK], 2, tools=["lookup"], elements="label", max_steps=30, **env)
    policy = ScriptedPolicy(lambda request: REPLIES[request.info["step"]])
    made = Collector(envs, policy).collect([EpisodeSpec(TASK, 0, number) for number in range(2)])
    envs.close()
    write_trajectories(tmp_path / "episodes.jsonl", made)
    assert read_trajectories(tmp_path / "episodes.jsonl") == made
    return made


@pytest.mark.parametrize("reward", ["binary", "checklist", "f1"])
def test_a_rollout_records_calls_and_credits(tmp_path, reward):
    for item in scripted_episodes(tmp_path, reward=reward):
        assert [step.tool for step in item.steps] == ["ok", "failed", *[""] * (len(REPLIES) - 2)]
        assert (item.reward, item.ending) == (1.0, "exited")
        total = sum(step.credit for step in item.steps)
        needed, steps = len(TASK.solution), len(REPLIES)
        assert total == pytest.approx({"binary": 0.0, "checklist": 1.0, "f1": 2 * needed / (needed + steps)}[reward])
        assert (item.steps[-1].credit == total) == (reward != "checklist")


@pytest.mark.parametrize("keywords", [
    {}, {"tools": ["lookup"]}, {"tools": ["lookup"], "tool_tag": "found"}, {"tools": ["lookup"], "tool_budget": 2},
    {"dialect": "webarena", "tools": ["table_sql"]}, {"observation": "axtree"}, {"dialect": "browsergym", "observation": "axtree"},
], ids=str)  # fmt: skip
def test_every_command_gives_the_prompt_of_the_env_with_its_keywords(tmp_path, keywords):
    record = {"elements": "label", "keywords": tuple(f"{name}={json.dumps(value)}" for name, value in keywords.items())}
    with closing(WebArenaLite(tasks=[TASK], elements="label", **keywords)) as env:
        expected = env.system_prompt
    assert all(f"{name}(" in expected for name in keywords.get("tools", ()))
    assert system_prompt("env", elements="label", **keywords) == expected
    tokenizer = SimpleNamespace()
    made = [
        _create_encoder(BCSettings(model="small", out=tmp_path, system="env", **record), None, tokenizer),
        create_agent_encoder({"system": "env", **record, "keywords": list(record["keywords"])}, tokenizer),
        LanguageModel.encoder.func(
            SimpleNamespace(
                network=None, tokenizer=tokenizer, _settings=make_settings("grpo", model="m", out=tmp_path, system="env", **record)
            )
        ),
    ]  # fmt: skip
    assert [encoder.system for encoder in made] == [expected] * len(made)


def test_the_model_sees_the_tools_that_it_may_call():
    assert settings().system == "env"
    prompt = system_prompt(settings().system, **settings().env_arguments())
    assert all(f"{name}(" in prompt for name in settings().tools)


def test_the_agent_record_has_the_tools_but_not_the_reward():
    record = settings(tool_reward="checklist").agent()
    assert record["keywords"] == ['tools=["lookup", "table_sql"]', "tool_budget=4"]
    assert not {"tools", "tool_budget", "reward"} & record.keys()
    assert settings(tool_reward="checklist").env_arguments()["reward"] == "checklist"
    assert "reward" not in settings().env_arguments()


# Results of tools are never trained on.


@pytest.fixture(scope="module")
def played():
    """Return a tiny model and tokenizer, and an episode with calls of tools in which earlier pages stay whole."""
    model, tokenizer = tiny.tiny_model()
    encoder, steps = PromptEncoder(tokenizer), []
    env = WebArenaLite(tasks=[TASK], tools=["lookup"], history="full", thoughts=True, window=600, elements="label")
    _, info = env.reset(seed=0)
    for reply in REPLIES[:4]:
        (prompt,), response = encoder.encode_all([info["messages"]]), encoder.encode_reply(reply)
        steps.append(Step(info["page"], reply, "", prompt, response, (-1.0,) * len(response)))
        *_, info = env.step(reply)
    env.close()
    return model.eval(), tokenizer, Trajectory(TASK.task_id, TASK.intent, tuple(steps), 0.0, "truncated")


@pytest.mark.parametrize("sharing", ["rows", "tree"])
def test_samples_of_steps_and_of_an_episode_have_equal_gradients(played, sharing):
    model, tokenizer, item = played
    samples = [step.sample for step in item.steps]
    weights = [1.0 + number for number in range(len(samples))]  # a different advantage for each step

    def gradient(loss):
        model.zero_grad()
        loss.backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    losses = []
    for batch in pack(samples, 100_000, sharing=sharing, model=model):
        weights_N = [weights[index] for index, length in zip(batch.samples, batch.lengths, strict=True) for _ in range(length)]
        losses.append((batch_logprobs(model, batch) * torch.tensor(weights_N)).sum())
    by_step = gradient(sum(losses))

    whole = episode_sample(item)
    ids = torch.tensor([*whole.prompt_ids, *whole.response_ids])
    mask = torch.tensor([False] * len(whole.prompt_ids) + list(whole.loss_mask))[1:]
    logprobs = token_logprobs(model(input_ids=ids[None]).logits[0, :-1], ids[1:])
    weights_N = torch.tensor([weight for weight, sample in zip(weights, samples, strict=True) for _ in sample.response_ids])
    torch.testing.assert_close(by_step, gradient((logprobs[mask] * weights_N).sum()), rtol=1e-4, atol=1e-4)
    assert by_step.abs().max() > 0.1

    trained, masked = (tokenizer.decode(ids[1:][chosen]) for chosen in (mask, ~mask))
    assert masked.count("<information>") == masked.count("</information>") == 2  # a result, and the error of a call
    assert "information>" not in trained
    assert all(reply in trained for reply in REPLIES[:4])


def test_an_episode_is_one_sample_only_if_its_prompts_continue():
    steps = (Step("", "", "", (1, 2), (3,), (-0.5,)), Step("", "", "", (1, 2, 3, 7, 8), (4, 5), (-0.25, -0.125)))
    item = Trajectory("t", "goal", steps, 1.0, "exited")
    expected = EpisodeSample((1, 2), (3, 7, 8, 4, 5), (True, False, False, True, True), (-0.5, 0.0, 0.0, -0.25, -0.125))
    assert episode_sample(item) == expected
    for broken in ((steps[1], steps[0]), ()):
        with pytest.raises(ValueError, match=r"no steps|does not continue"):
            episode_sample(Trajectory("t", "goal", broken, 1.0, "exited"))


def test_a_language_model_trains_with_tools(tmp_path):
    tiny.save_clone(tmp_path / "clone", max_steps=2, max_new_tokens=4, window=200)
    (task,) = draw_tasks([11], 1, templates=[TASK.template])
    args = make_settings(
        "tool_use", model=str(tmp_path / "clone"), out=tmp_path / "run", **TURNS, tools=("lookup",), system="env",
        updates=1, tasks_per_update=1, group_size=2, max_steps=2, max_new_tokens=4, window=200, kl_weight=0.0001,
    )  # fmt: skip
    folder = train(args, [task])
    (metrics,) = read_metrics(tmp_path / "run")
    assert metrics["tool_calls"] == metrics["failed_calls"] == 0  # the model writes nonsense
    assert metrics["rollouts"] == 2
    record = agent_record(folder)
    assert record["keywords"] == ['tools=["lookup"]', "tool_budget=4"]
    evaluated = EvaluationSettings(policy=str(folder), **policy_defaults(str(folder)))
    assert evaluated.env_arguments()["tools"] == ["lookup"]
    assert evaluated.env_arguments()["tool_budget"] == 4


make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, tasks=[TASK], elements="id")


def test_a_pointing_agent_calls_lookup_through_a_field():
    with closing(make_env(window=2_000, **ARMS["lookup"])) as env:
        _, info = env.reset(seed=0)
        assert parse_page(info["page"]).controls[-1][:3] == ("text", ELEMENT, LABEL)
        *_, info = env.step(WEBRL.format(Action(Kind.SEARCH, ELEMENT, 'a "mill" town')))
        assert info["tools"] == {"calls": 1, "failed": 0, "left": 3}
        assert info["page"].startswith("<information>\n[1] ")
        for _ in range(3):
            *_, info = env.step(WEBRL.format(Action(Kind.TYPE, ELEMENT, "town")))
        assert ELEMENT not in info["page"]  # no call is left
        *_, info = env.step("nothing")
        assert info["action_error"]
    with closing(make_env()) as env:
        assert ELEMENT not in env.reset(seed=0)[1]["page"]


def test_demonstrations_with_the_field_look_up_the_articles_of_the_solution():
    ((task, goal, steps),) = lookup_episodes([TASK])
    assert (task, goal) == (TASK, TASK.intent)
    assert [step.action.element for step in steps] == [ELEMENT] * 3 + [None]
    assert steps[0].action.argument in goal
    assert all(str(step.action.argument) in step.page for step in steps[1:])
