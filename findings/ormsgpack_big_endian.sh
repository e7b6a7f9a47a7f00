#!/usr/bin/env bash
# ormsgpack 1.13.1: NumPy arrays in the byte order of networks and of many data files.
#
# Guess: `OPT_SERIALIZE_NUMPY` writes their numbers or refuses them, as orjson does.
# Seen:  it writes the bytes as if they were in the machine's order: 1 becomes 16777216 and 0.5 becomes 8.8285e-44. Arrays that are not
#        contiguous are refused, as are arrays of texts, with the same message.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ormsgpack==1.13.1 orjson==3.13.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
import orjson
import ormsgpack

for values, byte_order, expected in (
    ([1, 2], "<i4", [1, 2]),
    ([1, 2], ">i4", [16777216, 33554432]),
    ([0.5], "<f4", [0.5]),
    ([0.5], ">f4", [8.828180325246348e-44]),
):
    array = numpy.frombuffer(numpy.array(values, byte_order).tobytes(), byte_order)
    seen = ormsgpack.unpackb(ormsgpack.packb(array, option=ormsgpack.OPT_SERIALIZE_NUMPY))
    print(f"{array.tolist()} as {byte_order}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
try:
    orjson.dumps(numpy.array([1, 2], ">i4"), option=orjson.OPT_SERIALIZE_NUMPY)
except TypeError as error:
    print(f"orjson: {error}")
else:
    raise AssertionError("the behaviour of orjson has changed; expected a TypeError")
for array in (numpy.arange(6).reshape(2, 3).T, numpy.array(["click"])):
    try:
        ormsgpack.packb(array, option=ormsgpack.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        print(f"ormsgpack, {array.dtype}: {error}")
        assert "not C contiguous" in str(error)
    else:
        raise AssertionError("the behaviour has changed; expected a TypeError")
PYTHON
