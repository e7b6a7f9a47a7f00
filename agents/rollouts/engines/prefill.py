"""Prefill: a forward pass over prompts, beyond what the prefix cache holds; and checks that a model supports it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from agents.data.tokens import Ids
from agents.models.trees import IMPLEMENTATION
from agents.rollouts.engines.decoding import AttentionWindows, KVBuffer
from agents.rollouts.engines.prefix_cache import KeyValues, joined

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ATTENTIONS = ("sdpa", "eager", IMPLEMENTATION)
"""The attention implementations of transformers that add a float mask to the scores."""

_PROBE_TOKENS = 6


class PrefillPrompt(NamedTuple):
    """A prompt, and the keys and values of its beginning that are cached."""

    ids: Ids
    cached: Sequence[KeyValues]  # block by block

    @property
    def cached_tokens(self) -> int:
        """The number of tokens whose keys and values are cached."""
        return sum(block.keys.shape[2] for block in self.cached)

    @property
    def new_tokens(self) -> int:
        """The number of tokens that the forward pass reads."""
        return len(self.ids) - self.cached_tokens


def prefill(
    model: "PreTrainedModel", windows: AttentionWindows, empty: KeyValues, prompts: Sequence[PrefillPrompt]
) -> tuple[Tensor, KVBuffer]:
    """Run the model on the new tokens of each prompt. Returns the logits (B, V) after its last token, and all keys and values."""
    device = empty.keys.device
    past, longest = max(prompt.cached_tokens for prompt in prompts), max(prompt.new_tokens for prompt in prompts)
    buffer = KVBuffer(empty, len(prompts), past + longest)
    input_ids = torch.zeros(len(prompts), longest, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        input_ids[row, : prompt.new_tokens] = torch.tensor(prompt.ids[prompt.cached_tokens :])
        if prompt.cached:
            buffer.write(row, past, joined(prompt.cached))
    buffer.end = past
    cached_B1 = torch.tensor([[prompt.cached_tokens] for prompt in prompts], device=device)
    queries = cached_B1 + torch.arange(longest, device=device)
    mask = None
    if past:
        keys = cached_B1 - past + torch.arange(past + longest, device=device)
        is_seen = (keys[:, None] >= 0) & (keys[:, None] <= queries[:, :, None])
        hidden = empty.keys.new_tensor(torch.finfo(empty.keys.dtype).min)
        mask = windows.masks(torch.where(is_seen, 0.0, hidden), queries, keys)
    states = model.base_model(
        input_ids=input_ids.to(device), position_ids=queries, attention_mask=mask, past_key_values=buffer.cache, use_cache=True
    ).last_hidden_state
    buffer.end = past + longest
    last = torch.tensor([prompt.new_tokens - 1 for prompt in prompts], device=device)
    logits: Tensor = model.get_output_embeddings()(states[torch.arange(len(prompts), device=device), last])
    return logits, buffer


@contextmanager
def evaluating(model: "PreTrainedModel") -> Iterator[None]:
    """Put the model into evaluation mode inside the block."""
    was_training = model.training
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


def parameter_versions(model: "PreTrainedModel") -> tuple[tuple[int, int], ...]:
    """Return the address and the version counter of each parameter.

    They change when a parameter is replaced or written to in place, but not when it is written to through `parameter.data`.
    """
    return tuple(
        (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)  # noqa: SLF001 - autograd's count of writes
        for parameter in model.parameters()
    )


def attention_windows(model: "PreTrainedModel") -> AttentionWindows:
    """Return the attention windows of a model. Raises ValueError for layers that do not attend over keys and values."""
    config = model.config.get_text_config()
    name = type(model).__name__
    attention = config._attn_implementation  # noqa: SLF001 - transformers has no other name for it
    if attention not in ATTENTIONS:
        raise ValueError(
            f"{name} computes attention by {attention!r}, which takes no mask of numbers; expected one of {ATTENTIONS}"
        )
    window = getattr(config, "sliding_window", None)
    types = getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"]
    windows = {"full_attention": None, "sliding_attention": window}
    if unknown := sorted(set(types) - set(windows)):
        raise ValueError(
            f"{name} has layers of the types {unknown}, of which no keys and values can be kept; expected {list(windows)}"
        )
    return AttentionWindows({layer_type: windows[layer_type] for layer_type in sorted(set(types))})


@torch.inference_mode()
def probe(model: "PreTrainedModel", windows: AttentionWindows) -> KeyValues:
    """Return keys and values of zero tokens, in the model's shapes and dtype.

    Raises ValueError if a prefill in two parts gives other logits than one in a single part.
    """
    name = type(model).__name__
    vocabulary: int = model.config.get_text_config().vocab_size
    ids = tuple(token % vocabulary for token in range(1, _PROBE_TOKENS + 1))
    with evaluating(model):
        cache = DynamicCache()
        expected = model(torch.tensor([ids], device=model.device), past_key_values=cache, use_cache=True).logits[0, -1]
        layers = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in cache.layers]
        shapes = {tuple(None if part is None else part.shape for part in layer) for layer in layers}
        if len(shapes) != 1 or None in next(iter(shapes)):
            raise ValueError(
                f"{name} keeps keys and values of the shapes {sorted(map(str, shapes))}; expected one shape in all layers"
            )
        keys, values = (torch.stack(parts)[:, 0] for parts in zip(*layers, strict=True))
        empty = KeyValues(keys[:, :, :0].clone(), values[:, :, :0].clone())
        half = _PROBE_TOKENS // 2
        prompts = [PrefillPrompt(ids, [KeyValues(keys[:, :, :half], values[:, :, :half])])]
        gap = (prefill(model, windows, empty, prompts)[0][0].float() - expected.float()).abs().max().item()
    allowed = torch.finfo(empty.keys.dtype).eps ** 0.5 * max(1.0, expected.float().abs().max().item())
    if not gap <= allowed:
        raise ValueError(
            f"{name} read in two parts gives logits {gap:.2g} apart from those of one; expected at most {allowed:.2g}"
        )
    return empty
