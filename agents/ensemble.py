"""Make an ensemble of trained agents: `python -m agents.ensemble --members A B C --out runs/ensemble --weights fitted`.

`python -m agents.evaluate --policy runs/ensemble` plays it. Pointing networks average the probabilities of their choices, other agents
vote on actions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.evaluation.settings import EvaluationSettings, choose_tasks, policy_defaults
from agents.models.ensembles import Ensemble, fit_weights, shared_record, uniform_weights
from agents.settings import NewFolder, TrainingWorlds, parse_settings
from webarena_gym import console

Weighting = Literal["uniform", "fitted", "switched"]


@dataclass(frozen=True, kw_only=True)
class EnsembleSettings(TrainingWorlds):
    """Weigh agents by their success on tasks, site by site, and write the ensemble into a folder."""

    members: tuple[str, ...]
    """runs or model folders of the agents, which must read pages in the same way"""
    out: NewFolder
    """folder of the ensemble"""
    weights: Weighting = "fitted"
    """uniform; by the mean reward of the episodes that saw a site (fitted); or all to the best agent of a site (switched)"""
    split: Literal["train", "validation"] = "validation"
    """part of the suite that the agents play for it"""
    world_seed: int | None = None
    """draw the split's templates in this world instead of the suite's own"""
    limit: int | None = None
    """play so many tasks only"""
    seed: int = 0
    """of the choice of tasks"""
    threads: int = 1
    """CPU threads"""

    def __post_init__(self) -> None:
        self.expect_training_worlds("world_seed", (self.world_seed,), allowed_split="validation")


def make_ensemble(settings: EnsembleSettings) -> Ensemble:
    """Return the ensemble that the settings describe, and write it. Raises ValueError for fewer than two agents."""
    if len(settings.members) < 2:
        raise ValueError(f"members are {settings.members}; expected two agents or more")
    shared_record(settings.members)  # before anything is played
    weights = uniform_weights(len(settings.members))
    if settings.weights != "uniform":
        from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

        own = {name: getattr(settings, name) for name in ("split", "world_seed", "limit", "seed", "threads")}
        played = []
        for member in settings.members:
            evaluated = EvaluationSettings(**{**policy_defaults(member), **own, "policy": member})
            played.append(evaluate_policy(evaluated, choose_tasks(evaluated)).trajectories)
        weights = fit_weights(played, switch=settings.weights == "switched")
    ensemble = Ensemble(settings.members, weights)
    ensemble.save(settings.out)
    return ensemble


def main(arguments: Sequence[str]) -> None:
    """Make an ensemble with the options of the command line, and print its weights."""
    ensemble = make_ensemble(parse_settings(EnsembleSettings, arguments, program="agents.ensemble"))
    for name, weights in {"everywhere else": ensemble.weights.general, **ensemble.weights.by_situation}.items():
        print(f"{name:<24}{'  '.join(f'{weight:.3f}' for weight in weights)}")


if __name__ == "__main__":
    console.run("python -m agents.ensemble", main)
