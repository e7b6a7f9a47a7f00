#!/usr/bin/env bash
# agilerl 2.58.0: n-step returns at the end of an episode, in `MultiStepReplayBuffer`.
#
# Guess: no return goes beyond the end of the episode of its env, and other envs do not change it.
# Seen:  the return of a terminal transition contains the rewards of the next episode, with an observation of that episode as the next
#        one and `done` 0. With two envs, the end of an episode in one cuts the returns of the other, whose `done` is 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 agilerl==2.58.0 tensordict==0.13.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import torch
from agilerl.components.data import Transition
from agilerl.components.replay_buffer import MultiStepReplayBuffer


def play(dones, rewards):
    """Add the steps of vector envs as `agilerl.training` does, and return the stored 3-step transitions."""
    buffer = MultiStepReplayBuffer(32, n_step=3, gamma=0.5)
    for step, (done, reward) in enumerate(zip(dones, rewards)):
        observation = torch.tensor([[100.0 * env + step] for env in range(len(done))])
        transition = Transition(
            obs=observation,
            action=torch.zeros(len(done), 1),
            reward=torch.tensor(reward),
            next_obs=observation + 1,
            done=torch.tensor(done),
        ).to_tensordict()
        transition.batch_size = [len(done)]
        buffer.add(transition)
    stored = buffer.storage[: len(buffer)]
    return {key: stored[key].ravel().tolist() for key in ("obs", "reward", "next_obs", "done")}


seen = play([[0.0], [0.0], [1.0], [0.0], [0.0]], [[0.0], [0.0], [1.0], [8.0], [8.0]])
print("one env, the third step ends an episode with the reward 1:", seen)
assert seen["obs"] == [0, 1, 2] and seen["reward"][:2] == [0.25, 0.5]
assert [seen[key][2] for key in ("reward", "next_obs", "done")] == [7.0, 5.0, 0.0], "the behaviour has changed"

seen = play([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0]] * 3)
print("two envs, the second step ends an episode of the second one:", seen)
first, second = ([values[env] for values in (seen["reward"], seen["next_obs"], seen["done"])] for env in (0, 1))
assert second == [1.5, 102.0, 1.0]
assert first == [1.5, 2.0, 0.0], "the behaviour has changed; 1.75, 3.0 and 0.0 are right"
PYTHON
