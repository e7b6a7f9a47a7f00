"""The exceptions that callers may meet. All of them, and those that single modules define for themselves, are a WebArenaGymError."""

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
    """A snapshot is damaged, or was made by another version, world or kind of env."""


class WorkerError(WebArenaGymError):
    """A worker process of a vector env was lost, and with it what was asked for; asking again may work."""


class ConformanceError(WebArenaGymError, AssertionError):
    """An env does not do what a check of `webarena_gym.testing` expects of it."""


class HostUnknownError(WebArenaGymError):
    """No site of an episode's network has that host name; a browser shows its own error page for it."""


class ServerError(WebArenaGymError):
    """A real server does not answer, refuses a login, or is named wrongly."""


class ApplicationError(WebArenaGymError, ValueError):
    """A web application of one's own is described wrongly, cannot be started, or has died."""


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
    """A chat model used up the tokens of a reply before it said anything, as by thinking; `usage` says what that took, in the fields of a `Reply`."""

    def __init__(self, message: str, usage: tuple[int | None, int | None, float | None]) -> None:
        super().__init__(message)
        self.usage = usage

    def __reduce__(self) -> tuple[type["CutOffError"], tuple[str, tuple[int | None, int | None, float | None]]]:
        return type(self), (str(self), self.usage)


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
