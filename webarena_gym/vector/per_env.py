"""Arguments of a vector env, split into one value for each env: seeds, options, env ids and masks."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy

Seed = int | Sequence[int | None] | None
Options = dict[str, Any] | Sequence[dict[str, Any]] | None


def chosen_envs(env_ids: Iterable[int] | None, num_envs: int) -> list[int]:
    """Return these env ids, all for None. Raises ValueError for one that is not there, or twice."""
    chosen = list(range(num_envs)) if env_ids is None else [int(env) for env in env_ids]
    if any(not 0 <= env < num_envs for env in chosen) or len(set(chosen)) < len(chosen):
        raise ValueError(f"env_ids is {chosen}; expected different numbers from 0 to {num_envs - 1}")
    return chosen


def masked_envs(mask: Any, num_envs: int) -> list[int]:
    """Return the env ids at which a mask is true. Raises ValueError for what is no such mask."""
    if not isinstance(mask, numpy.ndarray) or mask.dtype != numpy.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise ValueError(f"reset_mask is {mask!r}; expected an array of {num_envs} booleans, some of them true")
    return [int(env) for env in numpy.flatnonzero(mask)]


def seeds_by_env(seed: Seed, envs: Sequence[int]) -> dict[int, int | None]:
    """Return the seed of each env: its own of a list, or the one seed plus the env's id."""
    if seed is None or isinstance(seed, int | numpy.integer):
        return {env: None if seed is None else int(seed) + env for env in envs}
    return dict(zip(envs, one_each(seed, envs, "seed"), strict=True))


def one_each(values: Any, envs: Sequence[int], name: str) -> list[Any]:
    """Return one value for each env; a dictionary or None is for all. Raises ValueError when there are more or fewer."""
    if values is None or isinstance(values, dict):
        return [values] * len(envs)
    if isinstance(values, str) or len(values) != len(envs):
        raise ValueError(f"{name} has {len(values)} entries; expected one for each of {len(envs)} envs")
    return list(values)
