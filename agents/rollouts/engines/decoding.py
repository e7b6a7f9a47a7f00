"""Decoding with a cache of keys and values: prefill of the uncached tokens of prompts, and batched decoding of responses."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from agents.data.trajectories import Ids
from agents.models.trees import IMPLEMENTATION
from agents.rollouts.constraints import ConstraintState

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SPARE_STEPS = 64  # decoding steps that a new buffer has space for, before it is copied to a larger one
BLOCK = 16  # number of tokens that are stored and evicted together
ATTENTIONS = ("sdpa", "eager", IMPLEMENTATION)
"""The attention implementations of transformers that add a float mask to the scores."""

_PROBE_TOKENS = 6
_LENGTH_STEP = 32  # oneDNN compiles bfloat16 kernels for each length, in 4 MB, and keeps those of 1,024 shapes


class KeyValues(NamedTuple):
    """The keys and values of n consecutive tokens, in all layers."""

    keys: Tensor  # (layers, heads, n, size)
    values: Tensor  # (layers, heads, n, size); the size may differ from that of keys

    @property
    def token_bytes(self) -> int:
        """The bytes of the keys and values of one token."""
        return sum(part.shape[0] * part.shape[1] * part.shape[3] * part.element_size() for part in self)


class PrefixCache:
    """A least-recently-used cache of keys and values by prefix, of at most `capacity` tokens, in blocks of `BLOCK` tokens.

    The key of a block is its tokens and the number of its predecessor, so equal prefixes are stored once.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[tuple[int, Ids], tuple[int, KeyValues]] = OrderedDict()  # (block number, states)
        self._block_count = 0

    def find(self, ids: Ids) -> tuple[list[KeyValues], tuple[int, Ids] | None]:
        """Return the keys and values of the longest cached prefix, block by block, and the key of the first missing block.

        The last token is never taken from the cache, since a forward pass over it computes the logits after the prompt. The key is
        None if no whole block is missing, or if the capacity is too small for the missing one.
        """
        keys: list[tuple[int, Ids]] = []
        missing, parent = None, 0
        for start in range(0, len(ids) - BLOCK, BLOCK):
            key = (parent, ids[start : start + BLOCK])
            block = self._blocks.get(key)
            if block is None:
                missing = key if start + BLOCK <= self._capacity else None
                break
            keys.append(key)
            parent = block[0]
        self._touch(keys)
        return [self._blocks[key][1] for key in keys], missing

    def add(self, ids: Ids, states: KeyValues) -> None:
        """Store the keys and values of a prompt, as many whole blocks as the capacity allows."""
        keys: list[tuple[int, Ids]] = []
        parent = 0
        for start in range(0, min(len(ids), self._capacity) - BLOCK + 1, BLOCK):
            key = (parent, ids[start : start + BLOCK])
            block = self._blocks.get(key)
            if block is None:
                self._block_count += 1
                # A copy, since a view would keep the memory of the whole prompt allocated.
                copy = KeyValues(*(part[:, :, start : start + BLOCK].clone() for part in states))
                block = self._blocks[key] = (self._block_count, copy)
            keys.append(key)
            parent = block[0]
        self._touch(keys)
        while len(self._blocks) * BLOCK > self._capacity:
            self._blocks.popitem(last=False)

    def clear(self) -> None:
        """Remove all blocks."""
        self._blocks.clear()

    def __len__(self) -> int:
        """Return the number of cached tokens."""
        return len(self._blocks) * BLOCK

    def _touch(self, keys: Sequence[tuple[int, Ids]]) -> None:
        # In reverse, so that a block is evicted before its predecessor, without which it cannot be found.
        for key in reversed(keys):
            self._blocks.move_to_end(key)


@dataclass(slots=True, eq=False)
class ActiveSequence:
    """One request whose response is being decoded."""

    request_id: int
    prompt_ids: Ids
    draws: list[float]  # one random number from 0 to 1 for each token of the longest response
    state: ConstraintState | None = None  # state of the constraint, if the response is constrained
    policy_version: int = 0
    response_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def ids(self) -> Ids:
        """The prompt and the response so far."""
        return (*self.prompt_ids, *self.response_ids)


