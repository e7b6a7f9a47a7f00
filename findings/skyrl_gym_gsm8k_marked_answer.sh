#!/usr/bin/env bash
# skyrl-gym 0.4.0: which number of a reply the "gsm8k" environment grades.
#
# Guess: the last number after "####" is compared, without currency sign, final period or trailing zeros, as the grader
#        removes "," and "$" itself.
# Seen:  the first one is compared, character by character: a right answer that ends a sentence ("#### 42.") or has a
#        currency sign ("#### $42") scores 0, and a reply that corrects itself is graded by what it corrected. The text
#        behind the number does not count: "#### 42, 43" scores 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet skyrl-gym==0.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import skyrl_gym

expected = {
    "It is #### 42": 1.0,
    "It is #### 42.": 0.0,
    "It is #### $42": 0.0,
    "It is #### 42.0": 0.0,
    "It is #### 42, 43": 1.0,
    "#### 7 is wrong; it is #### 42": 0.0,
    "#### 42 is wrong; it is #### 7": 1.0,
}
for reply, reward in expected.items():
    env = skyrl_gym.make("gsm8k", extras={"reward_spec": {"ground_truth": "42"}})
    env.init([{"role": "user", "content": "What is six times seven?"}])
    result = env.step(reply)["reward"]
    print(repr(reply), "->", result)
    assert result == reward, f"the behaviour has changed; expected {reward}"
PYTHON
