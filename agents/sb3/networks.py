"""Policy networks for Stable-Baselines3's PPO that score every candidate with the same layers. They need the extra `baselines`."""

from typing import Any

import torch
from gymnasium.spaces import Dict
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from webarena_gym.candidates.arrays import PAGE, PRESENCE, RELEVANCE, ROW


class CandidateScorer(BaseFeaturesExtractor):
    """A features extractor that computes one score per candidate from its row and the page's, with the same layers for all of them.

    An untrained score is `prior` times the candidate's relevance to the goal; with the prior 0 all candidates are equally likely. The
    features are the scores (B, N), followed by a state (B, 2 * width) for the value function: the page's hidden units, and the maximum
    of each unit over the candidates.
    """

    def __init__(self, observation_space: Dict, width: int = 64, prior: float = 4.0) -> None:
        candidates = observation_space["candidates"].shape[0]  # type: ignore[index]
        super().__init__(observation_space, features_dim=candidates + 2 * width)
        self.page = nn.Linear(PAGE, width)
        self.row = nn.Linear(ROW, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.prior = nn.Parameter(torch.tensor(prior))
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return the features of B observations with N candidates each."""
        rows_BNF = observations["candidates"]
        page_BW = self.page(observations["page"])
        hidden_BNW = torch.relu(self.hidden(torch.relu(self.row(rows_BNF) + page_BW[:, None])))
        scores_BN = self.score(hidden_BNW).squeeze(-1) + self.prior * rows_BNF[..., RELEVANCE]
        most_BW = (hidden_BNW * rows_BNF[..., PRESENCE, None]).amax(1)
        return torch.cat([scores_BN, torch.relu(page_BW), most_BW], dim=1)


class Parts(nn.Module):
    """Splits the features into scores for the action distribution and the state for the value function, as `mlp_extractor`."""

    def __init__(self, candidates: int) -> None:
        super().__init__()
        self.candidates = candidates

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return both parts."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        """Return the scores."""
        return features[:, : self.candidates]

    def forward_critic(self, features: Tensor) -> Tensor:
        """Return the state."""
        return features[:, self.candidates :]


class CandidatePolicy(ActorCriticPolicy):
    """A policy for PPO whose `features_extractor_class` must be a `CandidateScorer`; it adds only the value function's last layer."""

    def _build(self, lr_schedule: Any) -> None:
        _build(self, lr_schedule)


class MaskableCandidatePolicy(MaskableActorCriticPolicy):
    """A `CandidatePolicy` for MaskablePPO."""

    def _build(self, lr_schedule: Any) -> None:
        _build(self, lr_schedule)


def _build(policy: Any, lr_schedule: Any) -> None:
    """Make a policy's modules and optimizer, without the layers that the library puts between scores and distribution."""
    candidates = int(policy.action_space.n)
    policy.mlp_extractor = Parts(candidates)
    policy.action_net = nn.Identity()
    policy.value_net = nn.Linear(policy.features_dim - candidates, 1)
    policy.optimizer = policy.optimizer_class(policy.parameters(), lr=lr_schedule(1), **policy.optimizer_kwargs)
