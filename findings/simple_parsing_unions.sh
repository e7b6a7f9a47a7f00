#!/usr/bin/env bash
# simple-parsing 0.1.9: a dataclass that is saved and loaded again.
#
# Guess: `load` returns what `save` wrote.
# Seen:  a value of a Union is converted to the first type that accepts it: 0.5 in `Union[int, float]` becomes 0, with a
#        RuntimeWarning, "5" in `Union[int, str]` 5, and 1 in `Union[bool, int]` True. For an int, 1.7 becomes 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet simple-parsing==0.1.9
"$folder/venv/bin/python" - <<'PYTHON'
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from simple_parsing.helpers.serialization import from_dict, load, save


@dataclass
class Config:
    discount: Union[int, float] = 0.5  # noqa: UP007
    name: Union[int, str] = "5"  # noqa: UP007
    workers: Union[bool, int] = 1  # noqa: UP007
    sizes: tuple[int, ...] = (1, 2)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "config.json"
    save(Config(), path)
    loaded = load(Config, path)
print("saved: ", Config())
print("loaded:", loaded)
assert repr(loaded) == "Config(discount=0, name=5, workers=True, sizes=(1, 2))", "the behaviour has changed"
sizes = from_dict(Config, {"sizes": [1.7, 2]}).sizes
print("sizes of [1.7, 2]:", sizes)
assert sizes == (1, 2), "the behaviour has changed"
PYTHON
