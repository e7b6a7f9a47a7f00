#!/usr/bin/env bash
# hydra-core 1.3.8 with omegaconf 2.3.1, which it requires (below 2.4): a field `tuple[str, float]` of a structured config.
#
# Guess: each element has its own type, as in omegaconf 2.4.0.
# Seen:  all elements have the first one's: ("adam", 0.9) becomes "adam" and "0.9", (0.9, "1") 0.9 and 1.0, without a warning, and
#        (1, 0.5) as `tuple[int, float]` is an error. `to_object` returns lists, and one element is accepted for two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet hydra-core==1.3.8 omegaconf==2.3.1
"$folder/venv/bin/python" - <<'PYTHON'
from dataclasses import make_dataclass

from omegaconf import OmegaConf, ValidationError


def stored(annotation, value):
    config = make_dataclass("Config", [("pair", annotation, value)])
    try:
        return OmegaConf.to_object(OmegaConf.structured(config)).pair
    except ValidationError as error:
        return type(error).__name__


expected = [
    (tuple[str, float], ("adam", 0.9), ["adam", "0.9"]),
    (tuple[float, str], (0.9, "1"), [0.9, 1.0]),
    (tuple[str, int, bool], ("a", 1, True), ["a", "1", "True"]),
    (tuple[float, float], (0.9,), [0.9]),
    (tuple[int, float], (1, 0.5), "ValidationError"),
]
for annotation, value, result in expected:
    seen = stored(annotation, value)
    print(f"{annotation}: {value} -> {seen!r}")
    assert repr(seen) == repr(result), f"the behaviour has changed; expected {result!r}"
PYTHON
