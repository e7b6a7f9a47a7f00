#!/usr/bin/env bash
# cpprb 11.0.0: batches of a prioritized buffer that are kept, and a buffer that is saved and loaded.
#
# Guess: a batch stays as it was when the next one is drawn, and `load_transitions` restores what `save_transitions` stored, with priorities.
# Seen:  the weights and indexes of the first batch become those of the second, while its transitions stay, so that errors of two batches
#        that are drawn before an update are stored at the wrong transitions. After loading, all transitions have the same probability.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet cpprb==11.0.0 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
from cpprb import PrioritizedReplayBuffer

SIZE = 8


def empty_buffer():
    return PrioritizedReplayBuffer(SIZE, {"number": {"dtype": numpy.int64}}, alpha=1.0)


def shares(buffer):
    """Return how often each transition is drawn, as shares of all draws."""
    return numpy.bincount(buffer.sample(20_000)["number"].ravel(), minlength=SIZE) / 20_000


buffer = empty_buffer()
for number in range(SIZE):
    buffer.add(number=number, priorities=float(number + 1))

first = buffer.sample(6, beta=1.0)
kept = {key: numpy.copy(value) for key, value in first.items()}
second = buffer.sample(6, beta=1.0)
for key in ("number", "indexes", "weights"):
    print(f"{key} of the first batch: {kept[key].ravel().round(2).tolist()}, after a second one: {first[key].ravel().round(2).tolist()}")
assert numpy.array_equal(kept["indexes"], kept["number"].ravel())
assert numpy.array_equal(first["number"], kept["number"])
assert numpy.array_equal(first["weights"], second["weights"]) and not numpy.array_equal(first["weights"], kept["weights"]), "the behaviour has changed"
assert numpy.array_equal(first["indexes"], second["indexes"]) and not numpy.array_equal(first["indexes"], kept["indexes"]), "the behaviour has changed"

buffer.save_transitions("buffer")
loaded = empty_buffer()
loaded.load_transitions("buffer.npz")
print("shares before:", shares(buffer).round(2).tolist(), "and after loading:", shares(loaded).round(2).tolist())
assert numpy.array_equal(loaded.get_all_transitions()["number"], buffer.get_all_transitions()["number"])
assert numpy.allclose(shares(buffer), numpy.arange(1, SIZE + 1) / 36, atol=0.02)
assert numpy.allclose(shares(loaded), 1 / SIZE, atol=0.02), "the behaviour has changed"
PYTHON
