"""Combine trained agents in an ensemble: `python -m agents.ensemble --members A B C --out runs/ensemble --weights fitted`.

`python -m agents.evaluate --policy runs/ensemble` evaluates it. An ensemble of pointer networks averages the probabilities of choices.
Other agents vote on actions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.command_lines import NewFolder, parse_settings
from agents.evaluation.settings import EvaluationSettings, choose_tasks, policy_defaults
from agents.models.ensembles import Ensemble, fit_weights, shared_record, uniform_weights
from agents.settings import TrainingWorlds
from webarena_gym import console

WeightingMethod = Literal["uniform", "fitted", "switched"]


@dataclass(frozen=True, kw_only=True)
class EnsembleSettings(TrainingWorlds):
    """Compute the weights of agents from their success on the tasks of each site, and write the ensemble to a folder."""

    members: tuple[str, ...]
    """runs or model folders of the agents, which must have equal observation settings"""
    out: NewFolder
    """folder of the ensemble"""
    weights: WeightingMethod = "fitted"
    """equal weights (uniform), the mean reward of the episodes on a site (fitted), or only the best agent of a site (switched)"""
    split: Literal["train", "validation"] = "validation"
    """split of the suite that the agents play to compute the weights"""
    world_seed: int | None = None
    """generate tasks of the split's templates in this world, instead of loading those of the split"""
    limit: int | None = None
    """maximum number of tasks"""
    seed: int = 0
    """random seed of the selection of tasks"""
    threads: int = 1
    """CPU threads"""

    def __post_init__(self) -> None:
        self.expect_training_worlds("world_seed", (self.world_seed,), allowed_split="validation")


def make_ensemble(settings: EnsembleSettings) -> Ensemble:
    """Create, write and return the ensemble of the settings. Raises ValueError if there are fewer than two agents."""
    if len(settings.members) < 2:
        raise ValueError(f"members are {settings.members}; expected at least two agents")
    shared_record(settings.members)  # raises an error for incompatible agents before they play
    weights = uniform_weights(len(settings.members))
    if settings.weights != "uniform":
        from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

        options = {name: getattr(settings, name) for name in ("split", "world_seed", "limit", "seed", "threads")}
        trajectories = []
        for member in settings.members:
            evaluation = EvaluationSettings(**{**policy_defaults(member), **options, "policy": member})
            trajectories.append(evaluate_policy(evaluation, choose_tasks(evaluation)).trajectories)
        weights = fit_weights(trajectories, switch=settings.weights == "switched")
    ensemble = Ensemble(settings.members, weights)
    ensemble.save(settings.out)
    return ensemble


def main(arguments: Sequence[str]) -> None:
    """Create an ensemble with the options of the command line, and print its weights."""
    ensemble = make_ensemble(parse_settings(EnsembleSettings, arguments, program="agents.ensemble"))
    for name, weights in {"everywhere else": ensemble.weights.general, **ensemble.weights.by_situation}.items():
        print(f"{name:<24}{'  '.join(f'{weight:.3f}' for weight in weights)}")


if __name__ == "__main__":
    console.run("python -m agents.ensemble", main)
