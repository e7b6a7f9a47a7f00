#!/usr/bin/env bash
# safetensors 0.8.0: transposed NumPy arrays, and the bytes of two saves.
#
# Guess: `safetensors.numpy.save` stores a transposed array correctly, or refuses it as `safetensors.torch` does; and equal arrays with
#        equal metadata have equal bytes.
# Seen:  a transposed array, or one in Fortran order, is stored in the order of its memory and read back with other values, without a
#        warning; `numpy.ascontiguousarray` mends it. The order of two or more keys of metadata in the file differs between saves, so
#        that equal models have different hashes. Without metadata, or with one key, the bytes are equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from safetensors.numpy import load, save

weights = np.arange(6, dtype=np.float32).reshape(2, 3)
for name, array in (("transposed", weights.T), ("in Fortran order", np.asfortranarray(weights))):
    seen = load(save({"weights": array}))["weights"]
    print(f"{name}: saved {array.tolist()}, read {seen.tolist()}")
    assert seen.shape == array.shape
    assert not np.array_equal(seen, array), "the behaviour has changed; expected other values"
    assert np.array_equal(load(save({"weights": np.ascontiguousarray(array)}))["weights"], array)


def versions(metadata):
    return len({save({"a": weights, "b": weights}, metadata=metadata) for _ in range(50)})


counts = {keys: versions({str(key): "value" for key in range(keys)}) for keys in (0, 1, 8)}
for keys, count in counts.items():
    print(f"50 saves with {keys} keys of metadata: {count} different files")
assert counts[0] == counts[1] == 1
assert counts[8] > 1, "the behaviour has changed; expected several files"
PYTHON
