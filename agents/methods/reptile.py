"""Reptile over sites: first-order meta-learning of M-GRPO, with a worker for each site.

After Nichol et al., arXiv 1803.02999, algorithm 2 (the batched version). In each round, the worker of site i starts from the shared parameters phi
and makes `site_updates` updates of M-GRPO (`agents.grpo`) on the tasks of its site, which gives theta_i. Then

    phi <- phi + reptile_rate * mean_i(theta_i - phi).

With one update per round and plain gradient descent this is a step of joint training. With more updates it also increases the inner product of
gradients of one site, so few updates on a new site change more (section 5). MAML (arXiv 1703.03400) needs second derivatives, and its first-order
version the gradient of the last update only.

Workers exchange parameters through folders, once per round. They are Ray tasks with `reptile_cluster`, and otherwise run one after another in this
process, with equal results. A worker keeps nothing but its parameters: optimizer and curriculum start again in each round. In a cluster of
several machines, the folder of the run must be shared.
"""

import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from agents import grpo
from agents.data.demonstrations import training_tasks
from agents.grpo import Method, kind_of
from agents.models.checkpoints import save_agent
from agents.training.metrics import read_metrics
from agents.training.runs import Run
from agents.training.settings import GRPOSettings, ReptileSettings
from webarena_gym.tasks import Task

_WORKERS = "workers"  # folder of the workers' runs, which are removed after each round
_COSTS = ("env_steps", "generated_tokens", "trained_tokens", "cpu_minutes")


@torch.no_grad()
def interpolate(network: nn.Module, results: Sequence[Mapping[str, Tensor]], rate: float) -> float:
    """Move the parameters phi of the network to phi + rate * mean_i(theta_i - phi), and return the mean of the norms of theta_i - phi.

    `results` are the parameters theta_i of the workers, by name.
    """
    squares = [0.0] * len(results)
    for name, parameter in network.named_parameters():
        differences = [result[name] - parameter for result in results]
        squares = [square + float(value.square().sum()) for square, value in zip(squares, differences, strict=True)]
        parameter.add_(torch.stack(differences).mean(0), alpha=rate)
    return fmean(square**0.5 for square in squares)


def by_site(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """Return the tasks by their sites. Tasks of several sites are a site of their own."""
    sites: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        sites["+".join(task.sites)].append(task)
    return dict(sorted(sites.items()))


def train(args: ReptileSettings, tasks: Sequence[Task] | None = None, _: type[Method] = grpo.GRPO) -> Path:
    """Train and return the folder of the last checkpoint. An update of the run is a round. The default tasks are drawn from `args`.

    Raises:
        ValueError: There are fewer groups in an update than sites.

    """
    kind_of(args.model).check(args)
    run = Run(args, spent={})
    if run.checkpoint and run.progress >= 1:
        return run.checkpoint.path
    sites = by_site(training_tasks(args, tasks))
    if args.tasks_per_update < len(sites):
        raise ValueError(f"tasks_per_update is {args.tasks_per_update}; expected at least {len(sites)}, the number of sites")
    model = kind_of(args.model).load(run.checkpoint.path if run.checkpoint else args.model, args)
    folder = args.out.resolve() / _WORKERS

    def take_update(_: float) -> dict[str, float]:
        shutil.rmtree(folder, ignore_errors=True)
        save_agent(folder / "shared", model.network, model.tokenizer, args.agent())
        calls = [(worker_settings(args, folder, site, len(sites), run.update), sites[site]) for site in sites]
        records = _run_workers(calls, args.reptile_cluster)
        results = [kind_of(path).load(path, args).network.state_dict() for path in (folder / site for site in sites)]
        drift = interpolate(model.network, results, args.reptile_rate)
        shutil.rmtree(folder)
        run.record["spent"] = {
            name: run.record["spent"].get(name, 0) + sum(site[-1][name] for site in records) for name in _COSTS
        }
        names = (
            ("rollouts", "failed", "trained_steps"),
            ("success", "steps", "reward_deviation", "reply_entropy", "equal_groups"),
        )
        every = [record for site in records for record in site]
        values: dict[str, float] = {name: sum(record[name] for record in every) for name in names[0]}
        values |= {name: fmean(record[name] for record in every) for name in names[1]}
        return {**values, "drift": drift, **run.record["spent"]}

    def save() -> Path:
        return run.save(model.network, model.tokenizer, _Stateless(), args.agent())

    return run.train("Reptile", take_update, save, describe=grpo.describe_success)


def worker_settings(args: ReptileSettings, folder: Path, site: str, sites: int, round_number: int) -> GRPOSettings:
    """Return the settings of the worker of a site in a round, which starts from the agent in `folder`/shared."""
    common = {item.name: getattr(args, item.name) for item in fields(GRPOSettings)}
    unlimited = {"minutes": 0.0, "cpu_minutes": 0.0, "env_steps": 0}
    return GRPOSettings(**{
        **common, **unlimited, "model": str(folder / "shared"), "out": folder / site, "updates": args.site_updates,
        "tasks_per_update": args.tasks_per_update // sites, "save_every": args.site_updates,
        "seed": Random(f"{args.seed}/{round_number}/{site}").getrandbits(31),
    })  # fmt: skip


def _run_workers(calls: Sequence[tuple[GRPOSettings, list[Task]]], cluster: str) -> list[list[dict[str, float]]]:
    """Return the metrics of the run of each worker, in order."""
    if not cluster:
        return [_train_site(*call) for call in calls]
    import ray  # noqa: PLC0415 - an optional dependency

    if not ray.is_initialized():
        ray.init(**({"num_cpus": len(calls)} if cluster == "local" else {"address": cluster}))
    worker: Any = ray.remote(_train_site)
    metrics: list[list[dict[str, float]]] = ray.get([worker.remote(*call) for call in calls])
    return metrics


def _train_site(settings: GRPOSettings, tasks: Sequence[Task]) -> list[dict[str, float]]:
    """Train on the tasks of a site and return the metrics of each update."""
    grpo.train(settings, tasks)
    return read_metrics(settings.out)


class _Stateless:
    """The state of a run that has none besides its parameters."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass
