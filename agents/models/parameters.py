"""Parameters in training: low-rank adapters beside frozen ones, and optimizers.

Adapters are LoRA (arXiv 2106.09685), with peft. Optimizers for training from scratch are AdamW, or Muon for the layers' matrices and
AdamW for all other parameters.
"""

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from agents.settings import OptimizerName

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_BETAS = (0.9, 0.95)


def prepare(model: Any, settings: Any) -> None:
    """Set a model up for training as `PassSettings` say: adapters, and layers that are computed again in the backward pass.

    Raises ValueError for a model with adapters of another rank.
    """
    if settings.lora_rank:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            adapt(model, settings.lora_rank)
    elif is_adapted(model):
        raise ValueError("the model has adapters, which learn on with --lora-rank, their rank; expected it, not 0")
    if settings.gradient_checkpointing:
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def adapt(model: "PreTrainedModel", rank: int) -> None:
    """Freeze the model and train adapters of a rank beside all linear layers but the head, in place: its own, if it has some.

    Raises ValueError if these have another rank.
    """
    from peft import LoraConfig  # noqa: PLC0415 - an optional dependency
    from peft.functional import set_requires_grad  # noqa: PLC0415

    if is_adapted(model):
        configs: dict[str, Any] = model.peft_config
        (known,) = [config.r for config in configs.values()]
        if known != rank:
            raise ValueError(f"lora_rank is {rank}, and the model has adapters of rank {known}; expected the same")
        set_requires_grad(model, model.active_adapters())
    else:
        model.add_adapter(LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear"))


def is_adapted(model: "PreTrainedModel") -> bool:
    """Return whether a model has adapters."""
    return hasattr(model, "peft_config")


def merged(model: "PreTrainedModel") -> "PreTrainedModel":
    """Return the model itself, or for a model with adapters a copy into whose weights the adapters are merged."""
    if not is_adapted(model):
        return model
    from peft.tuners.tuners_utils import BaseTunerLayer  # noqa: PLC0415 - an optional dependency

    model = deepcopy(model)
    for name, module in list(model.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            model.set_submodule(name, module.get_base_layer())
    del model.peft_config
    # `save_pretrained` reads this flag, and no public method resets it.
    model._hf_peft_config_loaded = False  # noqa: SLF001
    renamings: Any = getattr(model, "_weight_conversions", None) or []
    kept: Any = [
        item for item in renamings if not any("base_model." in name or "lora_" in name for name in item.source_patterns)
    ]
    model._weight_conversions = kept  # noqa: SLF001
    return model


class Optimizer:
    """One or two optimizers of torch that share a learning rate and a checkpoint."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self._parts = parts

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of all parameters."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate

    def step(self) -> None:
        """Update the parameters by their gradients, then reset the gradients."""
        for part in self._parts:
            part.step()
            part.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        return {str(index): part.state_dict() for index, part in enumerate(self._parts)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for index, part in enumerate(self._parts):
            part.load_state_dict(state_dict[str(index)])


def create_optimizer(model: "PreTrainedModel", name: OptimizerName, rate: float, weight_decay: float) -> Optimizer:
    """Return the optimizer of a model's parameters.

    "muon" (Jordan et al. 2024, in torch) updates the layers' matrices. Its steps are scaled to the size of AdamW's (Liu et al.,
    arXiv 2502.16982, section 2.2), so one learning rate serves both. AdamW updates embeddings, head, biases and norms.
    """
    adamw = partial(torch.optim.AdamW, lr=rate, betas=_BETAS, weight_decay=weight_decay)
    if name == "adamw":
        return Optimizer(adamw(model.parameters()))
    ends = {item for part in (model.get_input_embeddings(), model.get_output_embeddings()) for item in part.parameters()}
    matrices = [item for item in model.parameters() if item.ndim == 2 and item not in ends]
    rest = [item for item in model.parameters() if item.ndim != 2 or item in ends]
    muon = torch.optim.Muon(matrices, rate, weight_decay=weight_decay, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    return Optimizer(muon, adamw(rest))
