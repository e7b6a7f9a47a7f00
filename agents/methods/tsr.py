"""Trajectory-search rollouts: the policy learns from rollouts that a search has found, step by step, while they are collected.

After TSR (Djuhera et al., arXiv 2602.11767, section 3): at each turn several actions are sampled and tried, the state after each is
scored, and the best leads on; the optimizer is left as it is, here M-GRPO with all of its options. `agents.rollouts.branching` collects,
with best-of-N at each turn. The score of a state is a critic's probability of success, or the reward where the episode is over.
`--search-choice diverse` scores pages by how rarely rollouts of the group came to them.

A search changes what rollouts are distributed like, which the paper does not correct for. Here a reply is kept by chance, so its
importance weight is known (`branching.draw`), and advantages are multiplied with it, at most 2: `step` corrects the choice at
the step itself, and leaves the states those of the search; `path` also corrects how its state was come by, with the product over the steps
before; `none` is the paper's. The baseline is corrected, too: where a search always succeeds, its group tells nothing apart, and what was
tried and left does. So `search_gain` times the value of what a reply led to, less the mean over what was tried there, is added to an advantage.

It differs in this: there is no beam and no deeper look ahead, no filter of instances but M-GRPO's own, and no score by hand, since web
pages have none. A budget of env steps counts all tries (`--env-steps`). The sources were read without the numbers of their equations.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from agents.data.trajectories import Step, Trajectory
from agents.grpo import GRPO, Model
from agents.methods.replay import kept, played, step_rewards
from agents.rollouts.branching import Reached, SearchingCollector
from agents.rollouts.curriculum import Group
from agents.training.rollouts import TrainedStep
from agents.training.settings import Correction, TSRSettings
from webarena_gym.tasks import Task

CAP = 2.0  # largest importance weight of a step
TEMPERATURE = 0.2  # of the draw among the tried replies by their scores, which are 0 to 1; the lower, the more the best is kept


class TSR(GRPO):
    """Compares the rollouts of each group, which a search has found, and trains the critic that it searches by."""

    title = "TSR"

    def __init__(self, args: TSRSettings, tasks: Sequence[Task], model: Model, envs: Any = None, policy: Any = None) -> None:
        super().__init__(args, tasks, model, envs, policy)
        self.critics, self.critic = model.critics, model.critic()
        self.collector = SearchingCollector(
            envs, policy, self.values, width=args.search_width, choice=args.search_choice, temperature=TEMPERATURE,
            seed=args.seed, env=args.env(),
        )  # fmt: skip
        state, load = kept(critic=self.critic)

        def load_state_dict(state: Mapping[str, Any]) -> None:
            self.curriculum.load_state_dict(state)
            load(state)

        self.state_dict, self.load_state_dict = lambda: self.curriculum.state_dict() | state(), load_state_dict

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Fit the critic, and return the steps of all groups whose rewards differ."""
        items = played(groups)
        loss = self.critic.fit(self.critics.step_states(items), step_rewards(items), rng)
        steps, metrics = super().batch(groups, rng)
        weights = [step.importance for item in items for step in item.steps]
        metrics |= {
            "critic_loss": loss,
            "importance_min": min(weights, default=1.0),
            "importance_max": max(weights, default=1.0),
        }
        return steps, metrics | {"searched": sum(weight != 1 for weight in weights) / max(len(weights), 1)}

    def advantages(self, group: Sequence[Trajectory]) -> list[float]:
        """Return M-GRPO's advantages and the gains of the search, both corrected."""
        gains = [self.args.search_gain * step.gain for item in group for step in item.steps]
        weights = [weight for item in group for weight in corrections(item, self.args.search_correction, CAP)]
        return [(value + gain) * weight for value, gain, weight in zip(super().advantages(group), gains, weights, strict=True)]

    def values(self, states: Sequence[Reached]) -> list[float]:
        """Return the critic's probability of success of each state."""
        encoder = self.model.encoder
        prompts = encoder.encode_all([info["messages"] for _, info in states]) if encoder else [()] * len(states)
        reached: list[Any] = []
        for (episode, info), prompt_ids in zip(states, prompts, strict=True):
            here = Step(str(info["page"]), "", prompt_ids=prompt_ids)
            reached += self.critics.step_states(
                [Trajectory(episode.task_id, episode.goal, (*episode.steps, here), 0.0, "truncated")]
            )[-1:]
        return self.critic.values(reached)


def corrections(trajectory: Trajectory, correction: Correction, cap: float) -> list[float]:
    """Return what each step's advantage is multiplied with, at most `cap`, for the choice that a search has made."""
    weights: list[float] = []
    product = 1.0
    for step in trajectory.steps:
        product *= step.importance
        weights.append({"none": 1.0, "step": step.importance, "path": product}[correction])
    return [min(weight, cap) for weight in weights]
