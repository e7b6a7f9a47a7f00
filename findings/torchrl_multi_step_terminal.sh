#!/usr/bin/env bash
# torchrl 0.14.1: the targets of n-step returns near the end of an episode.
#
# Guess: a return that reaches the terminal state is not bootstrapped.
# Seen:  `MultiStep` and `MultiStepTransform` move the next observation to the terminal one and leave `terminated` as it was: of the
#        n steps that reach the terminal state only the last one is terminal. `TD0Estimator`, which the losses use, adds the
#        discounted value of the terminal observation to the others: 73.71 instead of 0.81 if that value is 100.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchrl==0.14.1
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.data.postprocs import MultiStep
from torchrl.envs.transforms import MultiStepTransform
from torchrl.objectives.value import TD0Estimator


def episode():
    """Return three steps, of which the last one terminates with a reward of 1."""
    end = torch.tensor([[False], [False], [True]])
    following = {"observation": torch.tensor([[1.0], [2.0], [3.0]]), "reward": torch.tensor([[0.0], [0.0], [1.0]])}
    return TensorDict({"observation": torch.tensor([[0.0], [1.0], [2.0]]), "next": {**following, "done": end, "terminated": end.clone()}}, [3])


value = TensorDictModule(lambda x: torch.full_like(x, 100.0), in_keys=["observation"], out_keys=["state_value"])
buffer = ReplayBuffer(storage=LazyTensorStorage(9), transform=MultiStepTransform(n_steps=3, gamma=0.9))
for _ in range(3):
    buffer.extend(episode())
for name, steps in (("MultiStep", MultiStep(gamma=0.9, n_steps=3)(episode())), ("MultiStepTransform", buffer[:3])):
    targets = [round(target, 2) for target in TD0Estimator(gamma=0.9, value_network=value).value_estimate(steps).flatten().tolist()]
    seen = {key: steps["next", key].flatten().tolist() for key in ("observation", "terminated", "reward")}
    print(f"{name}: next {seen}, targets {targets}")
    assert seen["observation"] == [3, 3, 3] and torch.allclose(steps["next", "reward"].flatten(), torch.tensor([0.81, 0.9, 1.0]))
    assert seen["terminated"] == [False, False, True], "the behaviour has changed"
    assert targets == [73.71, 81.9, 1.0], "the behaviour has changed; expected 0.81 + 0.729 * 100, 0.9 + 0.81 * 100 and 1"
PYTHON
