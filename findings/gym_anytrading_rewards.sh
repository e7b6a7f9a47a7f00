#!/usr/bin/env bash
# gym-anytrading 2.0.0: rewards and profits of "stocks-v0".
#
# Guess: the sum of the rewards has the sign of the profit that the env reports.
# Seen:  a reward comes only when a long position is closed by an action. The position that is open at the end is settled in
#        `total_profit` only: to buy and hold has the return 0, with prices that rise and with prices that fall. The fees are no part of
#        the reward: with constant prices trading has the return 0 and loses 3 %.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gym-anytrading==2.0.0 gymnasium==1.4.0 numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/python" - 2>"$folder/warnings" <<'PYTHON' || { tail -3 "$folder/warnings"; exit 1; }
import gym_anytrading  # registers the environments
import gymnasium
import pandas

rising = [100.0, 100.0, 100.0, 110.0, 121.0, 133.1, 146.41]
for name, prices, actions, expected in (
    ("rising prices, buy and hold", rising, [1, 1, 1, 1], (0.0, 1.31)),
    ("falling prices, buy and hold", rising[::-1], [1, 1, 1, 1], (0.0, 0.9)),
    ("constant prices, buy and sell twice", [100.0] * 7, [1, 0, 1, 0], (0.0, 0.97)),
    ("rising prices, buy and sell twice", rising, [1, 0, 1, 0], (24.31, 1.17)),
):
    frame = pandas.DataFrame(dict.fromkeys(("Open", "High", "Low", "Close"), prices))
    env = gymnasium.make("stocks-v0", df=frame, window_size=2, frame_bound=(2, len(prices)))
    env.reset(seed=0)
    total = 0.0
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
    assert truncated, "the episode should have ended"
    seen = (round(total, 2), round(float(info["total_profit"]), 2))
    print(f"{name}: the return is {seen[0]}, and total_profit {seen[1]} of 1")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
