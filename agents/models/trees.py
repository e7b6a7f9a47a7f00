"""Prefix trees: several token sequences merged into one that holds each common prefix once, and the attention mask of this tree.

Sequences in lexicographic order are the leaves of their trie from left to right, so each sequence adds to the tree only the tokens
after the prefix that it shares with its predecessor. The tokens are then in depth-first order, and the subtree of token k is
the range k ... end[k]. Token q attends to token k if and only if

    k <= q < end[k],

and its position is its depth. Sequences without a common first token form separate trees side by side.

Attention is computed in blocks of queries. A block [a, b) needs the keys k < a with end[k] > a, which are the ancestors of its first
token, and its own tokens; all other pairs are skipped. This is exact and needs no padding. It computes the pairs of the tree and for
each token at most a block's width more. On GPUs, FlexAttention skips the same pairs; see `block_mask`.

Related work: Tree Training (arXiv 2511.00413) trains agents' trajectories as trees in depth-first order; PrefixGrouper
(arXiv 2506.05433) computes one prompt once for all its responses. Like this module, both replace the model's attention, so that one
backward pass sums all gradients of a shared token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask
    from transformers import PreTrainedModel

Integers = NDArray[numpy.int64]

BLOCK = 128
"""Queries in a block: large enough for efficient matrix products, small enough to skip most pairs outside a branch."""
IMPLEMENTATION = "sdpa_or_tree"


class Tree(NamedTuple):
    """The L tokens of a prefix tree in depth-first order. Arrays are int64."""

    ids: Integers  # (L,)
    depths: Integers  # (L,): the position of each token in its sequences
    ends: Integers  # (L,): the index after the subtree of each token
    starts: tuple[int, ...]  # the index of the first token that each sequence adds
    paths: tuple[Integers, ...]  # the indices of each sequence's tokens


@dataclass(frozen=True, slots=True)
class AttentionBlocks:
    """The attention of a tree as blocks of queries over parts of the keys."""

    queries: tuple[int, ...]  # number of queries in each block
    keys: tuple[int, ...]  # number of keys in each part
    # For each block: indices of the parts that it attends to, and the mask (queries, keys), True = attend.
    blocks: tuple[tuple[tuple[int, ...], Tensor], ...]


def common_prefix_length(first: Integers, second: Integers) -> int:
    """Return the length of the common prefix of two sequences.

    >>> common_prefix_length(numpy.array([1, 2, 3]), numpy.array([1, 2, 4, 5]))
    2
    """
    length = min(len(first), len(second))
    differences = numpy.flatnonzero(first[:length] != second[:length])
    return int(differences[0]) if len(differences) else length


def build_tree(sequences: Sequence[Integers]) -> Tree:
    """Return the prefix tree of sequences, which must be in lexicographic order.

    >>> tree = build_tree([numpy.array(ids) for ids in ([1, 2, 3], [1, 2, 4], [1, 5])])
    >>> tree.ids.tolist(), tree.depths.tolist(), tree.ends.tolist()
    ([1, 2, 3, 4, 5], [0, 1, 2, 2, 1], [5, 4, 3, 4, 5])
    """
    paths: list[Integers] = []
    starts: list[int] = []
    prefix_lengths: list[int] = []  # for each sequence, the length of the prefix that it shares with its predecessor
    length = 0
    for index, sequence in enumerate(sequences):
        prefix = common_prefix_length(sequences[index - 1], sequence) if index else 0
        new_positions = numpy.arange(length, length + len(sequence) - prefix)
        paths.append(numpy.concatenate([paths[-1][:prefix], new_positions]) if index else new_positions)
        prefix_lengths.append(prefix)
        starts.append(length)
        length += len(new_positions)
    ends = numpy.full(length, length)
    for path, start, prefix in zip(paths, starts[1:], prefix_lengths[1:], strict=False):
        ends[path[prefix:]] = start
    ids = numpy.concatenate([sequence[prefix:] for sequence, prefix in zip(sequences, prefix_lengths, strict=True)])
    depths = numpy.concatenate(
        [numpy.arange(prefix, len(item)) for item, prefix in zip(sequences, prefix_lengths, strict=True)]
    )
    return Tree(ids, depths, ends, tuple(starts), tuple(paths))


def block_bounds(tree: Tree, width: int = BLOCK) -> list[int]:
    """Return the start index of each block of queries, followed by the length of the tree. A block has at most `width` tokens.

    Blocks start at the start of a sequence if possible. A block across two sequences computes pairs that the second does not need.

    >>> block_bounds(build_tree([numpy.array(ids) for ids in ([1, 2, 3], [1, 2, 4], [5])]), width=4)
    [0, 4, 5]
    """
    bounds = [0]
    for start, end in zip(tree.starts, (*tree.starts[1:], len(tree.ids)), strict=True):
        if end - bounds[-1] <= width:
            continue
        if start > bounds[-1]:
            bounds.append(start)
        pieces = -(-(end - start) // width)
        bounds += [start + (end - start) * piece // pieces for piece in range(1, pieces)]
    return [*bounds, len(tree.ids)]


def count_pairs(tree: Tree, width: int = BLOCK) -> int:
    """Return the number of pairs of query and key that the blocks of a tree compute."""
    bounds = block_bounds(tree, width)
    return sum((b - a) * (int((tree.ends[:a] > a).sum()) + b - a) for a, b in pairwise(bounds))


def attention_blocks(tree: Tree, width: int = BLOCK, device: torch.device | None = None) -> AttentionBlocks:
    """Return the blocks of a tree, with their masks on the device.

    The keys are split at the start of each block, and at the start and end of each block's runs of ancestors.
    """
    bounds = block_bounds(tree, width)
    block_ranges = list(pairwise(bounds))
    boundaries = set(bounds)
    for a, _ in block_ranges:
        is_ancestor = numpy.concatenate([[False], tree.ends[:a] > a, [False]])
        boundaries.update(numpy.flatnonzero(is_ancestor[1:] != is_ancestor[:-1]).tolist())
    part_bounds = numpy.array(sorted(boundaries))
    part_starts = part_bounds[:-1]
    blocks = []
    for a, b in block_ranges:
        block_parts = numpy.flatnonzero(
            ((part_starts < a) & (tree.ends[part_starts] > a)) | ((part_starts >= a) & (part_starts < b))
        )
        keys = numpy.concatenate([numpy.arange(part_bounds[part], part_bounds[part + 1]) for part in block_parts])
        queries = numpy.arange(a, b)[:, None]
        mask = (keys <= queries) & (queries < tree.ends[keys])
        blocks.append((tuple(block_parts.tolist()), torch.from_numpy(mask).to(device)))
    return AttentionBlocks(tuple(numpy.diff(bounds).tolist()), tuple(numpy.diff(part_bounds).tolist()), tuple(blocks))


def block_mask(ends: Tensor) -> "BlockMask":
    """Return FlexAttention's mask of a tree from `ends`, the index after each token's subtree, shape (L,), on the device of `ends`.

    A block of queries [a, b) needs a block of keys if some key is before b and its subtree ends after a. The block of pairs is full if
    every subtree ends at b or later. Computing this takes L integers instead of an L x L mask.
    """
    length, size = len(ends), BLOCK
    count = -(-length // size)
    padded = torch.nn.functional.pad(ends, (0, count * size - length)).view(count, size)
    index = torch.arange(count, device=ends.device)
    last = (size * (index + 1)).clamp(max=length)
    earlier = index[None, :] < index[:, None]
    reached = padded.amax(1)[None, :] > (size * index)[:, None]
    full = earlier & (padded.amin(1)[None, :] >= last[:, None])
    partial = (earlier & reached & ~full) | (index[None, :] == index[:, None])

    def is_attended(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) & (query < ends[key])

    from torch.nn.attention.flex_attention import BlockMask  # noqa: PLC0415 - see `tree_inputs`

    return BlockMask.from_kv_blocks(
        *_key_block_indices(partial),
        *_key_block_indices(full),
        BLOCK_SIZE=size,
        mask_mod=is_attended,
        seq_lengths=(length, length),
    )


def unsupported_reason(model: "PreTrainedModel") -> str:
    """Return the reason why a model does not support trees, or an empty string if it does."""
    config = model.config.get_text_config()
    implementation = config._attn_implementation  # noqa: SLF001 - transformers has no other name for it
    kinds = set(getattr(config, "layer_types", None) or ())
    if not model._supports_attention_backend or not hasattr(config, "num_attention_heads"):  # noqa: SLF001 - as above
        return f"the attention of {type(model).__name__} cannot be replaced"
    if kinds - {"full_attention"} or (not kinds and getattr(config, "sliding_window", None)):
        return f"{type(model).__name__} has layers other than full attention: {', '.join(sorted(kinds)) or 'sliding windows'}"
    if implementation not in ("sdpa", "flex_attention", IMPLEMENTATION):
        return f"its attention implementation is {implementation!r}; expected 'sdpa' or 'flex_attention'"
    return ""


def tree_inputs(model: "PreTrainedModel", tree: Tree, *, flex: bool | None = None) -> dict[str, Any]:
    """Return the keyword arguments of a model's forward pass on a tree, in addition to ids and positions.

    Sets the model's attention implementation to one that computes trees and uses torch's SDPA for any other input. The attention mask
    of a tree is an integer tensor, which SDPA rejects: a model that does not pass `tree` on to its attention raises an error instead
    of computing wrong values.

    Args:
        model: The model that runs the forward pass.
        tree: The prefix tree.
        flex: Whether to use FlexAttention, which torch compiles for GPUs. The default is True on GPUs. A model that was loaded with
            FlexAttention always uses it.

    Raises:
        ValueError: The model does not support trees.

    """
    if reason := unsupported_reason(model):
        raise ValueError(f"this model does not support trees: {reason}")
    ends = torch.from_numpy(tree.ends).to(model.device)
    if model.config._attn_implementation == "flex_attention":  # noqa: SLF001 - transformers has no other name for it
        return {"attention_mask": block_mask(ends)}
    from transformers import AttentionInterface, AttentionMaskInterface  # noqa: PLC0415 - its import takes seconds
    from transformers.masking_utils import sdpa_mask  # noqa: PLC0415

    AttentionInterface.register(IMPLEMENTATION, _attend)
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
    # It is not reset, because with gradient checkpointing the backward pass runs the layers again.
    model.set_attn_implementation(IMPLEMENTATION)
    use_flex = model.device.type == "cuda" if flex is None else flex
    return {
        "attention_mask": ends[None, None, None],
        "tree": block_mask(ends) if use_flex else attention_blocks(tree, device=model.device),
    }


def _attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """Return a layer's attention output: by blocks for a tree, with heads of shape (1, heads, L, size), and by torch's SDPA otherwise."""
    from torch.nn.attention.flex_attention import BlockMask  # noqa: PLC0415 - see `tree_inputs`

    blocks: AttentionBlocks | BlockMask | None = options.pop("tree", None)
    if isinstance(blocks, BlockMask):
        from transformers.integrations.flex_attention import flex_attention_forward  # noqa: PLC0415

        return flex_attention_forward(module, query, key, value, blocks, **options)
    if blocks is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: PLC0415

        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    device = query.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else query.dtype
    if device == "cpu" and dtype == torch.bfloat16 and not options.get("dropout"):
        return _attend_on_cpu(query.to(dtype), key.to(dtype), value.to(dtype), blocks, options["scaling"]), None
    if groups := query.shape[1] // key.shape[1] - 1:
        key, value = (tensor.repeat_interleave(groups + 1, dim=1) for tensor in (key, value))
    # Keys are split once for all blocks, so that the backward pass sums each part's gradients once.
    keys, values = key.split(blocks.keys, dim=2), value.split(blocks.keys, dim=2)
    parts = [
        scaled_dot_product_attention(
            block_query, torch.cat([keys[part] for part in needed], dim=2),
            torch.cat([values[part] for part in needed], dim=2), attn_mask=mask, dropout_p=options.get("dropout", 0.0),
            scale=options.get("scaling"),
        )
        for block_query, (needed, mask) in zip(query.split(blocks.queries, dim=2), blocks.blocks, strict=True)
    ]  # fmt: skip
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _attend_on_cpu(query: Tensor, key: Tensor, value: Tensor, blocks: AttentionBlocks, scale: float) -> Tensor:
    """Return the attention output of a tree, shape (1, L, heads, size), from batched matrix products.

    The query heads that share a key head are the rows of one product, so keys and values are not repeated.
    """
    _, heads, _, size = query.shape
    key_heads = key.shape[1]
    keys, values = key[0].split(blocks.keys, dim=1), value[0].split(blocks.keys, dim=1)
    parts = []
    for block_query, (needed, mask) in zip(query[0].split(blocks.queries, dim=1), blocks.blocks, strict=True):
        bias = torch.zeros(mask.shape, dtype=query.dtype).masked_fill_(~mask, float("-inf"))
        output: Tensor = _BlockAttention.apply(  # type: ignore[no-untyped-call]
            block_query.reshape(key_heads, -1, size), torch.cat([keys[part] for part in needed], dim=1),
            torch.cat([values[part] for part in needed], dim=1), bias.repeat(heads // key_heads, 1)[None], scale,
        )  # fmt: skip
        parts.append(output.view(heads, -1, size))
    return torch.cat(parts, dim=1).transpose(0, 1)[None].contiguous()


class _BlockAttention(torch.autograd.Function):
    """Attention of a block of queries: softmax(scale * query @ key^T + bias) @ value.

    It saves the attention weights. On CPUs, torch's SDPA recomputes them in the backward pass, which in bfloat16 takes five times as long
    as the forward pass. Shapes: query (H, Q, size), key and value (H, K, size), bias (1, Q, K).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, scale: float) -> Tensor:
        weights = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=scale).softmax(-1)
        ctx.save_for_backward(query, key, value, weights)
        ctx.scale = scale
        return weights @ value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        (output_gradient,) = gradients
        query, key, value, weights = ctx.saved_tensors
        weight_gradient = output_gradient @ value.transpose(1, 2)
        score_gradient = torch._softmax_backward_data(weight_gradient, weights, -1, weights.dtype).mul_(ctx.scale)  # noqa: SLF001 - public in C++
        return (
            score_gradient @ key,
            score_gradient.transpose(1, 2) @ query,
            weights.transpose(1, 2) @ output_gradient,
            None,
            None,
        )


def _key_block_indices(is_needed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of key blocks that each query block needs, and all key block indices, needed ones first.

    Shapes are (1, 1, rows) and (1, 1, rows, columns).
    """
    counts = is_needed.sum(1, dtype=torch.int32)
    indices = is_needed.int().argsort(dim=1, descending=True, stable=True).int()
    return counts[None, None], indices[None, None].contiguous()
