"""Samples packed for one forward pass: equal prompts stand once, with their responses as branches behind them.

A row is one prompt followed by its distinct responses. Each branch sees the prompt and itself, and its positions continue the
prompt's, so every token gets exactly the context it was sampled in, at the price of one prompt. Rows with one branch need no
mask beyond the causal one, which is the fast path. Rows are sorted by length, so little is padded.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agents.losses import token_logprobs

Ids = tuple[int, ...]


class Sample(NamedTuple):
    """One step of an episode: what the policy read and what it wrote, in token ids."""

    prompt_ids: Ids
    response_ids: Ids


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for one forward pass. B rows of L tokens; N response tokens, sample after sample.

    `samples` are the indices of the packed samples, in the order of their tokens along N; `lengths` their response lengths.
    The token n is predicted at `input_ids[rows[n], columns[n]]`.
    """

    input_ids: Tensor  # (B, L) int64
    position_ids: Tensor | None  # (B, L) int64; None: 0, 1, 2, ...
    attention_mask: Tensor | None  # (B, 1, L, L) bool, True = may be seen; None: causal
    rows: Tensor  # (N,)
    columns: Tensor  # (N,)
    targets: Tensor  # (N,)
    samples: tuple[int, ...]
    lengths: tuple[int, ...]

    def spread(self, values_S: Sequence[float]) -> Tensor:
        """Return one value per token, shape (N,), from one value per sample of the whole list that was packed."""
        values = torch.tensor([values_S[index] for index in self.samples], dtype=torch.float32)
        return values.repeat_interleave(torch.tensor(self.lengths))


@dataclass(frozen=True, slots=True)
class _Row:
    prompt_ids: Ids
    branches: tuple[Ids, ...]  # distinct responses
    members: tuple[tuple[int, int], ...]  # (index of the sample, index of its branch)

    @property
    def length(self) -> int:
        return len(self.prompt_ids) + sum(len(branch) - 1 for branch in self.branches)


def pack(samples: Sequence[Sample], max_tokens: int, *, pad_id: int = 0) -> list[Batch]:
    """Pack all samples into batches of at most `max_tokens` tokens, padding included (a longer row stands alone)."""
    for index, sample in enumerate(samples):
        if not sample.prompt_ids or not sample.response_ids:
            raise ValueError(f"sample {index} has an empty prompt or response; both need at least one token")
    rows = sorted(_rows(samples), key=lambda row: (len(row.branches) > 1, row.length))
    batches: list[Batch] = []
    chunk: list[_Row] = []
    for row in rows:
        is_new_kind = bool(chunk) and (len(chunk[0].branches) > 1) != (len(row.branches) > 1)
        if chunk and (is_new_kind or row.length * (len(chunk) + 1) > max_tokens):
            batches.append(_batch(chunk, pad_id))
            chunk = []
        chunk.append(row)
    if chunk:
        batches.append(_batch(chunk, pad_id))
    return batches


def repeats(input_ids: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """Return (rows, columns) of the tokens whose next token is foreseeable: the same pair of tokens stood before in the row.

    >>> rows, columns = repeats(torch.tensor([[5, 6, 7, 5, 6, 0]]), pad_id=0)
    >>> columns.tolist()
    [3]
    """
    count = int(input_ids.max()) + 1
    pairs = input_ids[:, :-1] * count + input_ids[:, 1:]
    unlike = -1 - torch.arange(pairs.shape[1], device=pairs.device)
    pairs = torch.where(input_ids[:, 1:] == pad_id, unlike, pairs)
    ordered, places = pairs.sort(dim=1, stable=True)
    again = torch.zeros_like(ordered, dtype=torch.bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    rows, columns = torch.zeros_like(again).scatter(1, places, again).nonzero(as_tuple=True)
    return rows, columns


def batch_hidden(model: PreTrainedModel, batch: Batch) -> Tensor:
    """Return the model's last hidden states, shape (B, L, width)."""
    device = model.device
    hidden: Tensor = model.base_model(
        input_ids=batch.input_ids.to(device),
        position_ids=None if batch.position_ids is None else batch.position_ids.to(device),
        attention_mask=None if batch.attention_mask is None else batch.attention_mask.to(device),
        use_cache=False,
    ).last_hidden_state
    return hidden


def batch_logits(model: PreTrainedModel, batch: Batch) -> Tensor:
    """Return the logits that predict the response tokens, shape (N, vocabulary); no others are computed."""
    hidden = batch_hidden(model, batch)
    picked = hidden[batch.rows.to(hidden.device), batch.columns.to(hidden.device)]
    logits: Tensor = model.get_output_embeddings()(picked)
    return logits


def batch_logprobs(model: PreTrainedModel, batch: Batch, *, temperature: float = 1.0, banned_ids: Sequence[int] = ()) -> Tensor:
    """Return log p of every response token under the distribution that the engine samples from, shape (N,)."""
    logits = sampling_logits(batch_logits(model, batch), temperature, banned_ids)
    return token_logprobs(logits, batch.targets.to(logits.device))


def sampling_logits(logits: Tensor, temperature: float, banned_ids: Sequence[int]) -> Tensor:
    """Return logits (..., vocabulary) with the temperature applied and banned tokens impossible; for sampler and trainer."""
    if temperature != 1.0:
        logits = logits / temperature
    if banned_ids:
        banned = torch.tensor(tuple(banned_ids), device=logits.device)
        logits = logits.index_fill(-1, banned, -torch.inf)
    return logits


def _rows(samples: Sequence[Sample]) -> list[_Row]:
    groups: dict[Ids, list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        groups[sample.prompt_ids].append(index)
    rows = []
    for prompt_ids, indices in groups.items():
        branches: dict[Ids, int] = {}
        members = tuple((index, branches.setdefault(samples[index].response_ids, len(branches))) for index in indices)
        rows.append(_Row(prompt_ids, tuple(branches), members))
    return rows


def _batch(chunk: Sequence[_Row], pad_id: int) -> Batch:
    longest = max(row.length for row in chunk)
    branched = len(chunk[0].branches) > 1
    input_ids = torch.full((len(chunk), longest), pad_id)
    position_ids = torch.zeros_like(input_ids) if branched else None
    mask = torch.ones(len(chunk), 1, longest, longest, dtype=torch.bool).tril() if branched else None
    rows: list[int] = []
    columns: list[int] = []
    targets: list[int] = []
    samples, lengths = [], []
    for number, row in enumerate(chunk):
        prompt_length = len(row.prompt_ids)
        input_ids[number, :prompt_length] = torch.tensor(row.prompt_ids)
        if position_ids is not None:
            position_ids[number, :prompt_length] = torch.arange(prompt_length)
        starts, start = [], prompt_length
        for branch in row.branches:
            end = start + len(branch) - 1
            input_ids[number, start:end] = torch.tensor(branch[:-1], dtype=torch.int64)
            if position_ids is not None and mask is not None:
                position_ids[number, start:end] = torch.arange(prompt_length, prompt_length + end - start)
                mask[number, 0, start:end, prompt_length:start] = False
            starts.append(start)
            start = end
        for sample, branch_index in row.members:
            branch, begin = row.branches[branch_index], starts[branch_index]
            rows += [number] * len(branch)
            columns += [prompt_length - 1, *range(begin, begin + len(branch) - 1)]
            targets += branch
            samples.append(sample)
            lengths.append(len(branch))
    return Batch(
        input_ids,
        position_ids,
        mask,
        torch.tensor(rows),
        torch.tensor(columns),
        torch.tensor(targets),
        tuple(samples),
        tuple(lengths),
    )
