#!/usr/bin/env bash
# skrl 2.1.1 with Gymnasium 1.4.0: the steps in which a vector env only resets.
#
# Guess: the memory of an agent contains the steps of the episodes. In CartPole, whose reward is 1 at each step, all stored rewards are 1.
# Seen:  `make_vec` makes envs that ignore the action of the step after the end of an episode and reset (Gymnasium's default). skrl stores
#        these steps as transitions, with the reward 0 and an action that had no effect: one for each episode, 3 % of all with random
#        actions. PPO trains on them. With SAME_STEP there are none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet skrl==2.1.1 gymnasium==1.4.0 torch==2.13.0 numpy
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
import torch
from skrl import logger
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.trainers.torch import SequentialTrainer
from skrl.utils.model_instantiators.torch import categorical_model, deterministic_model

logger.setLevel("ERROR")
STEPS, ENVS = 500, 4


def stored(**keywords):
    torch.manual_seed(0)
    env = wrap_env(gymnasium.make_vec("CartPole-v1", num_envs=ENVS, vectorization_mode="sync", **keywords))
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space, "device": env.device}
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [], "activations": "elu"}]
    models = {
        "policy": categorical_model(**spaces, network=network, output="ACTIONS"),
        "value": deterministic_model(**spaces, network=network, output="ONE"),
    }
    memory = RandomMemory(memory_size=STEPS, num_envs=ENVS, device=env.device)
    agent = PPO(models=models, memory=memory, cfg=PPO_CFG(rollouts=STEPS + 1), **spaces)
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": STEPS, "headless": True, "disable_progressbar": True}).train()
    return memory.get_tensor_by_name("rewards").flatten(), memory.get_tensor_by_name("terminated").flatten()


rewards, ended = stored()
zeros = int((rewards == 0).sum())
print("next step, the default:", zeros, "of", len(rewards), "stored rewards are 0;", int(ended.sum()), "episodes ended")
assert 0.8 * int(ended.sum()) <= zeros <= int(ended.sum()) and zeros > 30, zeros

rewards, ended = stored(vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP})
print("same step:", int((rewards == 0).sum()), "of", len(rewards), "stored rewards are 0;", int(ended.sum()), "episodes ended")
assert int((rewards == 0).sum()) == 0
PYTHON
