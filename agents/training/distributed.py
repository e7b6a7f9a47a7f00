"""Ranks: the processes that train one model together, and how they share a model's weights, its work and its numbers.

The process group of `torch.distributed` is made outside: by Ray Train (`agents.cluster`) or torchrun. One process needs none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from agents.data.tokens import Sample

if TYPE_CHECKING:
    from transformers import PreTrainedModel

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """The processes that train together; this one is number `index` of `count`. Rank 0 is the main one."""

    index: int = 0
    count: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable

    @classmethod
    def here(cls) -> "Ranks":
        """Return the ranks of the process group that this process is in; alone, it is the only one."""
        device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
        if not distributed.is_initialized():
            return cls(device=device)
        return cls(distributed.get_rank(), distributed.get_world_size(), device)

    @property
    def is_main(self) -> bool:
        """Whether this process has the envs and the engine, and writes checkpoints."""
        return self.index == 0

    def share(self, value: T | None = None) -> T:
        """Return rank 0's value in every process."""
        values = [value]
        if self.count > 1:
            distributed.broadcast_object_list(values, src=0)
        return values[0]  # type: ignore[return-value]

    def gather(self, values: list[T]) -> list[T]:
        """Return the values of all processes, in the order of the ranks."""
        if self.count == 1:
            return values
        parts: list[list[T]] = [[] for _ in range(self.count)]
        distributed.all_gather_object(parts, values)
        return [value for part in parts for value in part]

    def part(self, samples: Sequence[Sample]) -> list[int]:
        """Return the indices of the samples that this process trains on; see `deal`."""
        return deal(samples, self.count)[self.index]


ALONE = Ranks()
"""The ranks of a process that trains by itself on the CPU."""


def deal(samples: Sequence[Sample], count: int) -> list[list[int]]:
    """Return the indices of the samples in `count` parts of about equally many tokens.

    Prompts with a common beginning stay together, as what they share is computed once: the samples are cut apart in the order of
    their prompts. Equal prompts are never parted, so a part may be empty.

    >>> deal([Sample((1, 2), (3,)), Sample((5, 6), (7,)), Sample((1, 2), (4,))], 2)
    [[0, 2], [1]]
    """
    if count == 1:
        return [list(range(len(samples)))]
    order = sorted(range(len(samples)), key=lambda index: samples[index].prompt_ids)
    costs = [
        len(samples[index].response_ids) + (len(samples[index].prompt_ids) if is_first else 0)
        for index, is_first in zip(order, _firsts(samples, order), strict=True)
    ]
    parts: list[list[int]] = [[] for _ in range(count)]
    spent, number, total = 0, 0, sum(costs)
    for index, cost, is_first in zip(order, costs, _firsts(samples, order), strict=True):
        if is_first:
            # A prompt goes where its middle falls.
            number = min(int((spent + cost / 2) * count / total), count - 1)
        parts[number].append(index)
        spent += cost
    return [sorted(part) for part in parts]


def _firsts(samples: Sequence[Sample], order: Sequence[int]) -> list[bool]:
    """Whether each sample's prompt is another than that of the sample before."""
    prompts = [samples[index].prompt_ids for index in order]
    return [place == 0 or prompts[place - 1] != prompt for place, prompt in enumerate(prompts)]


class Weights(nn.Module):
    """A model's weights: whole in a process that trains alone, else parted among the ranks and gathered layer by layer.

    They are parted by torch's `fully_shard` (FSDP2). Every rank must call them equally often, and a gradient is then the *mean*
    of those of the ranks. The weights and their gradients are float32; `dtype` is that of the computation.
    """

    def __init__(self, model: "PreTrainedModel", ranks: Ranks, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.model = model
        self._autocast = torch.autocast(ranks.device.type, dtype, enabled=ranks.count == 1 and dtype != torch.float32)
        if ranks.count == 1:
            model.to(ranks.device)  # type: ignore[arg-type]
            return
        mesh = init_device_mesh(ranks.device.type, (ranks.count,))
        precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
        for layer in model.get_decoder().layers:
            fully_shard(layer, mesh=mesh, mp_policy=precision)
        fully_shard(self, mesh=mesh, mp_policy=precision)

    def forward(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Return the function of the whole model and the arguments."""
        with self._autocast:
            return function(self.model, *arguments, **options)

    @property
    def trained(self) -> list[nn.Parameter]:
        """The parameters that learn, or this rank's shards of them."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @torch.no_grad()
    def copy_to(self, model: "PreTrainedModel | None") -> None:
        """Copy what was trained into a whole model of the same kind, in the ranks that give one. Every rank must call it."""
        targets = [None] * len(self.trained) if model is None else [item for item in model.parameters() if item.requires_grad]
        for parameter, target in zip(self.trained, targets, strict=True):
            full = whole(parameter)
            if target is not None:
                target.copy_(full)


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor put together from its shards. Every rank must call it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shard_like(tensor: Tensor, model: Tensor) -> Tensor:
    """Return this rank's shard of a whole tensor, parted as `model` is."""
    if not isinstance(model, DTensor):
        return tensor
    return distribute_tensor(tensor.to(model.device), model.device_mesh, model.placements, src_data_rank=None)
