#!/usr/bin/env bash
# pytorch-ignite 0.5.5: a score that is NaN, as the loss of an evaluation may be.
#
# Guess: NaN is worse than any number, or an error.
# Seen:  a first score of NaN is the best one for ever: `Checkpoint` keeps that model and saves no other. `EarlyStopping` takes NaN
#        for an improvement, and the score after it as well: training whose loss stays NaN is never stopped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 pytorch-ignite==0.5.5
"$folder/venv/bin/python" - "$folder/saved" <<'PYTHON'
import sys
from pathlib import Path

import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping

nan = float("nan")


def saved_epochs(scores, folder):
    """Return the epochs of the models that are kept as the best one."""
    model = torch.nn.Linear(1, 1, bias=False)
    trainer = Engine(lambda engine, batch: model.weight.data.fill_(engine.state.epoch))
    saver = DiskSaver(str(folder), create_dir=True)
    handler = Checkpoint({"model": model}, saver, n_saved=1, score_function=lambda engine: scores[engine.state.epoch - 1])
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler)
    trainer.run([0], max_epochs=len(scores))
    return [int(torch.load(path)["weight"]) for path in Path(folder).iterdir()]


def last_epoch(scores):
    trainer = Engine(lambda engine, batch: None)
    handler = EarlyStopping(patience=2, score_function=lambda engine: scores[engine.state.epoch - 1], trainer=trainer)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler)
    trainer.run([0], max_epochs=len(scores))
    return trainer.state.epoch


for number, (scores, expected) in enumerate((([0.1, 0.5, 0.9], [3]), ([nan, 0.5, 0.9], [1]), ([0.1, nan, 0.9], [3]))):
    seen = saved_epochs(scores, f"{sys.argv[1]}-{number}")
    print(f"scores {scores}: the model of epoch {seen} is kept")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
for scores, expected in (([0.9, 0.5, 0.4, 0.3, 0.2, 0.1], 3), ([0.9, nan, nan, nan, nan, nan], 6), ([0.9, nan, 0.4, 0.3, 0.2, 0.1], 5)):
    seen = last_epoch(scores)
    print(f"scores {scores}: training ends after epoch {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
