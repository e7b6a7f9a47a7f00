"""Trajectory-search rollouts: what is tried and kept, and with which weight. Whole runs are in `tests.test_methods`."""

from collections import Counter
from random import Random

import gymnasium
import pytest

from agents.rollouts.branching import SearchingCollector, draw_reply
from agents.rollouts.collector import EpisodeSpec
from agents.rollouts.policies import Reply, ScriptedPolicy
from tests import tiny
from tests.odd_policies import Same
from webarena_gym.errors import BrowserError


class Counted(ScriptedPolicy):
    reply_count = generated_tokens = 0
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


@pytest.mark.parametrize("width", [1, 3])
def test_search_results_are_valid_episodes_of_the_env(width):
    found, collector, episodes = collect(Counted(clicks), width=width)
    env = tiny.TinyShop()
    for item, episode in zip(found, episodes, strict=True):
        _, info = env.reset(seed=episode.seed, options={"task": episode.task})
        for step in item.steps:
            assert step.page == info["page"]
            _, reward, terminated, truncated, info = env.step(step.reply)
            assert step.action_error == info["action_error"]
        assert (terminated, truncated, reward) == (item.ending == "exited", item.ending == "truncated", item.reward)
    steps = sum(len(item.steps) for item in found)
    assert collector.reply_count == steps if width == 1 else collector.reply_count > steps
    if width == 1:
        assert {(step.importance, step.gain) for item in found for step in item.steps} == {(1.0, 0)}


def test_wider_searches_find_more_are_deterministic_and_skip_duplicates():
    found = [collect(Counted(clicks), 60, width=width, temperature=0.05)[0] for width in (1, 6)]
    few, many = (sum(item.reward for item in own) for own in found)
    assert many > few + 12
    one, other = (collect(Counted(clicks), num_envs=count, width=3)[0] for count in (1, 4))
    assert one == other
    assert one != collect(Counted(clicks), seed=1, width=3)[0]
    always = Counted(lambda request: tiny.reply_to(tiny.target_of(request)))
    found, collector, _ = collect(always, width=5)
    assert [item.reward for item in found] == [1.0] * 12
    assert collector.reply_count == 12
    assert {step.importance for item in found for step in item.steps} == {1.0}


def test_gains_are_values_above_the_mean_of_what_was_tried():
    found, _, _ = collect(Counted(clicks), 60, lambda states: [0.25] * len(states), width=5)
    searched = [(item, step) for item in found for step in item.steps if step.gain]
    assert len(searched) > 20
    for item, step in searched:
        assert abs(step.gain) < 1
        if step is item.steps[-1] and item.ending == "exited":  # other ends are worth 0, open states a quarter
            assert (step.gain > 0) == (item.reward == 1)


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
        envs = tiny.create_envs(tasks, 4)
        envs._make_env = lambda: gymnasium.make("Corridor-v0", disable_env_checker=True)
        policy = Counted(lambda request: "abc"[request.seed % 3] if request.seed % 17 else "rare")
        options = {"choice": choice, "width": 12, "temperature": 0.02}
        collector = SearchingCollector(envs, policy, lambda states: [0.5] * len(states), **options)
        found = collector.collect([EpisodeSpec(task, 0, number) for number, task in enumerate(tasks)])
        pages[choice] = Counter(item.steps[0].reply for item in found)
    assert max(pages["diverse"].values()) <= 4  # of twelve
    assert pages["diverse"]["rare"] > pages["best"]["rare"]


def test_failures_and_too_long_prompts_in_searches():
    class Fragile(tiny.TinyShop):
        def step(self, action):
            raise BrowserError("the browser is gone")

    class Long(Same):
        reply_count = generated_tokens = 0
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


@pytest.mark.parametrize("seed", range(4))
def test_importance_weights_make_the_mean_that_of_the_policy(seed):
    """The expectation of weight times value over the draw is the mean over what was tried."""
    rng = Random(seed)
    scores, values = ([rng.random() for _ in range(4)] for _ in range(2))
    temperature = rng.choice([0.3, 1.0])
    drawn = [draw_reply(scores, temperature, Random(number)) for number in range(20_000)]
    estimate = sum(weight * values[place] for place, weight in drawn) / len(drawn)
    assert estimate == pytest.approx(sum(values) / 4, abs=0.03)
    plain = sum(values[place] for place, _ in drawn) / len(drawn)
    assert abs(plain - sum(values) / 4) > 0.01 or temperature == 1.0
