"""A model behind any server that speaks OpenAI's chat protocol: messages in, text out. Needs no package for it."""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from webarena_gym.errors import ServerError
from webarena_gym.servers.rest import request_json_patiently

DEFAULT_BASE_URL = "https://api.openai.com/v1"


class ChatModel:
    """Answers conversations.

    Args:
        model: the model's name on the server.
        base_url: where the protocol is spoken; else $OPENAI_BASE_URL, else OpenAI's own address.
        api_key: sent as the bearer's token; else $OPENAI_API_KEY; a server of one's own may need none.
        timeout_s: how long one request may take.
        deadline_s: how long one question may take, with all further tries. A server that is busy is asked again, after the
            time that it names, or a quarter of a second, doubled each time.

    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        deadline_s: float = 180.0,
    ) -> None:
        address = base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
        self._model = model
        self._url = address.rstrip("/") + "/chat/completions"
        self._key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._stopped = threading.Event()

    @property
    def name(self) -> str:
        """The model, and who serves it."""
        return f"{self._model} at {urlsplit(self._url).netloc}"

    def ask(self, messages: Sequence[Mapping[str, str]], **options: Any) -> str:
        """Return what the model says next; nothing if it says nothing. `options` are further fields of the protocol.

        Raises RefusedError when the server cannot be asked, and ServerError when its answer is no message.
        """
        payload = {"model": self._model, "messages": list(messages), **options}
        said = request_json_patiently(
            self._url,
            payload,
            token=self._key,
            timeout_s=self._timeout_s,
            deadline_s=self._deadline_s,
            stopped=self._stopped,
        )
        try:
            content = said["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise ServerError(f"{self._url} answered without a message: {str(said)[:300]}") from error
        if not isinstance(content, str | None):
            raise ServerError(f"{self._url} answered {str(content)[:300]}; expected a text")
        return content or ""

    def stop(self) -> None:
        """Give up on questions that wait for another try."""
        self._stopped.set()
