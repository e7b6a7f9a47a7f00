#!/usr/bin/env bash
# rliable 1.2.0 (bootstrap intervals for RL results): its versions of dependencies.
#
# Guess: what `pip install rliable` selects can be imported.
# Seen:  it selects arch 7.2.0, which sets no upper bound for pandas and passes two arguments to `deprecate_kwarg`; pandas 3
#        expects three. So `from rliable import library` is a TypeError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rliable==1.2.0 arch==7.2.0 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
try:
    from rliable import library  # noqa: F401
except TypeError as error:
    print("TypeError:", error)
    assert "deprecate_kwarg" in str(error), "the behaviour has changed"
else:
    raise AssertionError("the behaviour has changed: the import succeeds")
PYTHON
