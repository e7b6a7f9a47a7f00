"""A client for chat models behind any OpenAI-compatible server: messages in, text or tool calls out. It needs no further package."""

import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from webarena_gym.clients.rest import RateLimiter, RefusedError, request_json, request_json_with_retries
from webarena_gym.errors import CutOffError, ServerError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_CONTEXT_OVERFLOW = re.compile(
    "context_length_exceeded|context (length|window|size|limit)|maximum (prompt|model|input) length|reduce the length of the "  # OpenAI and many others
    "|exceed_context_size"  # llama.cpp
    "|maximum allowed length"  # SGLang
    r"|`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than"  # Text Generation Inference, Together
    "|(prompt|input) (is )?too long|too long to fit"  # Anthropic, Bedrock, Fireworks; vLLM
    "|input token count|exceeds the maximum number of tokens"  # Gemini
    "|ContextWindowExceeded"  # LiteLLM
    "|tokens_limit_reached|max_prompt_tokens_exceeded"  # GitHub
    "|sum of prompt length"  # TensorRT-LLM
    "|too many tokens|exceeded model token limit|range of input length|prompt exceeds max length",  # Cohere, Moonshot, DashScope, Zhipu
    re.IGNORECASE,
)
_REPLY_TOKENS = re.compile(r"is too large: (\d+)|requested (\d+) output tokens|\b(\d{1,12}) (?:in|tokens for) the completion")
_CONTEXT_TOKENS = re.compile(r"context length (?:is|of) (\d+)")
_OUT_OF_CREDIT = re.compile(
    "insufficient_quota|exceeded_current_quota|billing_(hard_limit|not_active)|insufficient[ _](balance|credit|funds)|credit balance",
    re.IGNORECASE,
)
_CONTENT_FILTER = re.compile("content_filter|content_policy|ResponsibleAI|data_inspection|moderation", re.IGNORECASE)
_FILTER_REASONS = (
    "content_filter",
    "refusal",
    "safety",
    "recitation",
    "prohibited_content",
    "error",
    "abort",
)  # values of finish_reason
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")  # fields that some servers require in the next request


class ToolCall(NamedTuple):
    """One tool call. `arguments` is the text that the model wrote, which may be invalid JSON; `more` holds further fields of the call."""

    id: str
    name: str
    arguments: str
    more: Mapping[str, Any] = {}


class Usage(NamedTuple):
    """Tokens and cost of a reply, each None where the server does not report it. The cost is in the server's currency."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


class Completion(NamedTuple):
    """Reply of a model: text, tool calls, or both. `reasoning` holds the fields of the message with the model's reasoning."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    reasoning: Mapping[str, Any] = {}


