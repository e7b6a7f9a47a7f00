#!/usr/bin/env bash
# supersuit 3.11.0 with pettingzoo 1.27.0: the end of an episode under black_death_v3.
#
# Guess: when the last agents terminate, that step is the last one. Dead agents get black observations until then.
# Seen:  an episode that terminates and is not also truncated goes on for one step: the last true observation and reward
#        are reported as an ordinary step, and then a step with black observations and no reward is both terminated and
#        truncated. As a vector env, all episodes are one step longer, and the terminal observation is black.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet supersuit==3.11.0 pettingzoo==1.27.0 gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy as np
from pettingzoo import ParallelEnv
from supersuit import black_death_v3, pettingzoo_env_to_vec_env_v1


class Race(ParallelEnv):
    """Agent "short" terminates after one step, agent "long" after two; both get a reward of 1 a step."""

    metadata = {"name": "race"}
    possible_agents = ["short", "long"]
    render_mode = None

    def observation_space(self, agent):
        return gymnasium.spaces.Box(0, 9, (1,), np.float32)

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents, self.steps = list(self.possible_agents), 0
        return {agent: np.array([5], np.float32) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions):
        self.steps += 1
        agents, terminated = self.agents, {agent: self.steps == 1 + (agent == "long") for agent in self.agents}
        self.agents = [agent for agent in agents if not terminated[agent]]
        observations = {agent: np.array([5 + self.steps], np.float32) for agent in agents}
        return observations, dict.fromkeys(agents, 1.0), terminated, dict.fromkeys(agents, False), {agent: {} for agent in agents}


envs = pettingzoo_env_to_vec_env_v1(black_death_v3(Race()))
envs.reset(seed=0)
seen = []
for step in (1, 2, 3):
    _, rewards, terminated, truncated, infos = envs.step(np.array([0, 0]))
    seen.append([values.tolist() for values in (rewards, terminated, truncated)])
    print("step", step, "rewards", rewards, "terminated", terminated, "truncated", truncated, "infos", infos)
assert seen == [[[1, 1], [0, 0], [0, 0]], [[0, 1], [0, 0], [0, 0]], [[0, 0], [1, 1], [1, 1]]], "the behaviour has changed"
assert [info["terminal_observation"].tolist() for info in infos] == [[0], [0]], "the behaviour has changed"
PYTHON
