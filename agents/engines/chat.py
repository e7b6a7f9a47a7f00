"""A policy behind any endpoint of OpenAI's chat protocol: messages in, text out. For agents that are prompted, not trained."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agents.engines.crew import Crew
from agents.policies import Reply, Request
from agents.prompts import told
from webarena_gym.errors import ServerError
from webarena_gym.servers.chat import ChatModel, is_too_long
from webarena_gym.servers.rest import RefusedError


class ChatPolicy:
    """Replies with what a chat model says, several requests at once.

    A request that fails for good is a reply with its failure; a conversation that does not fit the model is too long. Whether
    equal seeds give equal replies is the server's promise, not ours.

    Args:
        model: the model's name on the server.
        base_url: where the protocol is spoken; else $OPENAI_BASE_URL, else OpenAI's own address.
        api_key: sent as the bearer's token; else $OPENAI_API_KEY.
        system: goes before each conversation in the place of the env's own system message; None keeps that, "" drops it.
        temperature: of sampling; None leaves it to the server, as some models demand.
        max_new_tokens: longest reply; None leaves it to the server.
        max_requests: how many requests are on the server at once.
        timeout_s: how long one request may take.
        deadline_s: how long one reply may take, with all further tries; the pauses between them grow.

    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        system: str | None = None,
        *,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        max_requests: int = 8,
        timeout_s: float = 120.0,
        deadline_s: float = 600.0,
    ) -> None:
        self._model = ChatModel(model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, deadline_s=deadline_s)
        self._system = system
        wanted = {"temperature": temperature, "max_completion_tokens": max_new_tokens}
        self._options: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        self._crew: Crew[tuple[int, Reply]] = Crew(max_requests)

    @property
    def name(self) -> str:
        """The model, and who serves it."""
        return self._model.name

    def ask(self, requests: Sequence[Request]) -> None:
        """Send the conversations as threads become free; does not wait."""
        for request in requests:
            said = request.info["messages"]
            messages = list(said) if self._system is None else told(said, self._system)
            self._crew.submit(partial(self._reply, request.slot, messages, request.seed))

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return the replies that are there; wait for the first at most `timeout_s` seconds."""
        return self._crew.take(timeout_s)

    def close(self) -> None:
        """Drop the requests that have not been sent and wait for the others, without further tries."""
        self._model.stop()
        self._crew.close()

    def _reply(self, slot: int, messages: list[Mapping[str, Any]], seed: int) -> tuple[int, Reply]:
        try:
            return slot, Reply(self._model.ask(messages, seed=seed, **self._options))
        except RefusedError as error:
            return slot, Reply("", too_long=True) if is_too_long(error) else Reply("", failure=str(error))
        except ServerError as error:
            return slot, Reply("", failure=str(error))
