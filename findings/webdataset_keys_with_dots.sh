#!/usr/bin/env bash
# webdataset 1.0.2: samples whose key has a dot, and fields that are called "id".
#
# Guess: what `TarWriter` wrote, `WebDataset` reads as the same samples, or one of them refuses the key.
# Seen:  the key ends at its first dot. The episodes "v1.0_a" and "v1.0_b" are one sample "v1" with the fields "0_a.txt" and "0_b.txt".
#        `decode` makes the number 7 of the text "007" in fields such as "id", "index" and "count".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet webdataset==1.0.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import webdataset

path = str(pathlib.Path(tempfile.mkdtemp()) / "episodes.tar")


def read_back(samples, decode):
    with webdataset.TarWriter(path) as writer:
        for sample in samples:
            writer.write(sample)
    data = webdataset.WebDataset(path, shardshuffle=False)
    fields = data.decode() if decode else data
    return [{key: value for key, value in sample.items() if key == "__key__" or key[:2] != "__"} for sample in fields]


for names, expected in (
    (["v1_a", "v1_b"], [{"__key__": "v1_a", "txt": b"reply"}, {"__key__": "v1_b", "txt": b"reply"}]),
    (["v1.0_a", "v1.0_b"], [{"__key__": "v1", "0_a.txt": b"reply", "0_b.txt": b"reply"}]),
):
    seen = read_back([{"__key__": name, "txt": "reply"} for name in names], decode=False)
    print(f"{names}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
[seen] = read_back([{"__key__": "a", "id": b"007", "index": b"010", "txt": b"007"}], decode=True)
print(seen)
assert seen == {"__key__": "a", "id": 7, "index": 10, "txt": "007"}, "the behaviour has changed"
PYTHON