class KVBuffer:
    """Keys and values of several rows of tokens, used by the model as its cache.

    A column holds one token of each row. The next forward pass attends to the columns from `start` to before `end`, and writes its new
    columns at `end`.
    """

    def __init__(self, empty: KeyValues, rows: int, columns: int) -> None:
        # Zeros, since attention multiplies masked values by 0, and uninitialised memory may contain NaN.
        sizes = [(part.shape[0], rows, part.shape[1], columns, part.shape[3]) for part in empty]
        self.states = KeyValues(*(part.new_zeros(size) for part, size in zip(empty, sizes, strict=True)))
        self.rows = rows
        self.start = self.end = 0
        layers: list[Any] = [_BufferLayer(self, *layer) for layer in zip(*(part.unbind() for part in self.states), strict=True)]
        self.cache = Cache(layers=layers)

    def read(self, row: int, start: int, end: int) -> KeyValues:
        """Return the keys and values of a row from column `start` to before column `end`."""
        return KeyValues(*(part[:, row, :, start:end] for part in self.states))

    def write(self, row: int, end: int, states: KeyValues) -> None:
        """Write keys and values into a row, so that the last token is in the column before `end`."""
        for part, new in zip(self.states, states, strict=True):
            part[:, row, :, end - new.shape[2] : end] = new


