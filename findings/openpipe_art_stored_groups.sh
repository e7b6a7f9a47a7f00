#!/usr/bin/env bash
# openpipe-art 0.5.18 (`art`), the last version for Python 3.11: a group of trajectories that is stored as JSON or made from a generator.
#
# Guess: `model_validate_json` returns the group that `model_dump_json` wrote; a list and a generator make equal groups.
# Seen:  the group that is read has no trajectories, without an error; with an exception in the group it is an AttributeError. A generator
#        loses the exceptions, so that a failed rollout leaves no trace.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openpipe-art==0.5.18
export LITELLM_LOCAL_MODEL_COST_MAP=True  # no request for a table of prices
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from art import Trajectory, TrajectoryGroup

messages = [{"role": "user", "content": "What does it cost?"}, {"role": "assistant", "content": "$5"}]
trajectories = [Trajectory(messages_and_choices=messages, reward=reward) for reward in (0.0, 1.0)]
results = [*trajectories, TimeoutError("the page did not load")]


def sizes(group):
    return len(group.trajectories), len(group.exceptions)


group = TrajectoryGroup(results, metadata={"task": 7})
print("from a list: (trajectories, exceptions)", sizes(group))
assert sizes(group) == (2, 1)
generated = sizes(TrajectoryGroup(result for result in results))
print("from a generator:", generated)
assert generated == (2, 0), "the behaviour has changed"

whole = TrajectoryGroup(trajectories, metadata={"task": 7})
text = whole.model_dump_json()
assert text.count('"reward":') == 2
for name, read in (
    ("model_validate_json", TrajectoryGroup.model_validate_json(text)),
    ("model_validate", TrajectoryGroup.model_validate(whole.model_dump())),
):
    print(f"{name} of a group of two trajectories:", sizes(read), read.metadata)
    assert sizes(read) == (0, 0), "the behaviour has changed"
    assert read.metadata == {"task": 7}
try:
    TrajectoryGroup.model_validate_json(group.model_dump_json())
except AttributeError as error:
    print("model_validate_json of a group with an exception:", error)
else:
    raise AssertionError("the behaviour has changed")
read = Trajectory.model_validate_json(trajectories[1].model_dump_json())
assert read.reward == 1.0 and read.messages() == trajectories[1].messages()
print("a single trajectory is read as it was written")
PYTHON
