"""An in-process text generator for any Hugging Face causal language model: token ids in, token ids and log-probabilities out.

Equal prompts are computed once and all their samples decoded as branches of one row (each sees the prompt and itself), so a
group of rollouts that stands before the same page costs one reading of it. Keys and values live for one call only: nothing can
be stale after an update of the weights.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from agents.batches import Ids, sampling_logits


class Generation(NamedTuple):
    """One sampled response."""

    response_ids: Ids  # with the end token, unless the limit came first
    logprobs: tuple[float, ...]  # log p of each under the sampling distribution
    finished: bool  # False: cut at the limit


class _Branches(DynamicLayer):
    """Keys and values of one layer, in a buffer that grows by doubling, so that a new token copies nothing."""

    def __init__(self, keys: Tensor, values: Tensor, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(keys, values)
        self.used = keys.shape[-2]
        self._keys = self._grown(keys, self.used + room)
        self._values = self._grown(values, self.used + room)

    def _grown(self, tensor: Tensor, capacity: int) -> Tensor:
        grown = tensor.new_empty(*tensor.shape[:-2], capacity, tensor.shape[-1])
        grown[:, :, : self.used] = tensor[:, :, : self.used]
        return grown

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append the new states and return all of them."""
        end = self.used + key_states.shape[-2]
        if end > self._keys.shape[-2]:
            self._keys, self._values = self._grown(self._keys, 2 * end), self._grown(self._values, 2 * end)
        self._keys[:, :, self.used : end] = key_states
        self._values[:, :, self.used : end] = value_states
        self.used = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def keep(self, rows: Tensor) -> None:
        """Drop all other rows."""
        self._keys, self._values = self._keys[rows], self._values[rows]

    def get_seq_length(self) -> int:
        return self.used