class _BufferLayer(DynamicLayer):
    """The cache of one layer: a view of a `KVBuffer`."""

    def __init__(self, buffer: KVBuffer, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(keys, values)
        self._buffer, self._keys, self._values = buffer, keys, values

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Append the new keys and values, and return all keys and values that the model attends to."""
        rows, start, end = self._buffer.rows, self._buffer.start, self._buffer.end
        stop = end + key_states.shape[2]
        self._keys[:rows, :, end:stop] = key_states
        self._values[:rows, :, end:stop] = value_states
        return self._keys[:rows, :, start:stop], self._values[:rows, :, start:stop]

    def get_seq_length(self) -> int:
        return self._buffer.end - self._buffer.start


AttentionWindows = dict[str, int | None]
"""The attention window of each layer type of a model, in tokens; None is full attention."""


def window_masks(windows: AttentionWindows, mask: Tensor, queries: Tensor, keys: Tensor | None) -> Tensor | dict[str, Tensor]:
    """Return a model's attention mask: one for all layers, or a dictionary with one for each layer type.

    `mask` (B, Q, K) is added to the attention scores. `queries` (B, Q) and `keys` (B, K) are positions. `keys` may be None if all layers
    have full attention.
    """
    masks = {}
    for layer_type, window in windows.items():
        if window is not None and keys is not None:
            outside = queries[:, :, None] - keys[:, None, :] >= window
            masks[layer_type] = mask.masked_fill(outside, torch.finfo(mask.dtype).min)[:, None]
        else:
            masks[layer_type] = mask[:, None]
    return masks if len(masks) > 1 else next(iter(masks.values()))


class DecodeBatch:
    """Sequences that are decoded together, one token of each per step.

    A row holds a prompt and the sequences that continue it. Each sequence attends to the prompt and to its own tokens. All rows end
    at the same column, where the next tokens are written, so rows can be added and removed between any two steps.
    """

    def __init__(self, empty: KeyValues, windows: AttentionWindows) -> None:
        self._empty, self._windows = empty, windows
        self._lengths: list[int] = []  # length of each row's prompt
        self._starts: list[int] = []  # the first column of each row
        self._slots: list[list[ActiveSequence | None]] = []  # sequences of each row; all rows have the same number of slots
        self._buffer = KVBuffer(empty, 0, 0)
        self._mask = empty.keys.new_zeros(0, 1, 0)  # (rows, width, columns), added to the scores
        self._positions = torch.zeros(0, 0, dtype=torch.int64, device=empty.keys.device)  # (rows, columns) of keys

    @property
    def sequences(self) -> list[ActiveSequence]:
        """The sequences of the batch, in the order of their logits."""
        return [sequence for row in self._slots for sequence in row if sequence is not None]

    @property
    def tokens(self) -> int:
        """The number of prompt tokens in the buffer."""
        return sum(self._lengths)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._lengths)

    @property
    def longest(self) -> int:
        """The number of tokens of the longest prompt; shorter rows are padded to it."""
        return max(self._lengths, default=0)

    def add_rows(self, new_rows: Sequence[tuple[KeyValues, Sequence[ActiveSequence]]]) -> None:
        """Add rows, each with sequences of a common prefix, and the keys and values of all their tokens except the last."""
        longest = max(states.keys.shape[2] for states, _ in new_rows)
        count, buffer = len(self._slots) + len(new_rows), self._buffer
        widest = max(len(sequences) for _, sequences in new_rows)
        if count > buffer.states.keys.shape[1] or longest > buffer.end or not self._slots:
            self._move(count, max(longest, buffer.end - buffer.start), max(widest, self._mask.shape[1]))
        for states, sequences in new_rows:
            row, length, end = len(self._slots), states.keys.shape[2], self._buffer.end
            self._buffer.write(row, end, states)
            self._mask[row] = torch.finfo(self._mask.dtype).min
            self._mask[row, :, end - length : end] = 0
            if any(self._windows.values()):
                self._positions[row, end - length : end] = torch.arange(length, device=self._positions.device)
            self._slots.append(list(sequences))
            self._lengths.append(length)
            self._starts.append(end - length)
        self._compact()

    def step(self, model: "PreTrainedModel") -> Tensor:
        """Run the model on the last token of each sequence and return its hidden states, shape (sequences, size)."""
        buffer, width, device = self._buffer, len(self._slots[0]), self._mask.device
        if buffer.end + width > buffer.states.keys.shape[3]:
            self._move(len(self._slots), buffer.end - buffer.start, width)
            buffer = self._buffer
        rows, start, end, stop = len(self._slots), buffer.start, buffer.end, buffer.end + width
        slots = [sequence for row in self._slots for sequence in row]
        input_ids = torch.tensor([sequence.response_ids[-1] if sequence else 0 for sequence in slots], device=device)
        newest_positions = [len(sequence.prompt_ids) + len(sequence.response_ids) - 1 if sequence else 0 for sequence in slots]
        positions = torch.tensor(newest_positions, device=device).view(rows, width)
        self._mask[:rows, :, end:stop].diagonal(dim1=1, dim2=2).zero_()
        if any(self._windows.values()):
            self._positions[:rows, end:stop] = positions
        hidden: Tensor = model.base_model(
            input_ids=input_ids.view(rows, width),
            position_ids=positions,
            attention_mask=window_masks(
                self._windows, self._mask[:rows, :, start:stop], positions, self._positions[:rows, start:stop]
            ),
            use_cache=True,
            **{_cache_keyword(type(model.base_model).forward): buffer.cache},
        ).last_hidden_state
        buffer.end = stop
        hidden = hidden.flatten(0, 1)
        active = [index for index, sequence in enumerate(slots) if sequence]
        return hidden if len(active) == len(slots) else hidden[torch.tensor(active, device=device)]

    def remove_sequences(self, finished: Sequence[ActiveSequence]) -> None:
        """Remove sequences, and rows without sequences."""
        finished_ids = set(map(id, finished))
        for row in range(len(self._slots) - 1, -1, -1):
            self._slots[row] = [None if id(sequence) in finished_ids else sequence for sequence in self._slots[row]]
            if not any(self._slots[row]):  # the last row replaces it
                last = len(self._slots) - 1
                if row < last:
                    for part in self._buffer.states:
                        part[:, row] = part[:, last]
                    self._mask[row] = self._mask[last]
                    self._positions[row] = self._positions[last]
                    self._slots[row], self._starts[row] = self._slots[last], self._starts[last]
                    self._lengths[row] = self._lengths[last]
                del self._slots[last], self._starts[last], self._lengths[last]
        self._compact()

    def _compact(self) -> None:
        """Reduce the slots of all rows to the number in the fullest row, and the attended columns to the longest row."""
        rows, width = len(self._slots), self._mask.shape[1]
        self._buffer.rows = rows
        self._buffer.start = min(self._starts, default=self._buffer.end)
        occupied_slots = [[slot for slot, sequence in enumerate(row) if sequence] for row in self._slots]
        widest = max(map(len, occupied_slots), default=width)
        if width == widest and all(len(row) == widest for row in self._slots):
            return
        self._slots = [
            [row[slot] for slot in occupied] + [None] * (widest - len(occupied))
            for row, occupied in zip(self._slots, occupied_slots, strict=True)
        ]
        # All slots of a new row have the same mask, so the mask of any slot is valid for an added slot.
        sources = [
            [min(slot, width - 1) for slot in occupied + occupied[:1] * (widest - len(occupied))] for occupied in occupied_slots
        ]
        index = torch.tensor(sources, device=self._mask.device)
        mask = self._mask.new_full((self._mask.shape[0], widest, self._mask.shape[2]), torch.finfo(self._mask.dtype).min)
        mask[:rows] = self._mask[torch.arange(rows, device=index.device)[:, None], index]
        self._mask = mask

    def _move(self, rows: int, live_columns: int, width: int) -> None:
        """Copy all rows to a new buffer with `rows` rows, `live_columns` columns, and space for further steps."""
        old, old_rows = self._buffer, len(self._slots)
        self._buffer = new = KVBuffer(self._empty, rows, live_columns + _SPARE_STEPS * width)
        new.end = live_columns
        mask = self._mask.new_full(
            (rows, self._mask.shape[1], live_columns + _SPARE_STEPS * width), torch.finfo(self._mask.dtype).min
        )
        positions = self._positions.new_zeros(rows, live_columns + _SPARE_STEPS * width)
        source, target = slice(old.start, old.end), slice(live_columns - (old.end - old.start), live_columns)
        for part, old_part in zip(new.states, old.states, strict=True):
            part[:, :old_rows, :, target] = old_part[:, :old_rows, :, source]
        mask[:old_rows, :, target] = self._mask[:old_rows, :, source]
        positions[:old_rows, target] = self._positions[:old_rows, source]
        self._mask, self._positions = mask, positions
        self._starts = [start + live_columns - old.end for start in self._starts]


class PrefillPrompt(NamedTuple):
    """A prompt, and the cached keys and values of its prefix."""

    ids: Ids
    cached: Sequence[KeyValues]  # block by block

    @property
    def cached_tokens(self) -> int:
        """The number of tokens whose keys and values are cached."""
        return sum(block.keys.shape[2] for block in self.cached)

    @property
    def new_tokens(self) -> int:
        """The number of tokens that the forward pass computes."""
        return len(self.ids) - self.cached_tokens


def prefill(
    model: "PreTrainedModel", windows: AttentionWindows, empty: KeyValues, prompts: Sequence[PrefillPrompt]
) -> tuple[Tensor, KVBuffer]:
    """Run the model on the new tokens of B prompts. Return the last hidden state (B, width) of each, and all keys and values."""
    device = empty.keys.device
    past, longest = max(prompt.cached_tokens for prompt in prompts), max(prompt.new_tokens for prompt in prompts)
    last_position = max(len(prompt.ids) for prompt in prompts) - 1
    if torch.is_autocast_enabled(device.type):
        longest = -(-longest // _LENGTH_STEP) * _LENGTH_STEP
    buffer = KVBuffer(empty, len(prompts), past + longest)
    input_ids = torch.zeros(len(prompts), longest, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        input_ids[row, : prompt.new_tokens] = torch.tensor(prompt.ids[prompt.cached_tokens :])
        if prompt.cached:
            buffer.write(row, past, KeyValues(*(torch.cat(parts, dim=2) for parts in zip(*prompt.cached, strict=True))))
    buffer.end = past
    cached_B1 = torch.tensor([[prompt.cached_tokens] for prompt in prompts], device=device)
    queries = (cached_B1 + torch.arange(longest, device=device)).clamp(max=last_position)
    mask = None
    if past:
        keys = cached_B1 - past + torch.arange(past + longest, device=device)
        is_visible = (keys[:, None] >= 0) & (keys[:, None] <= queries[:, :, None])
        masked = empty.keys.new_tensor(torch.finfo(empty.keys.dtype).min)
        mask = window_masks(windows, torch.where(is_visible, 0.0, masked), queries, keys)
    states = model.base_model(
        input_ids=input_ids.to(device),
        position_ids=queries,
        attention_mask=mask,
        use_cache=True,
        **{_cache_keyword(type(model.base_model).forward): buffer.cache},
    ).last_hidden_state
    buffer.end = past + longest
    last_indices = torch.tensor([prompt.new_tokens - 1 for prompt in prompts], device=device)
    return states[torch.arange(len(prompts), device=device), last_indices], buffer


@cache
def _cache_keyword(forward: Callable[..., Any]) -> str:
    """Return the name of the parameter of a model's `forward` method that takes the cache.

    transformers 5.24 renamed `past_key_values` to `cache`. Older models accept any keyword, so a call with the wrong name would run
    without a cache.
    """
    return "cache" if "cache" in signature(forward).parameters else "past_key_values"


@contextmanager
def eval_mode(model: "PreTrainedModel") -> Iterator[None]:
    """Set the model to evaluation mode within the block."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def parameter_versions(model: "PreTrainedModel") -> tuple[tuple[int, int], ...]:
    """Return the memory address and the version counter of each parameter.

    They change when a parameter is replaced or modified in place, but not when it is modified through `parameter.data`.
    """
    return tuple(
        (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)  # noqa: SLF001 - autograd's count of writes
        for parameter in model.parameters()
    )


def attention_windows(model: "PreTrainedModel") -> AttentionWindows:
    """Return the attention windows of a model. Raises ValueError if a layer does not attend to keys and values with a float mask."""
    config = model.config.get_text_config()
    name = type(model).__name__
    attention = config._attn_implementation  # noqa: SLF001 - transformers has no other name for it
    if attention not in ATTENTIONS:
        raise ValueError(f"{name} computes attention with {attention!r}, without a float mask; expected one of {ATTENTIONS}")
    window = getattr(config, "sliding_window", None)
    types = getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"]
    windows = {"full_attention": None, "sliding_attention": window}
    if unknown := sorted(set(types) - set(windows)):
        raise ValueError(f"{name} has layers of the types {unknown}, without keys and values; expected {list(windows)}")
    return {layer_type: windows[layer_type] for layer_type in sorted(set(types))}


@torch.inference_mode()
def probe_model(model: "PreTrainedModel", windows: AttentionWindows) -> KeyValues:
    """Test decoding with a model, and return empty keys and values (0 tokens) in the model's shapes and dtype.

    Raises ValueError if the logits of a prefill in two parts or of a decoding step differ from those of one pass over all tokens.
    """
    name = type(model).__name__
    vocabulary: int = model.config.get_text_config().vocab_size
    # Ids of ordinary words. With control tokens, the first ids of a vocabulary, rounding can change logits by 0.04 (SmolLM2).
    ids = tuple(vocabulary * part // (_PROBE_TOKENS + 1) for part in range(1, _PROBE_TOKENS + 1))
    with eval_mode(model):
        cache = DynamicCache()
        arguments: dict[str, Any] = {_cache_keyword(type(model).forward): cache, "use_cache": True}
        expected = model(torch.tensor([ids], device=model.device), **arguments).logits[0, -1]
        layers = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in cache.layers]
        shapes = {tuple(None if part is None else part.shape for part in layer) for layer in layers}
        if len(shapes) != 1 or None in next(iter(shapes)):
            raise ValueError(f"{name} has keys and values of the shapes {sorted(map(str, shapes))}; expected one shape")
        keys, values = (torch.stack(parts)[:, 0] for parts in zip(*layers, strict=True))
        empty = KeyValues(keys[:, :, :0].clone(), values[:, :, :0].clone())
        half = _PROBE_TOKENS // 2
        prompts = [PrefillPrompt(ids, [KeyValues(keys[:, :, :half], values[:, :, :half])])]
        head = model.get_output_embeddings()
        prefilled = head(prefill(model, windows, empty, prompts)[0])[0]
        _, buffer = prefill(model, windows, empty, [PrefillPrompt(ids[:-1], [])])
        batch = DecodeBatch(empty, windows)
        batch.add_rows([(buffer.read(0, 0, len(ids) - 1), [ActiveSequence(0, ids[:-1], [], response_ids=[ids[-1]])])])
        decoded = head(batch.step(model))[0]
    tolerance = torch.finfo(empty.keys.dtype).eps ** 0.5 * max(1.0, expected.float().abs().max().item())
    for method, logits in (("a prefill in two parts", prefilled), ("a decoding step", decoded)):
        difference = (logits.float() - expected.float()).abs().max().item()
        if not difference <= tolerance:
            raise ValueError(
                f"with {name}, the logits of {method} differ by {difference:.2g} from those of one pass; expected at most {tolerance:.2g}"
            )
    return empty
