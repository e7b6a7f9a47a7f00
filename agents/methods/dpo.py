"""Direct preference optimisation of single steps, for models of any family.

The loss of a pair of replies to one state is -log sigmoid(beta [(log p(w) - log q(w)) - (log p(l) - log q(l))]), where q is the policy
that sampled them (Rafailov et al., arXiv 2305.18290, equation 7; Agent Q, arXiv 2408.07199, which keeps the sampler's likelihoods with
the data, as steps do here). Its gradient is that of imitating w and unlearning l with the weight beta sigmoid(-margin).
"""

from collections.abc import Sequence
from math import exp, log1p
from random import Random
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory
from agents.methods.method import batch_of_steps
from agents.methods.replay import response_logprobs
from agents.training.batch import TrainingBatch
from agents.training.families import ModelFamily
from agents.training.learner import Learner


class Preference(NamedTuple):
    """Two episodes that are equal but for their last step, of which the first is preferred."""

    chosen: Trajectory
    rejected: Trajectory


def learn_preferences(
    learner: Learner,
    family: ModelFamily,
    pairs: Sequence[Preference],
    rng: Random,
    *,
    beta: float,
    epochs: int,
    pairs_per_update: int,
    temperature: float,
    tokens_per_pass: int,
) -> dict[str, float]:
    """Take all updates on the pairs, whose learner imitates by weighted samples, and return the means of their metrics."""
    updates: list[dict[str, float]] = []
    for _ in range(epochs):
        order = rng.sample(range(len(pairs)), len(pairs))
        for start in range(0, len(order), pairs_per_update):
            own = [pairs[index] for index in order[start : start + pairs_per_update]]
            batch, metrics = preference_batch(
                own, family, learner.model, beta=beta, temperature=temperature, tokens_per_pass=tokens_per_pass
            )
            metrics["grad_norm"] = learner.learn(batch, rng)["grad_norm"]
            updates.append(metrics)
    return {name: sum(update[name] for update in updates) / len(updates) for name in updates[0]} if updates else {}


def preference_batch(
    pairs: Sequence[Preference], family: ModelFamily, model: Any, *, beta: float, temperature: float, tokens_per_pass: int
) -> tuple[TrainingBatch, dict[str, float]]:
    """Return the batch whose weighted imitation has the gradient of the loss at the model's parameters, and the loss, margin and accuracy.

    The mean over pairs is in the weights.
    """
    episodes = [item for pair in pairs for item in pair]
    signs = [1.0, -1.0] * len(pairs)
    last = [[*[None] * (len(item.steps) - 1), sign] for item, sign in zip(episodes, signs, strict=True)]
    batch = batch_of_steps(episodes, last)
    present = response_logprobs(family, model, batch, temperature=temperature, tokens_per_pass=tokens_per_pass)
    gains = [sum(now) - sum(then) for now, then in zip(present, batch.sampled_logprobs, strict=True)]
    margins = [beta * (chosen - rejected) for chosen, rejected in zip(gains[::2], gains[1::2], strict=True)]
    weights = [beta * _sigmoid(-margin) / len(pairs) for margin in margins for _ in range(2)]
    metrics = {
        "dpo_loss": sum(_softplus(-margin) for margin in margins) / len(pairs),
        "margin": sum(margins) / len(pairs),
        "accuracy": sum(margin > 0 for margin in margins) / len(pairs),
    }
    return batch._replace(weights=weights), metrics


def _sigmoid(value: float) -> float:
    return 1 / (1 + exp(-value)) if value >= 0 else exp(value) / (1 + exp(value))


def _softplus(value: float) -> float:
    return max(value, 0.0) + log1p(exp(-abs(value)))
