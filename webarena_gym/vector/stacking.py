"""Step results of several envs, stacked into the arrays and infos that Gymnasium's vector envs return."""

from collections.abc import Sequence
from typing import Any

import numpy
from gymnasium.vector import VectorEnv

from webarena_gym.vector.env_states import Result

Array = numpy.ndarray[Any, Any]
VectorStep = tuple[tuple[str, ...], Array, Array, Array, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos of some envs."""


def stack_results(results: Sequence[Result], env_ids: Sequence[int] | None = None) -> VectorStep:
    """Return results as columns, and their infos as one dictionary of arrays with masks; `env_ids` becomes `infos["env_id"]`."""
    infos = _Rows(len(results)).collect(results)
    if env_ids is not None:
        infos["env_id"] = numpy.array(env_ids, dtype=numpy.int64)
    return (
        tuple(result.observation for result in results),
        numpy.array([result.reward for result in results], dtype=numpy.float64),
        numpy.array([result.terminated for result in results], dtype=numpy.bool_),
        numpy.array([result.truncated for result in results], dtype=numpy.bool_),
        infos,
    )


class _Rows(VectorEnv[Any, Any, Any]):
    """Gymnasium's way to put infos together, for the rows of a batch instead of all envs."""

    def __init__(self, count: int) -> None:
        self.num_envs = count

    def collect(self, results: Sequence[Result]) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for row, result in enumerate(results):
            infos = self._add_info(infos, result.info, row)
        return infos
