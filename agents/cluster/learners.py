"""The learner in several processes: a language model whose weights are parted among the ranks, and Ray Train, which starts them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from agents.data.trajectories import Sample
from agents.grpo import State
from agents.models.batches import PackedBatch, batch_logprobs, pack
from agents.training.distributed import Ranks, whole
from agents.training.language_models import LanguageModel
from agents.training.rollouts import TrainedStep

if TYPE_CHECKING:
    from transformers import PreTrainedModel

T = TypeVar("T")

_TIMEOUT_S = 7 * 24 * 3600  # workers wait for as long as rollouts take; Ray notices lost processes


class ShardRanks(Ranks):
    """Ranks that have shards of one model: they part the steps by their tokens, and a gradient is the mean of theirs."""

    def part(self, steps: Sequence[TrainedStep], indices: Sequence[int]) -> list[int]:
        """Return which of these steps this process computes; see `deal`."""
        samples = [Sample(steps[index].step.prompt_ids, steps[index].step.response_ids) for index in indices]
        return [indices[place] for place in deal(samples, self.count)[self.index]]

    def add_up(self, parameters: Iterable[nn.Parameter]) -> None:
        """Do nothing: the backward pass has."""


def shard_ranks() -> Ranks:
    """Return the ranks of the process group that this process is in; with several, they are to have shards."""
    ranks = Ranks.here()
    return ShardRanks(ranks.index, ranks.count, ranks.device, float(ranks.count)) if ranks.count > 1 else ranks


def deal(samples: Sequence[Sample], count: int) -> list[list[int]]:
    """Return the indices of the samples in `count` parts of about equally many tokens.

    Prompts with a common beginning stay together, as what they share is computed once: the samples are cut apart in the order of
    their prompts. Equal prompts are never parted, so a part may be empty.

    >>> deal([Sample((1, 2), (3,)), Sample((5, 6), (7,)), Sample((1, 2), (4,))], 2)
    [[0, 2], [1]]
    """
    order = sorted(range(len(samples)), key=lambda index: samples[index].prompt_ids)
    prompts = [samples[index].prompt_ids for index in order]
    firsts = [place == 0 or prompts[place - 1] != prompt for place, prompt in enumerate(prompts)]
    costs = [
        len(samples[index].response_ids) + (len(samples[index].prompt_ids) if is_first else 0)
        for index, is_first in zip(order, firsts, strict=True)
    ]
    parts: list[list[int]] = [[] for _ in range(count)]
    spent, number, total = 0, 0, sum(costs)
    for index, cost, is_first in zip(order, costs, firsts, strict=True):
        if is_first:
            # A prompt goes where its middle falls.
            number = min(int((spent + cost / 2) * count / total), count - 1)
        parts[number].append(index)
        spent += cost
    return [sorted(part) for part in parts]


class Weights(nn.Module):
    """A model's weights, parted among the ranks by torch's `fully_shard` (FSDP2) and gathered layer by layer.

    Every rank must call them equally often, and a gradient is then the *mean* of those of the ranks. The weights and their gradients
    are float32; `dtype` is that of the computation.
    """

    def __init__(self, model: "PreTrainedModel", ranks: Ranks, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.model = model
        mesh = init_device_mesh(ranks.device.type, (ranks.count,))
        precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
        for layer in model.get_decoder().layers:
            fully_shard(layer, mesh=mesh, mp_policy=precision)
        fully_shard(self, mesh=mesh, mp_policy=precision)

    def forward(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Return the function of the whole model and the arguments."""
        return function(self.model, *arguments, **options)


