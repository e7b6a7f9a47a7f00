"""Direct preference optimization (DPO) of single steps, for language models and pointer networks.

The loss of a pair of replies to one state is -log sigmoid(beta [(log p(w) - log q(w)) - (log p(l) - log q(l))]), where q is the policy
that sampled them (Rafailov et al., arXiv 2305.18290, equation 7; Agent Q, arXiv 2408.07199, which stores the sampler's likelihoods with
the data, as steps do here). Its gradient is that of imitating w and unlearning l with weight beta sigmoid(-margin).
"""

from collections.abc import Sequence
from math import exp, log1p
from random import Random
from statistics import fmean
from typing import NamedTuple

import torch

from agents.data.trajectories import Trajectory
from agents.grpo import Learner, Model, SinglePass
from agents.methods.replay import imitation_loss
from agents.training.credit import TrainedStep
from agents.training.losses import logprobs_of
from agents.training.settings import AgentQSettings


class Preference(NamedTuple):
    """Two episodes that differ only in their last step; the first is preferred."""

    chosen: Trajectory
    rejected: Trajectory


def learn_preferences(
    model: Model, optimizer: torch.optim.Optimizer, pairs: Sequence[Preference], args: AgentQSettings, rng: Random
) -> dict[str, float]:
    """Train on the pairs. Returns the mean of each metric over the updates."""
    learner = Learner(model, optimizer, imitation_loss, SinglePass(args.learning_rate))
    updates: list[dict[str, float]] = []
    for _ in range(args.epochs):
        order = rng.sample(range(len(pairs)), len(pairs))
        for start in range(0, len(order), args.pairs_per_update):
            batch = [pairs[index] for index in order[start : start + args.pairs_per_update]]
            steps, metrics = preference_steps(batch, model, args.beta)
            values = learner.learn(steps, rng)
            updates.append(metrics | {"grad_norm": values["grad_norm"]})
    return {name: fmean(update[name] for update in updates) for name in updates[0]} if updates else {}


def preference_steps(pairs: Sequence[Preference], model: Model, beta: float) -> tuple[list[TrainedStep], dict[str, float]]:
    """Return steps whose weighted imitation loss has the gradient of the DPO loss, and the metrics loss, margin and accuracy.

    The weights include the mean over pairs.
    """
    signs = zip([item for pair in pairs for item in pair], [1.0, -1.0] * len(pairs), strict=True)
    steps = [TrainedStep(item, len(item.steps) - 1, sign, 0.0, rollout) for rollout, (item, sign) in enumerate(signs)]
    current_logprobs = logprobs_of(model, steps)
    gains = [sum(logprobs.tolist()) - sum(item.step.logprobs) for logprobs, item in zip(current_logprobs, steps, strict=True)]
    margins = [beta * (better - worse) for better, worse in zip(gains[::2], gains[1::2], strict=True)]
    weights = [beta * _sigmoid(-margin) / len(pairs) for margin in margins for _ in range(2)]
    metrics = {
        "dpo_loss": fmean(max(-margin, 0.0) + log1p(exp(-abs(margin))) for margin in margins),
        "margin": fmean(margins),
        "accuracy": fmean(margin > 0 for margin in margins),
    }
    return [item._replace(weight=weight) for item, weight in zip(steps, weights, strict=True)], metrics


def _sigmoid(value: float) -> float:
    return 1 / (1 + exp(-value)) if value >= 0 else exp(value) / (1 + exp(value))
