#!/usr/bin/env bash
# tensorboard 2.21.0: what EventAccumulator, the documented reader, returns of a long run.
#
# Guess: all points and all texts of the event file.
# Seen:  of 12,000 points of a scalar 10,000 are returned, of 30 texts of a tag 10, drawn at random and without a warning.
#        size_guidance={"scalars": 0, "tensors": 0} returns all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tensorboard==2.21.0 tensorboardX==2.6.5 numpy==2.4.0
"$folder/venv/bin/python" -W ignore - "$folder/run" <<'PYTHON'
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboardX import SummaryWriter

writer = SummaryWriter(sys.argv[1])
for step in range(12_000):
    writer.add_scalar("return", step / 3, step)
for step in range(30):
    writer.add_text("page", f"page {step}", step)
writer.close()


def counts(**options):
    events = EventAccumulator(sys.argv[1], **options).Reload()
    return len(events.Scalars("return")), len(events.Tensors("page/text_summary"))


default, whole = counts(), counts(size_guidance={"scalars": 0, "tensors": 0})
print("written: 12000 points, 30 texts")
print("read by default:", *default)
print("read with size_guidance 0:", *whole)
assert whole == (12_000, 30)
assert default == (10_000, 10), "the behaviour has changed"
PYTHON
