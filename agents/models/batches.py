"""Batches of samples for forward passes, packed as padded rows or as prefix trees, which compute shared tokens once.

Steps of one episode share the compressed history, and rollouts of one group share their first pages. A tree (`agents.models.trees`)
gives each token exactly the context it was sampled in and computes shared prefixes once, forward and backward. Losses and gradients
are the same for both packings. Rows are sorted by length to reduce padding.

The cheaper packing is the one with fewer multiplications in the forward pass (see `Costs`). The backward pass needs twice as many in
either packing, so the comparison is also valid for training.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy
import torch
from torch import Tensor

from agents.data.trajectories import Ids, Sample
from agents.models.trees import Integers, Tree, build_tree, common_prefix_length, count_pairs, tree_inputs, unsupported_reason

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_MAX_COLUMNS = 0.25  # largest fraction of the vocabulary whose logits are computed separately
Sharing = Literal["auto", "rows", "tree"]


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Tokens for one forward pass: B rows of L tokens, or one tree of L tokens in a single row.

    The N response tokens are ordered by sample. `samples` are the indices of the packed samples in that order, and `lengths` their
    response lengths. The model's output is needed at P positions: `input_ids[rows[predictors[n]], columns[predictors[n]]]` predicts
    token n, whose id is `targets[n]`.
    """

    input_ids: Tensor  # (B, L) int64
    rows: Tensor  # (P,)
    columns: Tensor  # (P,)
    predictors: Tensor  # (N,)
    targets: Tensor  # (N,)
    samples: tuple[int, ...]
    lengths: tuple[int, ...]
    tree: Tree | None = None
    allowed: tuple[
        tuple[int, Tensor], ...
    ] = ()  # (index into P, allowed token ids); positions that are not listed allow all tokens


class Costs(NamedTuple):
    """Multiplications of a forward pass: per token, and per pair of query and key."""

    token: float = 1.0
    pair: float = 0.0

    @classmethod
    def for_model(cls, model: "PreTrainedModel") -> "Costs":
        """Return the costs of a model: the number of its layers' parameters per token, and 2 x layers x width of heads per pair.

        Embeddings are excluded because they are looked up; the head is excluded because it is computed for response tokens only. In a
        mixture of experts all experts are included, although a token uses few of them.
        """
        config = model.config.get_text_config()
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        embeddings = sum(parameter.numel() for parameter in model.get_input_embeddings().parameters())
        parameters = sum(parameter.numel() for parameter in model.base_model.parameters())
        return cls(parameters - embeddings, 2 * config.num_hidden_layers * heads * size)


def pack(
    samples: Sequence[Sample], max_tokens: int, *, pad_id: int = 0, sharing: Sharing = "auto",
    model: "PreTrainedModel | None" = None,
) -> list[PackedBatch]:  # fmt: skip
    """Pack all samples into batches for forward passes.

    Args:
        samples: Prompts and responses, as token ids.
        max_tokens: Largest number of tokens in a batch, including padding. A longer sample gets its own batch.
        pad_id: Token id of the padding in rows.
        sharing: "tree" packs prefix trees, "rows" packs padded rows, and "auto" selects the cheaper packing for each batch. A tree of T
            tokens and A pairs costs T * token + A * pair; rows of l tokens cost the sum of l * token + l (l + 1) / 2 * pair, without
            padding. With "auto", a model that does not support trees gets rows.
        model: The model that the batches are for. Without a model, costs are counted in tokens only.

    Returns:
        The batches. Each sample is in exactly one of them.

    Raises:
        ValueError: A prompt or response is empty, or `sharing` is "tree" and the model does not support trees.

    """
    for index, sample in enumerate(samples):
        if not sample.prompt_ids or not sample.response_ids:
            raise ValueError(f"sample {index} has an empty prompt or response; both need at least one token")
    if sharing == "tree" and model is not None and (reason := unsupported_reason(model)):
        raise ValueError(f"sharing is 'tree', but {reason}; expected 'auto' or 'rows'")
    if sharing == "rows" or (model is not None and unsupported_reason(model)):
        return _pack_rows(samples, range(len(samples)), max_tokens, pad_id)
    costs = Costs() if model is None else Costs.for_model(model)
    batches, row_indices = [], []
    for chunk, sequences in _tree_chunks(samples, max_tokens):
        tree, lengths = build_tree(sequences), list(map(len, sequences))
        rows_cost = sum(length * costs.token + length * (length + 1) / 2 * costs.pair for length in lengths)
        if sharing == "tree" or len(tree.ids) * costs.token + count_pairs(tree) * costs.pair < rows_cost:
            batches.append(_tree_batch(samples, chunk, tree))
        else:
            row_indices += chunk
    return batches + _pack_rows(samples, row_indices, max_tokens, pad_id)


