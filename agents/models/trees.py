"""Prefix trees: several token sequences as one, in which common prefixes occur once, and the attention mask of such a tree.

Sequences in lexicographic order are the leaves of their trie from left to right, so each sequence adds to the tree only the tokens
after the prefix that it has in common with its predecessor. The tokens are then in depth-first order, and the subtree of token k is
the range k ... end[k]. Token q attends to token k if and only if

    k <= q < end[k],

and its position is its depth. Sequences without a common first token form separate trees side by side.

Attention is computed in blocks of queries. A block [a, b) needs the keys k < a with end[k] > a, which are the ancestors of its first
token, and its own tokens; all other pairs are skipped. This is exact and needs no padding. It computes the pairs of the tree and for
each token at most a block's width more. On GPUs, FlexAttention skips the same pairs; see `block_mask`.

Related work: Tree Training (arXiv 2511.00413) trains agents' trajectories as trees in depth-first order; PrefixGrouper
(arXiv 2506.05433) computes one prompt once for all its responses. Both replace the model's attention, as here, so that one backward
pass sums all gradients of a shared token.
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
class Blocks:
    """The attention of a tree as blocks of queries over parts of the keys."""

    queries: tuple[int, ...]  # the width of each block
    keys: tuple[int, ...]  # the width of each part
    blocks: tuple[
        tuple[tuple[int, ...], Tensor], ...
    ]  # of each: the parts that it attends to, and the mask (queries, keys), True = attend


def common(first: Integers, second: Integers) -> int:
    """Return the length of the common prefix of two sequences.

    >>> common(numpy.array([1, 2, 3]), numpy.array([1, 2, 4, 5]))
    2
    """
    length = min(len(first), len(second))
    unlike = numpy.flatnonzero(first[:length] != second[:length])
    return int(unlike[0]) if len(unlike) else length


def grow(sequences: Sequence[Integers]) -> Tree:
    """Return the prefix tree of sequences, which must be in lexicographic order.

    >>> tree = grow([numpy.array(ids) for ids in ([1, 2, 3], [1, 2, 4], [1, 5])])
    >>> tree.ids.tolist(), tree.depths.tolist(), tree.ends.tolist()
    ([1, 2, 3, 4, 5], [0, 1, 2, 2, 1], [5, 4, 3, 4, 5])
    """
    paths: list[Integers] = []
    starts: list[int] = []
    prefixes: list[int] = []  # of each sequence, the tokens that its predecessor has too
    length = 0
    for number, sequence in enumerate(sequences):
        prefix = common(sequences[number - 1], sequence) if number else 0
        own = numpy.arange(length, length + len(sequence) - prefix)
        paths.append(numpy.concatenate([paths[-1][:prefix], own]) if number else own)
        prefixes.append(prefix)
        starts.append(length)
        length += len(own)
    ends = numpy.full(length, length)
    for path, start, prefix in zip(paths, starts[1:], prefixes[1:], strict=False):
        ends[path[prefix:]] = start
    ids = numpy.concatenate([sequence[prefix:] for sequence, prefix in zip(sequences, prefixes, strict=True)])
    depths = numpy.concatenate([numpy.arange(prefix, len(item)) for item, prefix in zip(sequences, prefixes, strict=True)])
    return Tree(ids, depths, ends, tuple(starts), tuple(paths))


def cut(tree: Tree, width: int = BLOCK) -> list[int]:
    """Return the indices at which blocks of queries begin, and the length of the tree. A block has at most `width` tokens.

    Blocks begin at sequences where possible, since a block across two of them computes pairs that the second does not need.

    >>> cut(grow([numpy.array(ids) for ids in ([1, 2, 3], [1, 2, 4], [5])]), width=4)
    [0, 4, 5]
    """
    cuts = [0]
    for start, end in zip(tree.starts, (*tree.starts[1:], len(tree.ids)), strict=True):
        if end - cuts[-1] <= width:
            continue
        if start > cuts[-1]:
            cuts.append(start)
        pieces = -(-(end - start) // width)
        cuts += [start + (end - start) * piece // pieces for piece in range(1, pieces)]
    return [*cuts, len(tree.ids)]


def pairs(tree: Tree, width: int = BLOCK) -> int:
    """Return how many pairs of query and key the blocks of a tree compute."""
    cuts = cut(tree, width)
    return sum((b - a) * (int((tree.ends[:a] > a).sum()) + b - a) for a, b in pairwise(cuts))


def blocks_of(tree: Tree, width: int = BLOCK, device: torch.device | None = None) -> Blocks:
    """Return the blocks of a tree, with their masks on the device. The keys are split where blocks begin and where a block's ancestors begin or end."""
    cuts = cut(tree, width)
    spans = list(pairwise(cuts))
    edges = set(cuts)
    for a, _ in spans:
        seen = numpy.concatenate([[False], tree.ends[:a] > a, [False]])
        edges.update(numpy.flatnonzero(seen[1:] != seen[:-1]).tolist())
    bounds = numpy.array(sorted(edges))
    first = bounds[:-1]
    blocks = []
    for a, b in spans:
        needed = numpy.flatnonzero(((first < a) & (tree.ends[first] > a)) | ((first >= a) & (first < b)))
        keys = numpy.concatenate([numpy.arange(bounds[part], bounds[part + 1]) for part in needed])
        queries = numpy.arange(a, b)[:, None]
        mask = (keys <= queries) & (queries < tree.ends[keys])
        blocks.append((tuple(needed.tolist()), torch.from_numpy(mask).to(device)))
    return Blocks(tuple(numpy.diff(cuts).tolist()), tuple(numpy.diff(bounds).tolist()), tuple(blocks))


