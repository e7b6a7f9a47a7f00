#!/usr/bin/env bash
# vizdoom 1.3.2: the end of an episode by the time limit, in the Gymnasium environments.
#
# Guess: with `treat_episode_timeout_as_truncation=True`, the default, a timeout is `terminated=False` and `truncated=True`, and the last
#        observation is the last frame.
# Seen:  both flags are True, so that learning code with `1 - terminated`, and `TimeLimit.truncated` of stable-baselines3, take it for a
#        terminal state. The last observation is zeros, also its game variables; there is no last frame to bootstrap from.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet vizdoom==1.3.2 gymnasium==1.4.0
cd "$folder"  # the game writes its settings here
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
from vizdoom import gymnasium_wrapper  # noqa: F401


def end(choose, seed, **options):
    """Return the number of steps, both flags, and whether the last observation is all zeros."""
    env = gymnasium.make("VizdoomBasic-v1", frame_skip=4, **options)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    steps, terminated, truncated = 0, False, False
    while not (terminated or truncated):
        observation, _, terminated, truncated, _ = env.step(choose(env.action_space))
        steps += 1
    env.close()
    return steps, terminated, truncated, not any(part.any() for part in observation.values())


def wait(space):
    return space.sample() * 0


CASES = (
    ("the time limit", (wait, 1), {}, (75, True, True, True)),
    ("the time limit, as in versions before 1.3", (wait, 1), {"treat_episode_timeout_as_truncation": False}, (75, True, False, True)),
)
for name, arguments, options, expected in CASES:
    seen = end(*arguments, **options)
    print(f"{name}: {seen[0]} steps, terminated {seen[1]}, truncated {seen[2]}, last observation all zeros: {seen[3]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
wins = [end(lambda space: space.sample(), seed) for seed in range(8)]
for steps, terminated, truncated, zeros in wins:
    assert terminated, "the behaviour has changed"
    assert truncated == (steps == 75), "the behaviour has changed"
    assert zeros, "the behaviour has changed"
print(f"random actions: {sum(not truncated for _, _, truncated, _ in wins)} of 8 episodes end before the time limit, not truncated")
PYTHON
