"""The learner in several processes: one leads with the rollouts, the others follow its lessons. Ray Train brings them up."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from torch import distributed
from transformers import PreTrainedModel

from agents.cluster import ClusterSettings
from agents.training.batch import TrainingBatch
from agents.training.distributed import Ranks
from agents.training.learner import Learner

_TIMEOUT_S = 7 * 24 * 3600  # followers wait for as long as rollouts take; lost processes are noticed by Ray


class Leader:
    """The learner of the process that leads: what it is asked, all ranks do. The others must `follow`."""

    def __init__(self, learner: Learner, ranks: Ranks) -> None:
        self._learner = learner
        self._ranks = ranks

    @property
    def model(self) -> PreTrainedModel:
        """The whole model with the weights of today."""
        return self._learner.model

    def learn(self, training_batch: TrainingBatch, rng: Random, progress: float = 0.0) -> dict[str, float]:
        """Take all updates on one training batch and return their metrics."""
        self._ranks.share(("learn", (training_batch, rng, progress)))
        return self._learner.learn(training_batch, rng, progress)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's whole state, which any number of ranks can load."""
        self._ranks.share(("state_dict", ()))
        return self._learner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned; each rank does so by itself, before it follows."""
        self._learner.load_state_dict(state_dict)

    def dismiss(self) -> None:
        """Let the others go. Without it they wait on, which is right after an error: another learner may have died."""
        self._ranks.share(("dismiss", ()))


def follow(learner: Learner, ranks: Ranks) -> None:
    """Do what the leader is asked, until it dismisses us."""
    orders: dict[str, Callable[..., Any]] = {"learn": learner.learn, "state_dict": learner.state_dict}
    while True:
        order: tuple[str, tuple[Any, ...]] = ranks.share()
        name, arguments = order
        if name == "dismiss":
            return
        orders[name](*arguments)


def fit(train: Callable[[], Any], settings: ClusterSettings, out: Path) -> None:
    """Run `train` in the learners' processes on a Ray cluster, where `Ranks.here` tells them apart; `out` is for Ray's notes.

    Raises ValueError where the cluster is too small, and what went wrong in a process.
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

    def run() -> None:
        train()
        distributed.barrier()  # without it, gloo now and then aborts when one process leaves before the other

    TorchTrainer(
        run,
        torch_config=TorchConfig(backend="nccl" if settings.gpus else "gloo", timeout_s=_TIMEOUT_S),
        scaling_config=ScalingConfig(num_workers=settings.learners, use_gpu=settings.gpus, placement_strategy="SPREAD"),
        run_config=RunConfig(
            name="ray", storage_path=str(out.resolve()), failure_config=FailureConfig(max_failures=settings.learner_restarts)
        ),
    ).fit()
