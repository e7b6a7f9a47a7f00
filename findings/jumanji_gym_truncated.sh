#!/usr/bin/env bash
# jumanji 1.1.2: `JumanjiToGymWrapper`.
#
# Guess: an episode that ends in a terminal state is terminated and not truncated, as Gymnasium defines them.
# Seen:  `truncated` is true at the end of every episode: a snake that bites itself is terminated and truncated. A program
#        that bootstraps the value after a truncation does so after each death, if it does not look at `terminated` first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jumanji==1.1.2
"$folder/venv/bin/python" - <<'PYTHON'
import jumanji
from jumanji.wrappers import JumanjiToGymWrapper

env = JumanjiToGymWrapper(jumanji.make("Snake-v1"))
env.action_space.seed(0)
ends = []
for seed in range(5):
    env.reset(seed=seed)
    for step in range(1, 4001):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        if terminated or truncated:
            break
    ends.append((step, terminated, truncated))
    print(f"end after {step} of at most 4000 steps: terminated {terminated}, truncated {truncated}")
assert all(step < 4000 and terminated and truncated for step, terminated, truncated in ends), "the behaviour has changed"
PYTHON
