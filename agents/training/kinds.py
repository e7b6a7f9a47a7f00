"""Which kind of model a folder holds."""

from pathlib import Path

from agents.models.pointer.checkpoints import is_pointer
from agents.rollouts.setup import PlayerSettings, Sampler
from agents.training.families import ModelKind
from agents.training.language_models import LanguageModel
from agents.training.pointing_networks import PointingNetwork


def kind_of(source: str | Path) -> ModelKind:
    """Return the kind of the model in a folder or run; of a name on the Hub, a language model."""
    return PointingNetwork() if is_pointer(source) else LanguageModel()


def load_sampler(source: str | Path, settings: PlayerSettings) -> Sampler:
    """Return the policy of a model that is loaded for it, in a process that plays."""
    kind = kind_of(source)
    model, tokenizer = kind.load(source)
    return kind.family(tokenizer, settings).sampler(settings, model)