class ShardedLanguageModel(LanguageModel):
    """A language model whose weights are parted among the ranks; rank 0 has a whole copy, which samples and is saved."""

    def __init__(self, network: Any, tokenizer: Any, settings: Any, ranks: Ranks) -> None:
        super().__init__(network, tokenizer, settings)
        self.whole = deepcopy(self.network) if ranks.is_main else None
        self._ranks = ranks
        self._weights = Weights(self.network, ranks, getattr(torch, settings.dtype))

    def compute(self, packed: PackedBatch) -> Tensor:
        """Return the log-probabilities of the response tokens of a pass."""
        logprobs: Tensor = self._weights(batch_logprobs, packed, temperature=self._settings.temperature)
        return logprobs

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield what a language model does, and then passes of no choice: all ranks must take equally many."""
        own = self.passes(choices)
        count = max(self._ranks.gather([len(own)]))
        for packed in own:
            yield list(packed.samples), list(self.compute(packed).split(packed.lengths))
        (idle,) = pack([Sample((0, 0), (0,))], 3, pad_id=0, sharing="rows")
        for _ in range(count - len(own)):
            yield [], [self.compute(idle)]

    @torch.no_grad()
    def gather(self) -> None:
        """Copy what was trained into the whole model of rank 0. Every rank must call it."""
        targets = list(self.whole.parameters()) if self.whole is not None else []
        for place, parameter in enumerate(self.network.parameters()):
            if parameter.requires_grad:
                full = whole(parameter)
                if targets:
                    targets[place].copy_(full)


class ShardedState(State):
    """The state of a run whose parameters and optimizer are parted among ranks; any number of ranks can load it. Every rank must call it."""

    def state_dict(self) -> dict[str, Any]:
        """Return all of it whole."""
        state = super().state_dict()
        learner = state["learner"]
        full = {index: {name: whole(value).cpu() for name, value in own.items()} for index, own in learner["state"].items()}
        return state | {"learner": learner | {"state": full}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        learner = state["learner"]
        trained = [parameter for parameter in self.model.network.parameters() if parameter.requires_grad]
        own = {
            # The number of steps is a scalar, and not parted.
            index: {
                name: distribute_tensor(value.to(model.device), model.device_mesh, model.placements, src_data_rank=None)
                if value.dim() and isinstance(model, DTensor)
                else value
                for name, value in learner["state"][index].items()
            }
            for index, model in enumerate(trained)
            if index in learner["state"]
        }
        super().load_state_dict(state | {"learner": learner | {"state": own}})


def fit(train: Callable[[], Any], settings: Any, out: Path) -> None:
    """Run `train` in the learners' processes on a Ray cluster, with Ray Train. `Ranks.here` gives the rank; Ray writes to `out`.

    The processes run in the folder that this one runs in, which all nodes must have: relative paths mean the same to all.

    Raises ValueError if the cluster is too small, and any error of a process.
    """
    import ray  # noqa: PLC0415 - an optional dependency
    from ray.train import FailureConfig, RunConfig, ScalingConfig  # noqa: PLC0415
    from ray.train.torch import TorchConfig, TorchTrainer  # noqa: PLC0415

    if not ray.is_initialized():
        if settings.cluster == "local":
            ray.init(num_cpus=settings.cpus)
        else:
            ray.init(settings.cluster)
    needed = {"CPU": settings.cpus, "GPU": settings.gpus * (settings.learners + 1)}
    if settings.env_resource:
        needed[settings.env_resource] = settings.env_workers
    there = ray.cluster_resources()
    if any(there.get(name, 0) < count for name, count in needed.items()):
        raise ValueError(f"the cluster has {there}; expected at least {needed}")

    folder = Path.cwd()

    def run() -> None:
        os.chdir(folder)  # Ray begins its processes elsewhere
        train()
        distributed.barrier()  # without it, gloo sometimes aborts when one process ends before another

    TorchTrainer(
        run,
        torch_config=TorchConfig(backend="nccl" if settings.gpus else "gloo", timeout_s=_TIMEOUT_S),
        scaling_config=ScalingConfig(num_workers=settings.learners, use_gpu=settings.gpus, placement_strategy="SPREAD"),
        run_config=RunConfig(
            name="ray", storage_path=str(out.resolve()), failure_config=FailureConfig(max_failures=settings.learner_restarts)
        ),
    ).fit()
