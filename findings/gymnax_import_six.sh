#!/usr/bin/env bash
# gymnax 1.0.1: what `pip install gymnax` installs.
#
# Guess: the package can be imported.
# Seen:  `import gymnax` is a ModuleNotFoundError: it imports six, which neither the package nor its dependencies require.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnax==1.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import requires

required = [requirement for requirement in requires("gymnax") if "extra" not in requirement]
print("required:", required)
assert not any(requirement.startswith("six") for requirement in required), "the behaviour has changed"
try:
    import gymnax  # noqa: F401
except ModuleNotFoundError as error:
    print(type(error).__name__, error)
    assert error.name == "six"
else:
    raise AssertionError("the behaviour has changed: no error")
PYTHON
