"""Side effects of an episode: its net changes, compared with those of a reference solution.

This check runs after all others have passed, so the required changes are known to be there. It looks for additional changes, and
does not require the values of the reference solution. An episode may add as many rows to each table as the solution does, with any
values. It may remove an existing row, or change a column of one, if the solution does that to the same row.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from webarena_gym.changes import Change
from webarena_gym.evaluators.outcome import Verdict

CHECK = "side_effects"
_BY = "net changes"


class ChangeDifference(NamedTuple):
    """Changes of an episode that the solution does not make (`beyond`), and changes of the solution that are `missing`."""

    beyond: list[Change]
    missing: list[Change]


def compare(changes: Iterable[Change], solution: Iterable[Change]) -> ChangeDifference:
    """Compare the net changes of an episode with those of a reference solution."""
    changes, solution = list(changes), list(solution)
    existing, solution_existing = ([change for change in side if change.before is not None] for side in (changes, solution))
    beyond, missing = _subtract(existing, solution_existing), _subtract(solution_existing, existing)
    more, fewer = _match_added_rows(*([change for change in side if change.before is None] for side in (changes, solution)))
    return _reconcile(ChangeDifference(beyond + more, missing + fewer))


def verdict(difference: ChangeDifference, *, is_forbidden: bool) -> Verdict:
    """Return the verdict on an episode. Side effects fail the check only if they are forbidden."""
    beyond, missing = (list(map(str, changes)) for changes in difference)
    if not beyond:
        return Verdict(CHECK, True, "nothing was changed beyond the task", _BY)
    reason = f"beyond the task: {'; '.join(beyond)}"
    if missing:
        reason += f" (missing changes of the solution: {'; '.join(missing)})"
    return Verdict(CHECK, not is_forbidden, reason, _BY)


def unknown_verdict(why: str) -> Verdict:
    """Return the passing verdict on an episode whose required changes are not known."""
    return Verdict(CHECK, True, why, "nothing")


def _subtract(changes: Iterable[Change], others: Iterable[Change]) -> list[Change]:
    """Return changes of existing rows without those that are among the others; a change of several columns is split by column."""
    others_by_row = {_row(other): other for other in others}
    remaining = []
    for change in changes:
        other = others_by_row.get(_row(change))
        if other is None or (other.after is None) != (change.after is None):
            remaining.append(change)
        elif change.after is not None and change.before is not None:
            columns = [column for column in change.columns if column not in other.columns]
            if columns:
                values = {column: value for column, value in change.after.items() if column in columns}
                remaining.append(change._replace(after={**change.before, **values}))
    return remaining


def _match_added_rows(changes: Sequence[Change], solution: Sequence[Change]) -> tuple[list[Change], list[Change]]:
    """Pair the added rows of each table, those with most equal values first, and return the rows without a partner on both sides."""
    tables: dict[tuple[str, str], tuple[list[Change], list[Change]]] = defaultdict(lambda: ([], []))
    for side, side_changes in enumerate((changes, solution)):
        for change in side_changes:
            tables[change.site, change.table][side].append(change)
    for sides in tables.values():
        rows = [[change.after or {} for change in side] for side in sides]
        ranked = sorted(
            (-sum(solution_row.get(column) == value for column, value in row.items()), first, second)
            for first, row in enumerate(rows[0])
            for second, solution_row in enumerate(rows[1])
        )
        paired: tuple[set[int], set[int]] = (set(), set())
        for _, first, second in ranked:
            if first not in paired[0] and second not in paired[1]:
                paired[0].add(first)
                paired[1].add(second)
        for side_changes, indices in zip(sides, paired, strict=True):
            side_changes[:] = [change for index, change in enumerate(side_changes) if index not in indices]
    return [change for added, _ in tables.values() for change in added], [
        change for _, expected in tables.values() for change in expected
    ]


def _reconcile(difference: ChangeDifference) -> ChangeDifference:
    """Remove changes that have the same result as the solution's.

    A row that is deleted and added with other values is equivalent to a row with these values changed, on either side.
    """
    beyond, missing = list(difference.beyond), list(difference.missing)
    for replaced, updated in ((beyond, missing), (missing, beyond)):
        for change in [item for item in updated if item.columns]:
            removed = next((item for item in replaced if item.after is None and _row(item) == _row(change)), None)
            added = next((item for item in replaced if removed is not None and _replaces(item, removed, change)), None)
            if removed is not None and added is not None:
                updated.remove(change)
                replaced.remove(removed)
                replaced.remove(added)
    return ChangeDifference(beyond, missing)


def _row(change: Change) -> tuple[object, ...]:
    return change.site, change.table, change.key


def _replaces(added: Change, removed: Change, change: Change) -> bool:
    """Return True if an added row equals a removed row in all columns but those that `change` changes."""
    if (
        added.before is not None
        or added.after is None
        or removed.before is None
        or (added.site, added.table) != (removed.site, removed.table)
    ):
        return False
    return all(value == removed.before[column] or column in change.columns for column, value in added.after.items())
