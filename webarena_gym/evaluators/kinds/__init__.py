"""The eval kinds, one module each: a function that builds the `eval` block of a task, and the reader that compiles its checks.

Every module of this package defines one `EvalKind` named KIND. A new module is a new kind; there is no other list of them
(docs/guides/add-an-eval-kind.md).
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from webarena_gym.evaluators.outcome import EvalKind


@cache
def eval_kinds() -> Mapping[str, EvalKind]:
    """Return all eval kinds by name, in the alphabetical order of their modules."""
    modules = sorted(module.name for module in iter_modules(__path__))
    kinds: list[EvalKind] = [import_module(f"{__name__}.{name}").KIND for name in modules]
    return {kind.name: kind for kind in kinds}


@cache
def eval_keys() -> Mapping[str, tuple[type, ...]]:
    """Return the keys of all kinds, each with the allowed types of its JSON value; () allows any."""
    return {key: types for kind in eval_kinds().values() for key, types in kind.keys.items()}
