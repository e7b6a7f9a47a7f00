"""Search methods: best of N, and tree search. A budget counts reached states: env steps, and replies that failed or were too long."""

from collections.abc import Generator, Sequence

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
