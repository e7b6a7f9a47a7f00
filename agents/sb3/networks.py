"""Networks for Stable-Baselines3's PPO that score every candidate with the same weights. Need the extra `baselines`."""

from typing import Any

import torch
from gymnasium.spaces import Dict
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from webarena_gym.candidates.arrays import PAGE, PRESENCE, RELEVANCE, ROW


class CandidateScorer(BaseFeaturesExtractor):
    """One score for each candidate, from its own row and the page's, with the same weights for all of them.

    A score begins as `prior` times what the candidate has to do with the goal, so with the prior 0 an untrained policy takes
    every candidate as likely as any other. Its features are the scores (B, N) and behind them a state (B, 2 * width) for the value:
    what the page is, and of each unit the most that any candidate has.
    """

    def __init__(self, observation_space: Dict, width: int = 64, prior: float = 4.0) -> None:
        places = observation_space["candidates"].shape[0]  # type: ignore[index]
        super().__init__(observation_space, features_dim=places + 2 * width)
        self.page = nn.Linear(PAGE, width)
        self.row = nn.Linear(ROW, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.prior = nn.Parameter(torch.tensor(prior))
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return the features of B observations with N places each."""
        rows_BNF = observations["candidates"]
        page_BW = self.page(observations["page"])
        hidden_BNW = torch.relu(self.hidden(torch.relu(self.row(rows_BNF) + page_BW[:, None])))
        scores_BN = self.score(hidden_BNW).squeeze(-1) + self.prior * rows_BNF[..., RELEVANCE]
        most_BW = (hidden_BNW * rows_BNF[..., PRESENCE, None]).amax(1)
        return torch.cat([scores_BN, torch.relu(page_BW), most_BW], dim=1)


class Parts(nn.Module):
    """Hands scores to the distribution and the state to the value; it stands where the library's policies have their MLP."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self.places = places

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return both parts."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        """Return the scores."""
        return features[:, : self.places]

    def forward_critic(self, features: Tensor) -> Tensor:
        """Return the state."""
        return features[:, self.places :]


class CandidatePolicy(ActorCriticPolicy):
    """A policy of PPO whose `features_extractor_class`, to be a `CandidateScorer`, is all of it but the value's last layer."""

    def _build(self, lr_schedule: Any) -> None:
        _build(self, lr_schedule)


class MaskableCandidatePolicy(MaskableActorCriticPolicy):
    """The same for MaskablePPO."""

    def _build(self, lr_schedule: Any) -> None:
        _build(self, lr_schedule)


def _build(policy: Any, lr_schedule: Any) -> None:
    """Make a policy's parts and its optimizer; the library's own way puts layers between the scores and the distribution."""
    places = int(policy.action_space.n)
    policy.mlp_extractor = Parts(places)
    policy.action_net = nn.Identity()
    policy.value_net = nn.Linear(policy.features_dim - places, 1)
    policy.optimizer = policy.optimizer_class(policy.parameters(), lr=lr_schedule(1), **policy.optimizer_kwargs)
