"""StarPO-S: PPO with a critic on whole trajectories, from the groups with the largest variance of rewards.

After RAGEN (Wang et al., arXiv 2504.20073); details that the paper leaves open follow its released code. StarPO maximizes the
expected return of a trajectory (2), of which a token's probability ratio is one factor (3); the update is PPO's clipped mean over the
tokens of each trajectory with the advantages of GAE, or with those of GRPO (section 2.2). StarPO-S, its stable variant, is the default here:

- Only the share `starpo_kept` of the groups with the largest standard deviation of returns is trained on (section 3.2,
  U = Std(R(tau))): a quarter, as in the paper.
- There is no KL term, and the upper clip is higher (`--kl-weight 0 --clip-high 0.28`). Plain StarPO is
  `--starpo-kept 1 --clip-high 0.2 --kl-weight 0.001`.
- A critic provides the baseline (`--starpo-advantages gae`); `group` uses the group mean, as GRPO does.

The diagnostics of the paper's echo trap are metrics of every method: `reward_deviation` (of the groups of a batch), `reply_entropy` and
`grad_norm`. An echo trap shows as a fall of the first two and a rise of the third.

Further techniques of UI-TARS-2 (arXiv 2509.02544) are options here: the policy's lambda differs from the critic's (decoupled GAE, `--starpo-decay`) and depends on the length of the episode (length-adaptive GAE, `--starpo-length-factor`), both as in VAPO
(arXiv 2504.05118); the critic is trained before the policy (value pretraining, `--starpo-value-groups`); a reply without an action is penalized
(format reward, `--starpo-format-cost`). Its clip-higher is `--clip-high`, its asynchronous rollouts are `--overlap`.

Differences from the papers: the critic estimates one value per turn instead of one per token, so all tokens of a reply share an advantage
and lengths are counted in turns; it is fitted to outcomes, which corresponds to a lambda of 1, with the cross-entropy of `agents.models.critics`; there is no
entropy bonus (0.001 in the released settings). Equation numbers are those of the papers' first versions.
"""

from collections.abc import Sequence
from functools import partial
from math import ceil
from random import Random
from statistics import fmean, pstdev

from agents.data.trajectories import action_of
from agents.grpo import Method, Model, clipped_loss, trajectory_advantages
from agents.methods.replay import split_by_trajectory, state_functions, step_rewards
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.credit import TrainedStep, weight_steps
from agents.training.settings import StarPOSettings
from webarena_gym.tasks import Task

DISCOUNT = 1.0  # discount factor gamma of GAE


class StarPO(Method):
    """PPO on the groups with the largest variance of rewards. Tasks are drawn uniformly, and groups are filtered after they are played."""

    title = "StarPO"

    def __init__(self, args: StarPOSettings, tasks: Sequence[Task], model: Model, *_: object) -> None:
        self.args, self.draw, self.loss = args, Curriculum(tasks, args.seed).draw, partial(clipped_loss, args)
        self.critics = model.critics
        self.critic = model.critic() if args.starpo_advantages == "gae" else None
        self.state_dict, self.load_state_dict = state_functions(**({"critic": self.critic} if self.critic else {}))

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Fit the critic to the selected groups. Returns their steps with advantages, and metrics."""
        is_pretraining = groups[-1].number < self.args.starpo_value_groups if groups else False
        groups = groups if is_pretraining else most_uncertain(groups, self.args.starpo_kept)
        parts = [[item for item in group.valid if item.steps] for group in groups]
        items = [item for part in parts for item in part]
        metrics = {"kept_groups": float(len(groups)), "kept_deviation": fmean(map(deviation, groups)) if groups else 0.0}
        if self.critic is None:
            of_items = [value for part in parts if part for value in trajectory_advantages([item.reward for item in part])]
            advantages = [value for value, item in zip(of_items, items, strict=True) for _ in item.steps]
        else:
            states = self.critics.step_states(items)
            values = split_by_trajectory(self.critic.values(states), items)  # before the critic is fitted to their outcomes
            metrics["critic_loss"] = self.critic.fit(states, step_rewards(items), rng)
            if is_pretraining:
                return [], metrics
            advantages = []
            for item, values_T in zip(items, values, strict=True):
                rewards = [-self.args.starpo_format_cost * (action_of(step.reply) is None) for step in item.steps]
                rewards[-1] += item.reward
                decay = policy_decay(len(values_T), self.args.starpo_decay, self.args.starpo_length_factor)
                advantages += generalised_advantages(values_T, rewards, discount=DISCOUNT, decay=decay)
            advantages = trajectory_advantages(advantages) if advantages else []  # whitened
        # A mean over trajectories of means over their tokens.
        tokens = [sum(len(step.response_ids) for step in item.steps) for item in items]
        steps = weight_steps([(items, advantages)])
        return [step._replace(weight=1 / (len(items) * tokens[step.rollout])) for step in steps], metrics


def deviation(group: Group) -> float:
    """Return the standard deviation of the rewards of a group; 0 without rollouts."""
    return pstdev(item.reward for item in group.valid) if group.valid else 0.0


def most_uncertain(groups: Sequence[Group], share: float) -> list[Group]:
    """Return the given share of the groups (rounded up) with the largest standard deviation of rewards, in their original order.

    RAGEN, arXiv 2504.20073, section 3.2. Ties are broken in favour of earlier groups.
    """
    count = ceil(share * len(groups) - 1e-9)  # 0.1 of 30 is 3 despite rounding errors
    order = sorted(range(len(groups)), key=lambda index: -deviation(groups[index]))
    return [groups[index] for index in sorted(order[:count])]


def generalised_advantages(
    values_T: Sequence[float], rewards_T: Sequence[float], *, discount: float, decay: float
) -> list[float]:
    """Return the advantages of the T steps of an episode from their rewards and the values of their states.

    A_t = sum over k of (gamma lambda)^k d_t+k with d_t = r_t + gamma V(s_t+1) - V(s_t) (Schulman et al., arXiv 1506.02438, equation 16;
    RAGEN uses gamma = lambda = 1: the return minus the value).

    >>> generalised_advantages([0.25, 0.75, 0.5], [0, 0, 1], discount=1.0, decay=1.0)
    [0.75, 0.25, 0.5]
    >>> generalised_advantages([0.25, 0.75, 0.5], [0, 0, 1], discount=1.0, decay=0.0)
    [0.5, -0.25, 0.5]
    """
    advantages: list[float] = []
    next_value, advantage = 0.0, 0.0
    for value, reward in zip(reversed(values_T), reversed(rewards_T), strict=True):
        advantage = reward + discount * next_value - value + discount * decay * advantage
        advantages.append(advantage)
        next_value = value
    return advantages[::-1]


def policy_decay(length: int, decay: float, factor: float) -> float:
    """Return the policy's lambda for an episode of `length` turns: 1 - 1 / (factor * length), or `decay` if the factor is 0.

    VAPO, arXiv 2504.05118, section 4.2 (the factor is its alpha): in long episodes the outcome then reaches every step. The result is at least 0.
    """
    return max(1 - 1 / (factor * length), 0.0) if factor else decay
