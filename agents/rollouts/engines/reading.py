"""What an engine asks of a Hugging Face model: what its layers see, whether it can be read in parts, and to read prompts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from agents.data.tokens import Ids
from agents.models.trees import IMPLEMENTATION
from agents.rollouts.engines.prefixes import States, joined
from agents.rollouts.engines.tables import Columns, Sight

ATTENTIONS = ("sdpa", "eager", IMPLEMENTATION)
"""The implementations of attention in transformers that add a mask to the scores."""

_PROBE_TOKENS = 6


class Unread(NamedTuple):
    """A prompt to be read, but for its beginning."""

    ids: Ids
    known: Sequence[States]  # of the blocks at its beginning

    @property
    def known_tokens(self) -> int:
        """The number of tokens whose states are known."""
        return sum(block.keys.shape[2] for block in self.known)

    @property
    def new_tokens(self) -> int:
        """The number of tokens to be read."""
        return len(self.ids) - self.known_tokens


def read(model: PreTrainedModel, sight: Sight, like: States, wave: Sequence[Unread]) -> tuple[Tensor, Columns]:
    """Read what is new of each prompt. Returns the logits (B, V) behind its last token, and all its keys and values."""
    device = like.keys.device
    past, longest = max(prompt.known_tokens for prompt in wave), max(prompt.new_tokens for prompt in wave)
    columns = Columns(like, len(wave), past + longest)
    input_ids = torch.zeros(len(wave), longest, dtype=torch.int64)
    for row, prompt in enumerate(wave):
        input_ids[row, : prompt.new_tokens] = torch.tensor(prompt.ids[prompt.known_tokens :])
        if prompt.known:
            columns.write(row, past, joined(prompt.known))
    columns.end = past
    known_B1 = torch.tensor([[prompt.known_tokens] for prompt in wave], device=device)
    queries = known_B1 + torch.arange(longest, device=device)
    mask = None
    if past:
        keys = known_B1 - past + torch.arange(past + longest, device=device)
        is_seen = (keys[:, None] >= 0) & (keys[:, None] <= queries[:, :, None])
        hidden = like.keys.new_tensor(torch.finfo(like.keys.dtype).min)
        mask = sight.masks(torch.where(is_seen, 0.0, hidden), queries, keys)
    states = model.base_model(
        input_ids=input_ids.to(device), position_ids=queries, attention_mask=mask, past_key_values=columns.cache, use_cache=True
    ).last_hidden_state
    columns.end = past + longest
    last = torch.tensor([prompt.new_tokens - 1 for prompt in wave], device=device)
    logits: Tensor = model.get_output_embeddings()(states[torch.arange(len(wave), device=device), last])
    return logits, columns


@contextmanager
def evaluating(model: PreTrainedModel) -> Iterator[None]:
    """Keep the model out of training for as long as the block runs."""
    was_training = model.training
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


def weights_of(model: PreTrainedModel) -> tuple[tuple[int, int], ...]:
    """Return what changes when a weight is replaced, or written to other than behind autograd's back (`weight.data`)."""
    return tuple(
        (weight.data_ptr(), 0 if weight.is_inference() else weight._version)  # noqa: SLF001 - autograd's count of writes
        for weight in model.parameters()
    )


def sight_of(model: PreTrainedModel) -> Sight:
    """Return how far the layers of a model see. Raises ValueError where they do not attend over keys and values."""
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
            f"{name} has layers of the kinds {unknown}, of which no keys and values can be kept; expected {list(windows)}"
        )
    return Sight({kind: windows[kind] for kind in sorted(set(types))})


@torch.inference_mode()
def probe(model: PreTrainedModel, sight: Sight) -> States:
    """Return states of no tokens, which tell shapes. Raises ValueError if the model, read in parts, says something else."""
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
        like = States(keys[:, :, :0].clone(), values[:, :, :0].clone())
        half = _PROBE_TOKENS // 2
        wave = [Unread(ids, [States(keys[:, :, :half], values[:, :, :half])])]
        gap = (read(model, sight, like, wave)[0][0].float() - expected.float()).abs().max().item()
    allowed = torch.finfo(like.keys.dtype).eps ** 0.5 * max(1.0, expected.float().abs().max().item())
    if not gap <= allowed:
        raise ValueError(
            f"{name} read in two parts gives logits {gap:.2g} apart from those of one; expected at most {allowed:.2g}"
        )
    return like
