"""A prefix cache: keys and values of earlier prompts, which later prompts with the same beginning use again."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from agents.data.tokens import Ids

BLOCK = 16  # tokens that are stored, found and evicted together


class KeyValues(NamedTuple):
    """The keys and values of n consecutive tokens, in all layers."""

    keys: Tensor  # (layers, heads, n, size)
    values: Tensor  # (layers, heads, n, size), which may be another size


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    number: int
    states: KeyValues


class PrefixCache:
    """Blocks of tokens with their keys and values, at most `capacity` tokens; the least recently used are evicted first.

    The key of a block is its tokens and the number of the block before it, so equal prefixes are stored once.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[tuple[int, Ids], _Block] = OrderedDict()
        self._made = 0

    def find(self, ids: Ids) -> tuple[list[KeyValues], tuple[int, Ids] | None]:
        """Return the keys and values of the longest cached prefix, block by block, and the key of the first missing block.

        At least one token is never taken from the cache, since the logits after a prompt come from a forward pass over its last
        token. The key is None if no whole block is missing, or if the capacity is too small for the missing one.
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

    def add(self, ids: Ids, states: KeyValues) -> None:
        """Store the keys and values of a prompt, as many whole blocks as the capacity allows."""
        keys: list[tuple[int, Ids]] = []
        parent = 0
        for start in range(0, min(len(ids), self._capacity) - BLOCK + 1, BLOCK):
            key = (parent, ids[start : start + BLOCK])
            block = self._blocks.get(key)
            if block is None:
                self._made += 1
                # Copies: a view would hold the whole prompt's memory for as long as one block lives.
                kept = KeyValues(*(part[:, :, start : start + BLOCK].clone() for part in states))
                block = self._blocks[key] = _Block(self._made, kept)
            keys.append(key)
            parent = block.number
        self._touch(keys)
        while len(self._blocks) * BLOCK > self._capacity:
            self._blocks.popitem(last=False)

    def clear(self) -> None:
        """Drop all blocks."""
        self._blocks.clear()

    def __len__(self) -> int:
        """Return the number of cached tokens."""
        return len(self._blocks) * BLOCK

    def _touch(self, keys: Sequence[tuple[int, Ids]]) -> None:
        # The last block first, so that a block is evicted before the one before it, without which it cannot be found.
        for key in reversed(keys):
            self._blocks.move_to_end(key)


def joined(blocks: Sequence[KeyValues]) -> KeyValues:
    """Return the keys and values of consecutive blocks as one."""
    return KeyValues(torch.cat([block.keys for block in blocks], dim=2), torch.cat([block.values for block in blocks], dim=2))
