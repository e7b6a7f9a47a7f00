"""Curiosity: the intrinsic reward of exploration without a task, by random network distillation (RND, Burda et al., arXiv 1810.12894).

A predictor is trained to equal a random network that is never trained. Its error on an observation is the reward, because it is large on
observations that are unlike those of its training. As in URLB (Laskin et al., arXiv 2110.15191, `agent/rnd.py` of its code), observations are
features of the agent's own encoder, normalised by their mean and deviation and clipped to 5 deviations.
"""

import torch
from torch import Tensor, nn

CLIP = 5.0  # maximum of a normalised feature
LEARNING_RATE = 1e-4
HIDDEN = 256  # units of both hidden layers
OUTPUTS = 64


class Curiosity(nn.Module):
    """The random network and its predictor, for features of this width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.normal = nn.BatchNorm1d(width, affine=False)
        self.target, self.predictor = (
            nn.Sequential(nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, OUTPUTS))
            for _ in range(2)
        )
        self.target.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.predictor.parameters(), LEARNING_RATE)
        self.eval()

    def forward(self, features_NW: Tensor) -> Tensor:
        """Return the mean squared error (N,) of the predictor, the reward of each observation."""
        features_NW = self.normal(features_NW).clamp(-CLIP, CLIP)
        errors: Tensor = (self.predictor(features_NW) - self.target(features_NW)).square().mean(1)
        return errors

    def learn(self, features_NW: Tensor) -> float:
        """Update the statistics of the features, take a gradient step of the predictor, and return the mean error before the step."""
        self.train()
        loss = self(features_NW).mean()
        self.eval()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())
