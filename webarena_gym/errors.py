"""Every exception that this package raises on purpose.

WebArenaGymError
├── ActionError        the policy's text is no action, or the page does not allow it; the env turns it into an observation
├── TaskError          a task or task file is unknown or malformed
├── WorldError         a world cannot be built, or its cache cannot be written
├── EvaluationError    an evaluator cannot do its work; never a score of 0
├── RenderModeError    a way of rendering needs another browser; also a TypeError, after which Stable-Baselines3 renders nothing
├── SnapshotError      a snapshot does not fit the env that should restore it
├── WorkerError        a worker process of a vector env was lost, and with it what was asked for
├── ServerError        a real server does not answer, refuses a login, or is named wrongly
├── AgentError         an agent that is evaluated cannot be loaded, or broke down; never a score of 0
├── ResultError        a file of episodes or results is malformed, or not of the run that it is given for
└── BrowserError       the browser itself failed (crashed, missing, timed out); not the policy's fault
    └── ScriptError    a script of ours threw in the page
"""


class WebArenaGymError(Exception):
    """Base of all errors of this package."""


class ActionError(WebArenaGymError):
    """The policy's mistake: malformed text, an unknown element, an element that cannot be used so."""


class TaskError(WebArenaGymError, ValueError):
    """A task, split, template or task file is unknown or malformed."""


class WorldError(WebArenaGymError):
    """A world cannot be built or stored."""


class EvaluationError(WebArenaGymError):
    """An evaluator is broken or cannot decide; it must never pass as a score of 0."""


class RenderModeError(WebArenaGymError, ValueError, TypeError):
    """A way of rendering needs another browser.

    A TypeError as well, since Stable-Baselines3's `make_vec_env` asks every env for "rgb_array" and does without after a TypeError.
    """


class SnapshotError(WebArenaGymError, ValueError):
    """A snapshot was made by another version, world or kind of env."""


class WorkerError(WebArenaGymError):
    """A worker process of a vector env was lost, and with it what was asked for; asking again may work."""


class ServerError(WebArenaGymError):
    """A real server does not answer, refuses a login, or is named wrongly."""


class AgentError(WebArenaGymError):
    """An agent that is evaluated cannot be loaded, or broke down: the episode says nothing."""


class ResultError(WebArenaGymError, ValueError):
    """A file of episodes or results is malformed, or not of the run that it is given for."""


class BrowserError(WebArenaGymError):
    """The browser failed; the episode is lost through no fault of the policy."""


class ScriptError(BrowserError):
    """A script that was run in a page threw; the page and the browser are fine."""
