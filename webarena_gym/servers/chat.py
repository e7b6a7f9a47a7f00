"""A model behind any server that speaks OpenAI's chat protocol: messages in, text or calls of tools out. Needs no package for it."""

import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from webarena_gym.errors import CutOffError, ServerError
from webarena_gym.servers.rest import Gate, RefusedError, request_json, request_json_patiently

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_TOO_LONG = re.compile(
    "context_length_exceeded|context (length|window|size|limit)|maximum (prompt|model|input) length|reduce the length of the "  # OpenAI's code; the words of most
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
_UNPAID = re.compile(
    "insufficient_quota|exceeded_current_quota|billing_(hard_limit|not_active)|insufficient[ _](balance|credit|funds)|credit balance",
    re.IGNORECASE,
)
_FILTERED = re.compile("content_filter|content_policy|ResponsibleAI|data_inspection|moderation", re.IGNORECASE)
_WITHHELD = ("content_filter", "refusal", "safety", "recitation", "prohibited_content", "error", "abort")  # of finish_reason
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")  # fields of thoughts, which some servers want back


class ToolCall(NamedTuple):
    """One call of a tool; `arguments` is the JSON that the model wrote, which may be none; `more` are further fields of the call."""

    id: str
    name: str
    arguments: str
    more: Mapping[str, Any] = {}


class Usage(NamedTuple):
    """The usage of a reply, as far as the server tells: tokens, and the cost in the server's own currency."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


class Completion(NamedTuple):
    """The reply of a model: a text, calls of tools, or both; `reasoning` are the fields of the message that hold its thoughts."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    reasoning: Mapping[str, Any] = {}


class ChatModel:
    """Answers conversations. May be shared by threads.

    The address is $OPENAI_BASE_URL where none is given, else OpenAI's own, and the token $OPENAI_API_KEY; a server of one's own may need
    none. One request may take `timeout_s`, to the last byte of its answer, and one question `deadline_s`, with all further tries. A server
    that is busy is asked again, after the time that it names, or a quarter of a second, doubled each time; while one thread was told to
    wait, all do. One that gives no answer at all is given up after `unreachable_s`, at the deadline by default.
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
        self._gate = Gate()

    @property
    def name(self) -> str:
        return f"{self._model} at {urlsplit(self._url).netloc.rpartition('@')[2]}"

    def ask(self, messages: Sequence[Mapping[str, str]], **options: Any) -> str:
        """Return what the model says next; nothing if it says nothing. `options` are further fields of the protocol.

        Raises RefusedError when the server cannot be asked, CutOffError when the reply was cut off before it said anything, and
        ServerError when its answer is no message, or was withheld by a filter.
        """
        return self.complete(messages, **options).text

    def complete(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Completion:
        """Return what the model says next, its calls of tools included, and what that has used. Raises as `ask` does."""
        payload = {"model": self._model, "messages": list(messages), **options}
        said = request_json_patiently(
            self._url, payload, token=self._key, stopped=self._stopped, gate=self._gate, is_final=_is_final, **self._limits
        )
        if isinstance(said, dict) and said.get("error") and not said.get("choices"):  # some say so with the status 200
            told = json.dumps(said["error"], ensure_ascii=False)
            code = said["error"].get("code") if isinstance(said["error"], dict) else None
            raise RefusedError(
                f"{self._url} answered with an error: {told[:300]}", code if type(code) is int else 400, {}, told
            )
        try:
            message, reason = said["choices"][0]["message"], str(said["choices"][0].get("finish_reason")).lower()
            calls = tuple(_call(call) for call in message.get("tool_calls") or ())
            text = _text(message.get("content") or message.get("refusal") or "")
            reasoning = {name: message[name] for name in _REASONING if message.get(name)}
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            raise ServerError(f"{self._url} answered without a message: {str(said)[:300]}") from error
        if text is None:
            raise ServerError(f"{self._url} answered {str(message['content'])[:300]}; expected a text, or parts of one")
        if reason in _WITHHELD:
            raise ServerError(f"{self._url} withheld the reply (finish_reason {reason}): {text[:300]!r}")
        usage = _usage(said.get("usage"))
        spoken = "" if text.lstrip().startswith("<think>") and "</think>" not in text else text.strip()
        if reason in ("length", "max_tokens") and not spoken and not calls:
            raise CutOffError(
                f"{self._url} cut the reply off after {usage.completion_tokens or 'all its'} tokens, before it said anything "
                f"(finish_reason {reason}); max_tokens or max_completion_tokens says how many it may have",
                usage,
            )
        if isinstance(message.get("content"), list) and calls:
            reasoning["content"] = message["content"]  # thoughts may be parts of it
        return Completion(text, calls, usage, reasoning)

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
    """Say whether a server refuses a conversation because it does not fit the model, by the codes and words of the usual servers.

    One that refuses since no reply of the length that was asked for fits, whatever the conversation, does not refuse the conversation.
    """
    wanted, fitting = _REPLY_TOKENS.search(error.body), _CONTEXT_TOKENS.search(error.body)
    if wanted and fitting and int(next(filter(None, wanted.groups()))) >= int(fitting[1]):
        return False
    return error.status in (400, 413, 422, 500) and _TOO_LONG.search(error.body) is not None


def may_be_too_long(error: RefusedError) -> bool:
    """Say whether a conversation that a server refuses may be too long, as far as its words leave that open."""
    return error.status in (400, 413, 422) and not _UNPAID.search(error.body) and not _FILTERED.search(error.body)


def _is_final(error: RefusedError) -> bool:
    """Say whether it makes no sense to ask again, whatever the status says."""
    per_request = error.status == 429 and "request too large" in error.body.lower()  # larger than the limit of a minute
    return per_request or _UNPAID.search(error.body) is not None or is_too_long(error)


def _call(told: Mapping[str, Any]) -> ToolCall:
    arguments = told["function"].get("arguments") or ""
    if not isinstance(arguments, str):  # some servers give the object itself
        arguments = json.dumps(arguments, ensure_ascii=False)
    more = {name: value for name, value in told.items() if name not in ("id", "type", "index", "function")}
    return ToolCall(str(told.get("id") or ""), str(told["function"]["name"]), arguments, more)


def _text(content: Any) -> str | None:
    """Return the text of a content, which may be a list of parts, without thoughts; None where it holds something else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    spoken = [part for part in content if part.get("type") not in ("thinking", "redacted_thinking", "reasoning")]
    texts = [part.get("text", part.get("refusal")) for part in spoken]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def _usage(told: Any) -> Usage:
    """Return what a server tells of a reply's use; what it does not tell, or tells in another form, is not known."""
    if not isinstance(told, dict):
        return Usage()
    prompt, completion = (
        value if type(value) is int and value >= 0 else None for value in map(told.get, ("prompt_tokens", "completion_tokens"))
    )
    cost = told.get("cost")
    return Usage(prompt, completion, float(cost) if isinstance(cost, int | float) and 0 <= cost < inf else None)
