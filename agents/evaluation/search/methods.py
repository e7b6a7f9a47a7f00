"""Search methods: best of N, and tree search. A budget counts reached states: env steps, and replies that failed or were too long."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import log, sqrt

from agents.evaluation.search.branches import Expansion, Search
from agents.evaluation.search.values import Choice, State, Value, by_value


def best_of_n(root: State, *, choose: Choice, budget: int, n: int | None = None) -> Search:
    """Play episodes one after another, n of them or as many as the budget allows, and return the chosen end.

    The budget may cut off the last one. With n = 1 this is a single episode. Raises ValueError for a budget below 1.
    """
    _expect_positive(budget=budget, n=1 if n is None else n)
    ends: list[State] = []
    while budget > 0 and (n is None or len(ends) < n):
        end, spent = yield from _play_on(root, budget)
        budget -= spent
        ends.append(end)
    return choose(ends)


def tree_search(root: State, *, value: Value, branching: int, budget: int, reserve: int) -> Search:
    """Expand the state with the highest value until the budget is spent, and return the end with the highest value.

    After Koh et al., arXiv 2407.01476, section 3, with these differences. States are valued when they are reached; there, when they are
    expanded. One tree is grown for the whole episode; there, one for each step that is taken. The only limit of depth is the step
    limit, and no value ends the search early. The last `reserve` steps, which should be the step limit, are kept to continue the
    best state without branching, unless an episode has been exited by then. Of equal values the deeper state comes first, then the
    earlier. Raises ValueError for a budget or branching below 1.
    """
    _expect_positive(budget=budget, branching=branching)
    frontier, ends, values = [root], list[State](), {root.number: 0.0}
    while frontier and budget > 0:
        room = budget if any(end.ending == "exited" for end in ends) else budget - reserve
        state = max(frontier, key=lambda item: (values[item.number], len(item.steps)))
        frontier.remove(state)
        if room > 0:
            reached = yield Expansion(state, branching, min(branching, room))
            budget -= len(reached)
        else:
            end, spent = yield from _play_on(state, budget)
            reached = [end]
            budget -= spent
        values |= zip([item.number for item in reached], value(reached), strict=True)
        frontier += [item for item in reached if item.ending is None]
        ends += [item for item in reached if item.ending is not None]
    return by_value(lambda items: [values[item.number] for item in items])([*ends, *frontier])


@dataclass(eq=False)
class _Node:
    """A state of the tree, and what followed from it. It is closed where nothing below it is left to try."""

    state: State
    prior: float = 0.0
    visits: int = 0
    total: float = 0.0  # of the outcomes
    children: list["_Node"] = field(default_factory=list)

    @property
    def is_closed(self) -> bool:
        if self.state.ending is not None:
            return True
        return bool(self.children) and all(child.is_closed for child in self.children)


def monte_carlo(
    root: State,
    *,
    value: Value,
    outcome: Value,
    branching: int,
    budget: int,
    reserve: int = 0,
    exploration: float = 1.0,
    prior_weight: float = 0.5,
) -> Search:
    """Search by Monte Carlo tree search until the budget is spent, and return the end with the best outcome.

    After Agent Q (Putta et al., arXiv 2408.07199, section 4). From the root, the action with the highest
    Q(h, a) + c sqrt(log N(h) / (1 + N(h, a))) is followed to a state that has not been expanded. Its sampled actions are ranked by
    `value`, as the paper's critic ranks them, and an episode is played on from the best one. Its `outcome`, from 0 to 1, counts for
    every action on the way. Q is a mix of the mean outcome and the rank. Here the actions that end the episode at once count at once, and
    states below which all has been tried are left out. The last `reserve` steps, which should be the step limit, are kept for the first episode to end.
    Raises ValueError for a budget or branching below 1.
    """
    _expect_positive(budget=budget, branching=branching)
    tree, ends, found = _Node(root), list[State](), dict[int, float]()

    def note(path: Sequence[_Node], end: State) -> None:
        if end.ending == "failed":  # which says nothing about the actions
            return
        (reward,) = outcome([end])
        ends.append(end)
        found[end.number] = reward
        for node in path:
            node.visits, node.total = node.visits + 1, node.total + reward

    last = root
    while budget > 0 and not tree.is_closed:
        path = [tree]
        while path[-1].children:
            path.append(_best_child(path[-1], exploration, prior_weight))
        room = budget if ends else budget - reserve
        reached = yield Expansion(path[-1].state, branching, max(1, min(branching, room)))
        budget -= len(reached)
        path[-1].children = [_Node(state, prior) for state, prior in zip(reached, ranks(value(reached)), strict=True)]
        chosen = max(path[-1].children, key=lambda child: child.prior)
        for child in path[-1].children:
            if child.state.ending is not None:
                note([*path, child], child.state)
        last, spent = yield from _play_on(chosen.state, budget)
        budget -= spent
        if last.ending is not None and last is not chosen.state:
            note([*path, chosen], last)
    return by_value(lambda items: [found[item.number] for item in items])(ends) if ends else last


def _best_child(node: _Node, exploration: float, prior_weight: float) -> _Node:
    def bound(child: _Node) -> float:
        mean = child.total / child.visits if child.visits else child.prior
        quality = mixed(mean, child.prior, prior_weight)
        return quality + exploration * sqrt(log(max(node.visits, 1)) / (1 + child.visits))

    return max((child for child in node.children if not child.is_closed), key=bound)


def mixed(mean: float, prior: float, prior_weight: float) -> float:
    """Return Q of an action: its mean outcome and its rank, mixed as in Agent Q's equation for Q."""
    return (1 - prior_weight) * mean + prior_weight * prior


def ranks(values: Sequence[float]) -> list[float]:
    """Return for each value the part of the others that are smaller, equal ones counted half.

    >>> ranks([0.3, 0.9, 0.1]), ranks([5.0, 5.0])
    ([0.5, 1.0, 0.0], [0.5, 0.5])
    """
    if len(values) < 2:
        return [0.5] * len(values)
    others = len(values) - 1
    return [(sum(each < own for each in values) + (sum(each == own for each in values) - 1) / 2) / others for own in values]


def _play_on(state: State, budget: int) -> Generator[Expansion, Sequence[State], tuple[State, int]]:
    """Continue with one reply per step. Returns the end, or the state at which the budget was spent, and the number of steps."""
    spent = 0
    while state.ending is None and spent < budget:
        (state,) = yield Expansion(state, 1, 1)
        spent += 1
    return state, spent


def _expect_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")
