"""The learner in several processes: rank 0 collects rollouts and broadcasts training batches; the other ranks are its workers."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from torch import distributed

from agents.cluster import ClusterSettings
from agents.training.batch import TrainingBatch
from agents.training.distributed import Ranks
from agents.training.learner import Learner

_TIMEOUT_S = 7 * 24 * 3600  # workers wait for as long as rollouts take; Ray notices lost processes


class RankZeroLearner:
    """The learner of rank 0. Every call is broadcast, so that all ranks do the same; the others must be in `run_worker`."""

    def __init__(self, learner: Learner, ranks: Ranks) -> None:
        self._learner = learner
        self._ranks = ranks

    @property
    def model(self) -> Any:
        """The whole model with its present parameters."""
        return self._learner.model

    @property
    def result(self) -> Any:
        """The model to use: with averaging, the mean of the parameters."""
        return self._learner.result

    def learn(self, training_batch: TrainingBatch, rng: Random, progress: float = 0.0) -> dict[str, float]:
        """Take all updates on one training batch and return their metrics."""
        if self._ranks.count > 1:
            training_batch = training_batch._replace(trajectories=())
        self._ranks.share(("learn", (training_batch, rng, progress)))
        return self._learner.learn(training_batch, rng, progress)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's whole state, which can be loaded with any number of ranks."""
        self._ranks.share(("state_dict", ()))
        return self._learner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned; each rank does so by itself, before workers run."""
        self._learner.load_state_dict(state_dict)

    def stop_workers(self) -> None:
        """End the workers. After an error they are not ended, since they may wait for another learner that has died."""
        self._ranks.share(("stop", ()))


def run_worker(learner: Learner, ranks: Ranks) -> None:
    """Repeat the calls of rank 0 until it stops its workers."""
    methods: dict[str, Callable[..., Any]] = {"learn": learner.learn, "state_dict": learner.state_dict}
    while True:
        call: tuple[str, tuple[Any, ...]] = ranks.share()
        name, arguments = call
        if name == "stop":
            return
        methods[name](*arguments)


def fit(train: Callable[[], Any], settings: ClusterSettings, out: Path) -> None:
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
