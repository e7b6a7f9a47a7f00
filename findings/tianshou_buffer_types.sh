#!/usr/bin/env bash
# tianshou 2.0.1: numbers of an info in a `ReplayBuffer`.
#
# Guess: a score that is 0, 0.5 and then 1 is stored as such; a key that the first steps lack is missing there.
# Seen:  the first value decides the type: 0.5 is stored as 0, without a warning. A key that comes later is 0 in the steps before.
#        Rewards are always floats, and strings of any length are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 tianshou==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from tianshou.data import Batch, ReplayBuffer

buffer = ReplayBuffer(3)
infos = [{"score": 0, "page": "a"}, {"score": 0.5, "page": "a longer text"}, {"score": 1, "page": "b", "late": 7}]
for step, info in enumerate(infos):
    reward = info["score"]
    buffer.add(Batch(obs=step, act=0, rew=reward, terminated=step == 2, truncated=False, obs_next=step + 1, info=info))
print("rewards:", buffer.rew.tolist())
print("scores:", buffer.info.score.tolist())
print("late:", buffer.info.late.tolist())
print("pages:", buffer.info.page.tolist())
assert buffer.rew.tolist() == [0, 0.5, 1] and buffer.info.page.tolist() == ["a", "a longer text", "b"]
assert buffer.info.score.tolist() == [0, 0, 1], "the behaviour has changed"
assert buffer.info.late.tolist() == [0, 0, 7], "the behaviour has changed"
PYTHON
