"""Low-rank adapters (LoRA, arXiv 2106.09685) with peft: few trained parameters beside frozen ones."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel


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
