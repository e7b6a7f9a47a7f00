"""Pointing networks on disk: parameters, words and how the agent is to be used."""

import json
from pathlib import Path

from safetensors.torch import load_file

from agents.models.checkpoints import CheckpointError, find_model
from agents.models.pointer.memory import load_memory
from agents.models.pointer.network import MEMORY, RECORD, WEIGHTS, PointerNetwork, Vocabulary


def load_pointer(source: str | Path) -> tuple[PointerNetwork, Vocabulary]:
    """Return the network of a folder or of a run's newest checkpoint, ready to be used, and its words. Dropout is 0."""
    folder = Path(find_model(source))
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    parameters = load_file(folder / WEIGHTS)
    _, width, hidden = parameters["scorers.0.slots"].shape
    network = PointerNetwork(len(record["words"]), width, hidden)
    if (folder / MEMORY).is_file():
        network.remember(load_memory(folder / MEMORY))
    network.load_state_dict(parameters)
    network.eval()
    return network, Vocabulary(record["words"])


def is_pointer(source: str | Path) -> bool:
    """Return whether a folder, or a run's newest checkpoint, holds a pointing network."""
    try:
        return (Path(find_model(source)) / RECORD).is_file()
    except CheckpointError:
        return False
