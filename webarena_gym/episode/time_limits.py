"""The step limits that Gymnasium's own wrapper sets around an env.

`gymnasium.make(id, max_episode_steps=n)` wraps the env in a TimeLimit, which truncates an episode after the env's step has returned.
The env is not told, so it could not judge such an episode. The wrapper is found among the callers of `reset`.
"""

import sys
from math import inf
from typing import Any

from gymnasium.wrappers import TimeLimit


def outer_limit(env: Any) -> float:
    """Return the smallest limit of the TimeLimit wrappers through which `env.reset` was called; infinity without one.

    Call it from `env.reset` itself.
    """
    limit = inf
    frame = sys._getframe(1).f_back  # noqa: SLF001 - the documented way to the callers
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "reset" else None
        if isinstance(caller, TimeLimit) and caller.unwrapped is env:
            limit = min(limit, caller._max_episode_steps)  # noqa: SLF001 - has no public name
        frame = frame.f_back
    return limit
