"""Trees of token prefixes: what sequences have in common stands once, and one integer a token says who may see it.

Sequences in lexicographic order are the leaves of their trie from left to right, so each one adds to a tree only what it does not
share with its predecessor. The tokens then stand in depth-first order, and the subtree of the token k is the range k ... end[k].
The token q has the token k in its context if and only if

    k <= q < end[k],

and its position is its depth. Several trees may stand side by side: sequences without a common first token share nothing.

Attention goes over blocks of queries. A block [a, b) needs the keys k < a with end[k] > a, which are the ancestors of its first
token, and its own tokens; all other pairs are skipped. That is exact, needs no padding, and costs what the tree has of pairs and
at most a block's width more for each token. GPUs skip the same pairs with FlexAttention, see `block_mask`.

Related work: Tree Training (arXiv 2511.00413) trains agents' trajectories as trees in depth-first order; PrefixGrouper
(arXiv 2506.05433) shares one prompt among its responses. Both change the model's attention as is done here, so that every
gradient of a shared token is summed in one backward pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.flex_attention import flex_attention_forward
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

Integers = NDArray[numpy.int64]

BLOCK = 128
"""Queries in a block: wide enough to keep a matrix product busy, narrow enough to skip what a branch does not see."""
IMPLEMENTATION = "sdpa_or_tree"


class Tree(NamedTuple):
    """Sequences of token ids as one, in depth-first order; L tokens. Arrays of int64."""

    ids: Integers  # (L,)
    depths: Integers  # (L,): the position of each token in its sequences
    ends: Integers  # (L,): where the subtree of each token ends
    starts: tuple[int, ...]  # where the own tokens of each sequence begin
    paths: tuple[Integers, ...]  # of each sequence, where its tokens stand


class Block(NamedTuple):
    """Queries that attend together, and the parts of the keys that they need."""

    parts: tuple[int, ...]
    mask: Tensor  # (queries, keys) bool, True = may be seen


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the attention of a tree is computed: in blocks of queries, over parts of the keys."""

    queries: tuple[int, ...]  # the width of each block
    keys: tuple[int, ...]  # the width of each part
    blocks: tuple[Block, ...]

    def to(self, device: torch.device) -> "Blocks":
        """Return the blocks with their masks on the device."""
        return Blocks(self.queries, self.keys, tuple(block._replace(mask=block.mask.to(device)) for block in self.blocks))


def common(first: Integers, second: Integers) -> int:
    """Return how many tokens two sequences have in common at their beginning.

    >>> common(numpy.array([1, 2, 3]), numpy.array([1, 2, 4, 5]))
    2
    """
    length = min(len(first), len(second))
    unlike = numpy.flatnonzero(first[:length] != second[:length])
    return int(unlike[0]) if len(unlike) else length


def grow(sequences: Sequence[Integers]) -> Tree:
    """Return the tree of sequences, which must be in lexicographic order; equal ones stand once.

    >>> tree = grow([numpy.array(ids) for ids in ([1, 2, 3], [1, 2, 4], [1, 5])])
    >>> tree.ids.tolist(), tree.depths.tolist(), tree.ends.tolist()
    ([1, 2, 3, 4, 5], [0, 1, 2, 2, 1], [5, 4, 3, 4, 5])
    """
    paths: list[Integers] = []
    starts: list[int] = []
    shares: list[int] = []
    length = 0
    for number, sequence in enumerate(sequences):
        share = common(sequences[number - 1], sequence) if number else 0
        own = numpy.arange(length, length + len(sequence) - share)
        paths.append(numpy.concatenate([paths[-1][:share], own]) if number else own)
        shares.append(share)
        starts.append(length)
        length += len(own)
    ends = numpy.full(length, length)
    for path, start, share in zip(paths, starts[1:], shares[1:], strict=False):
        ends[path[share:]] = start
    ids = numpy.concatenate([sequence[share:] for sequence, share in zip(sequences, shares, strict=True)])
    depths = numpy.concatenate([numpy.arange(share, len(item)) for item, share in zip(sequences, shares, strict=True)])
    return Tree(ids, depths, ends, tuple(starts), tuple(paths))


def cut(tree: Tree, width: int = BLOCK) -> list[int]:
    """Return where the blocks of queries begin, and the length at the end. A block is `width` tokens wide at most.

    Cuts fall between sequences where they can: a block across two of them makes the second wait for keys it does not see.

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


def blocks_of(tree: Tree, width: int = BLOCK) -> Blocks:
    """Return the blocks of a tree. Keys are parted where blocks begin and wherever a block's ancestors begin or end."""
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
        blocks.append(Block(tuple(needed.tolist()), torch.from_numpy(mask)))
    return Blocks(tuple(numpy.diff(cuts).tolist()), tuple(numpy.diff(bounds).tolist()), tuple(blocks))


