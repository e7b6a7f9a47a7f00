"""WebRL: tasks near those that failed, and steps towards their advantages that stay near the last policy.

After Qi et al., arXiv 2411.02337, with what the paper leaves open from its released code. An update is one of its phases:

- The training batch is all new steps, of successes and failures, and steps of earlier successes (one episode a task) that
  are neither known by heart nor strange to the policy (`replay.is_worth_replaying`), at most twice as many as new ones.
- A critic V gives each step an advantage (`next_and_final_advantages`), and the loss is the squared distance of
  beta * log(policy / last policy) to it (`regress`), whose minimum is the optimum under a KL constraint to the last policy.
- Failed tasks are seeds of new ones (`near`), of which those stay that the critic finds neither hopeless nor done
  (`is_within_reach`). A reward model says whether an episode of a new task succeeded.

It differs in this:

- GPT-4o writes the paper's new tasks; here they are drawn from the templates of the failed ones, so all of them are possible,
  which the paper has GPT-4o check. The critic rates the task alone, since its first page has not been opened.
- The paper's reward model is trained beforehand. Here it learns along the way from the episodes of the first tasks, whose outcome
  the rules tell; new tasks begin when it has seen enough. Rules would know the outcome of new tasks as well: it is not used to
  learn from, only to report how often the reward model is right.
- The reward model and the critic are copies of the policy with a head, the paper's are as large as the policy, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, ClassVar, Literal

from agents.data.trajectories import Trajectory
from agents.methods.method import (
    Resources,
    batch_of_steps,
    played,
    split_by_trajectory,
    step_rewards,
)
from agents.methods.replay import Replay, ReplaySettings, is_worth_replaying, response_logprobs
from agents.models.critics import Critic, CriticSettings, accuracy
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import RolloutBatch
from agents.training.batch import TrainingBatch
from agents.training.losses import PolicyLoss, k3, sequence_sums
from agents.training.objectives import Objective, Tokens
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class WebRLSettings(ReplaySettings, CriticSettings):
    """WebRL: how it learns, where its tasks come from, what is replayed, and how the critic and the reward model are trained."""

    name: ClassVar[str] = "webrl"
    title: ClassVar[str] = "WebRL"

    webrl_beta: float = 1.0
    """webrl: weight of the KL divergence to the last policy; the lower, the farther an update goes"""
    webrl_lambda: float = 0.5
    """webrl: weight of the next state's value in an advantage, against that of the outcome"""
    new_tasks: int = 64
    """webrl: tasks near the failed ones that the critic rates after each update"""
    new_share: float = 0.5
    """webrl: share of the groups that play new tasks, if there are any"""
    judged_after: int = 2048
    """webrl: episodes that the reward model learns from before there are new tasks"""
    old_logprobs: Literal["sampled", "recomputed"] = "sampled"
    """webrl: the last policy's log-probabilities: the sampler's, or the trainer's own before the updates of a batch"""

    def objective(self) -> Objective:
        """Return the squared distance of the policy's change to the advantages."""
        return Objective(partial(regress, beta=self.webrl_beta), recomputes=self.old_logprobs == "recomputed")

    def create(self, resources: Resources) -> "WebRL":
        """Return the method as it begins."""
        return WebRL(self, resources)


