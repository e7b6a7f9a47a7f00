"""DigiRL: imitate steps with a positive advantage, in the episodes with the most surprising rewards.

After Bai et al., arXiv 2406.11896, section 4; details that the paper leaves open follow its released code:

- An instruction-level value function V(c) of the goal is an automatic curriculum: of all episodes in the replay buffer, only those with
  the highest r - V(c) are used, so tasks that always succeed or always fail drop out.
- A step-level value function V(s, c) gives each step a doubly robust advantage (`doubly_robust_advantages`).
- Hard filtering replaces exponential weights: steps with an advantage above 1/H are imitated with equal weights; H is the step limit.

Differences from the paper: the value functions are copies of the policy with a value head (the paper's step-level one reads image
features, its instruction-level one is a RoBERTa); there is one critic instead of the minimum of two; and a behaviour-cloned model
replaces the offline phase on stored episodes.
"""

from collections.abc import Sequence
from random import Random

import numpy

from agents.grpo import Method, Model
from agents.methods.replay import Replay, imitation_loss, split_by_trajectory, state_functions, step_rewards, valid_trajectories
from agents.models.critics import accuracy
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.credit import TrainedStep, weight_steps
from agents.training.settings import DigiRLSettings
from webarena_gym.tasks import Task

DECAY = 0.5  # decay of the outcome's weight per step before the end
TOP = 0.1  # share of the replay buffer that is trained on


class DigiRL(Method):
    """Imitates the steps that pass two filters. Tasks are drawn uniformly; the curriculum is the choice of training episodes."""

    title = "DigiRL"
    loss = staticmethod(imitation_loss)

    def __init__(self, args: DigiRLSettings, tasks: Sequence[Task], model: Model, *_: object) -> None:
        self.draw = Curriculum(tasks, args.seed).draw
        self.critics, self.goal_critic, self.step_critic = model.critics, model.critic(), model.critic()
        self.threshold, self.replay = 1 / args.max_steps, Replay(args.replay)
        self.state_dict, self.load_state_dict = state_functions(
            replay=self.replay, goal_critic=self.goal_critic, step_critic=self.step_critic
        )

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Fit both value functions, and return the steps that pass both filters."""
        new = valid_trajectories(groups)
        self.replay.add(new)
        batch = self.replay.draw(len(new), rng)
        rewards = [item.reward for item in batch]
        goal_loss = self.goal_critic.fit(self.critics.goal_states([item.goal for item in batch]), rewards, rng)
        step_loss = self.step_critic.fit(self.critics.step_states(batch), step_rewards(batch), rng)

        buffer = self.replay.trajectories
        goals = self.goal_critic.values(self.critics.goal_states([item.goal for item in buffer]))
        surprises = [item.reward - value for item, value in zip(buffer, goals, strict=True)]
        selection = [buffer[index] for index in highest(surprises, TOP)]
        values = split_by_trajectory(self.step_critic.values(self.critics.step_states(selection)), selection)
        advantages = [
            1.0 if value > self.threshold else None
            for item, values_H in zip(selection, values, strict=True)
            for value in doubly_robust_advantages(values_H, item.reward, decay=DECAY)
        ]
        metrics = {
            "goal_critic_loss": goal_loss,
            "step_critic_loss": step_loss,
            "goal_critic_accuracy": accuracy(goals, [item.reward for item in buffer]),
            "chosen_episodes": len(selection),
            "chosen_success": sum(item.reward for item in selection) / max(len(selection), 1),
        }
        return weight_steps([(selection, advantages)]), metrics


def doubly_robust_advantages(values_H: Sequence[float], reward: float, *, decay: float) -> list[float]:
    """Return the advantages of the H steps of an episode from the values of their states.

    A_h = w r + (1 - w) (V(s_h+1) + r_h - V(s_h)) with w = decay^(H - h) and r_h = 0 before the last step (DigiRL, arXiv 2406.11896,
    section 4, step-level advantage): close to the outcome near the end, and close to the one-step estimate at the beginning.

    >>> doubly_robust_advantages([0.25, 0.75, 0.5], reward=1.0, decay=0.5)
    [0.625, 0.375, 1.0]
    """
    last_index = len(values_H) - 1
    weights = [decay ** (last_index - step) for step in range(last_index)]
    before = [weight * reward + (1 - weight) * (values_H[step + 1] - values_H[step]) for step, weight in enumerate(weights)]
    return [*before, reward] if values_H else []


def highest(scores: Sequence[float], share: float) -> list[int]:
    """Return the indices of the scores at or above the quantile 1 - `share`, in order.

    >>> highest([0.1, 0.9, 0.5, 0.9], share=0.25)
    [1, 3]
    """
    if not scores:
        return []
    cutoff = numpy.quantile(scores, 1 - share)
    return [index for index, score in enumerate(scores) if score >= cutoff]
