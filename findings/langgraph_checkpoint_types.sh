#!/usr/bin/env bash
# langgraph-checkpoint 4.3.2: values of a state in a checkpoint.
#
# Guess: a value that the serializer accepts is read back with its type, and other values are an error.
# Seen:  an array of objects is read back as None, a structured array without its fields, an exception as the text of its repr, a tuple
#        as a list (also in a dataclass, but not in a pydantic model), and a deque without its limit. Sets and the keys of dicts keep
#        their types; a NumPy number is an error. A graph that is resumed has another state than one that went on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langgraph-checkpoint==4.3.2 langchain-core==1.8.3 numpy==2.4.6 pydantic==2.13.5 ormsgpack==1.13.1
"$folder/venv/bin/python" - <<'PYTHON'
import collections
import dataclasses

import numpy
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

serializer = JsonPlusSerializer()


@dataclasses.dataclass
class Step:
    position: tuple


def read_back(value):
    return serializer.loads_typed(serializer.dumps_typed(value))


for value, expected in (
    (numpy.array([{"action": "click"}, None], dtype=object), None),
    ((3, 4), [3, 4]),
    (Step((3, 4)), Step([3, 4])),
    (ValueError("no such button"), "ValueError('no such button')"),
    ({3, 4}, {3, 4}),
    ({(3, 4): 5}, {(3, 4): 5}),
):
    seen = read_back(value)
    print(f"{value!r} -> {seen!r}")
    assert repr(seen) == repr(expected), f"the behaviour has changed; expected {expected!r}"

recent = read_back(collections.deque([1, 2], maxlen=2))
recent.append(3)
print(f"deque with a limit of 2: {recent}")
assert list(recent) == [1, 2, 3], "the behaviour has changed"

box = numpy.array([(3, 4.5)], dtype=[("x", "i4"), ("width", "f8")])
seen = read_back(box)
print(f"fields {box.dtype.names} -> {seen.dtype.names}, type {seen.dtype}")
assert seen.dtype.names is None and seen.dtype.itemsize == 12, "the behaviour has changed"

array = numpy.arange(6).reshape(2, 3).T
assert numpy.array_equal(read_back(array), array)
try:
    read_back(numpy.float32(0.5))
except TypeError as error:
    print(error)
else:
    raise AssertionError("the behaviour has changed; expected a TypeError")
PYTHON
