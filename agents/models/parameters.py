"""Trained parameters: low-rank adapters of frozen models, and optimizers.

Adapters are LoRA (arXiv 2106.09685), with peft. The optimizer is AdamW, or Muon for the layers' matrices with AdamW for all other
parameters.
"""

from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from agents.settings import OptimizerName, PassSettings

if TYPE_CHECKING:
    from peft.tuners.lora import Linear
    from transformers import PreTrainedModel

_BETAS = (0.9, 0.95)


def prepare_for_training(model: "PreTrainedModel", settings: PassSettings, seed: int) -> None:
    """Add adapters with random weights and enable gradient checkpointing, in place, as `settings` require.

    Raises:
        ValueError: The model has adapters whose rank is not `settings.lora_rank`, or `settings.lora_layers` has no effect.

    """
    if settings.lora_layers and not settings.lora_rank:
        raise ValueError(f"--lora-layers is {settings.lora_layers} and --lora-rank 0; expected the rank of the adapters")
    if settings.lora_rank:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            add_adapters(model, settings.lora_rank, settings.lora_layers)
    elif has_adapters(model):
        configs: dict[str, Any] = model.peft_config
        ranks = ", ".join(sorted({str(config.r) for config in configs.values()}))
        raise ValueError(f"--lora-rank is 0, but the model has adapters; expected their rank, {ranks}")
    if settings.gradient_checkpointing:
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def add_adapters(model: "PreTrainedModel", rank: int, layers: int = 0) -> None:
    """Freeze the model and add trainable LoRA adapters to all linear layers except the head, in place.

    With `layers`, only the last `layers` transformer layers get adapters, and the layers before them need no backward pass. Existing
    adapters are made trainable instead.

    Raises:
        ValueError: Existing adapters have another rank or are in other layers, or the model has fewer layers or not one list of layers.

    """
    from peft import LoraConfig  # noqa: PLC0415 - an optional dependency
    from peft.functional import set_requires_grad  # noqa: PLC0415
    from peft.tuners.lora import Linear  # noqa: PLC0415

    if has_adapters(model):
        configs: dict[str, Any] = model.peft_config
        (existing_rank,) = [config.r for config in configs.values()]
        if existing_rank != rank:
            raise ValueError(
                f"--lora-rank is {rank}, but the model has adapters of rank {existing_rank}; expected the same rank"
            )
        if layers:
            _expect_adapters(model, layers)
        set_requires_grad(model, model.active_adapters())
    else:
        modules = _last_linear_modules(model, layers) if layers else "all-linear"
        model.add_adapter(LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=modules))
    for module in model.modules():
        if isinstance(module, Linear):
            module.forward = MethodType(_forward_adapted, module)  # type: ignore[method-assign]


def _last_linear_modules(model: "PreTrainedModel", layers: int) -> list[str]:
    """Return the names of the linear modules in the last `layers` transformer layers."""
    return [
        f"{name}.{part}"
        for name, layer in _last_layers(model, layers).items()
        for part, module in layer.named_modules()
        if isinstance(module, torch.nn.Linear)
    ]


def _last_layers(model: "PreTrainedModel", layers: int) -> dict[str, torch.nn.Module]:
    """Return the last `layers` transformer layers of the decoder by name."""
    decoder = model.get_decoder()
    stacks = [part for part in decoder.children() if isinstance(part, torch.nn.ModuleList)]
    if len(stacks) != 1:
        raise ValueError(
            f"--lora-layers is {layers}, but the decoder {type(decoder).__name__} has {len(stacks)} lists of layers; expected one, or --lora-layers 0"
        )
    (stack,) = stacks
    if layers > (count := len(stack)):
        raise ValueError(f"--lora-layers is {layers}; expected at most {count}, the number of layers of {type(model).__name__}")
    name = next(name for name, module in model.named_modules() if module is stack)
    return {f"{name}.{index}": stack[index] for index in range(count - layers, count)}


def _expect_adapters(model: "PreTrainedModel", layers: int) -> None:
    """Raise ValueError unless the model's adapters are those of exactly the last `layers` transformer layers."""
    from peft.tuners.lora import LoraLayer  # noqa: PLC0415 - an optional dependency

    def count(modules: Iterable[torch.nn.Module]) -> int:
        return sum(isinstance(part, LoraLayer) for module in modules for part in module.modules())

    last = _last_layers(model, layers).values()
    if not all(count([layer]) for layer in last) or count(last) != count([model]):
        raise ValueError(f"--lora-layers is {layers}, but the model has adapters in other layers; expected 0, which keeps them")


def _forward_adapted(layer: "Linear", inputs: Tensor, *args: object, **options: object) -> Tensor:
    """Return the output of a linear layer with an adapter, with less copying than `Linear.forward` of peft, its alternative."""
    name = layer.active_adapters[0] if len(layer.active_adapters) == 1 else ""
    base, is_plain = layer.base_layer, name in layer.lora_A and name not in layer.lora_variant
    if (
        args or options or layer.merged or layer.disable_adapters or not is_plain or layer.fan_in_fan_out
        or layer.lora_bias.get(name) or type(base) is not torch.nn.Linear or base.weight.requires_grad or not isinstance(layer.lora_dropout[name], torch.nn.Identity)
    ):  # fmt: skip
        return type(layer).forward(layer, inputs, *args, **options)
    device = inputs.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else inputs.dtype
    matrices = (base.weight, layer.lora_A[name].weight, layer.lora_B[name].weight)
    rows = inputs.to(dtype).reshape(-1, inputs.shape[-1])
    outputs: Tensor = _AdaptedProduct.apply(rows, *(matrix.to(dtype) for matrix in matrices), layer.scaling[name])  # type: ignore[no-untyped-call]
    outputs = outputs.view(*inputs.shape[:-1], -1)
    return outputs if base.bias is None else outputs + base.bias.to(dtype)


class _AdaptedProduct(torch.autograd.Function):
    """Product of N inputs with the frozen matrix of a layer and its adapter: inputs @ (weight + scale * up @ down)^T.

    Products are added in place, which saves half of the memory traffic of the single operations. Shapes: inputs (N, in),
    weight (out, in), down (rank, in), up (out, rank).
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, down: Tensor, up: Tensor, scale: float) -> Tensor:
        inner = inputs @ down.T
        ctx.save_for_backward(inputs, weight, down, up, inner)
        ctx.scale = scale
        return (inputs @ weight.T).addmm_(inner, up.T, alpha=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, Tensor, Tensor, None]:
        (gradient,) = gradients
        inputs, weight, down, up, inner = ctx.saved_tensors
        inner_gradient = (gradient @ up).mul_(ctx.scale)
        input_gradient = (gradient @ weight).addmm_(inner_gradient, down) if ctx.needs_input_grad[0] else None
        return input_gradient, None, inner_gradient.T @ inputs, (gradient.T @ inner).mul_(ctx.scale), None


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
