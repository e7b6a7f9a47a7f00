"""The trained read of a memory: attention over the nearest steps, and what it adds to the scores of candidates."""

from collections.abc import Sequence

import numpy
import torch
from torch import Tensor, nn

from agents.models.pointer.memory import MATCHES, NEARNESS, Recalled

_HIDDEN = 16


class MemoryRead(nn.Module):
    """Adds to a candidate's score how much it does the same as the steps that are attended to. A new one adds 0.

    The weight of a step is a softmax over the nearest steps and over one that says nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.Linear(NEARNESS, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))
        self.nothing = nn.Parameter(torch.zeros(1))
        self.gain = nn.Parameter(torch.zeros(MATCHES))

    def forward(self, recalled: Sequence[Recalled], owners: Tensor) -> Tensor:
        """Return what is added to the score of each candidate, shape (N,); `owners` are the numbers of their questions."""
        near = torch.from_numpy(numpy.stack([each.near for each in recalled]))
        stored = torch.from_numpy(numpy.stack([each.stored for each in recalled]))
        offered = torch.from_numpy(numpy.concatenate([each.offered for each in recalled]))
        logits = self.attention(near)[..., 0].masked_fill(stored[..., 0] < 0, -torch.inf)
        weights = torch.cat([logits, self.nothing.expand(len(recalled), 1)], 1).softmax(1)[:, :-1]
        added = torch.zeros(len(offered))
        for place, gain in enumerate(self.gain):
            same = offered[:, place, None] == stored[owners, :, place]
            added = added + gain * (same * weights[owners]).sum(1)
        return added
