"""Web-agent reinforcement learning that anyone can run: `import webarena_gym`, then `gymnasium.make("WebArenaLite-v0")`.

The names that users need stand here. All but the errors are imported when they are first used, so that this import stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

from webarena_gym.errors import ActionError as ActionError
from webarena_gym.errors import BrowserError as BrowserError
from webarena_gym.errors import ConformanceError as ConformanceError
from webarena_gym.errors import EvaluationError as EvaluationError
from webarena_gym.errors import RenderModeError as RenderModeError
from webarena_gym.errors import ServerError as ServerError
from webarena_gym.errors import SnapshotError as SnapshotError
from webarena_gym.errors import TaskError as TaskError
from webarena_gym.errors import WebArenaGymError as WebArenaGymError
from webarena_gym.errors import WorkerError as WorkerError
from webarena_gym.errors import WorldError as WorldError

if TYPE_CHECKING:
    from webarena_gym.actions import reply_of as reply_of
    from webarena_gym.env import Info as Info
    from webarena_gym.env import Snapshot as Snapshot
    from webarena_gym.env import WebArenaLite as WebArenaLite
    from webarena_gym.evaluators.judges import ChatJudge as ChatJudge
    from webarena_gym.miniwob import MiniWobText as MiniWobText
    from webarena_gym.recording import RecordGif as RecordGif
    from webarena_gym.servers.logins import Account as Account
    from webarena_gym.servers.logins import Login as Login
    from webarena_gym.tasks import Task as Task
    from webarena_gym.tasks import draw as draw
    from webarena_gym.tasks import find as find
    from webarena_gym.tasks import load as load
    from webarena_gym.tasks import parse_task as parse_task
    from webarena_gym.tasks import read_tasks as read_tasks
    from webarena_gym.vector import WebArenaLiteVector as WebArenaLiteVector

__version__ = "0.1.0"

_LAZY = {
    "Account": "servers.logins",
    "ChatJudge": "evaluators.judges",
    "Info": "env",
    "Login": "servers.logins",
    "MiniWobText": "miniwob",
    "RecordGif": "recording",
    "Snapshot": "env",
    "Task": "tasks",
    "WebArenaLite": "env",
    "WebArenaLiteVector": "vector",
    "draw": "tasks",
    "find": "tasks",
    "load": "tasks",
    "parse_task": "tasks",
    "read_tasks": "tasks",
    "reply_of": "actions",
}
"""The module of each name that is imported at its first use."""

__all__ = [  # noqa: PLE0604 - strings all, of two lists
    "ActionError", "BrowserError", "ConformanceError", "EvaluationError", "RenderModeError", "ServerError", "SnapshotError", "TaskError",
    "WebArenaGymError", "WorkerError", "WorldError", *_LAZY,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name of `_LAZY` when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


gymnasium.register(
    id="WebArenaLite-v0",
    entry_point="webarena_gym.env:WebArenaLite",
    vector_entry_point="webarena_gym.vector:WebArenaLiteVector",
)
gymnasium.register(id="WebArenaLiteCandidates-v0", entry_point="webarena_gym.candidates:make")
gymnasium.register(id="MiniWoBText-v0", entry_point="webarena_gym.miniwob:MiniWobText")
