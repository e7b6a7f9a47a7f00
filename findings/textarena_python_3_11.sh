#!/usr/bin/env bash
# TextArena 0.7.4: games that need a newer Python than the package declares. Runs with Python 3.10 or 3.11.
#
# Guess: every registered game starts on a Python that "Requires-Python: >=3.10" allows, or is known to need more.
# Seen:  on Python 3.10 and 3.11 six games are syntax errors (they nest quotation marks in f-strings or unpack in a
#        subscript): the package installs and imports, and the error comes from make().
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=$(command -v python3.11 || command -v python3.10) || { echo "needs python3.11 or python3.10"; exit 1; }
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet textarena==0.7.4
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import importlib.metadata
import sys

import textarena

print("Python", sys.version.split()[0], "Requires-Python", importlib.metadata.metadata("textarena")["Requires-Python"])
broken = []
for name in sorted(textarena.envs.registration.ENV_REGISTRY):
    if name.endswith("-v0"):
        try:
            textarena.make(name)
        except SyntaxError as error:
            broken.append(name)
            print(name, "->", type(error).__name__, error)
        except Exception:  # data or keys that are not here
            pass
expected = ["Checkers-v0", "Chess-v0", "IteratedStagHunt-v0", "Klondike-v0", "ReverseTicTacToe-v0", "UltimateTexasHoldem-v0"]
assert broken == expected, f"the behaviour has changed: {broken}"
PYTHON
