"""Every exception that this package raises on purpose. Those that callers may meet are defined here.

WebArenaGymError
├── ActionError        the policy's text is no action, or the page does not allow it; the env turns it into an observation
├── TaskError          a task or task file is unknown or malformed; also a ValueError
├── WorldError         a world cannot be built, or its cache cannot be written
├── EvaluationError    an evaluator cannot do its work; never a score of 0
├── RenderModeError    a way of rendering needs another browser; also a ValueError, and a TypeError for Stable-Baselines3
├── SnapshotError      a snapshot does not fit the env that should restore it; also a ValueError
├── WorkerError        a worker process of a vector env was lost, and with it what was asked for
├── ArenaError         an arena cannot do what a client asks for, and tells it why
├── ConformanceError   an env does not do what `webarena_gym.testing` checks; also an AssertionError
├── HostUnknownError   a URL leads to a host that the network of an episode does not have
├── ServerError        a real server does not answer, refuses a login, or is named wrongly
│   ├── RefusedError   a real server answered with an error
│   └── CutOffError    a chat model's reply was cut off before it said anything
├── AgentError         an agent that is evaluated cannot be loaded, or broke down; never a score of 0
├── ResultError        a file of episodes or results is malformed, or not of the run that it is given for; also a ValueError
├── BrowserError       the browser failed (crashed, missing, timed out), or an embedded site did; not the policy's fault
│   └── ScriptError    a script of ours threw in the page
├── FormError          an embedded site does not do what a form asks; its page says why
│   ├── sites.shopping.carts.RefusedError
│   └── sites.shopping_admin.fulfilment.OrderError
├── NothingToDraw      a world has nothing that a template could ask for; also a LookupError
└── evaluation.runner.GivenUpError   an evaluation has ended early, as nothing could be judged
"""

from collections.abc import Mapping


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


class ConformanceError(WebArenaGymError, AssertionError):
    """An env does not do what a check of `webarena_gym.testing` expects of it."""


class HostUnknownError(WebArenaGymError):
    """No site of an episode's network has that host name; a browser shows its own error page for it."""


class ServerError(WebArenaGymError):
    """A real server does not answer, refuses a login, or is named wrongly."""


class RefusedError(ServerError):
    """A server answered with an error. `status` is its code, 0 when there was no answer; `headers` and `body` are those of the answer."""

    def __init__(self, message: str, status: int, headers: Mapping[str, str], body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body = body

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[str, int, Mapping[str, str], str]]:
        return type(self), (str(self), self.status, self.headers, self.body)  # so that it can be sent from a worker process


class CutOffError(ServerError):
    """A chat model used up the tokens of a reply before it said anything, as by thinking."""


class ArenaError(WebArenaGymError):
    """An arena cannot do what a client asks for.

    Args:
        message: what was wrong, in a sentence.
        status: the status of HTTP that says so.
        at: where it was, such as "body.task"; empty where no value was at fault.
        value: what was there.
        expected: what should have been there.

    """

    def __init__(self, message: str, status: int, at: str = "", value: object = None, expected: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.at = at
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[type["ArenaError"], tuple[str, int, str, object, str]]:
        return type(self), (str(self), self.status, self.at, self.value, self.expected)  # for workers, as above


class AgentError(WebArenaGymError):
    """An agent that is evaluated cannot be loaded, or broke down: the episode says nothing."""


class ResultError(WebArenaGymError, ValueError):
    """A file of episodes or results is malformed, or not of the run that it is given for."""


class BrowserError(WebArenaGymError):
    """The browser or an embedded site failed; the episode is lost through no fault of the policy."""


class ScriptError(BrowserError):
    """A script that was run in a page threw; the page and the browser are fine."""


class FormError(WebArenaGymError):
    """An embedded site does not do what a form asks; the message is for the person who sent it."""


class NothingToDraw(WebArenaGymError, LookupError):  # noqa: N818 - not an error: another draw may succeed
    """The world, or one draw from it, has nothing that the template could ask for."""
