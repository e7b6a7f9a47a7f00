"""Which kind of model a folder holds."""

from copy import deepcopy
from pathlib import Path

import torch

from agents.models.pointer.network import is_pointer
from agents.rollouts.setup import PlayerSettings, Sampler
from agents.training.distributed import ALONE, Weights
from agents.training.families import ModelKind
from agents.training.gradients import OwnGradients, PlayerGradients
from agents.training.language_models import LanguageModel
from agents.training.learner import UpdateSettings
from agents.training.objectives import Objective
from agents.training.pointing_networks import PointingNetwork


def kind_of(source: str | Path) -> ModelKind:
    """Return the kind of the model in a folder or run; of a name on the Hub, a language model."""
    return PointingNetwork() if is_pointer(source) else LanguageModel()


def load_sampler(
    source: str | Path, settings: PlayerSettings, learning: tuple[Objective, UpdateSettings] | None = None
) -> Sampler:
    """Return the policy of a model that is loaded for it, in a process that plays. With `learning`, it also computes gradients."""
    kind = kind_of(source)
    model, tokenizer = kind.load(source)
    family = kind.family(tokenizer, settings)
    sampler = family.sampler(settings, model)
    if learning is None:
        return sampler
    objective, update = learning
    learned = deepcopy(model)  # it has the parameters of the update under way, in which nobody samples
    gradients = OwnGradients(
        Weights(learned, ALONE, getattr(torch, update.dtype)),
        family,
        objective,
        temperature=settings.sampling.temperature,
        tokens_per_pass=update.tokens_per_pass,
        sharing=update.sharing,
    )
    return sampler._replace(calls=PlayerGradients(learned, gradients).calls)