def find_repeats(input_ids: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """Return (rows, columns) of the tokens whose next token is a repetition: the same pair of tokens occurs earlier in the row.

    `input_ids` has shape (B, L); the two results have one entry per such token. Pairs that end in padding are ignored.

    >>> rows, columns = find_repeats(torch.tensor([[5, 6, 7, 5, 6, 0]]), pad_id=0)
    >>> columns.tolist()
    [3]
    """
    count = int(input_ids.max()) + 1
    pairs = input_ids[:, :-1] * count + input_ids[:, 1:]
    distinct = -1 - torch.arange(pairs.shape[1], device=pairs.device)
    pairs = torch.where(input_ids[:, 1:] == pad_id, distinct, pairs)
    ordered, predictors = pairs.sort(dim=1, stable=True)
    is_repeated = torch.zeros_like(ordered, dtype=torch.bool)
    is_repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    rows, columns = torch.zeros_like(is_repeated).scatter(1, predictors, is_repeated).nonzero(as_tuple=True)
    return rows, columns


def autocast(model: "PreTrainedModel", dtype: str) -> torch.autocast:
    """Return a context manager that runs the model's forward passes in `dtype`, for example "bfloat16".

    Warns if `dtype` is bfloat16 on a CPU on which PyTorch has no fast matrix products of this type.
    """
    if dtype == "bfloat16" and model.device.type == "cpu" and not has_fast_bfloat16():
        warnings.warn(
            "this CPU has no instructions for bfloat16: products of large matrices take 7 times as long as in float32 or longer; use --dtype float32",
            stacklevel=1,  # one place, so that it is printed once
        )
    return torch.autocast(model.device.type, getattr(torch, dtype), enabled=dtype != "float32")


def has_fast_bfloat16() -> bool:
    """Return True if oneDNN multiplies bfloat16 matrices on this CPU, or if this build of PyTorch lacks the check.

    oneDNN needs AVX-512 on x86, and the BF16 extension on ARM.
    """
    is_supported: Callable[[], bool] | None = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return is_supported is None or is_supported()


def batch_hidden(model: "PreTrainedModel", batch: PackedBatch) -> Tensor:
    """Return the model's last hidden states, shape (B, L, width)."""
    inputs = {"input_ids": batch.input_ids.to(model.device)}
    if batch.tree is not None:
        inputs["position_ids"] = torch.from_numpy(batch.tree.depths)[None].to(model.device)
        inputs |= tree_inputs(model, batch.tree)
    hidden: Tensor = model.base_model(**inputs, use_cache=False).last_hidden_state
    return hidden


def batch_logprobs(
    model: "PreTrainedModel", batch: PackedBatch, *, temperature: float = 1.0, hidden: Tensor | None = None
) -> Tensor:
    """Return the log-probability of every response token under the distribution that the engine samples from, shape (N,).

    `hidden` are the last hidden states (B, L, width) of the batch, if they are computed already.
    """
    hidden = batch_hidden(model, batch) if hidden is None else hidden
    device = hidden.device
    states, targets = hidden[batch.rows.to(device), batch.columns.to(device)], batch.targets
    logits, columns = head_logits(model.get_output_embeddings(), states, batch.allowed)
    if columns is not None:
        targets = torch.searchsorted(columns, targets)
    if temperature != 1.0:
        logits = logits / temperature
    logprobs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    return logprobs[batch.predictors.to(device), targets.to(device)]


def head_logits(
    head: torch.nn.Module, states_NW: Tensor, allowed: Sequence[tuple[int, Tensor]]
) -> tuple[Tensor, Tensor | None]:
    """Return the logits of N hidden states, disallowed tokens as minus infinity, and the token ids of their columns.

    `allowed` is that of `mask_disallowed`. If it lists all rows and few tokens, the logits of all other tokens are not computed, which
    would take most of the time of a decoding step with a vocabulary of 262,000. Otherwise the columns are the vocabulary, and the ids None.
    """
    if allowed and len(allowed) == len(states_NW) and type(head) is torch.nn.Linear:
        columns = torch.cat([tokens for _, tokens in allowed]).unique()
        if len(columns) <= _MAX_COLUMNS * head.out_features:
            ids = columns.to(states_NW.device)
            logits = torch.nn.functional.linear(states_NW, head.weight[ids], None if head.bias is None else head.bias[ids])
            return mask_disallowed(logits, [(row, torch.searchsorted(columns, tokens)) for row, tokens in allowed]), columns
    logits = head(states_NW)
    return (mask_disallowed(logits, allowed) if allowed else logits), None


def mask_disallowed(logits_NV: Tensor, allowed: Sequence[tuple[int, Tensor]]) -> Tensor:
    """Return the logits with disallowed tokens set to minus infinity.

    `allowed` lists pairs of a row and its allowed token ids. Rows that it does not list are unchanged.
    """
    rows = torch.tensor([row for row, _ in allowed])
    counts = torch.tensor([len(tokens) for _, tokens in allowed])
    is_excluded = torch.zeros(logits_NV.shape, dtype=torch.bool)
    is_excluded[rows] = True
    is_excluded[rows.repeat_interleave(counts), torch.cat([tokens for _, tokens in allowed])] = False
    return logits_NV.masked_fill(is_excluded.to(logits_NV.device), float("-inf"))


def _input_sequence(sample: Sample) -> Ids:
    return sample.prompt_ids + sample.response_ids[:-1]  # the last token is only predicted


def _tree_chunks(samples: Sequence[Sample], max_tokens: int) -> Iterator[tuple[list[int], list[Integers]]]:
    """Yield the indices and input sequences of samples, in lexicographic order, whose tree has at most `max_tokens` tokens."""
    inputs = [_input_sequence(sample) for sample in samples]
    chunk: list[int] = []
    sequences: list[Integers] = []
    tokens = 0
    for index in sorted(range(len(samples)), key=inputs.__getitem__):
        sequence = numpy.array(inputs[index], dtype=numpy.int64)
        new_tokens = len(sequence) - (common_prefix_length(sequences[-1], sequence) if sequences else 0)
        if chunk and tokens + new_tokens > max_tokens:
            yield chunk, sequences
            chunk, sequences, tokens, new_tokens = [], [], 0, len(sequence)
        chunk.append(index)
        sequences.append(sequence)
        tokens += new_tokens
    if chunk:
        yield chunk, sequences


def _tree_batch(samples: Sequence[Sample], chunk: Sequence[int], tree: Tree) -> PackedBatch:
    predictor_paths = [path[len(samples[index].prompt_ids) - 1 :] for index, path in zip(chunk, tree.paths, strict=True)]
    columns, predictors = numpy.unique(numpy.concatenate(predictor_paths), return_inverse=True)
    return PackedBatch(
        input_ids=torch.from_numpy(tree.ids)[None], rows=torch.zeros(len(columns), dtype=torch.int64),
        columns=torch.from_numpy(columns), predictors=torch.from_numpy(predictors),
        targets=torch.tensor([token for index in chunk for token in samples[index].response_ids]), samples=tuple(chunk),
        lengths=tuple(len(samples[index].response_ids) for index in chunk), tree=tree,
    )  # fmt: skip


def _pack_rows(samples: Sequence[Sample], indices: Sequence[int], max_tokens: int, pad_id: int) -> list[PackedBatch]:
    """Pack the samples at `indices` as rows of similar length."""
    batches: list[PackedBatch] = []
    chunk: list[int] = []
    for index in sorted(indices, key=lambda index: len(_input_sequence(samples[index]))):
        if chunk and len(_input_sequence(samples[index])) * (len(chunk) + 1) > max_tokens:
            batches.append(_rows_batch(samples, chunk, pad_id))
            chunk = []
        chunk.append(index)
    return [*batches, _rows_batch(samples, chunk, pad_id)] if chunk else batches


def _rows_batch(samples: Sequence[Sample], chunk: Sequence[int], pad_id: int) -> PackedBatch:
    chunk_samples = [samples[index] for index in chunk]
    sequences = [torch.tensor(_input_sequence(sample)) for sample in chunk_samples]
    lengths = [len(sample.response_ids) for sample in chunk_samples]
    return PackedBatch(
        input_ids=torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=pad_id),
        rows=torch.arange(len(chunk)).repeat_interleave(torch.tensor(lengths)),
        columns=torch.cat([torch.arange(len(sample.prompt_ids) - 1, len(_input_sequence(sample))) for sample in chunk_samples]),
        predictors=torch.arange(sum(lengths)),
        targets=torch.tensor([token for sample in chunk_samples for token in sample.response_ids]),
        samples=tuple(chunk),
        lengths=tuple(lengths),
    )
