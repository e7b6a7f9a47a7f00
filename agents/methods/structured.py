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
from typing import Any, NamedTuple

from agents.data.expert import ExpertStep, envs_with_tasks, play_expert
from agents.data.trajectories import Trajectory, action_of
from agents.grpo import GRPO, Model, state_advantages
from agents.methods.replay import valid_trajectories
from agents.rollouts.curriculum import Group
from agents.training.rollouts import TrainedStep
from agents.training.settings import StructuredSettings
from webarena_gym.actions import Action
from webarena_gym.tasks import Task

MALFORMED_REWARD = -1.0  # reward of a reply without an action
_EXPERTS_STEPS = 60  # step limit of the expert's episodes, independent of the policy's


class StepJudgement(NamedTuple):
    """Correct parts of a reply. A part is only correct if the previous part is; None if the correct action is unknown."""

    has_form: bool
    kind: bool | None = None
    element: bool | None = None
    argument: bool | None = None


class Structured(GRPO):
    """Compares structured rewards of replies to equal prompts, and outcomes."""

    title = "WorkForceAgent-R1"

    def __init__(self, args: StructuredSettings, tasks: Sequence[Task], model: Model, *rest: Any) -> None:
        super().__init__(args, tasks, model, *rest)
        if unsolved := [task.task_id for task in tasks if not task.solution]:
            raise ValueError(f"task {unsolved[0]} has no reference solution; expected one of each task")
        self.expected: dict[str, list[ExpertStep]] = {}  # by task id; played again when a run is resumed

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps of all groups whose outcomes or structured rewards differ."""
        new = {group.task.task_id: group.task for group in groups if group.task.task_id not in self.expected}
        env = self.args.env_arguments() | {"max_steps": _EXPERTS_STEPS}
        for expert_env, task in envs_with_tasks(list(new.values()), quiet=True, **env) if new else ():
            self.expected[task.task_id] = play_expert(expert_env, task)[1]
        steps, metrics = super().batch(groups, rng)
        return steps, metrics | self._describe(valid_trajectories(groups))

    def advantages(self, group: Sequence[Trajectory]) -> list[float]:
        """Return the sum of outcome and structured advantages for every step of a group, trajectory after trajectory."""
        weight = self.args.outcome_weight
        outcome = super().advantages(group) if weight else [0.0 for item in group for _ in item.steps]
        earned = [reward for item in group for reward in structured_rewards(item, self.expected[item.task_id], self.args)]
        structured = state_advantages([step.prompt_ids for item in group for step in item.steps], earned)
        return [weight * first + second for first, second in zip(outcome, structured, strict=True)]

    def _describe(self, items: Sequence[Trajectory]) -> dict[str, float]:
        judged = {id(item): align(item, self.expected[item.task_id])[0] for item in items}
        steps = [each for own in judged.values() for each in own]
        known = [each for each in steps if each.kind is not None]
        failures = [item for item in items if item.reward < 1]
        earned = {
            name: [structured_rewards(item, self.expected[item.task_id], self.args) for item in part]
            for name, part in (("failures", failures), ("successes", [item for item in items if item.reward == 1]))
        }
        of_form = self.args.format_reward * sum(each.has_form for item in failures for each in judged[id(item)])
        positive = sum(max(value, 0.0) for own in earned["failures"] for value in own)
        ends = [align(item, self.expected[item.task_id])[1][-1] for item in items]
        return {
            "known_steps": _share(each.kind is not None for each in steps),
            "format_right": _share(each.has_form for each in steps),
            "kind_right": _share(bool(each.kind) for each in known),
            "element_right": _share(bool(each.element) for each in known),
            "argument_right": _share(bool(each.argument) for each in known),
            "progress": _share(ends),
            "format_of_failures": of_form / positive if positive else 0.0,
            **{f"structured_of_{name}": _share(value for each in own for value in each) for name, own in earned.items()},
        }


def structured_rewards(trajectory: Trajectory, expected: Sequence[ExpertStep], settings: StructuredSettings) -> list[float]:
    """Return the structured reward of each step, compared with the expert's episode on the task."""
    judged, progress = align(trajectory, expected)
    worth = (settings.kind_reward, settings.element_reward, settings.argument_reward)
    rewards = []
    for each, before, after in zip(judged, progress, progress[1:], strict=False):
        right = settings.format_reward + sum(value for is_right, value in zip(each[1:], worth, strict=True) if is_right)
        rewards.append((right if each.has_form else MALFORMED_REWARD) + settings.progress_weight * (after - before))
    return rewards


def align(trajectory: Trajectory, expected: Sequence[ExpertStep]) -> tuple[list[StepJudgement], list[float]]:
    """Align an episode with the expert's episode on the same task.

    Each page is matched to the expert's next step with the same page, or to the last such step before the current progress.

    Returns:
        The correct parts of each step, and the progress before each step and at the end, from 0 to 1: the fraction of the expert's
        steps that are completed; 1 after a success.

    """
    judged: list[StepJudgement] = []
    progress = [0.0]
    reached = 0
    for step in trajectory.steps:
        matches = [index for index, expert_step in enumerate(expected) if expert_step.page == step.page]
        ahead = [index for index in matches if index >= reached]
        index = ahead[0] if ahead else matches[-1] if matches else None
        if index is not None and index > reached:
            reached = index
            progress[-1] = reached / len(expected)  # credited to the previous step
        result = judge(step.reply, None if index is None else expected[index].action)
        judged.append(result)
        if result.argument and index == reached:
            reached += 1
        progress.append(reached / len(expected))
    if trajectory.reward == 1:
        progress[-1] = 1.0
    return judged, progress


def judge(reply: str, right: Action | None) -> StepJudgement:
    """Compare a reply with the correct action; only the format is judged if the correct action is unknown (None)."""
    action = action_of(reply)
    if action is None:
        return StepJudgement(has_form=False, **({} if right is None else dict.fromkeys(("kind", "element", "argument"), False)))
    if right is None:
        return StepJudgement(has_form=True)
    kind = action.kind == right.kind
    element = kind and action.element == right.element
    return StepJudgement(True, kind, element, element and _plain(action.argument) == _plain(right.argument))


def _plain(argument: str | None) -> str:
    """Return an argument in lower case with normalized whitespace, which neither sites nor evaluators distinguish."""
    return " ".join((argument or "").casefold().split())


def _share(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / max(len(items), 1)
