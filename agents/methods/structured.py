"""WorkForceAgent-R1: steps are rewarded by rules for their form, action, element and argument, beside the outcome of the episode.

After Zhuang et al., arXiv 2505.22942, section 3 (the progressive reward, a format term and an action term whose parts are granted in
turn) and its released reward function: -1 for a reply without an action, 0.1 for one with an action, 0.2 if the action is of the right
kind, 1 if all of it is right. The defaults here are these, with the element between the kind and the argument. Its optimizer is GRPO over
replies to one state; here they are the replies of a group's rollouts that stood before the same prompt (`agents.grpo.state_advantages`).

The right action is the expert's: a step is held against the expert's episode on the task where its page is one of the expert's pages
(`align`). Elsewhere no action is known to be right, and the format alone is rewarded. `progress_weight` adds how much nearer to the
expert's end a step came. The structured rewards are added to the advantages of M-GRPO, whose options stand beside those here;
`--outcome-weight 0` is the paper's reward alone.

How far the format is gamed is told by metrics: `format_of_failures`, the share of the structured reward of failed episodes that is
the format's, and `structured_of_failures` beside `structured_of_successes`.

It differs in this: the paper trains on the states of recorded episodes, one step at a time; here the policy plays on, so states are its
own, and other ways to the same end earn the outcome alone. It knows the expert's actions on all training tasks, which M-GRPO does not.
The sources were read without the numbers of their equations.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from agents.data.expert import ExpertStep, envs_with_tasks, play_expert
from agents.data.trajectories import Trajectory, action_of
from agents.grpo import GRPO, Model, state_advantages
from agents.methods.replay import played
from agents.rollouts.curriculum import Group
from agents.training.rollouts import TrainedStep
from agents.training.settings import StructuredSettings
from webarena_gym.actions import Action
from webarena_gym.tasks import Task

MALFORMED_REWARD = -1.0  # of a reply without an action
_EXPERTS_STEPS = 60  # at most, of an episode of the expert, however long those of the policy may be


class Judged(NamedTuple):
    """Right parts of a reply, each only if the one before it is right; None where no action is known to be right."""

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
        self.expected: dict[str, list[ExpertStep]] = {}  # by task id; it is played again in a run that is resumed

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps of all groups whose outcomes or structured rewards differ."""
        new = {group.task.task_id: group.task for group in groups if group.task.task_id not in self.expected}
        env = self.args.env_arguments() | {"max_steps": _EXPERTS_STEPS}
        for shown_in, task in envs_with_tasks(list(new.values()), quiet=True, **env) if new else ():
            self.expected[task.task_id] = play_expert(shown_in, task)[1]
        steps, metrics = super().batch(groups, rng)
        return steps, metrics | self._describe(played(groups))

    def advantages(self, group: Sequence[Trajectory]) -> list[float]:
        """Return the sum of both comparisons for every step of a group, trajectory after trajectory."""
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
    """Return the structured reward of each step of an episode, against the expert's on the same task."""
    judged, progress = align(trajectory, expected)
    worth = (settings.kind_reward, settings.element_reward, settings.argument_reward)
    rewards = []
    for each, before, after in zip(judged, progress, progress[1:], strict=False):
        right = settings.format_reward + sum(value for is_right, value in zip(each[1:], worth, strict=True) if is_right)
        rewards.append((right if each.has_form else MALFORMED_REWARD) + settings.progress_weight * (after - before))
    return rewards


def align(trajectory: Trajectory, expected: Sequence[ExpertStep]) -> tuple[list[Judged], list[float]]:
    """Return what is right of each step, and the progress before each step and at the end, from 0 to 1.

    A page of the episode that the expert saw, too, is at the expert's first such step from where the episode has come to, or else at its
    last one before. Progress is the part of the expert's steps that lie behind the farthest page so far, and 1 after a success.
    """
    judged: list[Judged] = []
    progress = [0.0]
    reached = 0
    for step in trajectory.steps:
        places = [place for place, shown in enumerate(expected) if shown.page == step.page]
        ahead = [place for place in places if place >= reached]
        place = ahead[0] if ahead else places[-1] if places else None
        if place is not None and place > reached:
            reached = place
            progress[-1] = reached / len(expected)  # the step before has led here
        own = judge(step.reply, None if place is None else expected[place].action)
        judged.append(own)
        if own.argument and place == reached:
            reached += 1
        progress.append(reached / len(expected))
    if trajectory.reward == 1:
        progress[-1] = 1.0
    return judged, progress


def judge(reply: str, right: Action | None) -> Judged:
    """Return what is right of a reply where an action is, or where none is known."""
    action = action_of(reply)
    if action is None:
        return Judged(has_form=False, **({} if right is None else dict.fromkeys(("kind", "element", "argument"), False)))
    if right is None:
        return Judged(has_form=True)
    kind = action.kind == right.kind
    element = kind and action.element == right.element
    return Judged(True, kind, element, element and _plain(action.argument) == _plain(right.argument))


def _plain(argument: str | None) -> str:
    """Return an argument without what makes no difference to a site or to a check of answers: case and blanks."""
    return " ".join((argument or "").casefold().split())


def _share(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / max(len(found), 1)