@dataclass(frozen=True)
class Engine:
    """Samples responses from a model. The model may be trained in between: nothing is kept from call to call."""

    model: PreTrainedModel
    stop_ids: frozenset[int]
    max_new_tokens: int = 64
    temperature: float = 1.0  # 0 takes the likeliest token
    banned_ids: tuple[int, ...] = ()
    max_tokens: int = 16_384  # prompt tokens in one batch, padding included

    @torch.inference_mode()
    def generate(self, prompts: Sequence[Ids], generator: torch.Generator | None = None) -> list[Generation]:
        """Return one response per prompt, in order; equal prompts get independent samples.

        All random numbers are drawn before decoding, one row per prompt, so a response does not depend on how the prompts
        were batched.
        """
        if not prompts:
            return []
        if any(not prompt for prompt in prompts):
            raise ValueError("a prompt has no tokens; expected at least one")
        draws = torch.rand(len(prompts), self.max_new_tokens, generator=generator)
        members: dict[Ids, list[int]] = defaultdict(list)
        for index, prompt in enumerate(prompts):
            members[tuple(prompt)].append(index)
        was_training = self.model.training
        self.model.eval()
        results: dict[int, Generation] = {}
        for chunk in self._chunks(members):
            self._generate_chunk(chunk, draws, results)
        self.model.train(was_training)
        return [results[index] for index in range(len(prompts))]

    def _chunks(self, members: dict[Ids, list[int]]) -> list[list[tuple[Ids, list[int]]]]:
        """Rows of like length and width, at most `max_tokens` prompt tokens a chunk."""
        rows = sorted(members.items(), key=lambda item: (len(item[1]).bit_length(), len(item[0])))
        chunks: list[list[tuple[Ids, list[int]]]] = []
        for row in rows:
            last = chunks[-1] if chunks else None
            like = last is not None and len(last[0][1]).bit_length() == len(row[1]).bit_length()
            if last is not None and like and len(row[0]) * (len(last) + 1) <= self.max_tokens:
                last.append(row)
            else:
                chunks.append([row])
        return chunks

    def _prefill(self, prompts: Sequence[Ids], room: int) -> tuple[Tensor, Any]:
        """Read the prompts. Returns the logits (B, V) behind each one's last token, and the keys and values."""
        device = self.model.device
        lengths = [len(prompt) for prompt in prompts]
        input_ids = torch.zeros(len(prompts), max(lengths), dtype=torch.int64)
        for row, prompt in enumerate(prompts):
            input_ids[row, : len(prompt)] = torch.tensor(prompt)
        cache = DynamicCache()
        hidden = self.model.base_model(input_ids=input_ids.to(device), past_key_values=cache, use_cache=True).last_hidden_state
        last = hidden[torch.arange(len(prompts), device=device), torch.tensor(lengths, device=device) - 1]
        filled: list[Any] = cache.layers
        layers: list[Any] = [_Branches(layer.keys, layer.values, room) for layer in filled]
        return self.model.get_output_embeddings()(last), Cache(layers=layers)

    def _generate_chunk(self, chunk: list[tuple[Ids, list[int]]], draws: Tensor, results: dict[int, Generation]) -> None:
        device = self.model.device
        width = max(len(indices) for _, indices in chunk)
        lengths_B = torch.tensor([len(prompt) for prompt, _ in chunk], device=device)
        longest = int(lengths_B.max())
        first_logits, cache = self._prefill([prompt for prompt, _ in chunk], room=min(self.max_new_tokens, 32) * width)
        # Which sample each branch (row, column) makes; rows with fewer samples than the widest repeat their last.
        owners_BW = torch.tensor([indices + indices[-1:] * (width - len(indices)) for _, indices in chunk])
        draws_BWT = draws[owners_BW].to(device)
        prompt_mask = torch.arange(longest, device=device)[None] < lengths_B[:, None]
        prompt_mask = prompt_mask[:, None, None].expand(-1, 1, width, -1)
        own_mask = torch.eye(width, dtype=torch.bool, device=device)
        mask = prompt_mask
        stop = torch.tensor(sorted(self.stop_ids), device=device)

        logits = first_logits[:, None].expand(-1, width, -1)
        tokens: dict[int, list[int]] = {index: [] for _, indices in chunk for index in indices}
        logprobs: dict[int, list[float]] = {index: [] for index in tokens}
        finished: set[int] = set()
        alive = torch.arange(len(chunk))
        for step in range(self.max_new_tokens):
            picked, picked_logprobs = self._sample(logits, draws_BWT[:, :, step])
            is_stop = torch.isin(picked, stop)
            rows = zip(owners_BW[alive].tolist(), picked.tolist(), picked_logprobs.tolist(), is_stop.tolist(), strict=True)
            open_rows = []
            for row, (owners, row_tokens, row_logprobs, row_stops) in enumerate(rows):
                seen: set[int] = set()
                for owner, token, logprob, stops in zip(owners, row_tokens, row_logprobs, row_stops, strict=True):
                    if owner in finished or owner in seen:
                        continue
                    seen.add(owner)
                    tokens[owner].append(token)
                    logprobs[owner].append(logprob)
                    if stops:
                        finished.add(owner)
                if any(owner not in finished for owner in owners):
                    open_rows.append(row)
            if not open_rows or step + 1 == self.max_new_tokens:
                break
            if len(open_rows) <= len(alive) // 2:
                keep = torch.tensor(open_rows)
                kept = keep.to(device)
                alive, picked, mask, lengths_B, draws_BWT = (
                    alive[keep],
                    picked[kept],
                    mask[kept],
                    lengths_B[kept],
                    draws_BWT[kept],
                )
                for layer in cache.layers:
                    layer.keep(kept)
            mask = torch.cat([mask, own_mask.expand(len(alive), 1, width, width)], dim=-1)
            hidden = self.model.base_model(
                input_ids=picked,
                position_ids=(lengths_B + step)[:, None].expand(-1, width),
                attention_mask=mask,
                past_key_values=cache,
                use_cache=True,
            ).last_hidden_state
            logits = self.model.get_output_embeddings()(hidden)
        for index, ids in tokens.items():
            results[index] = Generation(tuple(ids), tuple(logprobs[index]), index in finished)

    def _sample(self, logits: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Return token ids and their log-probabilities, both of the shape of `draws`, from logits (..., V)."""
        if self.temperature == 0:
            logprobs = sampling_logits(logits, 1.0, self.banned_ids).float().log_softmax(-1)
            best = logprobs.max(-1)
            return best.indices, best.values
        logprobs = sampling_logits(logits, self.temperature, self.banned_ids).float().log_softmax(-1)
        cumulative = logprobs.double().exp().cumsum(-1)
        # Scaled by the total, which rounding leaves a little off 1, so that the draw always falls inside.
        thresholds = draws.double()[..., None] * cumulative[..., -1:]
        picked = torch.searchsorted(cumulative, thresholds, right=True).clamp(max=logits.shape[-1] - 1)
        return picked[..., 0], logprobs.gather(-1, picked)[..., 0]
