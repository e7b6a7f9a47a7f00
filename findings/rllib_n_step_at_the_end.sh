#!/usr/bin/env bash
# ray 2.60.0 (RLlib): n-step transitions at the end of an episode, in the replay buffers of episodes.
#
# Guess: a transition that reaches the terminal state is `is_terminated`, also if fewer than n steps are left, and has the number of steps
#        that it has; each state of an episode is drawn.
# Seen:  `EpisodeReplayBuffer` marks only the transitions of exactly n steps: with `n_step=3` those of the last two states are not
#        terminated and have `n_step` 3, so that the value of the terminal state is added, discounted three times.
#        `PrioritizedEpisodeReplayBuffer`, the default of DQN and SAC, never draws the last two states. The extra model outputs of all
#        transitions are those of the first step of the episode, in the first buffer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 "ray[rllib]==2.60.0" gymnasium==1.2.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.replay_buffers.episode_replay_buffer import EpisodeReplayBuffer
from ray.rllib.utils.replay_buffers.prioritized_episode_buffer import PrioritizedEpisodeReplayBuffer


def draw(buffer, n_step, **options):
    """Return the different transitions among 500 draws from an episode of five steps, which terminates with a reward of 1."""
    episode = SingleAgentEpisode()
    episode.add_env_reset(0, {})
    for step in range(5):
        outputs = {"probability": 0.1 * step}
        episode.add_env_step(step + 1, step, float(step == 4), {}, terminated=step == 4, extra_model_outputs=outputs)
    buffer.add(episode)
    seen = set()
    for item in buffer.sample(num_items=500, n_step=n_step, gamma=0.5, sample_episodes=True, **options):
        steps = int(item.extra_model_outputs["n_step"][0])
        seen.add((item.get_observations(0), item.get_observations(-1), float(item.get_rewards(0)), item.is_terminated, steps))
    return sorted(seen)


RIGHT = [(0, 1, 0, False, 1), (1, 2, 0, False, 1), (2, 3, 0, False, 1), (3, 4, 0, False, 1), (4, 5, 1, True, 1)]
FULL = [(0, 3, 0, False, 3), (1, 4, 0, False, 3), (2, 5, 0.25, True, 3)]
CASES = (
    ("EpisodeReplayBuffer, n_step=1", EpisodeReplayBuffer(), 1, {}, RIGHT),
    ("EpisodeReplayBuffer, n_step=3", EpisodeReplayBuffer(), 3, {}, [*FULL, (3, 5, 0.5, False, 3), (4, 5, 1, False, 3)]),
    ("PrioritizedEpisodeReplayBuffer, n_step=1", PrioritizedEpisodeReplayBuffer(), 1, {"beta": 0.0}, RIGHT),
    ("PrioritizedEpisodeReplayBuffer, n_step=3", PrioritizedEpisodeReplayBuffer(), 3, {"beta": 0.0}, FULL),
)
for name, buffer, n_step, options, expected in CASES:
    seen = draw(buffer, n_step, **options)
    print(f"{name}: (observation, next one, return, is_terminated, n_step)")
    for transition in seen:
        print("   ", transition)
    assert seen == expected, f"the behaviour has changed; expected {expected}"

buffer = EpisodeReplayBuffer()
draw(buffer, 1)
items = buffer.sample(num_items=200, n_step=1, gamma=0.5, sample_episodes=True, include_extra_model_outputs=True)
pairs = sorted({(item.get_observations(0), float(item.extra_model_outputs["probability"][0])) for item in items})
print("observations and recorded probabilities:", pairs)
assert pairs == [(step, 0.0) for step in range(5)], "the behaviour has changed; 0.0, 0.1, ... were recorded"
PYTHON
