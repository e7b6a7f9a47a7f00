"""A policy that asks a chat model behind any endpoint of OpenAI's chat protocol. For agents that are prompted, not trained."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agents.data.prompts import reminded, told
from agents.data.workflows import WorkflowMemory
from agents.rollouts.engines import RequestPool
from agents.rollouts.policies import Reply, Request
from webarena_gym.errors import ServerError
from webarena_gym.servers.chat import ChatModel, is_too_long
from webarena_gym.servers.rest import RefusedError

_WORKFLOWS = 3  # given to an episode


class ChatPolicy:
    """Replies with the text of a chat model, several requests at once.

    A request that fails after all attempts gives a reply with its failure. A conversation that does not fit the model gives a reply
    that is marked as too long. Whether equal seeds give equal replies depends on the server.

    Args:
        model: the model's name on the server.
        base_url: the endpoint's address; by default $OPENAI_BASE_URL, else OpenAI's own.
        api_key: sent as the bearer token; by default $OPENAI_API_KEY.
        system: replaces the env's system message; None keeps the env's, "" removes it.
        temperature: of sampling; None leaves it to the server, which some models require.
        max_new_tokens: longest reply; None leaves it to the server.
        max_requests: how many requests are on the server at once.
        timeout_s: how long one attempt at a request may take.
        deadline_s: how long one reply may take with all attempts; the pauses between them grow.
        memory: workflows, of which those of the site and of goals most alike are added to the system message.

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
        memory: WorkflowMemory | None = None,
    ) -> None:
        self._model = ChatModel(model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, deadline_s=deadline_s)
        self._system = system
        self._memory = memory
        self._remembered: dict[int, str] = {}  # by slot, what its episode was reminded of
        wanted = {"temperature": temperature, "max_completion_tokens": max_new_tokens}
        self._options: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        self._pool: RequestPool[tuple[int, Reply]] = RequestPool(max_requests)

    @property
    def name(self) -> str:
        """The model's name and its endpoint."""
        return self._model.name

    def ask(self, requests: Sequence[Request]) -> None:
        """Queue the conversations for the request pool; does not wait."""
        for request in requests:
            said = request.info["messages"]
            messages = list(said) if self._system is None else told(said, self._system)
            if self._memory is not None:
                messages = reminded(messages, self._workflows(request))
            self._pool.submit(partial(self._reply, request.slot, messages, request.seed))

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return the replies that are complete; wait for the first at most `timeout_s` seconds."""
        return self._pool.take(timeout_s)

    def close(self) -> None:
        """Cancel the requests that have not been sent and wait for the others, without further attempts."""
        self._model.stop()
        self._pool.close()

    def _workflows(self, request: Request) -> str:
        """Return the workflows for an episode, which are found on its first page."""
        assert self._memory is not None, "asked for with a memory only"
        if request.info["step"] == 0 or request.slot not in self._remembered:
            found = self._memory.find(request.info["goal"], request.info["page"], _WORKFLOWS)
            self._remembered[request.slot] = "\n\n".join(map(str, found))
        return self._remembered[request.slot]

    def _reply(self, slot: int, messages: list[Mapping[str, Any]], seed: int) -> tuple[int, Reply]:
        try:
            return slot, Reply(self._model.ask(messages, seed=seed, **self._options))
        except RefusedError as error:
            return slot, Reply("", too_long=True) if is_too_long(error) else Reply("", failure=str(error))
        except ServerError as error:
            return slot, Reply("", failure=str(error))
