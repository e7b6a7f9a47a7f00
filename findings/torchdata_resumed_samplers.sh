#!/usr/bin/env bash
# torchdata 0.11.0: StatefulDataLoader, continued in the middle of an epoch in a new process.
#
# Guess: the samples of the epoch that were not yet returned follow, with `shuffle=True` and with a sampler of PyTorch.
# Seen:  with `shuffle=True` they do. With `SubsetRandomSampler`, `RandomSampler` or `WeightedRandomSampler` of PyTorch the sampler draws
#        a new order of which the first samples are skipped: some samples come twice in the epoch, and others never. There is no warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchdata==0.11.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torch.utils.data import RandomSampler, SubsetRandomSampler, WeightedRandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader

tasks = list(range(10))


def epochs(options):
    """Return an epoch without an interruption, and one that is continued after two of five batches."""
    torch.manual_seed(0)
    whole = [int(task) for batch in StatefulDataLoader(tasks, batch_size=2, **options()) for task in batch]
    torch.manual_seed(0)
    loader = StatefulDataLoader(tasks, batch_size=2, **options())
    batches = iter(loader)
    first = [int(task) for _ in range(2) for task in next(batches)]
    state = loader.state_dict()
    torch.manual_seed(1)
    loader = StatefulDataLoader(tasks, batch_size=2, **options())
    loader.load_state_dict(state)
    return whole, first + [int(task) for batch in loader for task in batch]


for name, options, equal in (
    ("shuffle=True", lambda: {"shuffle": True}, True),
    ("RandomSampler", lambda: {"sampler": RandomSampler(tasks)}, False),
    ("SubsetRandomSampler", lambda: {"sampler": SubsetRandomSampler(tasks)}, False),
    ("WeightedRandomSampler", lambda: {"sampler": WeightedRandomSampler([1.0] * 10, 10, replacement=False)}, False),
):
    whole, continued = epochs(options)
    print(f"{name}: {whole}; continued: {continued}, {len(set(continued))} different tasks")
    assert sorted(whole) == tasks, "the behaviour without an interruption has changed"
    assert whole[:4] == continued[:4], "the first batches have changed"
    assert (whole == continued) == equal, "the behaviour has changed"
    assert (len(set(continued)) == 10) == equal, "the behaviour has changed"
PYTHON
