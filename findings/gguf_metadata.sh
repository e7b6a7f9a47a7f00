#!/usr/bin/env bash
# gguf 0.19.0: metadata that GGUFWriter writes and GGUFReader reads.
#
# Guess: texts, numbers and lists are read as they were written, or writing them is an error.
# Seen:  an empty text and an empty list are left out without a warning: the reader does not find the key. A list of lists is
#        read as one list. The numbers of a list are stored in 32 bits: 0.1 is read as 0.10000000149011612, and 2**40 is a
#        `struct.error`. NumPy's numbers in a list are a ValueError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gguf==0.19.0
"$folder/venv/bin/python" - "$folder/metadata.gguf" <<'PYTHON'
import struct
import sys

import numpy as np
from gguf import GGUFReader, GGUFWriter


def read(value):
    writer = GGUFWriter(sys.argv[1], "llama")
    (writer.add_string if isinstance(value, str) else writer.add_array)("key", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    field = GGUFReader(sys.argv[1]).get_field("key")
    return field and field.contents()


for value, expected in (
    ("stop", "stop"),
    ("", None),
    (["a", "b"], ["a", "b"]),
    ([], None),
    ([[1, 2], [3]], [1, 2, 3]),
    ([0.1], [0.10000000149011612]),
):
    seen = read(value)
    print(f"{value!r} is read as {seen!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
for value, error in (([1, 2**40], struct.error), ([np.int64(1)], ValueError)):
    try:
        read(value)
    except error as seen:
        print(f"{value!r}: {type(seen).__name__}: {seen}")
    else:
        raise AssertionError(f"the behaviour has changed; expected {error}")
PYTHON
