"""Pointing networks on disk: weights, words and how the agent is to be used."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from agents.models.checkpoints import AGENT
from agents.models.pointer.network import PointerNetwork, Vocabulary

_WEIGHTS, _RECORD = "pointer.safetensors", "pointer.json"


def save_pointer(folder: Path, network: PointerNetwork, vocabulary: Vocabulary, agent: Mapping[str, Any]) -> None:
    """Write a network and its words; `agent` says how it is to be used, by its env settings."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, folder / _WEIGHTS)
    record = {"words": vocabulary.words, "width": network.width, "hidden": network.hidden}
    (folder / _RECORD).write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    (folder / AGENT).write_text(json.dumps(dict(agent)), encoding="utf-8")


def load_pointer(folder: Path) -> tuple[PointerNetwork, Vocabulary]:
    """Return the network of a folder, ready to be used, and its words."""
    record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    network = PointerNetwork(len(record["words"]), record["width"], record["hidden"])
    network.load_state_dict(load_file(folder / _WEIGHTS))
    network.eval()
    return network, Vocabulary(record["words"])


def is_pointer(source: str | Path) -> bool:
    """Say whether a folder holds a pointing network."""
    return (Path(source) / _RECORD).is_file()
