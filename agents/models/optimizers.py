"""Optimizers for training from nothing: AdamW for all weights, or Muon for the matrices of the layers and AdamW for the rest."""

from functools import partial
from typing import Any, Literal

import torch
from transformers import PreTrainedModel

OptimizerName = Literal["adamw", "muon"]
_BETAS = (0.9, 0.95)


class Optimizer:
    """One or two optimizers of torch that share a learning rate and a checkpoint."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self._parts = parts

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of all weights."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate

    def step(self) -> None:
        """Change the weights by their gradients, and drop these."""
        for part in self._parts:
            part.step()
            part.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parts, by their place."""
        return {str(place): part.state_dict() for place, part in enumerate(self._parts)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        for place, part in enumerate(self._parts):
            part.load_state_dict(state_dict[str(place)])


def create_optimizer(model: PreTrainedModel, name: OptimizerName, rate: float, weight_decay: float) -> Optimizer:
    """Return the optimizer of a model's weights.

    "muon" (Jordan et al. 2024, torch's own) takes the matrices of the layers, with steps as long as AdamW's would be (Liu et al.,
    arXiv 2502.16982, section 2.2), so that one rate serves both; embeddings, head, biases and norms stay with AdamW.
    """
    adamw = partial(torch.optim.AdamW, lr=rate, betas=_BETAS, weight_decay=weight_decay)
    if name == "adamw":
        return Optimizer(adamw(model.parameters()))
    ends = {weights for part in (model.get_input_embeddings(), model.get_output_embeddings()) for weights in part.parameters()}
    matrices = [weights for weights in model.parameters() if weights.ndim == 2 and weights not in ends]
    rest = [weights for weights in model.parameters() if weights.ndim != 2 or weights in ends]
    muon = torch.optim.Muon(matrices, rate, weight_decay=weight_decay, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    return Optimizer(muon, adamw(rest))
