"""The public exceptions. All exceptions of this package derive from WebArenaGymError, including those that single modules define."""

from collections.abc import Mapping


class WebArenaGymError(Exception):
    """Base of all errors of this package."""


class ActionError(WebArenaGymError):
    """A mistake of the policy: malformed text, an unknown element, or an element that does not support the action."""


class TaskError(WebArenaGymError, ValueError):
    """A task, split, template or task file is unknown or malformed."""


class WorldError(WebArenaGymError):
    """A world cannot be built or stored."""


class EvaluationError(WebArenaGymError):
    """An evaluator is broken or cannot decide. This never counts as a score of 0."""


class RenderModeError(WebArenaGymError, ValueError, TypeError):
    """A render mode needs another browser.

    It is also a TypeError, because Stable-Baselines3's `make_vec_env` requests "rgb_array" of every env, and continues without it after a
    TypeError.
    """


class SnapshotError(WebArenaGymError, ValueError):
    """A snapshot is damaged, or belongs to another version, world or kind of env."""


class WorkerError(WebArenaGymError):
    """A worker process of a vector env died, and the result of a call with it. The call may be repeated."""


class ConformanceError(WebArenaGymError, AssertionError):
    """An env does not pass a check of `webarena_gym.testing`."""


class HostUnknownError(WebArenaGymError):
    """No site of an episode's network has this host name. Browsers show an error page for it."""


class ServerError(WebArenaGymError):
    """A real server does not respond, rejects a login, or has an invalid name."""


class ApplicationError(WebArenaGymError, ValueError):
    """The description of a user's web application is invalid, or the application cannot be started, or has died."""


class RefusedError(ServerError):
    """A server returned an error.

    Args:
        message: the error message.
        status: the status code; 0 if there was no response.
        headers: headers of the response.
        body: body of the response.

    """

    def __init__(self, message: str, status: int, headers: Mapping[str, str], body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body = body

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[str, int, Mapping[str, str], str]]:
        return type(self), (str(self), self.status, self.headers, self.body)  # picklable, to be sent from worker processes


class CutOffError(ServerError):
    """A chat model reached the token limit before any visible text, for example in its reasoning.

    Args:
        message: the error message.
        usage: the usage fields of a `Reply`: prompt tokens, completion tokens and cost in dollars, None where unknown.

    """

    def __init__(self, message: str, usage: tuple[int | None, int | None, float | None]) -> None:
        super().__init__(message)
        self.usage = usage

    def __reduce__(self) -> tuple[type["CutOffError"], tuple[str, tuple[int | None, int | None, float | None]]]:
        return type(self), (str(self), self.usage)


class ArenaError(WebArenaGymError):
    """An arena cannot process a request of a client.

    Args:
        message: description of the problem, a sentence.
        status: HTTP status of the response.
        at: location of the invalid value, such as "body.task"; "" if no value is at fault.
        value: the invalid value.
        expected: description of valid values.

    """

    def __init__(self, message: str, status: int, at: str = "", value: object = None, expected: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.at = at
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[type["ArenaError"], tuple[str, int, str, object, str]]:
        return type(self), (str(self), self.status, self.at, self.value, self.expected)  # picklable, as above


class AgentError(WebArenaGymError):
    """An agent under evaluation cannot be loaded, or failed. The episode has no score."""


class AbortedRunError(WebArenaGymError):
    """Too many consecutive episodes of a run failed, or environments cannot be reset."""


class ResultError(WebArenaGymError, ValueError):
    """A file of episodes or results is malformed, or belongs to another run."""


class BrowserError(WebArenaGymError):
    """The browser or an embedded site failed. The episode has no valid reward."""


class ScriptError(BrowserError):
    """A script in a page raised an exception. The page and the browser remain usable."""


class FormError(WebArenaGymError):
    """An embedded site rejects a form. The site shows the message to its user."""


class NothingToDraw(WebArenaGymError, LookupError):  # noqa: N818 - not an error: another draw may succeed
    """The world, or one draw from it, has no suitable content for a task of the template."""
