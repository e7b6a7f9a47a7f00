"""What an eval kind is: one sort of check that the `eval` block of a task can ask for by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webarena_gym.evaluators.outcome import Check

Reader = Callable[[Mapping[str, Any]], list[Check]]
"""Returns the checks of one kind that an `eval` block asks for. Raises EvaluationError for what it cannot read."""


def _anything(_: Mapping[str, Any]) -> None:
    """Accept every block."""


@dataclass(frozen=True, kw_only=True)
class EvalKind:
    """One kind of check, as its module in `evaluators.kinds` declares it.

    `name` stands in the list `eval_types` of a block; the block must then hold something under `key`. `keys` are all keys of the
    block that belong to the kind, each with the types that its JSON value may have, or none for any. `readers` has a reader for
    each set of rules that knows the kind. `looks_at` is what is judged: the answer, the place where the episode ended, or the
    content of pages and databases. `validate` raises ValueError for values in a task file that could never be read.
    """

    name: str
    key: str
    keys: Mapping[str, tuple[type, ...]]
    readers: Mapping[str, Reader]
    looks_at: Literal["answer", "place", "content"]
    validate: Callable[[Mapping[str, Any]], None] = _anything
