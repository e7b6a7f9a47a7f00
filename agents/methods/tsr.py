"""Trajectory-search rollouts (TSR): M-GRPO on rollouts that are collected with a search at each step.

After TSR (Djuhera et al., arXiv 2602.11767, section 3): at each turn several actions are sampled and tried, the state after each is
scored, and the rollout continues from the best; the optimizer is unchanged (here M-GRPO with all options). `agents.rollouts.branching`
collects with best-of-N at each turn. The score of a state is a critic's probability of success, or the reward if the episode is over.
`--search-choice diverse` scores pages by how rarely rollouts of the group visited them.

A search changes the distribution of rollouts, which the paper does not correct. Here replies are selected at random with known
probabilities, so their importance weights are known (`branching.draw_reply`). Advantages are multiplied by them, capped at 2: `step` corrects
the selection at the step; `path` also corrects the distribution of its state, by the product over earlier steps; `none` is the paper's
method. If a search always succeeds, the rewards of its group are equal and give no signal, but the rejected replies do. Therefore
`search_gain` times the value after a reply, minus the mean over the replies tried in that state, is added to the advantage.

Differences from the paper: no beam search, no deeper lookahead, no instance filter except M-GRPO's, and no hand-written scores. A budget
of env steps counts all tries (`--env-steps`). The sources were read without the numbers of their equations.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from agents.data.trajectories import Step, Trajectory
from agents.grpo import GRPO, Model
from agents.methods.replay import state_functions, step_rewards, valid_trajectories
from agents.rollouts.branching import SearchingCollector, TriedState
from agents.rollouts.curriculum import Group
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.policies import TrainedPolicy
from agents.training.credit import TrainedStep
from agents.training.settings import Correction, TSRSettings
from webarena_gym.tasks import Task

CAP = 2.0  # largest importance weight of a step
TEMPERATURE = 0.2  # of the selection among tried replies by scores in [0, 1]; lower values prefer the best


class TSR(GRPO):
    """M-GRPO on rollouts collected with a search, which also trains the critic that guides the search."""

    title = "TSR"

    args: TSRSettings

    def __init__(
        self, args: TSRSettings, tasks: Sequence[Task], model: Model, envs: InProcessEnvs | None = None,
        policy: TrainedPolicy | None = None,
    ) -> None:  # fmt: skip
        assert envs is not None
        assert policy is not None
        super().__init__(args, tasks, model, envs, policy)
        self.critics, self.critic = model.critics, model.critic()
        self.collector = SearchingCollector(
            envs, policy, self.values, width=args.search_width, choice=args.search_choice, temperature=TEMPERATURE,
            seed=args.seed, env=args.env(),
        )  # fmt: skip
        state, load = state_functions(critic=self.critic)

        def load_state_dict(state: Mapping[str, Any]) -> None:
            self.curriculum.load_state_dict(state)
            load(state)

        self.state_dict, self.load_state_dict = lambda: self.curriculum.state_dict() | state(), load_state_dict

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Fit the critic, and return the steps of all groups whose rewards differ."""
        items = valid_trajectories(groups)
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
        """Return the sum of M-GRPO's advantages and the search gains, multiplied by the importance weights."""
        gains = [self.args.search_gain * step.gain for item in group for step in item.steps]
        weights = [weight for item in group for weight in importance_weights(item, self.args.search_correction, CAP)]
        return [(value + gain) * weight for value, gain, weight in zip(super().advantages(group), gains, weights, strict=True)]

    def values(self, states: Sequence[TriedState]) -> list[float]:
        """Return the critic's probability of success of each state."""
        encoder = self.model.encoder
        prompts = encoder.encode_all([info["messages"] for _, info in states]) if encoder else [()] * len(states)
        critic_states: list[Any] = []
        for (episode, info), prompt_ids in zip(states, prompts, strict=True):
            state = Step(str(info["page"]), "", prompt_ids=prompt_ids)
            critic_states += self.critics.step_states(
                [Trajectory(episode.task_id, episode.goal, (*episode.steps, state), 0.0, "truncated")]
            )[-1:]
        return self.critic.values(critic_states)


def importance_weights(trajectory: Trajectory, correction: Correction, cap: float) -> list[float]:
    """Return the importance weight of each step, at most `cap`, that corrects for the selection by a search."""
    weights: list[float] = []
    product = 1.0
    for step in trajectory.steps:
        product *= step.importance
        weights.append({"none": 1.0, "step": step.importance, "path": product}[correction])
    return [min(weight, cap) for weight in weights]
