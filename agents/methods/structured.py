"""WorkForceAgent-R1: rule-based step rewards for format, action kind, element and argument, in addition to the outcome reward.

After Zhuang et al., arXiv 2505.22942, section 3 (the progressive reward, a format term and an action term whose parts are granted in
turn) and its released reward function: -1 for a reply without an action, 0.1 for one with an action, 0.2 if the action is of the right
kind, 1 if all parts are right. The defaults here are the same, with the element between kind and argument. The paper uses GRPO over
replies to one state; here these are the replies to the same prompt within a group (`agents.grpo.state_advantages`).

The expert's action is the target: a step is compared with the expert's episode if its page is one of the expert's pages (`align`). On
other pages only the format is rewarded. `progress_weight` adds a reward for progress along the expert's path. The structured rewards are
added to the advantages of M-GRPO; `--outcome-weight 0` uses only the paper's reward.

Metrics show reward hacking of the format: `format_of_failures` is the format's share of the structured reward of failed episodes;
compare `structured_of_failures` with `structured_of_successes`.

Differences from the paper: it trains on states of recorded episodes, one step at a time. Here the policy visits its own states, and other
solution paths earn only the outcome reward. Unlike M-GRPO, this method uses the expert's actions on all training tasks.
The sources were read without the numbers of their equations.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from agents.data.expert import ExpertStep, envs_with_tasks, play_expert
from agents.data.trajectories import Trajectory, action_of
from agents.grpo import GRPO, Model, state_advantages
from agents.methods.replay import valid_trajectories
from agents.rollouts.curriculum import Group
from agents.training.credit import TrainedStep
from agents.training.settings import StructuredSettings
from webarena_gym.actions import Action
from webarena_gym.tasks import Task

MALFORMED_REWARD = -1.0  # reward of a reply without an action
_EXPERT_STEP_LIMIT = 60  # step limit of the expert's episodes, independent of the policy's


class StepJudgement(NamedTuple):
    """Correct parts of a reply. A part is only correct if the previous part is; None if the correct action is unknown."""

    has_form: bool
    kind: bool | None = None
    element: bool | None = None
    argument: bool | None = None


class StructuredGRPO(GRPO):
    """M-GRPO with advantages of structured step rewards among replies to equal prompts."""

    title = "WorkForceAgent-R1"

    args: StructuredSettings

    def __init__(self, args: StructuredSettings, tasks: Sequence[Task], model: Model, *_: object) -> None:
        super().__init__(args, tasks, model)
        if unsolved := [task.task_id for task in tasks if not task.solution]:
            raise ValueError(f"task {unsolved[0]} has no reference solution; expected one of each task")
        self.expert_steps: dict[str, list[ExpertStep]] = {}  # by task id; played again when a run is resumed

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps of all groups whose outcomes or structured rewards differ."""
        new = {group.task.task_id: group.task for group in groups if group.task.task_id not in self.expert_steps}
        env = self.args.env_arguments() | {"max_steps": _EXPERT_STEP_LIMIT}
        for expert_env, task in envs_with_tasks(list(new.values()), quiet=True, **env) if new else ():
            self.expert_steps[task.task_id] = play_expert(expert_env, task)[1]
        steps, metrics = super().batch(groups, rng)
        return steps, metrics | self._describe(valid_trajectories(groups))

    def advantages(self, group: Sequence[Trajectory]) -> list[float]:
        """Return the sum of outcome and structured advantages for every step of a group, trajectory after trajectory."""
        weight = self.args.outcome_weight
        outcome = super().advantages(group) if weight else [0.0 for item in group for _ in item.steps]
        rewards = [reward for item in group for reward in structured_rewards(item, self.expert_steps[item.task_id], self.args)]
        step_advantages = state_advantages([step.prompt_ids for item in group for step in item.steps], rewards)
        return [weight * first + second for first, second in zip(outcome, step_advantages, strict=True)]

    def _describe(self, items: Sequence[Trajectory]) -> dict[str, float]:
        judgements = {id(item): align(item, self.expert_steps[item.task_id])[0] for item in items}
        steps = [step for episode_steps in judgements.values() for step in episode_steps]
        comparable = [step for step in steps if step.kind is not None]
        failures = [item for item in items if item.reward < 1]
        rewards = {
            name: [structured_rewards(item, self.expert_steps[item.task_id], self.args) for item in part]
            for name, part in (("failures", failures), ("successes", [item for item in items if item.reward == 1]))
        }
        format_rewards = self.args.format_reward * sum(step.has_form for item in failures for step in judgements[id(item)])
        positive_rewards = sum(max(value, 0.0) for values in rewards["failures"] for value in values)
        final_progress = [align(item, self.expert_steps[item.task_id])[1][-1] for item in items]
        return {
            "known_steps": _mean(step.kind is not None for step in steps),
            "format_right": _mean(step.has_form for step in steps),
            "kind_right": _mean(bool(step.kind) for step in comparable),
            "element_right": _mean(bool(step.element) for step in comparable),
            "argument_right": _mean(bool(step.argument) for step in comparable),
            "progress": _mean(final_progress),
            "format_of_failures": format_rewards / positive_rewards if positive_rewards else 0.0,
            **{
                f"structured_of_{name}": _mean(value for values in episodes for value in values)
                for name, episodes in rewards.items()
            },
        }


