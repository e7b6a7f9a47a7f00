"""Keys and values of prompts that were read before, so that the next prompt with the same beginning need not read it again."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from agents.data.tokens import Ids

BLOCK = 16  # tokens that are kept, found and dropped together


class States(NamedTuple):
    """What a model remembers of n tokens that follow each other."""

    keys: Tensor  # (layers, heads, n, size)
    values: Tensor  # (layers, heads, n, size), which may be another size


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    number: int
    states: States


class PrefixCache:
    """Blocks of tokens with their states, at most `capacity` tokens; those not asked for the longest go first.

    A block is known by its tokens and the block before it, so equal beginnings of prompts are held once.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[tuple[int, Ids], _Block] = OrderedDict()
        self._made = 0

    def find(self, ids: Ids) -> tuple[list[States], tuple[int, Ids] | None]:
        """Return the states of the longest known beginning, block by block, and the name of the first block that is missing.

        At least one token is left to be read, since what follows a prompt is told by reading its last token. The name is None
        where no whole block is missing, or where it could not be kept.
        """
        keys: list[tuple[int, Ids]] = []
        missing, parent = None, 0
        for start in range(0, len(ids) - BLOCK, BLOCK):
            key = (parent, ids[start : start + BLOCK])
            block = self._blocks.get(key)
            if block is None:
                missing = key if start + BLOCK <= self._capacity else None
                break
            keys.append(key)
            parent = block.number
        self._touch(keys)
        return [self._blocks[key].states for key in keys], missing

    def add(self, ids: Ids, states: States) -> None:
        """Keep the states of all tokens of a prompt, as far as there is room."""
        keys: list[tuple[int, Ids]] = []
        parent = 0
        for start in range(0, min(len(ids), self._capacity) - BLOCK + 1, BLOCK):
            key = (parent, ids[start : start + BLOCK])
            block = self._blocks.get(key)
            if block is None:
                self._made += 1
                # Copies: a view would hold the whole prompt's memory for as long as one block lives.
                kept = States(*(part[:, :, start : start + BLOCK].clone() for part in states))
                block = self._blocks[key] = _Block(self._made, kept)
            keys.append(key)
            parent = block.number
        self._touch(keys)
        while len(self._blocks) * BLOCK > self._capacity:
            self._blocks.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._blocks.clear()

    def __len__(self) -> int:
        """Return the number of tokens held."""
        return len(self._blocks) * BLOCK

    def _touch(self, keys: Sequence[tuple[int, Ids]]) -> None:
        # The last block first: so a block never outlives the one before it, without which it cannot be found.
        for key in reversed(keys):
            self._blocks.move_to_end(key)


def joined(blocks: Sequence[States]) -> States:
    """Return the states of blocks that follow each other as one."""
    return States(torch.cat([block.keys for block in blocks], dim=2), torch.cat([block.values for block in blocks], dim=2))
