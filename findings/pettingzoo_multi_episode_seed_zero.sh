#!/usr/bin/env bash
# PettingZoo 1.27.0: `MultiEpisodeEnv` and `MultiEpisodeParallelEnv`, which play several episodes as one, for evaluations.
#
# Guess: `reset(seed=0)` decides all episodes, as `reset(seed=1)` does, and an agent that terminates is reported.
# Seen:  with the seed 0 only the first episode is seeded, and the other ones differ in each run. The parallel wrapper reports
#        no termination within an episode: an agent is missing in the next step, with `terminations` False until then.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pettingzoo==1.27.0 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
from gymnasium.spaces import Discrete
from pettingzoo import ParallelEnv
from pettingzoo.utils import parallel_to_aec
from pettingzoo.utils.wrappers import MultiEpisodeEnv, MultiEpisodeParallelEnv


class Draws(ParallelEnv):
    """Two steps; each observation is one draw of the episode, and agent "b" terminates in the first step."""

    metadata = {"name": "draws", "is_parallelizable": True}
    possible_agents = ["a", "b"]

    def observation_space(self, agent):
        return Discrete(10**9)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        self.draw = int(numpy.random.default_rng(seed).integers(10**9))
        self.agents, self.steps = ["a", "b"], 0
        return {agent: self.draw for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions):
        self.steps += 1
        acting = self.agents
        terminated = {agent: agent == "b" or self.steps == 2 for agent in acting}
        self.agents = [agent for agent in acting if not terminated[agent]]
        rewards = dict.fromkeys(acting, 1.0)
        return dict.fromkeys(acting, self.draw), rewards, terminated, dict.fromkeys(acting, False), {agent: {} for agent in acting}


def draws(seed, turns):
    """Return the draw of each of three episodes."""
    seen = []
    if turns:
        env = MultiEpisodeEnv(parallel_to_aec(Draws()), num_episodes=3)
        env.reset(seed=seed)
        for _ in env.agent_iter(100):
            observation, _, terminated, truncated, _ = env.last()
            seen.append(int(observation))
            env.step(None if terminated or truncated else 0)
    else:
        env = MultiEpisodeParallelEnv(Draws(), num_episodes=3)
        seen += env.reset(seed=seed)[0].values()
        while env.agents:
            seen += env.step(dict.fromkeys(env.agents, 0))[0].values()
    return list(dict.fromkeys(seen))


for turns in (True, False):
    for seed, repeated in ((1, [True, True, True]), (0, [True, False, False])):
        first, second = draws(seed, turns), draws(seed, turns)
        seen = [a == b for a, b in zip(first, second, strict=True)]
        print(f"{'turns' if turns else 'parallel'}, seed {seed}: episodes repeated {seen}")
        assert seen == repeated, f"the behaviour has changed; expected {repeated}"

env = MultiEpisodeParallelEnv(Draws(), num_episodes=2)
env.reset(seed=1)
terminations = env.step({"a": 0, "b": 0})[2]
print(f"terminations in the step in which b terminates: {terminations}, agents of the next step: {env.agents}")
assert terminations == {"a": False, "b": False} and env.agents == ["a"], "the behaviour has changed"
PYTHON
