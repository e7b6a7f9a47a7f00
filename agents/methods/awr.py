"""Advantage-weighted regression: imitate all steps, the more the better they turned out than was expected.

After Peng et al., arXiv 1910.00177: a replay buffer, a value function V fitted to the returns, and a log-likelihood weighted with
exp((R - V) / temperature), at most a cap. It differs from the paper in this: returns are not discounted and not
bootstrapped, since the one reward of an episode comes at its end; and both regressions take as many episodes from the buffer as
were just played, so that an update costs what it costs other methods.
"""

from collections.abc import Sequence
from math import exp, log
from random import Random
from typing import Any

from agents.grpo import Model
from agents.methods.replay import Replay, imitation_loss, kept, played, step_rewards
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.rollouts import TrainedStep, weighted
from agents.training.settings import AWRSettings
from webarena_gym.tasks import Task

TEMPERATURE = 0.3  # the lower, the more the best steps count above the others
CAP = 20.0  # largest weight of a step


class AWR:
    """Imitates all steps, weighted with the exponential of their advantage."""

    title = "AWR"
    loss = staticmethod(imitation_loss)

    def __init__(self, args: AWRSettings, tasks: Sequence[Task], model: Model, *_: Any) -> None:
        self.draw = Curriculum(tasks, args.seed).draw
        self.critics, self.critic, self.replay = model.critics, model.critic(), Replay(args.replay)
        self.state_dict, self.load_state_dict = kept(replay=self.replay, critic=self.critic)

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Fit the value function, and return the weighted steps of drawn episodes."""
        new = played(groups)
        self.replay.add(new)
        drawn = self.replay.draw(len(new), rng)
        states, returns = self.critics.step_states(drawn), step_rewards(drawn)
        loss = self.critic.fit(states, returns, rng)
        weights = exponential_weights(returns, self.critic.values(states))
        metrics = {"critic_loss": loss, "mean_weight": sum(weights) / max(len(weights), 1)}
        return weighted([(drawn, weights)]), metrics


def exponential_weights(
    returns_S: Sequence[float], values_S: Sequence[float], *, temperature: float = TEMPERATURE, cap: float = CAP
) -> list[float]:
    """Return min(exp((R - V) / temperature), cap) of each step (Peng et al., arXiv 1910.00177, algorithm 1; the cap is theirs, too).

    >>> exponential_weights([1.0, 0.5, 1.0], [0.5, 0.5, 0.0], temperature=0.5, cap=3.0)
    [2.718281828459045, 1.0, 3.0]
    """
    exponents = [(value_of - value) / temperature for value_of, value in zip(returns_S, values_S, strict=True)]
    # Cut before the exponential, which would overflow, and after it, which is not exact.
    return [min(cap, exp(min(exponent, log(cap)))) for exponent in exponents]
