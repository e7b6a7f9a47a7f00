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
    """WebArenaLite with a Discrete action space: one action for each of so many candidates of the page.

    The observation is a Dict of two Boxes of float32 between 0 and 1: "candidates" (candidates, ROW), which are the rows of
    `describe`, and "page" (PAGE,), the row of `describe_page` and behind it the row of the action taken last. With `flat` it is one
    Box (candidates * ROW + PAGE,) of both, as Gymnasium flattens the Dict.

    `info["action_mask"]` tells which places hold a candidate, as int8 for `action_space.sample(mask)`; `action_masks` tells the same as
    bool, as the masked algorithms of sb3-contrib ask for it. Taking a place that holds none is to wait.

    The env judges an episode that runs out of steps, so such an end is `terminated` here, and no value is to be added to its
    reward. Only an episode that was lost with its browser is `truncated`; its reward is 0, its last observation is all zeros.

    The env is to be made with `elements="label"`; `reset` raises ValueError for one that is not. So does this for less than three
    candidates.
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
        """Begin a task as the env does, and return its first page as arrays."""
        _, info = self.env.reset(seed=seed, options=options)
        self._reader = Reader(self._size)
        return self._read(info), self._masked(info)

    def step(self, action: numpy.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do what the candidate at that place says. Raises ValueError for a place that there is not."""
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action}; expected a place from 0 to {self._size - 1}")
        reply = self._behind.dialect.format(self._reader.take(int(action)))
        _, reward, terminated, truncated, info = self.env.step(reply)
        if "failure" in info:
            lost = {"candidates": numpy.zeros((self._size, ROW), numpy.float32), "page": numpy.zeros(PAGE, numpy.float32)}
            return self._told(lost), 0.0, False, True, {**info, "action_mask": numpy.zeros(self._size, numpy.int8)}
        return self._read(info), float(reward), terminated or truncated, False, self._masked(info)

    def action_masks(self) -> NDArray[numpy.bool_]:
        """Return which places hold a candidate, one bool for each."""
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