def structured_rewards(trajectory: Trajectory, expert_steps: Sequence[ExpertStep], settings: StructuredSettings) -> list[float]:
    """Return the structured reward of each step, compared with the expert's episode on the task."""
    judgements, progress = align(trajectory, expert_steps)
    part_rewards = (settings.kind_reward, settings.element_reward, settings.argument_reward)
    rewards = []
    for step, before, after in zip(judgements, progress, progress[1:], strict=False):
        reward = settings.format_reward + sum(value for is_right, value in zip(step[1:], part_rewards, strict=True) if is_right)
        rewards.append((reward if step.has_form else MALFORMED_REWARD) + settings.progress_weight * (after - before))
    return rewards


def align(trajectory: Trajectory, expert_steps: Sequence[ExpertStep]) -> tuple[list[StepJudgement], list[float]]:
    """Align an episode with the expert's episode on the same task.

    Each page is matched to the expert's next step with the same page, or to the last such step before the current progress.

    Returns:
        The correct parts of each step, and the progress before each step and at the end, from 0 to 1: the fraction of the expert's
        steps that are completed; 1 after a success.

    """
    judgements: list[StepJudgement] = []
    progress = [0.0]
    completed_steps = 0
    for step in trajectory.steps:
        matches = [index for index, expert_step in enumerate(expert_steps) if expert_step.page == step.page]
        later_matches = [index for index in matches if index >= completed_steps]
        index = later_matches[0] if later_matches else matches[-1] if matches else None
        if index is not None and index > completed_steps:
            completed_steps = index
            progress[-1] = completed_steps / len(expert_steps)  # attributed to the previous step
        judgement = judge(step.reply, None if index is None else expert_steps[index].action)
        judgements.append(judgement)
        if judgement.argument and index == completed_steps:
            completed_steps += 1
        progress.append(completed_steps / len(expert_steps))
    if trajectory.reward == 1:
        progress[-1] = 1.0
    return judgements, progress


def judge(reply: str, right: Action | None) -> StepJudgement:
    """Compare a reply with the correct action; only the format is judged if the correct action is unknown (None)."""
    action = action_of(reply)
    if action is None:
        return StepJudgement(has_form=False, **({} if right is None else dict.fromkeys(("kind", "element", "argument"), False)))
    if right is None:
        return StepJudgement(has_form=True)
    kind = action.kind == right.kind
    element = kind and action.element == right.element
    return StepJudgement(True, kind, element, element and _normalize(action.argument) == _normalize(right.argument))


def _normalize(argument: str | None) -> str:
    """Return an argument in lower case with normalized whitespace, which neither sites nor evaluators distinguish."""
    return " ".join((argument or "").casefold().split())


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / max(len(items), 1)
