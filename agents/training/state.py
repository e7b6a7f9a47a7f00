"""The state of a run that is saved beside the result: the optimizer, what the method has kept, and the parameters that are averaged."""

from copy import deepcopy
from typing import Any

import torch

from agents.training.settings import TrainSettings


class State:
    """State of a run beside the saved parameters: the optimizer, the state of the method, and with averaging the parameters themselves."""

    def __init__(self, args: TrainSettings, model: Any, method: Any) -> None:
        self.model, self.method, self.most, self.averaged = model, method, args.average, 0
        self.result = deepcopy(model.network) if args.average else model.network
        trained = [parameter for parameter in model.network.parameters() if parameter.requires_grad]
        betas, decay = (0.9, model.beta2), model.weight_decay
        self.optimizer = torch.optim.AdamW(trained, args.learning_rate, betas=betas, weight_decay=decay)

    @torch.no_grad()
    def average(self) -> None:
        """Move the averaged parameters towards the present ones: fast at first, so that the beginning is soon forgotten."""
        if self.most:
            self.averaged += 1
            decay = min(self.most, self.averaged / (self.averaged + 9))
            for mean, parameter in zip(self.result.parameters(), self.model.network.parameters(), strict=True):
                mean.lerp_(parameter, 1 - decay)

    def state_dict(self) -> dict[str, Any]:
        """Return all of it, of plain values and tensors."""
        newest = {"trained": self.model.network.state_dict(), "averaged": self.averaged} if self.most else {}
        return {"learner": self.optimizer.state_dict(), "method": self.method.state_dict(), **newest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned. The model that was loaded is the result."""
        self.optimizer.load_state_dict(state["learner"])
        self.method.load_state_dict(state["method"])
        if self.most:
            self.model.network.load_state_dict(state["trained"])
            self.averaged = state["averaged"]
