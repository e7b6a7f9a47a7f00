"""Methods of search. A budget counts states that are reached: steps of the env, and replies that could not be had."""

from collections.abc import Generator, Sequence

from agents.evaluation.search.branches import Expansion, Search
from agents.evaluation.search.values import Choice, State, Value, by_value


def best_of_n(root: State, *, choose: Choice, budget: int, n: int | None = None) -> Search:
    """Play episodes one after another, n of them or as many as the budget holds, and return the end that is chosen.

    The budget may cut the last one off. With n = 1 this is a plain episode. Raises ValueError for a budget below 1.
    """
    _expect_positive(budget=budget, n=1 if n is None else n)
    ends: list[State] = []
    while budget > 0 and (n is None or len(ends) < n):
        end, spent = yield from _play_on(root, budget)
        budget -= spent
        ends.append(end)
    return choose(ends)


def tree_search(root: State, *, value: Value, branching: int, budget: int, reserve: int) -> Search:
    """Expand the state of the highest value until the budget is spent, and return the end of the highest value.

    After Koh et al., arXiv 2407.01476, section 3. It differs in this: states are valued when they are reached (there, when
    they are expanded); one tree is grown for the episode (there, one for each step that is taken for good), with no depth but
    the step limit; and no value ends it early. So that an episode ends, the last `reserve` steps, which should be the step
    limit, are kept to play the best state on without branching, unless the agent has ended an episode by then. Of equal values
    the deeper state comes first, then the earlier. Raises ValueError for a budget or branching below 1.
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
    """Go on with one reply at a time; return the end, or where the budget was spent, and how much was spent."""
    spent = 0
    while state.ending is None and spent < budget:
        (state,) = yield Expansion(state, 1, 1)
        spent += 1
    return state, spent


def _expect_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")
