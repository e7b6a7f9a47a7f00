"""`WebArenaLiteCandidates-v0`: WebArenaLite as an env with a Discrete action space and observations of float arrays."""

from typing import Any

import gymnasium
import numpy
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from webarena_gym.candidates.arrays import PAGE, ROW, Floats, Reader
from webarena_gym.env import WebArenaLite


class CandidateActions(gymnasium.Wrapper[Any, numpy.int64, str, str], RecordConstructorArgs):
    """WebArenaLite with a Discrete action space: the index of one of at most `candidates` candidates of the page.

    The observation is a Dict of two Boxes of float32 between 0 and 1: "candidates" (candidates, ROW), the rows of `describe`, and
    "page" (PAGE,), the row of `describe_page` followed by the row of the last action. With `flat` it is one Box
    (candidates * ROW + PAGE,) of both, as Gymnasium flattens the Dict.

    `info["action_mask"]` says which indices hold a candidate, as int8 for `action_space.sample(mask)`; `action_masks` returns the same as
    bool, for the masked algorithms of sb3-contrib. The action of an index without a candidate is to wait.

    The env judges an episode that reaches the step limit, so such an episode is `terminated` here, and its return is not bootstrapped.
    Only a failed episode is `truncated`; its reward is 0, and its last observation is all zeros.

    The env must be made with `elements="label"`; otherwise `reset` raises ValueError. Fewer than three candidates are a ValueError.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], candidates: int = 48, flat: bool = False) -> None:
        RecordConstructorArgs.__init__(self, candidates=candidates, flat=flat)
        gymnasium.Wrapper.__init__(self, env)
        if candidates < 3:
            raise ValueError(f"candidates is {candidates}; expected at least 3, as two are to leave and to go back")
        self.action_space = Discrete(candidates)
        space = observation_space(candidates)
        self.observation_space: Any = gymnasium.spaces.flatten_space(space) if flat else space
        self._size = candidates
        self._flat = flat
        self._reader = Reader(candidates)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the env and return the first page as arrays."""
        _, info = self.env.reset(seed=seed, options=options)
        self._reader = Reader(self._size)
        return self._read(info), self._masked(info)

    def step(self, action: numpy.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of the candidate with this index. Raises ValueError for an index outside the action space."""
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action}; expected an index from 0 to {self._size - 1}")
        reply = self._behind.dialect.format(self._reader.take(int(action)))
        _, reward, terminated, truncated, info = self.env.step(reply)
        if "failure" in info:
            lost = {"candidates": numpy.zeros((self._size, ROW), numpy.float32), "page": numpy.zeros(PAGE, numpy.float32)}
            return self._told(lost), 0.0, False, True, {**info, "action_mask": numpy.zeros(self._size, numpy.int8)}
        return self._read(info), float(reward), terminated or truncated, False, self._masked(info)

    def action_masks(self) -> NDArray[numpy.bool_]:
        """Return the action mask: True for each index that holds a candidate."""
        return self._reader.mask()

    @property
    def _behind(self) -> Any:
        return self.env.unwrapped

    def _read(self, info: dict[str, Any]) -> Any:
        return self._told(self._reader.read(self._behind.page, self._behind.observation, info))

    def _told(self, parts: dict[str, Floats]) -> Any:
        return numpy.concatenate([parts["candidates"].ravel(), parts["page"]]) if self._flat else parts

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "action_mask": self.action_masks().astype(numpy.int8)}


def make(candidates: int = 48, flat: bool = False, **env_arguments: Any) -> CandidateActions:
    """Return an env with candidate actions; the other keywords are those of `WebArenaLite`, with elements by label."""
    return CandidateActions(WebArenaLite(**{"elements": "label", **env_arguments}), candidates, flat)


def observation_space(candidates: int) -> Dict:
    """Return the space of what a `Reader` of so many candidates returns."""
    return Dict({"candidates": Box(0.0, 1.0, (candidates, ROW)), "page": Box(0.0, 1.0, (PAGE,))})