class ChatModel:
    """A chat model behind an OpenAI-compatible server. Threads may share it.

    A busy server is retried after the pause that it asks for, or a quarter of a second, doubled at each retry. A pause that the
    server asks for blocks the requests of all threads.

    Args:
        model: name of the model on the server.
        base_url: address before /chat/completions; by default $OPENAI_BASE_URL, else OpenAI's.
        api_key: bearer token; by default $OPENAI_API_KEY. Local servers often need none.
        timeout_s: time limit of one request, up to the last byte of the response.
        deadline_s: time limit of one completion, with all retries.
        unreachable_s: time after which a server that never responds is given up; by default `deadline_s`.

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
        self._limits: dict[str, Any] = {"timeout_s": timeout_s, "deadline_s": deadline_s, "unreachable_s": unreachable_s}
        self._stopped = threading.Event()
        self._limiter = RateLimiter()

    @property
    def name(self) -> str:
        return f"{self._model} at {urlsplit(self._url).netloc.rpartition('@')[2]}"

    def ask(self, messages: Sequence[Mapping[str, str]], **options: object) -> str:
        """Return the text of the model's next message; may be empty. `options` are further fields of the request. Raises as `complete` does."""
        return self.complete(messages, **options).text

    def complete(self, messages: Sequence[Mapping[str, Any]], **options: object) -> Completion:
        """Return the model's next message, with its tool calls and the usage.

        Args:
            messages: the conversation, in OpenAI's format.
            options: further fields of the request, such as `temperature`, `max_tokens` or `tools`.

        Raises:
            RefusedError: the server answered with an error, or not at all.
            CutOffError: the token limit ended the reply before its first text outside the reasoning.
            ServerError: the response holds no message, or a content filter withheld it.

        """
        payload = {"model": self._model, "messages": list(messages), **options}
        response = request_json_with_retries(
            self._url,
            payload,
            token=self._key,
            stopped=self._stopped,
            limiter=self._limiter,
            is_final=_is_final,
            **self._limits,
        )
        if isinstance(response, dict) and response.get("error") and not response.get("choices"):  # some servers send status 200
            error_text = json.dumps(response["error"], ensure_ascii=False)
            code = response["error"].get("code") if isinstance(response["error"], dict) else None
            raise RefusedError(
                f"{self._url} answered with an error: {error_text[:300]}", code if type(code) is int else 400, {}, error_text
            )
        try:
            message, reason = response["choices"][0]["message"], str(response["choices"][0].get("finish_reason")).lower()
            calls = tuple(_parse_call(call) for call in message.get("tool_calls") or ())
            text = _content_text(message.get("content") or message.get("refusal") or "")
            reasoning = {name: message[name] for name in _REASONING if message.get(name)}
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            raise ServerError(f"{self._url} answered without a message: {str(response)[:300]}") from error
        if text is None:
            raise ServerError(
                f"{self._url} sent the content {str(message['content'])[:300]}; expected a string or a list of text parts"
            )
        if reason in _FILTER_REASONS:
            raise ServerError(f"{self._url} withheld the reply (finish_reason {reason}): {text[:300]!r}")
        usage = _parse_usage(response.get("usage"))
        final_text = "" if text.lstrip().startswith("<think>") and "</think>" not in text else text.strip()
        if reason in ("length", "max_tokens") and not final_text and not calls:
            raise CutOffError(
                f"{self._url} cut the reply off after {usage.completion_tokens or 'all its'} tokens, before any text outside the "
                f"reasoning (finish_reason {reason}); raise max_tokens or max_completion_tokens",
                usage,
            )
        if isinstance(message.get("content"), list) and calls:
            reasoning["content"] = message["content"]  # its parts may hold reasoning
        return Completion(text, calls, usage, reasoning)

    def models(self, timeout_s: float) -> list[str]:
        """Return the names of the models that the server lists; an empty list if it has no list or refuses to return it.

        Any response shows that the server is running. Raises ServerError with advice if there is none within `timeout_s`.
        """
        try:
            response = request_json(f"{self._base_url}/models", token=self._key, timeout_s=timeout_s)
        except RefusedError as error:
            if error.status:
                return []
            raise ServerError(
                f"no answer from {urlsplit(self._url).netloc.rpartition('@')[2]} within {timeout_s:g} s ({error}). Check that the "
                "server is running, and set --base-url or $OPENAI_BASE_URL to its address before /chat/completions, such as "
                "http://localhost:8000/v1"
            ) from error
        except ServerError:  # a response that is not JSON
            return []
        data = response.get("data") if isinstance(response, dict) else None
        return [str(item["id"]) for item in (data if isinstance(data, list) else ()) if isinstance(item, dict) and "id" in item]

    def stop(self) -> None:
        """Cancel all retries that are waiting."""
        self._stopped.set()


def is_context_overflow(error: RefusedError) -> bool:
    """Return True if a server rejects a conversation as longer than the model's context, by the messages of the usual servers.

    A server that rejects the requested reply length, because it does not fit the context even without a conversation, is not counted.
    """
    reply, context = _REPLY_TOKENS.search(error.body), _CONTEXT_TOKENS.search(error.body)
    if reply and context and int(next(filter(None, reply.groups()))) >= int(context[1]):
        return False
    return error.status in (400, 413, 422, 500) and _CONTEXT_OVERFLOW.search(error.body) is not None


def may_be_context_overflow(error: RefusedError) -> bool:
    """Return True if a rejected conversation may be too long: the error names no other cause, such as credit or a content filter."""
    return error.status in (400, 413, 422) and not _OUT_OF_CREDIT.search(error.body) and not _CONTENT_FILTER.search(error.body)


def _is_final(error: RefusedError) -> bool:
    """Return True if a retry cannot succeed, whatever the status."""
    exceeds_rate = error.status == 429 and "request too large" in error.body.lower()  # larger than the limit of a whole minute
    return exceeds_rate or _OUT_OF_CREDIT.search(error.body) is not None or is_context_overflow(error)


def _parse_call(call: Mapping[str, Any]) -> ToolCall:
    arguments = call["function"].get("arguments") or ""
    if not isinstance(arguments, str):  # some servers send a JSON object instead of its text
        arguments = json.dumps(arguments, ensure_ascii=False)
    more = {name: value for name, value in call.items() if name not in ("id", "type", "index", "function")}
    return ToolCall(str(call.get("id") or ""), str(call["function"]["name"]), arguments, more)


def _content_text(content: object) -> str | None:
    """Return the text of a message's content, a string or a list of parts, without reasoning parts; None for any other content."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    parts = [part for part in content if part.get("type") not in ("thinking", "redacted_thinking", "reasoning")]
    texts = [part.get("text", part.get("refusal")) for part in parts]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def _parse_usage(usage: object) -> Usage:
    """Return the usage in a response; values that are missing or of another form are None."""
    if not isinstance(usage, dict):
        return Usage()
    prompt, completion = (
        value if type(value) is int and value >= 0 else None for value in map(usage.get, ("prompt_tokens", "completion_tokens"))
    )
    cost = usage.get("cost")
    return Usage(prompt, completion, float(cost) if isinstance(cost, int | float) and 0 <= cost < inf else None)
