"""Chat models behind OpenAI-compatible servers: refusals for length, token counts, and names."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_gym.clients.chat import (
    ChatModel,
    Usage,
    _parse_usage,
    is_context_overflow,
    may_be_context_overflow,
)
from webarena_gym.errors import RefusedError


def refused(status, error):
    return RefusedError("no", status, {}, error if isinstance(error, str) else json.dumps({"error": error}))


@pytest.mark.parametrize("error", [
    refused(400, {"code": "context_length_exceeded", "message": "Your input exceeds the limit."}),  # OpenAI
    refused(400, "This model's maximum context length is 4096 tokens. However, your request has 4999 input tokens."),  # vLLM
    refused(400, "'max_tokens' is too large: 512. This model's maximum context length is 4096 tokens and your request has 3900 input tokens"),
    refused(400, "The prompt (total length 25938) is too long to fit into the model"),
    refused(400, "The input (61709 tokens) is longer than the model's context length (40960 tokens)."),  # SGLang
    refused(400, "Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens)."),
    refused(400, {"type": "exceed_context_size_error", "n_ctx": 4096}),  # llama.cpp
    refused(500, "the request exceeds the available context size. try increasing the context size"),
    refused(400, "the input length exceeds the context length"),  # Ollama
    refused(422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}),  # TGI, Together
    refused(400, "prompt is too long: 208310 tokens > 200000 maximum"),  # Anthropic
    refused(400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
    refused(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),  # Gemini
    refused(400, {"code": "3051", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}),  # Mistral
    refused(400, "Please reduce the length of the messages or completion."),  # Groq, Cerebras
    refused(400, "This model's maximum prompt length is 131072 but the request contains 150000 tokens."),  # xAI
    refused(413, {"code": "tokens_limit_reached", "message": "Request body too large for the model."}),  # GitHub
    refused(400, "litellm.ContextWindowExceededError"),
    refused(400, "Invalid request: Your request exceeded model token limit: 8192"),  # Moonshot
    refused(400, "Range of input length should be [1, 30720]"),  # DashScope
    refused(400, "Trying to keep the first 5000 tokens when context the overflows. The model has a context length of only 4096"),  # LM Studio
])  # fmt: skip
def test_the_usual_servers_are_understood_when_a_conversation_is_too_long(error):
    assert is_context_overflow(error)


@pytest.mark.parametrize(("error", "may_be"), [
    (refused(400, "temperature must be at most 2"), True),
    (refused(400, "'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens"), True),
    (refused(413, "<html>413 Request Entity Too Large</html>"), True),
    (refused(400, {"code": "content_filter"}), False),
    (refused(400, "Your credit balance is too low"), False),
    (refused(401, "no key"), False),
    (refused(429, "You have used too many tokens this minute"), False),
    (refused(0, ""), False),
])  # fmt: skip
def test_other_refusals_are_none_for_length(error, may_be):
    assert (is_context_overflow(error), may_be_context_overflow(error)) == (False, may_be)


@given(
    st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "cost"]), st.none() | st.integers(0, 9) | st.text() | st.floats()
    )
)
def test_any_reported_usage_is_parsed_or_ignored(message):
    usage = _parse_usage(message)
    assert usage.prompt_tokens is None or type(usage.prompt_tokens) is int
    assert usage.cost is None or (type(usage.cost) is float and usage.cost >= 0)
    assert _parse_usage([message]) == Usage()


def test_the_name_of_a_server_holds_no_password():
    assert ChatModel("m", base_url="https://me:secret@example.com/v1").name == "m at example.com"
