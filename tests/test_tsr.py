"""Trajectory-search rollouts: what is tried and kept, how the learner corrects for it, and whole runs."""

from collections import Counter
from random import Random

import gymnasium
import pytest
import torch

from agents import grpo, train_rl
from agents.data.trajectories import Step, Trajectory
from agents.methods.tsr import corrections
from agents.rollouts.branching import SearchingCollector, draw
from agents.rollouts.collector import EpisodeSpec
from agents.rollouts.policies import Reply, ScriptedPolicy
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from tests import tiny
from tests.odd_policies import Same
from tests.test_train import assert_same_weights, interrupted, success, unsure_clone
from webarena_gym.errors import BrowserError


@pytest.fixture(autouse=True)
def tiny_envs(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(grpo, "create_envs", tiny.create_envs)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    torch.set_num_threads(1)
    return unsure_clone(tmp_path_factory.mktemp("clone"))


def tsr(out, model, **changes):
    values = {"updates": 4, "group_size": 8, "tasks_per_update": 4, "max_new_tokens": 12, "max_steps": 2}
    return make_settings("tsr", out=out, model=str(model), **{**values, **changes})


class Counted(ScriptedPolicy):
    replied = generated_tokens = 0
    cpu_s = 0.0


def clicks(request):
    """Right, wrong or nothing, as the request's seed says."""
    words = [tiny.target_of(request), "nothing", *request.info["page"].replace("<a>", "").replace("</a>", "").split("\n")]
    return tiny.reply_to(words[request.seed % len(words)])


def collect(policy, count=12, values=None, num_envs=5, seed=0, **options):
    tasks = tiny.tasks(count)
    envs = tiny.create_envs(tasks, num_envs)
    collector = SearchingCollector(envs, policy, values or (lambda states: [0.5] * len(states)), seed=seed, **options)
    episodes = [EpisodeSpec(task, 7, number, number // 4) for number, task in enumerate(tasks)]
    return collector.collect(episodes), collector, episodes


# The collector.


@pytest.mark.parametrize("width", [1, 3])
def test_what_is_kept_is_an_episode_of_the_env(width):
    found, collector, episodes = collect(Counted(clicks), width=width)
    env = tiny.TinyShop()
    for item, episode in zip(found, episodes, strict=True):
        _, info = env.reset(seed=episode.seed, options={"task": episode.task})
        for step in item.steps:
            assert step.page == info["page"]
            _, reward, terminated, truncated, info = env.step(step.reply)
            assert step.action_error == info["action_error"]
        assert (terminated, truncated, reward) == (item.ending == "exited", item.ending == "truncated", item.reward)
    assert (item.group for item in found)
    steps = sum(len(item.steps) for item in found)
    assert collector.replied == steps if width == 1 else collector.replied > steps


def test_a_search_of_width_1_corrects_nothing():
    found, _, _ = collect(Counted(clicks), width=1)
    assert {step.importance for item in found for step in item.steps} == {1.0}


def test_a_wider_search_with_a_low_temperature_finds_more():
    rates = [
        sum(item.reward for item in collect(Counted(clicks), 60, width=width, temperature=0.05)[0]) / 60 for width in (1, 6)
    ]
    assert rates[1] > rates[0] + 0.2


def test_equal_searches_keep_the_same_on_any_number_of_envs():
    one, other = (collect(Counted(clicks), num_envs=count, width=3)[0] for count in (1, 4))
    assert one == other
    assert one != collect(Counted(clicks), seed=1, width=3)[0]


def test_gains_are_values_above_the_mean_of_what_was_tried():
    found, _, _ = collect(Counted(clicks), 60, lambda states: [0.25] * len(states), width=5)
    searched = [(item, step) for item in found for step in item.steps if step.gain]
    assert len(searched) > 20
    for item, step in searched:
        assert abs(step.gain) < 1
        if step is item.steps[-1] and item.ending == "exited":  # other ends are worth 0, open states a quarter
            assert (step.gain > 0) == (item.reward == 1)
    assert collect(Counted(clicks), width=1)[0][0].steps[0].gain == 0


def test_equal_replies_are_tried_once():
    always = Counted(lambda request: tiny.reply_to(tiny.target_of(request)))
    found, collector, _ = collect(always, width=5)
    assert [item.reward for item in found] == [1.0] * 12
    assert collector.replied == 12
    assert {step.importance for item in found for step in item.steps} == {1.0}


def test_states_of_high_value_are_kept():
    def wrong_but_open(request):
        return "no" if request.seed % 2 else "neither"

    def values(states):
        return [float(reached.episode.steps[-1].reply == "no") for reached in states]

    found, _, _ = collect(Counted(wrong_but_open), 40, values, width=8, temperature=0.05)
    firsts = Counter(item.steps[0].reply for item in found)
    assert firsts["no"] >= 38


def test_a_diverse_search_keeps_what_the_group_has_not_seen():
    class Corridor(tiny.TinyShop):
        """A reply is the name of the next page."""

        def step(self, action):
            self.count += 1
            self.shown = [action]
            info = self._info()
            return "", 0.0, False, self.count >= self.max_steps, info | {"success": False, "verdicts": []}

    gymnasium.register("Corridor-v0", Corridor, disable_env_checker=True, order_enforce=False)
    tasks = tiny.tasks(1) * 12
    pages = {}
    for choice in ("diverse", "best"):
        envs = grpo.create_envs(tasks, 4)
        envs._make_env = lambda: gymnasium.make("Corridor-v0", disable_env_checker=True)
        policy = Counted(lambda request: "abc"[request.seed % 3] if request.seed % 17 else "rare")
        collector = SearchingCollector(
            envs, policy, lambda states: [0.5] * len(states), choice=choice, width=12, temperature=0.02
        )
        found = collector.collect([EpisodeSpec(task, 0, number) for number, task in enumerate(tasks)])
        counts = Counter(item.steps[0].reply for item in found)
        pages[choice] = counts
    assert max(pages["diverse"].values()) <= 4  # of twelve
    assert pages["diverse"]["rare"] > pages["best"]["rare"]


def test_what_breaks_fails_and_what_is_too_long_ends():
    class Fragile(tiny.TinyShop):
        def step(self, action):
            raise BrowserError("the browser is gone")

    class Long(Same):
        replied = generated_tokens = 0
        cpu_s = 0.0

    envs = tiny.create_envs([], 2)
    envs._make_env = Fragile
    values = lambda states: [0.5] * len(states)  # noqa: E731
    episodes = [EpisodeSpec(task, 0, number) for number, task in enumerate(tiny.tasks(3))]
    found = SearchingCollector(envs, Counted(clicks), values).collect(episodes)
    assert {item.ending for item in found} == {"failed"}
    assert all("the browser is gone" in item.failure for item in found)
    for reply, ending in ((Reply("", too_long=True), "too_long"), (Reply("", failure="no engine"), "failed")):
        found = SearchingCollector(tiny.create_envs([], 2), Long(reply), values).collect(episodes)
        assert [item.ending for item in found] == [ending] * 3


# The correction.


@pytest.mark.parametrize("seed", range(4))
def test_importance_weights_make_the_mean_that_of_the_policy(seed):
    """The expectation of weight times value over the draw is the mean over what was tried."""
    rng = Random(seed)
    scores, values = ([rng.random() for _ in range(4)] for _ in range(2))
    temperature = rng.choice([0.3, 1.0])
    drawn = [draw(scores, temperature, Random(number)) for number in range(20_000)]
    estimate = sum(weight * values[place] for place, weight in drawn) / len(drawn)
    assert estimate == pytest.approx(sum(values) / 4, abs=0.03)
    plain = sum(values[place] for place, _ in drawn) / len(drawn)
    assert abs(plain - sum(values) / 4) > 0.01 or temperature == 1.0


def test_corrections_are_those_of_a_step_or_of_the_path_to_it():
    steps = tuple(Step("", "", importance=value) for value in (0.5, 3.0, 2.0))
    item = Trajectory("t", "g", steps, 1.0, "exited")
    assert corrections(item, "none", 2.5) == [1.0, 1.0, 1.0]
    assert corrections(item, "step", 2.5) == [0.5, 2.5, 2.0]
    assert corrections(item, "path", 2.5) == [0.5, 1.5, 2.5]


# Whole runs.


@pytest.mark.parametrize(
    "options", [{}, pytest.param({"search_choice": "diverse", "search_correction": "path"}, marks=pytest.mark.slow)]
)
def test_tsr_lifts_an_unsure_model(tmp_path, clone, options):
    before = success(clone)
    path = train_rl.train(tsr(tmp_path, clone, updates=30, **options), tiny.tasks(60))
    assert success(path) > before + 0.1
    rows = read_metrics(tmp_path)
    assert rows[0]["searched"] > 0 or options
    assert rows[-1]["env_steps"] > sum(row["rollouts"] * row["steps"] for row in rows)


def test_a_killed_run_goes_on_exactly(tmp_path, monkeypatch, clone):
    whole = train_rl.train(tsr(tmp_path / "whole", clone, save_every=2), tiny.tasks(20))
    with monkeypatch.context() as patch:
        interrupted(patch, after=2)
        with pytest.raises(KeyboardInterrupt):
            train_rl.train(tsr(tmp_path / "killed", clone, save_every=2), tiny.tasks(20))
    resumed = train_rl.train(tsr(tmp_path / "killed", clone, save_every=2), tiny.tasks(20))
    assert_same_weights(whole, resumed)
    ours, theirs = ([row["env_steps"] for row in read_metrics(tmp_path / name)] for name in ("whole", "killed"))
    assert ours == theirs


@pytest.mark.parametrize("changes", [{"workers": 2}, {"staleness": 1}])
def test_searches_are_played_in_envs_of_this_process(tmp_path, clone, changes):
    with pytest.raises(ValueError, match="forks and searches are played in envs of this process"):
        train_rl.train(tsr(tmp_path, clone, **changes), tiny.tasks(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"search_width": 0}, "search_width is 0; expected at least 1"), ({"advantages": "forks"}, "advantages are 'forks'")],
)
def test_settings_without_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_settings("tsr", model="m", out="out", **options)