def block_mask(ends: Tensor) -> "BlockMask":
    """Return FlexAttention's mask of a tree from `ends`, the index after each token's subtree, shape (L,), on the device of `ends`.

    A block of queries [a, b) needs a block of keys if some key is before b and its subtree reaches past a. All pairs of the two are
    attended to if every subtree reaches to b. So L integers are enough, and no L x L mask is made.
    """
    length, size = len(ends), BLOCK
    count = -(-length // size)
    padded = torch.nn.functional.pad(ends, (0, count * size - length)).view(count, size)
    number = torch.arange(count, device=ends.device)
    last = (size * (number + 1)).clamp(max=length)
    earlier = number[None, :] < number[:, None]
    reached = padded.amax(1)[None, :] > (size * number)[:, None]
    whole = earlier & (padded.amin(1)[None, :] >= last[:, None])
    partial = (earlier & reached & ~whole) | (number[None, :] == number[:, None])

    def is_seen(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) & (query < ends[key])

    from torch.nn.attention.flex_attention import BlockMask  # noqa: PLC0415 - see `tree_inputs`

    return BlockMask.from_kv_blocks(
        *_listed(partial), *_listed(whole), BLOCK_SIZE=size, mask_mod=is_seen, seq_lengths=(length, length)
    )


def why_not(model: "PreTrainedModel") -> str:
    """Return why a model does not support trees, or an empty text if it does."""
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
    """Return the arguments of a model's forward pass on a tree, beside ids and positions.

    `flex` selects FlexAttention, which torch compiles for GPUs; it is the default on GPUs and for models that were loaded with it.
    Other models keep torch's SDPA for input without a tree. For a tree they get an integer mask, which SDPA refuses, so a model that
    does not pass the tree on to its attention fails.

    Raises ValueError for a model that does not support trees.
    """
    if reason := why_not(model):
        raise ValueError(f"this model does not support trees: {reason}")
    ends = torch.from_numpy(tree.ends).to(model.device)
    if model.config._attn_implementation == "flex_attention":  # noqa: SLF001 - transformers has no other name for it
        return {"attention_mask": block_mask(ends)}
    from transformers import AttentionInterface, AttentionMaskInterface  # noqa: PLC0415 - it takes seconds, which a refused option does not need
    from transformers.masking_utils import sdpa_mask  # noqa: PLC0415

    AttentionInterface.register(IMPLEMENTATION, _attend)
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
    # It is not reset, because with gradient checkpointing the layers run once more in the backward pass.
    model.set_attn_implementation(IMPLEMENTATION)
    use_flex = model.device.type == "cuda" if flex is None else flex
    return {
        "attention_mask": ends[None, None, None],
        "tree": block_mask(ends) if use_flex else blocks_of(tree, device=model.device),
    }


def _attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """Return a layer's attention: torch's SDPA, or for a tree, with heads of shape (1, heads, L, size), that of its blocks."""
    from torch.nn.attention.flex_attention import BlockMask  # noqa: PLC0415 - see `tree_inputs`

    blocks: Blocks | BlockMask | None = options.pop("tree", None)
    if isinstance(blocks, BlockMask):
        from transformers.integrations.flex_attention import flex_attention_forward  # noqa: PLC0415

        return flex_attention_forward(module, query, key, value, blocks, **options)
    if blocks is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: PLC0415

        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    if groups := query.shape[1] // key.shape[1] - 1:
        key, value = (tensor.repeat_interleave(groups + 1, dim=1) for tensor in (key, value))
    # Splitting once lets the backward pass sum each part's gradients once.
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


def _listed(is_needed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of key blocks that each query block needs, and their indices first; shapes (1, 1, rows), (1, 1, rows, columns)."""
    counts = is_needed.sum(1, dtype=torch.int32)
    indices = is_needed.int().argsort(dim=1, descending=True, stable=True).int()
    return counts[None, None], indices[None, None].contiguous()
