"""Web-agent reinforcement learning that anyone can run: `import webarena_gym`, then `gymnasium.make("WebArenaLite-v0")`.

This module exports the public names. All except the errors are imported on first use, so that `import webarena_gym` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

from webarena_gym.errors import (
    ActionError,
    BrowserError,
    ConformanceError,
    EvaluationError,
    RenderModeError,
    ServerError,
    SnapshotError,
    TaskError,
    WebArenaGymError,
    WorkerError,
    WorldError,
)  # fmt: skip

if TYPE_CHECKING:
    from webarena_gym.actions import reply_of
    from webarena_gym.addresses import Account
    from webarena_gym.env import WebArenaLite
    from webarena_gym.episode import Info, Snapshot
    from webarena_gym.evaluation.results import EvaluationReport
    from webarena_gym.evaluation.runner import evaluate
    from webarena_gym.evaluators.judges import ChatJudge
    from webarena_gym.logins import Login
    from webarena_gym.miniwob import MiniWobText
    from webarena_gym.recording import RecordGif
    from webarena_gym.suite import draw, find, load
    from webarena_gym.tasks import Task, parse_task, read_tasks
    from webarena_gym.vector import WebArenaLiteVector

__version__ = "0.1.0"

__all__ = [
    "Account", "ActionError", "BrowserError", "ChatJudge", "ConformanceError", "EvaluationError", "EvaluationReport", "Info", "Login", "MiniWobText", "RecordGif",
    "RenderModeError", "ServerError", "Snapshot", "SnapshotError", "Task", "TaskError", "WebArenaGymError", "WebArenaLite",
    "WebArenaLiteVector", "WorkerError", "WorldError", "draw", "evaluate", "find", "load", "parse_task", "read_tasks", "reply_of",
]  # fmt: skip

_LAZY = {
    "Account": "addresses", "ChatJudge": "evaluators.judges", "EvaluationReport": "evaluation.results", "Info": "episode", "Login": "logins", "MiniWobText": "miniwob",
    "RecordGif": "recording", "Snapshot": "episode", "Task": "tasks", "WebArenaLite": "env", "WebArenaLiteVector": "vector", "draw": "suite", "evaluate": "evaluation.runner",
    "find": "suite", "load": "suite", "parse_task": "tasks", "read_tasks": "tasks", "reply_of": "actions",
}  # fmt: skip
"""The module of each name that is imported on first use."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Gymnasium's passive checker is off by default: after a first `reset` that raised, it fails in each `step`. Its `OrderEnforcing` is off
# where the env itself requires a `reset` or a `restore`, since that wrapper rejects a `step` after a `restore` without a `reset`.
gymnasium.register(
    id="WebArenaLite-v0",
    entry_point="webarena_gym.env:WebArenaLite",
    vector_entry_point="webarena_gym.vector:WebArenaLiteVector",
    disable_env_checker=True,
    order_enforce=False,
)
gymnasium.register(
    id="WebArenaLiteCandidates-v0",
    entry_point="webarena_gym.candidates:make",
    disable_env_checker=True,
    order_enforce=False,
)
gymnasium.register(id="MiniWoBText-v0", entry_point="webarena_gym.miniwob:MiniWobText", disable_env_checker=True)
