#!/usr/bin/env bash
# shimmy 2.0.1 with its extra "dm-control", as pip installs it (dm-control 1.0.50, mujoco 4.0.0, gymnasium 1.4.0).
#
# Guess: the environments "dm_control/..." that the extra is for can be made.
# Seen:  making one is a ModuleNotFoundError, as Gymnasium's MuJoCo module imports packaging, which nothing requires. With packaging
#        installed it is an AttributeError of dm_control, which does not fit mujoco 4: each of its tasks fails so, also without shimmy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "shimmy[dm-control]==2.0.1"
"$folder/venv/bin/python" - <<'PYTHON'
import os
from importlib.metadata import version

os.environ["MUJOCO_GL"] = "disable"
print({package: version(package) for package in ("shimmy", "dm-control", "mujoco", "gymnasium")})
try:
    import gymnasium
    import shimmy  # noqa: F401

    gymnasium.make("dm_control/cartpole-swingup-v0")
except ModuleNotFoundError as error:
    print(type(error).__name__, error)
    assert error.name == "packaging"
else:
    raise AssertionError("the behaviour has changed: no error")
from dm_control import suite  # noqa: E402

try:
    suite.load("cartpole", "swingup")
except AttributeError as error:
    print(type(error).__name__, error)
else:
    raise AssertionError("the behaviour has changed: no error")
PYTHON
