"""The eval kinds, one module each: the function that writes such a check into a task, beside what reads it from there.

Every module of this package has one `EvalKind` named KIND. A new module is a new kind: nothing else lists them
(docs/guides/add-an-eval-kind.md).
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from webarena_gym.evaluators.outcome import EvalKind


@cache
def eval_kinds() -> Mapping[str, EvalKind]:
    """Return every eval kind by its name, in alphabetical order of their modules."""
    modules = sorted(module.name for module in iter_modules(__path__))
    kinds: list[EvalKind] = [import_module(f"{__name__}.{name}").KIND for name in modules]
    return {kind.name: kind for kind in kinds}


@cache
def eval_keys() -> Mapping[str, tuple[type, ...]]:
    """Return the keys of all kinds, each with the types that its JSON value may have; none for any."""
    return {key: types for kind in eval_kinds().values() for key, types in kind.keys.items()}