def block_mask(ends: Tensor) -> BlockMask:
    """Return FlexAttention's mask of a tree from the end of each token's subtree, shape (L,), on the device of `ends`.

    The block of queries [a, b) needs a block of keys if one of these is no later than b - 1 and its subtree reaches past a; all
    pairs of the two may be seen if every subtree reaches to b. So L integers tell, and no L x L mask is made.
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

    return BlockMask.from_kv_blocks(
        *_listed(partial), *_listed(whole), BLOCK_SIZE=size, mask_mod=is_seen, seq_lengths=(length, length)
    )


def why_not(model: PreTrainedModel) -> str:
    """Return why a model cannot be trained on trees, or an empty text if it can."""
    config = model.config.get_text_config()
    implementation = config._attn_implementation  # noqa: SLF001 - transformers has no other name for it
    kinds = set(getattr(config, "layer_types", None) or ())
    if not model._supports_attention_backend or not hasattr(config, "num_attention_heads"):  # noqa: SLF001 - as above
        return f"the attention of {type(model).__name__} cannot be exchanged"
    if kinds - {"full_attention"} or (not kinds and getattr(config, "sliding_window", None)):
        return f"{type(model).__name__} has layers other than full attention: {', '.join(sorted(kinds)) or 'sliding windows'}"
    if implementation not in ("sdpa", "flex_attention", IMPLEMENTATION):
        return f"its attention implementation is {implementation!r}; expected 'sdpa' or 'flex_attention'"
    return ""


def tree_inputs(model: PreTrainedModel, tree: Tree, *, flex: bool | None = None) -> dict[str, Any]:
    """Return what a model's forward pass needs beside the ids and positions to read a tree.

    `flex` computes the attention with FlexAttention, which torch compiles for GPUs; it is used there unless told otherwise, and
    by models that were loaded with it. Other models go on with torch's SDPA for all plain input. For a tree they get an integer
    mask, which no other attention takes: a model that would not hand on the tree fails.

    Raises ValueError for a model that cannot read trees.
    """
    if reason := why_not(model):
        raise ValueError(f"this model cannot read trees: {reason}")
    ends = torch.from_numpy(tree.ends).to(model.device)
    if model.config._attn_implementation == "flex_attention":  # noqa: SLF001 - transformers has no other name for it
        return {"attention_mask": block_mask(ends)}
    AttentionInterface.register(IMPLEMENTATION, _attend)
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
    # It stays, as layers that are checkpointed run once more in the backward pass.
    model.set_attn_implementation(IMPLEMENTATION)
    use_flex = model.device.type == "cuda" if flex is None else flex
    return {
        "attention_mask": ends[None, None, None],
        "tree": block_mask(ends) if use_flex else blocks_of(tree).to(model.device),
    }


def _attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """The attention of a layer: torch's SDPA, or for a tree over heads of shape (1, heads, L, size) that of its blocks."""
    blocks: Blocks | BlockMask | None = options.pop("tree", None)
    if isinstance(blocks, BlockMask):
        return flex_attention_forward(module, query, key, value, blocks, **options)
    if blocks is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    if groups := query.shape[1] // key.shape[1] - 1:
        key, value = (tensor.repeat_interleave(groups + 1, dim=1) for tensor in (key, value))
    # One split and many concatenations: backward, each part's gradients are summed once, and no key is written twice.
    keys, values = key.split(blocks.keys, dim=2), value.split(blocks.keys, dim=2)
    parts = [
        scaled_dot_product_attention(
            block_query,
            torch.cat([keys[part] for part in block.parts], dim=2),
            torch.cat([values[part] for part in block.parts], dim=2),
            attn_mask=block.mask,
            dropout_p=options.get("dropout", 0.0),
            scale=options.get("scaling"),
        )
        for block_query, block in zip(query.split(blocks.queries, dim=2), blocks.blocks, strict=True)
    ]
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _listed(is_needed: Tensor) -> tuple[Tensor, Tensor]:
    """How many key blocks each query block needs, and which, those first; shapes (1, 1, rows), (1, 1, rows, columns)."""
    counts = is_needed.sum(1, dtype=torch.int32)
    indices = is_needed.int().argsort(dim=1, descending=True, stable=True).int()
    return counts[None, None], indices[None, None].contiguous()
