"""Trained parameters: low-rank adapters of frozen models, and optimizers.

Adapters are LoRA (arXiv 2106.09685), with peft. The optimizer is AdamW, or Muon for the layers' matrices with AdamW for all other
parameters.
"""

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from agents.settings import OptimizerName, PassSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_BETAS = (0.9, 0.95)


def prepare_for_training(model: "PreTrainedModel", settings: PassSettings, seed: int) -> None:
    """Add adapters with random weights and enable gradient checkpointing, in place, as `settings` require.

    Raises:
        ValueError: The model has adapters whose rank is not `settings.lora_rank`.

    """
    if settings.lora_rank:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            add_adapters(model, settings.lora_rank)
    elif has_adapters(model):
        configs: dict[str, Any] = model.peft_config
        ranks = ", ".join(sorted({str(config.r) for config in configs.values()}))
        raise ValueError(f"--lora-rank is 0, but the model has adapters; expected their rank, {ranks}")
    if settings.gradient_checkpointing:
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def add_adapters(model: "PreTrainedModel", rank: int) -> None:
    """Freeze the model and add trainable LoRA adapters to all linear layers except the head, in place.

    Existing adapters are made trainable instead. Raises ValueError if their rank is not `rank`.
    """
    from peft import LoraConfig  # noqa: PLC0415 - an optional dependency
    from peft.functional import set_requires_grad  # noqa: PLC0415

    if has_adapters(model):
        configs: dict[str, Any] = model.peft_config
        (existing_rank,) = [config.r for config in configs.values()]
        if existing_rank != rank:
            raise ValueError(
                f"--lora-rank is {rank}, but the model has adapters of rank {existing_rank}; expected the same rank"
            )
        set_requires_grad(model, model.active_adapters())
    else:
        model.add_adapter(LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear"))


def has_adapters(model: "PreTrainedModel") -> bool:
    """Return True if a model has adapters."""
    return hasattr(model, "peft_config")


def merge_adapters(model: "PreTrainedModel") -> "PreTrainedModel":
    """Return a copy of the model with adapters merged into its weights, or the model itself if it has no adapters."""
    if not has_adapters(model):
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
    renamings: list[Any] = getattr(model, "_weight_conversions", None) or []
    remaining: Any = [
        item for item in renamings if not any("base_model." in name or "lora_" in name for name in item.source_patterns)
    ]
    model._weight_conversions = remaining  # noqa: SLF001
    return model


class Optimizer:
    """One or two torch optimizers that share a learning rate and a state dict."""

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

    With "muon", torch's Muon (Jordan et al. 2024) updates the layers' matrices, and AdamW updates embeddings, head, biases and norms.
    Muon's steps are scaled to the size of AdamW's (Liu et al., arXiv 2502.16982, section 2.2), so both use one learning rate.
    """
    adamw = partial(torch.optim.AdamW, lr=rate, betas=_BETAS, weight_decay=weight_decay)
    if name == "adamw":
        return Optimizer(adamw(model.parameters()))
    embeddings = {item for part in (model.get_input_embeddings(), model.get_output_embeddings()) for item in part.parameters()}
    matrices = [item for item in model.parameters() if item.ndim == 2 and item not in embeddings]
    other_parameters = [item for item in model.parameters() if item.ndim != 2 or item in embeddings]
    muon = torch.optim.Muon(matrices, rate, weight_decay=weight_decay, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    return Optimizer(muon, adamw(other_parameters))
