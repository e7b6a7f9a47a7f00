"""Optimizers for training from scratch: AdamW, or Muon for the layers' matrices and AdamW for all other parameters."""

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from agents.settings import OptimizerName

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_BETAS = (0.9, 0.95)


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