class WebRL:
    """Learns from advantages under a KL constraint, on tasks that its failures suggest."""

    def __init__(self, settings: WebRLSettings, resources: Resources) -> None:
        self._settings = settings
        self._resources = resources
        self._curriculum = Curriculum(resources.tasks, seek_mixed=False, seed=resources.seed)
        self._critics = resources.critics
        self._critic = resources.critics.create(settings)
        self._reward_model = resources.critics.create(settings)
        self._tasks = {task.task_id: task for task in resources.tasks}
        self._successes = Replay(settings.replay, one_per_task=True)
        self._new_tasks: list[Task] = []
        self._new_groups: set[int] = set()  # under way
        self._judged = 0  # episodes that the reward model has learned from

    def draw_task(self, number: int) -> Task:
        """Return a new task, or any of the first ones."""
        rng = Random(f"{self._resources.seed}/{number}/new")
        if self._new_tasks and rng.random() < self._settings.new_share:
            self._new_groups.add(number)
            return rng.choice(self._new_tasks)
        return self._curriculum.draw(number)

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Judge the batch, fit the critic, choose new tasks, and return new and replayed steps with their advantages."""
        new, metrics = self._judge(rollouts, rng)
        steps = sum(len(item.steps) for item in new)
        replayed = self._rescore(self._successes.draw(2 * len(new), rng))
        self._successes.add(item for item in new if item.reward == 1)

        items = new + replayed
        metrics["critic_loss"] = self._fit_critic(items, rng)
        values = split_by_trajectory(self._critic.values(self._critics.steps(items)), items)
        advantages: list[list[float | None]] = [
            [*next_and_final_advantages(own, item.reward, mix=self._settings.webrl_lambda)]
            for item, own in zip(items, values, strict=True)
        ]
        old_steps = [(index, number) for index in range(len(new), len(items)) for number in range(len(items[index].steps))]
        worth = [place for place in old_steps if is_worth_replaying(items[place[0]].steps[place[1]].logprobs)]
        taken = set(rng.sample(worth, min(len(worth), 2 * steps)))
        for index, number in old_steps:
            if (index, number) not in taken:
                advantages[index][number] = None
        self._choose_tasks(new, rng)
        metrics |= {"replayed_steps": len(taken), "new_tasks": len(self._new_tasks)}
        return batch_of_steps(items, advantages, equal_steps=True), metrics

    def state_dict(self) -> dict[str, Any]:
        """Return the successes, both critics and the new tasks."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return parts | {"new_tasks": [task.task_id for task in self._new_tasks], "judged": self._judged}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        for name, part in self._parts().items():
            part.load_state_dict(state_dict[name])
        self._new_tasks = [self._tasks[task_id] for task_id in state_dict["new_tasks"]]
        self._judged = state_dict["judged"]

    def _parts(self) -> dict[str, Replay | Critic]:
        return {"successes": self._successes, "critic": self._critic, "reward_model": self._reward_model}

    def _judge(self, rollouts: RolloutBatch, rng: Random) -> tuple[list[Trajectory], dict[str, float]]:
        """Return the rollouts with their outcomes, those of new tasks as the reward model sees them, which then learns the others."""
        items = played(rollouts)
        values = self._reward_model.values(self._critics.episodes(items))
        metrics = {
            "reward_model_accuracy": accuracy(values, [item.reward for item in items]),
            "reward_model_success": sum(value >= 0.5 for value in values) / max(len(values), 1),
        }
        known = [item for item in items if item.group not in self._new_groups]
        metrics["reward_model_loss"] = self._reward_model.fit(
            self._critics.episodes(known), [item.reward for item in known], rng
        )
        self._judged += len(known)
        judged = [
            replace(item, reward=float(value >= 0.5)) if item.group in self._new_groups else item
            for item, value in zip(items, values, strict=True)
        ]
        self._new_groups -= {group.number for group in rollouts.played}
        return judged, metrics

    def _rescore(self, items: Sequence[Trajectory]) -> list[Trajectory]:
        """Return kept trajectories with the log-probabilities of the policy as it is."""
        batch = batch_of_steps(items, [[0.0] * len(item.steps) for item in items])
        resources = self._resources
        logprobs = iter(
            response_logprobs(
                resources.family,
                resources.model,
                batch,
                temperature=resources.temperature,
                tokens_per_pass=resources.tokens_per_pass,
            )
        )
        return [replace(item, steps=tuple(replace(step, logprobs=next(logprobs)) for step in item.steps)) for item in items]

    def _fit_critic(self, items: Sequence[Trajectory], rng: Random) -> float:
        """Train the critic on all steps, and on the goals alone, as which new tasks are rated; return its loss."""
        states = self._critics.steps(items) + self._critics.goals([item.goal for item in items])
        return self._critic.fit(states, step_rewards(items) + [item.reward for item in items], rng)

    def _choose_tasks(self, new: Sequence[Trajectory], rng: Random) -> None:
        """Make the new tasks of the next update from those that failed in this one."""
        if self._judged < self._settings.judged_after:
            return
        failed = [self._tasks[task_id] for task_id in dict.fromkeys(item.task_id for item in new if item.reward < 1)]
        candidates = near(failed, list(self._tasks.values()), self._settings.new_tasks, rng)
        values = self._critic.values(self._critics.goals([task.intent for task in candidates]))
        self._new_tasks = [task for task, value in zip(candidates, values, strict=True) if is_within_reach(value)]


def next_and_final_advantages(values_T: Sequence[float], reward: float, *, mix: float) -> list[float]:
    """Return the advantage of each of the T steps of an episode from the values of the states they were taken in.

    A_t = mix (r_t + V(s_t+1) - V(s_t)) + (1 - mix) (r - V(s_t)), where r_t is 0 before the last step and r at it (WebRL, arXiv
    2411.02337, the advantage of its policy update): lambda returns with the next and the final step alone.

    >>> next_and_final_advantages([0.25, 0.75, 0.5], reward=1, mix=0.5)
    [0.625, 0.0, 0.5]
    """
    if not values_T:
        return []
    after = [*values_T[1:], reward]
    return [mix * (following - value) + (1 - mix) * (reward - value) for value, following in zip(values_T, after, strict=True)]


def regress(tokens: Tokens, *, beta: float) -> PolicyLoss:
    """Return the mean of (beta log(policy(a | s) / last policy(a | s)) - A)^2 over responses, and the k3 estimate of their KL.

    WebRL, arXiv 2411.02337, the loss of its policy update: the optimum of the reward less beta times the KL divergence to the last
    policy is policy = last policy * exp(A / beta). The last policy's log-probabilities are `old`, and a response's
    are summed. The weights must be equal for the tokens of a response and sum to 1.
    """
    changes_N = sequence_sums(tokens.logprobs - tokens.old, tokens.lengths)
    loss = (tokens.weights * (beta * changes_N - tokens.advantages) ** 2).sum()
    kl = k3(tokens.logprobs.detach(), tokens.old).mean().item()
    largest = (tokens.logprobs.detach() - tokens.old).exp().max().item()
    return PolicyLoss(loss, clipped_fraction=0.0, kl=kl, ratio_max=largest)


def near(failed: Sequence[Task], tasks: Sequence[Task], count: int, rng: Random) -> list[Task]:
    """Return at most `count` tasks near the failed ones, in random order: others of their templates.

    If there is none of a template, others of the task's sites stand in.
    """
    known = {task.task_id for task in failed}
    others = [task for task in tasks if task.task_id not in known]
    found: dict[str, Task] = {}
    for task in failed:
        alike = [other for other in others if task.template and other.template == task.template]
        alike = alike or [other for other in others if set(other.sites) & set(task.sites)]
        found |= {other.task_id: other for other in alike}
    return rng.sample(list(found.values()), min(count, len(found)))


def is_within_reach(value: float) -> bool:
    """Return whether a task is neither hopeless nor done, by the critic's value of it; the bounds are WebRL's."""
    return 0.05 <= value <= 0.75
