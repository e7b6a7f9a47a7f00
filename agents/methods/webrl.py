"""WebRL: a curriculum of tasks similar to failed ones, and policy updates under a KL constraint to the previous policy.

After Qi et al., arXiv 2411.02337; details that the paper leaves open follow its released code. One update is one phase of the paper:

- The training batch contains all new steps, of successes and failures, and steps of earlier successes (one episode per task) whose
  perplexity is neither too low nor too high (`is_worth_replaying`), at most twice as many as new steps.
- A critic V gives each step an advantage (`next_and_final_advantages`). The loss is the squared difference between the advantage and
  beta * log(policy / previous policy) (`WebRL.loss`). Its minimum is the optimal policy under a KL constraint to the previous policy.
- Failed tasks are the seeds of new tasks (`similar_tasks`). The critic removes new tasks that it rates as hopeless or solved.
  A reward model predicts the success of episodes on new tasks.

Differences from the paper:

- In the paper, GPT-4o writes new tasks and checks that they are feasible. Here new tasks are drawn from the templates of the failed
  ones, so they are always feasible. The critic rates a task by its goal, because its first page is not available.
- The paper's reward model is trained beforehand. Here it is trained during the run on episodes of the initial tasks with rule-based
  rewards; new tasks start after `JUDGED_AFTER` episodes. The rule-based rewards of new tasks are only used to report its accuracy.
- The reward model and the critic are copies of the policy with a value head. The paper's are models of the size of the policy.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp
from random import Random
from statistics import fmean
from typing import Any

from agents.data.trajectories import Trajectory
from agents.grpo import Method, Model
from agents.methods.replay import Replay, split_by_trajectory, state_functions, step_rewards, valid_trajectories
from agents.models.critics import accuracy
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.credit import TrainedStep, weight_steps
from agents.training.losses import Loss, Tokens, k3, logprobs_of, sequence_sums
from agents.training.settings import WebRLSettings
from webarena_gym.tasks import Task

BETA = 1.0  # weight of the KL divergence to the previous policy; lower values allow larger updates
MIX = 0.5  # weight of the one-step estimate in an advantage; the rest is the outcome's
NEW_TASKS = 64  # candidate tasks that the critic rates after each update
NEW_SHARE = 0.5  # share of groups that play new tasks, if there are any
JUDGED_AFTER = 2048  # training episodes of the reward model before new tasks are used


class WebRL(Method):
    """Policy updates under a KL constraint, on tasks similar to failed ones."""

    title = "WebRL"

    def __init__(self, args: WebRLSettings, tasks: Sequence[Task], model: Model, *_: object) -> None:
        self.seed, self.model, self.curriculum = args.seed, model, Curriculum(tasks, args.seed)
        self.critics, self.critic, self.reward_model = model.critics, model.critic(), model.critic()
        self.tasks = {task.task_id: task for task in tasks}
        self.successes = Replay(args.replay, one_per_task=True)
        self.states = state_functions(successes=self.successes, critic=self.critic, reward_model=self.reward_model)
        self.new_tasks: list[Task] = []
        self.new_groups: set[int] = set()  # numbers of the groups that are being played
        self.judged = 0  # training episodes of the reward model so far

    def draw(self, number: int) -> Task:
        """Return a new task with probability `NEW_SHARE`, otherwise one of the initial tasks."""
        rng = Random(f"{self.seed}/{number}/new")
        if self.new_tasks and rng.random() < NEW_SHARE:
            self.new_groups.add(number)
            return rng.choice(self.new_tasks)
        return self.curriculum.draw(number)

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Label the batch, fit the critic and choose new tasks. Returns new and replayed steps with advantages, and metrics."""
        new, metrics = self.judge(groups, rng)
        replay_batch = self.successes.draw(2 * len(new), rng)
        logprobs = iter(
            logprobs_of(self.model, weight_steps([(replay_batch, [0.0 for item in replay_batch for _ in item.steps])]))
        )
        replays = [  # with log-probabilities of the current policy
            replace(item, steps=tuple(replace(step, logprobs=tuple(next(logprobs).tolist())) for step in item.steps))
            for item in replay_batch
        ]
        self.successes.add(item for item in new if item.reward == 1)

        items = new + replays
        # The critic is also fitted to goals without pages, because new tasks are rated by their goals.
        states = self.critics.step_states(items) + self.critics.goal_states([item.goal for item in items])
        metrics["critic_loss"] = self.critic.fit(states, step_rewards(items) + [item.reward for item in items], rng)
        values = split_by_trajectory(self.critic.values(self.critics.step_states(items)), items)
        advantages: list[list[float | None]] = [
            [*next_and_final_advantages(values_T, item.reward, mix=MIX)] for item, values_T in zip(items, values, strict=True)
        ]
        old_steps = [(index, number) for index in range(len(new), len(items)) for number in range(len(items[index].steps))]
        eligible = [(index, number) for index, number in old_steps if is_worth_replaying(items[index].steps[number].logprobs)]
        selection = set(rng.sample(eligible, min(len(eligible), 2 * sum(len(item.steps) for item in new))))
        for index, number in old_steps:
            if (index, number) not in selection:
                advantages[index][number] = None
        self.choose_tasks(new, rng)
        metrics |= {"replayed_steps": len(selection), "new_tasks": len(self.new_tasks)}
        return weight_steps([(items, [value for values_T in advantages for value in values_T])], "step_mean"), metrics

    def loss(self, tokens: Tokens) -> Loss:
        """Return the mean of (beta log(policy(a | s) / previous policy(a | s)) - A)^2 over responses, and the k3 estimate of the KL.

        Policy update of WebRL, arXiv 2411.02337: the reward minus beta times the KL divergence to the previous policy is maximal for
        policy = previous policy * exp(A / beta). Log-probabilities are summed over a response. The weights must be equal for the tokens
        of a response and sum to 1.
        """
        changes = sequence_sums(tokens.new - tokens.old, tokens.lengths)
        loss = (tokens.weights * (BETA * changes - tokens.advantages) ** 2).sum()
        return loss, {"kl": k3(tokens.new.detach(), tokens.old).sum().item()}

    def state_dict(self) -> dict[str, Any]:
        """Return the successes, both critics and the new tasks."""
        return self.states[0]() | {"new_tasks": [task.task_id for task in self.new_tasks], "judged": self.judged}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state dict."""
        self.states[1](state)
        self.new_tasks, self.judged = [self.tasks[task_id] for task_id in state["new_tasks"]], state["judged"]

    def judge(self, groups: Sequence[Group], rng: Random) -> tuple[list[Trajectory], dict[str, float]]:
        """Return the rollouts with rewards, and metrics of the reward model.

        Rollouts of new tasks get the reward that the reward model predicts. It is then trained on the other rollouts.
        """
        items = valid_trajectories(groups)
        values = self.reward_model.values(self.critics.episode_states(items))
        metrics = {
            "reward_model_accuracy": accuracy(values, [item.reward for item in items]),
            "reward_model_success": sum(value >= 0.5 for value in values) / max(len(values), 1),
        }
        labelled_items = [item for item in items if item.group not in self.new_groups]
        rewards = [item.reward for item in labelled_items]
        metrics["reward_model_loss"] = self.reward_model.fit(self.critics.episode_states(labelled_items), rewards, rng)
        self.judged += len(labelled_items)
        judged_items = [
            replace(item, reward=float(value >= 0.5)) if item.group in self.new_groups else item
            for item, value in zip(items, values, strict=True)
        ]
        self.new_groups -= {group.number for group in groups}
        return judged_items, metrics

    def choose_tasks(self, new: Sequence[Trajectory], rng: Random) -> None:
        """Choose the new tasks of the next update from tasks similar to those that failed in this one."""
        if self.judged < JUDGED_AFTER:
            return
        failed_tasks = [self.tasks[task_id] for task_id in dict.fromkeys(item.task_id for item in new if item.reward < 1)]
        candidates = similar_tasks(failed_tasks, list(self.tasks.values()), NEW_TASKS, rng)
        values = self.critic.values(self.critics.goal_states([task.intent for task in candidates]))
        # Bounds of WebRL: the critic rates the others as hopeless or solved.
        self.new_tasks = [task for task, value in zip(candidates, values, strict=True) if 0.05 <= value <= 0.75]


def next_and_final_advantages(values_T: Sequence[float], reward: float, *, mix: float) -> list[float]:
    """Return the advantages of the T steps of an episode from the values of their states.

    A_t = mix (r_t + V(s_t+1) - V(s_t)) + (1 - mix) (r - V(s_t)), where r_t is 0 before the last step and r at it (WebRL, arXiv
    2411.02337, policy update): lambda returns restricted to the next and the final step.

    >>> next_and_final_advantages([0.25, 0.75, 0.5], reward=1, mix=0.5)
    [0.625, 0.0, 0.5]
    """
    if not values_T:
        return []
    next_values = [*values_T[1:], reward]
    return [
        mix * (next_value - value) + (1 - mix) * (reward - value)
        for value, next_value in zip(values_T, next_values, strict=True)
    ]


def similar_tasks(failed_tasks: Sequence[Task], tasks: Sequence[Task], count: int, rng: Random) -> list[Task]:
    """Return at most `count` other tasks of the failed tasks' templates, in random order.

    For a template without other tasks, tasks of the same sites are used.
    """
    failed_ids = {task.task_id for task in failed_tasks}
    other_tasks = [task for task in tasks if task.task_id not in failed_ids]
    similar: dict[str, Task] = {}
    for task in failed_tasks:
        matches = [task_match for task_match in other_tasks if task.template and task_match.template == task.template]
        matches = matches or [task_match for task_match in other_tasks if set(task_match.sites) & set(task.sites)]
        similar |= {task_match.task_id: task_match for task_match in matches}
    return rng.sample(list(similar.values()), min(count, len(similar)))


def is_worth_replaying(logprobs: Sequence[float]) -> bool:
    """Return True if the perplexity of a response is between 1/0.95 and 1/0.5, as in WebRL."""
    return 1 / 0.95 <= exp(-fmean(logprobs)) <= 1 / 0.5
