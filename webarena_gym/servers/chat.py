"""A model behind any server that speaks OpenAI's chat protocol: messages in, text or calls of tools out. Needs no package for it."""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from webarena_gym.errors import ServerError
from webarena_gym.servers.rest import Gate, RefusedError, request_json, request_json_patiently

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_TOO_LONG = ("context_length_exceeded", "maximum context length")  # OpenAI's code; OpenAI's and vLLM's words


class ToolCall(NamedTuple):
    """One call of a tool; `arguments` is the JSON that the model wrote, which may be none."""

    id: str
    name: str
    arguments: str


class Usage(NamedTuple):
    """What a reply has used, as far as the server tells: tokens, and what it costs in the server's own currency."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


class Completion(NamedTuple):
    """What a model says next: a text, calls of tools, or both."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage


class ChatModel:
    """Answers conversations. May be shared by threads.

    Args:
        model: the model's name on the server.
        base_url: where the protocol is spoken; else $OPENAI_BASE_URL, else OpenAI's own address.
        api_key: sent as the bearer's token; else $OPENAI_API_KEY; a server of one's own may need none.
        timeout_s: how long one request may take.
        deadline_s: how long one question may take, with all further tries. A server that is busy is asked again, after the
            time that it names, or a quarter of a second, doubled each time; while one thread was told to wait, all do.
        unreachable_s: how long it is tried to reach a server that gives no answer at all; until the deadline by default.

    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        deadline_s: float = 180.0,
        unreachable_s: float | None = None,
    ) -> None:
        self._model = model
        self._base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
        self._url = self._base_url + "/chat/completions"
        self._key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._unreachable_s = unreachable_s
        self._stopped = threading.Event()
        self._gate = Gate()

    @property
    def name(self) -> str:
        """The model, and who serves it."""
        return f"{self._model} at {urlsplit(self._url).netloc.rpartition('@')[2]}"

    def ask(self, messages: Sequence[Mapping[str, str]], **options: Any) -> str:
        """Return what the model says next; nothing if it says nothing. `options` are further fields of the protocol.

        Raises RefusedError when the server cannot be asked, and ServerError when its answer is no message.
        """
        return self.complete(messages, **options).text

    def complete(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Completion:
        """Return what the model says next, its calls of tools included, and what that has used. Raises as `ask` does."""
        payload = {"model": self._model, "messages": list(messages), **options}
        said = request_json_patiently(
            self._url,
            payload,
            token=self._key,
            timeout_s=self._timeout_s,
            deadline_s=self._deadline_s,
            unreachable_s=self._unreachable_s,
            stopped=self._stopped,
            gate=self._gate,
        )
        try:
            message = said["choices"][0]["message"]
            content, calls = message.get("content"), message.get("tool_calls") or ()
            made = tuple(ToolCall(str(call.get("id") or ""), *_called(call["function"])) for call in calls)
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            raise ServerError(f"{self._url} answered without a message: {str(said)[:300]}") from error
        if not isinstance(content, str | None):
            raise ServerError(f"{self._url} answered {str(content)[:300]}; expected a text")
        return Completion(content or "", made, _usage(said.get("usage")))

    def models(self, timeout_s: float) -> list[str]:
        """Return the names of the models that the server lists; none where it keeps no list, or will not show it.

        Any answer shows that the server is there. Raises ServerError, which says what can be done, where there is none in this time.
        """
        try:
            listed = request_json(f"{self._base_url}/models", token=self._key, timeout_s=timeout_s)
        except RefusedError as error:
            if error.status:
                return []
            raise ServerError(
                f"no answer from {urlsplit(self._url).netloc.rpartition('@')[2]} within {timeout_s:g} s ({error}); is the server up? "
                "Its address is that of --base-url or $OPENAI_BASE_URL, with the path before /chat/completions, such as "
                "http://localhost:8000/v1"
            ) from error
        except ServerError:  # other than JSON
            return []
        data = listed.get("data") if isinstance(listed, dict) else None
        return [str(item["id"]) for item in (data if isinstance(data, list) else ()) if isinstance(item, dict) and "id" in item]

    def stop(self) -> None:
        """Give up on questions that wait for another try."""
        self._stopped.set()


def is_too_long(error: RefusedError) -> bool:
    """Say whether a server refuses a conversation because it does not fit the model."""
    return error.status in (400, 413) and any(words in str(error) for words in _TOO_LONG)


def _called(function: Mapping[str, Any]) -> tuple[str, str]:
    return str(function["name"]), str(function.get("arguments") or "")


def _usage(told: Any) -> Usage:
    """Return what a server tells of a reply's use; what it does not tell, or tells in another form, is not known."""
    if not isinstance(told, dict):
        return Usage()
    prompt, completion = (
        value if type(value) is int else None for value in map(told.get, ("prompt_tokens", "completion_tokens"))
    )
    cost = told.get("cost")
    return Usage(prompt, completion, float(cost) if isinstance(cost, int | float) else None)
