"""Preferences: pairs of actions in one state of a search tree, of which one led to better ends than the other."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from agents.data.trajectories import Trajectory
from agents.evaluation.search.branches import Found
from agents.evaluation.search.methods import mixed, ranks
from agents.evaluation.search.values import State, Value
from agents.methods.dpo import Preference


class _Quality(NamedTuple):
    state: State  # that the action leads to
    value: float


def preferences(found: Found, *, value: Value, prior_weight: float, threshold: float, most: int) -> list[Preference]:
    """Return the pairs of actions in one state whose Q differs by more than the threshold, at most `most` of each state.

    After Agent Q (arXiv 2408.07199, section 4.2): Q is the mean reward of all ends below the action, mixed with its rank by `value`.
    Actions below which no episode ended are left out. The search must have been told its rewards. The widest gaps come first.
    """
    rewards: dict[int, list[float]] = {}  # of the ends below each state, by its number
    for end in found.states:
        if end.ending in ("exited", "truncated", "too_long"):
            state: State | None = end
            while state is not None:
                rewards.setdefault(state.number, []).append(end.reward or 0.0)
                state = state.parent
    siblings: dict[int, list[State]] = {}
    for state in found.states:
        if state.parent is not None and state.ending not in ("failed", "too_long") and state.number in rewards:
            siblings.setdefault(state.parent.number, []).append(state)
    pairs: list[Preference] = []
    for own in siblings.values():
        pairs += _of_state(found, own, rewards, value, prior_weight, threshold)[:most]
    return pairs


def _of_state(
    found: Found, states: Sequence[State], rewards: dict[int, list[float]], value: Value, prior_weight: float, threshold: float
) -> list[Preference]:
    """Return the pairs of the actions that lead to these states."""
    best: dict[str, _Quality] = {}  # by action, as a state may have been expanded more than once
    for state, prior in zip(states, ranks(value(states)), strict=True):
        own = rewards[state.number]
        best.setdefault(state.steps[-1].reply, _Quality(state, mixed(sum(own) / len(own), prior, prior_weight)))
    gaps = []
    for one, other in combinations(best.values(), 2):
        worse, better = sorted((one, other), key=lambda item: item.value)
        if better.value - worse.value > threshold:
            gaps.append((better.value - worse.value, Preference(_episode(found, better.state), _episode(found, worse.state))))
    return [pair for _, pair in sorted(gaps, key=lambda item: -item[0])]


def _episode(found: Found, state: State) -> Trajectory:
    """Return the episode up to a state, which ends with the action that led there."""
    chosen = found.trajectory
    return Trajectory(chosen.task_id, chosen.goal, state.steps, reward=0.0, ending="truncated", group=chosen.group)
