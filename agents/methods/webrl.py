"""WebRL: tasks near those that failed, and steps towards their advantages that stay near the last policy.

After Qi et al., arXiv 2411.02337, with what the paper leaves open from its released code. An update is one of its phases:

- The training batch is all new steps, of successes and failures, and steps of earlier successes (one episode a task) that
  are neither known by heart nor strange to the policy (`is_worth_replaying`), at most twice as many as new ones.
- A critic V gives each step an advantage (`next_and_final_advantages`), and the loss is the squared distance of
  beta * log(policy / last policy) to it (`WebRL.loss`), whose minimum is the optimum under a KL constraint to the last policy.
- Failed tasks are seeds of new ones (`near`), of which those stay that the critic finds neither hopeless nor done.
  A reward model says whether an episode of a new task succeeded.

It differs in this:

- GPT-4o writes the paper's new tasks; here they are drawn from the templates of the failed ones, so all of them are possible,
  which the paper has GPT-4o check. The critic rates the task alone, since its first page has not been opened.
- The paper's reward model is trained beforehand. Here it learns along the way from the episodes of the first tasks, whose outcome
  the rules tell; new tasks begin when it has seen enough. Rules would know the outcome of new tasks as well: it is not used to
  learn from, only to report how often the reward model is right.
- The reward model and the critic are copies of the policy with a head, the paper's are as large as the policy, too.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp
from random import Random
from statistics import fmean
from typing import Any

from agents.data.trajectories import Trajectory
from agents.grpo import Model
from agents.methods.replay import Replay, kept, played, split_by_trajectory, step_rewards
from agents.models.critics import accuracy
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.losses import Loss, Tokens, k3, logprobs_of, sequence_sums
from agents.training.rollouts import TrainedStep, weighted
from agents.training.settings import WebRLSettings
from webarena_gym.tasks import Task

BETA = 1.0  # weight of the KL divergence to the last policy; the lower, the farther an update goes
MIX = 0.5  # weight of the next state's value in an advantage, against that of the outcome
NEW_TASKS = 64  # tasks near the failed ones that the critic rates after each update
NEW_SHARE = 0.5  # of the groups that play new tasks, if there are any
JUDGED_AFTER = 2048  # episodes that the reward model learns from before there are new tasks


class WebRL:
    """Learns from advantages under a KL constraint, on tasks that its failures suggest."""

    title = "WebRL"

    def __init__(self, args: WebRLSettings, tasks: Sequence[Task], model: Model, *_: Any) -> None:
        self.seed, self.model, self.curriculum = args.seed, model, Curriculum(tasks, args.seed)
        self.critics, self.critic, self.reward_model = model.critics, model.critic(), model.critic()
        self.tasks = {task.task_id: task for task in tasks}
        self.successes = Replay(args.replay, one_per_task=True)
        self.states = kept(successes=self.successes, critic=self.critic, reward_model=self.reward_model)
        self.new_tasks: list[Task] = []
        self.new_groups: set[int] = set()  # under way
        self.judged = 0  # episodes that the reward model has learned from

    def draw(self, number: int) -> Task:
        """Return a new task, or any of the first ones."""
        rng = Random(f"{self.seed}/{number}/new")
        if self.new_tasks and rng.random() < NEW_SHARE:
            self.new_groups.add(number)
            return rng.choice(self.new_tasks)
        return self.curriculum.draw(number)

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Judge the batch, fit the critic, choose new tasks, and return new and replayed steps with their advantages."""
        new, metrics = self.judge(groups, rng)
        drawn = self.successes.draw(2 * len(new), rng)
        logprobs = iter(logprobs_of(self.model, weighted([(drawn, [0.0 for item in drawn for _ in item.steps])])))
        replayed = [  # with the log-probabilities of the policy as it is
            replace(item, steps=tuple(replace(step, logprobs=tuple(next(logprobs).tolist())) for step in item.steps))
            for item in drawn
        ]
        self.successes.add(item for item in new if item.reward == 1)

        items = new + replayed
        # The critic learns from all steps, and from the goals alone, as which new tasks are rated.
        states = self.critics.step_states(items) + self.critics.goal_states([item.goal for item in items])
        metrics["critic_loss"] = self.critic.fit(states, step_rewards(items) + [item.reward for item in items], rng)
        values = split_by_trajectory(self.critic.values(self.critics.step_states(items)), items)
        advantages: list[list[float | None]] = [
            [*next_and_final_advantages(own, item.reward, mix=MIX)] for item, own in zip(items, values, strict=True)
        ]
        old_steps = [(index, number) for index in range(len(new), len(items)) for number in range(len(items[index].steps))]
        worth = [place for place in old_steps if is_worth_replaying(items[place[0]].steps[place[1]].logprobs)]
        taken = set(rng.sample(worth, min(len(worth), 2 * sum(len(item.steps) for item in new))))
        for index, number in old_steps:
            if (index, number) not in taken:
                advantages[index][number] = None
        self.choose_tasks(new, rng)
        metrics |= {"replayed_steps": len(taken), "new_tasks": len(self.new_tasks)}
        return weighted([(items, [value for own in advantages for value in own])], "step_mean"), metrics

    def loss(self, tokens: Tokens) -> Loss:
        """Return the mean of (beta log(policy(a | s) / last policy(a | s)) - A)^2 over responses, and the k3 estimate of their KL.

        WebRL, arXiv 2411.02337, the loss of its policy update: the optimum of the reward less beta times the KL divergence to the last
        policy is policy = last policy * exp(A / beta). A response's log-probabilities are summed; the weights must be equal for the tokens
        of a response and sum to 1.
        """
        changes = sequence_sums(tokens.new - tokens.old, tokens.lengths)
        loss = (tokens.weights * (BETA * changes - tokens.advantages) ** 2).sum()
        return loss, {"kl": k3(tokens.new.detach(), tokens.old).sum().item()}

    def state_dict(self) -> dict[str, Any]:
        """Return the successes, both critics and the new tasks."""
        return self.states[0]() | {"new_tasks": [task.task_id for task in self.new_tasks], "judged": self.judged}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self.states[1](state)
        self.new_tasks, self.judged = [self.tasks[task_id] for task_id in state["new_tasks"]], state["judged"]

    def judge(self, groups: Sequence[Group], rng: Random) -> tuple[list[Trajectory], dict[str, float]]:
        """Return the rollouts with their outcomes, those of new tasks as the reward model sees them, which then learns the others."""
        items = played(groups)
        values = self.reward_model.values(self.critics.episode_states(items))
        metrics = {
            "reward_model_accuracy": accuracy(values, [item.reward for item in items]),
            "reward_model_success": sum(value >= 0.5 for value in values) / max(len(values), 1),
        }
        known = [item for item in items if item.group not in self.new_groups]
        rewards = [item.reward for item in known]
        metrics["reward_model_loss"] = self.reward_model.fit(self.critics.episode_states(known), rewards, rng)
        self.judged += len(known)
        judged = [
            replace(item, reward=float(value >= 0.5)) if item.group in self.new_groups else item
            for item, value in zip(items, values, strict=True)
        ]
        self.new_groups -= {group.number for group in groups}
        return judged, metrics

    def choose_tasks(self, new: Sequence[Trajectory], rng: Random) -> None:
        """Make the new tasks of the next update from those that failed in this one."""
        if self.judged < JUDGED_AFTER:
            return
        failed = [self.tasks[task_id] for task_id in dict.fromkeys(item.task_id for item in new if item.reward < 1)]
        candidates = near(failed, list(self.tasks.values()), NEW_TASKS, rng)
        values = self.critic.values(self.critics.goal_states([task.intent for task in candidates]))
        # Neither hopeless nor done, by the critic; the bounds are WebRL's.
        self.new_tasks = [task for task, value in zip(candidates, values, strict=True) if 0.05 <= value <= 0.75]


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


def is_worth_replaying(logprobs: Sequence[float]) -> bool:
    """Return whether the policy neither knows a response by heart nor finds it strange: its perplexity is between 1/0.95 and 1/0.5."""
    return 1 / 0.95 <= exp(-fmean(logprobs)) <= 1 / 0.5
