"""The learner in several processes: a language model with sharded weights, and the start of the processes with Ray Train."""

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
from agents.training.credit import TrainedStep
from agents.training.distributed import Ranks, full_tensor
from agents.training.language_models import LanguageModel
from agents.training.settings import ModelSettings, StreamSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

T = TypeVar("T")

_TIMEOUT_S = 7 * 24 * 3600  # workers wait for rollouts, which may take long; Ray detects lost processes


class ShardRanks(Ranks):
    """Ranks with shards of one model. Steps are distributed by their number of tokens, and a gradient is the mean over the ranks."""

    def part(self, steps: Sequence[TrainedStep], indices: Sequence[int]) -> list[int]:
        """Return the indices of the steps that this process computes; see `split_by_tokens`."""
        samples = [Sample(steps[index].step.prompt_ids, steps[index].step.response_ids) for index in indices]
        return [indices[position] for position in split_by_tokens(samples, self.count)[self.index]]

    def add_up(self, parameters: Iterable[nn.Parameter]) -> None:
        """Do nothing, since the backward pass has reduced the gradients."""


def shard_ranks() -> Ranks:
    """Return the ranks of this process group, as `ShardRanks` if there are several."""
    ranks = Ranks.current()
    return ShardRanks(ranks.index, ranks.count, ranks.device, float(ranks.count)) if ranks.count > 1 else ranks


def split_by_tokens(samples: Sequence[Sample], count: int) -> list[list[int]]:
    """Split samples into `count` parts with similar numbers of tokens, and return the indices of each part.

    Samples are sorted by prompt before they are split, since common prefixes are computed once per part. Equal prompts are in one part,
    so a part may be empty.

    >>> split_by_tokens([Sample((1, 2), (3,)), Sample((5, 6), (7,)), Sample((1, 2), (4,))], 2)
    [[0, 2], [1]]
    """
    order = sorted(range(len(samples)), key=lambda index: samples[index].prompt_ids)
    prompts = [samples[index].prompt_ids for index in order]
    is_new = [position == 0 or prompts[position - 1] != prompt for position, prompt in enumerate(prompts)]
    costs = [
        len(samples[index].response_ids) + (len(samples[index].prompt_ids) if is_first else 0)
        for index, is_first in zip(order, is_new, strict=True)
    ]
    parts: list[list[int]] = [[] for _ in range(count)]
    start, number, total = 0, 0, sum(costs)
    for index, cost, is_first in zip(order, costs, is_new, strict=True):
        if is_first:  # the middle of the sample selects the part
            number = min(int((start + cost / 2) * count / total), count - 1)
        parts[number].append(index)
        start += cost
    return [sorted(part) for part in parts]


class Weights(nn.Module):
    """A model with weights that are sharded by `fully_shard` of torch (FSDP2) and gathered layer by layer.

    All ranks must make the same number of calls. A gradient is the *mean* over the ranks. Weights and gradients are float32; `dtype` is
    the data type of the computation.
    """

    def __init__(self, model: "PreTrainedModel", ranks: Ranks, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.model = model
        mesh = init_device_mesh(ranks.device.type, (ranks.count,))
        precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
        for layer in model.get_decoder().layers:
            fully_shard(layer, mesh=mesh, mp_policy=precision)
        fully_shard(self, mesh=mesh, mp_policy=precision)

    def forward(self, function: Callable[..., T], *arguments: object, **options: object) -> T:
        """Return the result of the function for the model and the arguments."""
        return function(self.model, *arguments, **options)


class ShardedLanguageModel(LanguageModel):
    """A language model with sharded weights. Rank 0 also has a full copy, for sampling and checkpoints."""

    def __init__(
        self, network: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast", settings: ModelSettings, ranks: Ranks
    ) -> None:
        super().__init__(network, tokenizer, settings)
        self.full_network = deepcopy(self.network) if ranks.is_main else None
        self._ranks = ranks
        self._weights = Weights(self.network, ranks, getattr(torch, settings.dtype))

    def compute(self, batch: PackedBatch) -> Tensor:
        """Return the log-probabilities of the response tokens of a pass."""
        logprobs: Tensor = self._weights(batch_logprobs, batch, temperature=self._settings.temperature)
        return logprobs

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the passes of `LanguageModel.logprobs`, and then empty passes, so that all ranks have the same number of passes."""
        batches = self.passes(choices)
        count = max(self._ranks.gather([len(batches)]))
        for batch in batches:
            yield list(batch.samples), list(self.compute(batch).split(batch.lengths))
        (empty_batch,) = pack([Sample((0, 0), (0,))], 3, pad_id=0, sharing="rows")
        for _ in range(count - len(batches)):
            yield [], [self.compute(empty_batch)]

    @torch.no_grad()
    def gather(self) -> None:
        """Copy the trained parameters into the full model of rank 0. All ranks must call it."""
        targets = list(self.full_network.parameters()) if self.full_network is not None else []
        for index, parameter in enumerate(self.network.parameters()):
            if parameter.requires_grad:
                full = full_tensor(parameter)
                if targets:
                    targets[index].copy_(full)


class ShardedState(State):
    """The state of a run with sharded parameters and optimizer. Any number of ranks can load it. All ranks must call its methods."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state with full tensors."""
        state = super().state_dict()
        learner = state["learner"]
        full = {
            index: {name: full_tensor(value).cpu() for name, value in values.items()}
            for index, values in learner["state"].items()
        }
        return state | {"learner": learner | {"state": full}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        learner = state["learner"]
        parameters = [parameter for parameter in self.model.network.parameters() if parameter.requires_grad]
        shards = {
            # The number of steps is a scalar, which is not sharded.
            index: {
                name: distribute_tensor(
                    value.to(parameter.device), parameter.device_mesh, parameter.placements, src_data_rank=None
                )
                if value.dim() and isinstance(parameter, DTensor)
                else value
                for name, value in learner["state"][index].items()
            }
            for index, parameter in enumerate(parameters)
            if index in learner["state"]
        }
        super().load_state_dict(state | {"learner": learner | {"state": shards}})


def fit(train: Callable[[], object], settings: StreamSettings, out: Path) -> None:
    """Run `train` in the learner processes on a Ray cluster, with Ray Train. `Ranks.current` returns the rank of a process.

    The processes have the working directory of this process, which must exist on all nodes. Errors of a process are raised.

    Args:
        train: The function to run. It must be picklable by cloudpickle.
        settings: The cluster and its resources.
        out: Folder for the files of Ray Train.

    Raises:
        ValueError: The cluster has too few resources.

    """
    import ray  # noqa: PLC0415 - an optional dependency
    from ray.train import FailureConfig, RunConfig, ScalingConfig  # noqa: PLC0415
    from ray.train.torch import TorchConfig, TorchTrainer  # noqa: PLC0415

    if not ray.is_initialized():
        if settings.cluster == "local":
            ray.init(num_cpus=settings.cpus)
        else:
            ray.init(settings.cluster)
    requirements = {"CPU": settings.cpus, "GPU": settings.gpus * (settings.learners + 1)}
    if settings.env_resource:
        requirements[settings.env_resource] = settings.env_workers
    resources = ray.cluster_resources()
    if any(resources.get(name, 0) < count for name, count in requirements.items()):
        raise ValueError(f"the cluster has {resources}; expected at least {requirements}")

    folder = Path.cwd()

    def run() -> None:
        os.chdir(folder)  # Ray starts processes in another directory
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
