"""Advantage-weighted regression (AWR): imitate all steps with weights that grow exponentially with their advantages.

After Peng et al., arXiv 1910.00177: a replay buffer, a value function V fitted to the returns, and a log-likelihood weighted with
min(exp((R - V) / temperature), cap). Differences from the paper: returns are neither discounted nor bootstrapped, because an episode has
one reward at its end; and both regressions draw as many episodes from the buffer as were just played, so an update costs as much as
in other methods.
"""

from collections.abc import Sequence
from math import exp, log
from random import Random

from agents.grpo import Method, Model
from agents.methods.replay import Replay, imitation_loss, state_functions, step_rewards, valid_trajectories
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.credit import TrainedStep, weight_steps
from agents.training.settings import AWRSettings
from webarena_gym.tasks import Task

TEMPERATURE = 0.3  # lower values concentrate the weight on the best steps
CAP = 20.0  # largest weight of a step


class AWR(Method):
    """Imitates all steps, weighted by the exponential of their advantages."""

    title = "AWR"
    loss = staticmethod(imitation_loss)

    def __init__(self, args: AWRSettings, tasks: Sequence[Task], model: Model, *_: object) -> None:
        self.draw = Curriculum(tasks, args.seed).draw
        self.critics, self.critic, self.replay = model.critics, model.critic(), Replay(args.replay)
        self.state_dict, self.load_state_dict = state_functions(replay=self.replay, critic=self.critic)

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Fit the value function. Returns the weighted steps of episodes from the replay buffer, and metrics."""
        new = valid_trajectories(groups)
        self.replay.add(new)
        batch = self.replay.draw(len(new), rng)
        states, returns = self.critics.step_states(batch), step_rewards(batch)
        loss = self.critic.fit(states, returns, rng)
        weights = exponential_weights(returns, self.critic.values(states))
        metrics = {"critic_loss": loss, "mean_weight": sum(weights) / max(len(weights), 1)}
        return weight_steps([(batch, weights)]), metrics


def exponential_weights(
    returns_S: Sequence[float], values_S: Sequence[float], *, temperature: float = TEMPERATURE, cap: float = CAP
) -> list[float]:
    """Return min(exp((R - V) / temperature), cap) of each step (Peng et al., arXiv 1910.00177, algorithm 1 and its weight clipping).

    >>> exponential_weights([1.0, 0.5, 1.0], [0.5, 0.5, 0.0], temperature=0.5, cap=3.0)
    [2.718281828459045, 1.0, 3.0]
    """
    exponents = [(value_return - value) / temperature for value_return, value in zip(returns_S, values_S, strict=True)]
    # Clipped before the exponential to avoid overflow, and after it because exp(log(cap)) is not exact.
    return [min(cap, exp(min(exponent, log(cap)))) for exponent in exponents]
