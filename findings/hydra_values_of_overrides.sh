#!/usr/bin/env bash
# hydra-core 1.3.8: a value in the config file and the same text as an override on the command line.
#
# Guess: `x=on` on the command line means what `x: on` means in the file.
# Seen:  "on", "010", "0x10" and "1:30" are True, 8, 16 and 90 in the file and texts in an override; "nan" and "inf" are texts in the
#        file and floats in an override.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet hydra-core==1.3.8
"$folder/venv/bin/python" - <<'PYTHON'
import tempfile
from pathlib import Path

from hydra import compose, initialize_config_dir

expected = {"1e-4": (1e-4, 1e-4), "on": (True, "on"), "no": (False, "no"), "010": (8, "010"), "0x10": (16, "0x10")}
expected |= {"1:30": (90, "1:30"), "nan": ("nan", float("nan")), "inf": ("inf", float("inf"))}
with tempfile.TemporaryDirectory() as folder:
    for text, values in expected.items():
        (Path(folder) / "config.yaml").write_text(f"x: {text}\n")
        with initialize_config_dir(folder, version_base="1.3"):
            seen = compose("config").x, compose("config", overrides=[f"x={text}"]).x
        print(f"{text}: {seen[0]!r} in the file, {seen[1]!r} as an override")
        assert repr(seen) == repr(values), f"the behaviour has changed; expected {values}"
PYTHON
