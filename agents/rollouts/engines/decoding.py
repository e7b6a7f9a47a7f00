"""Decode batches: the responses that are decoded together, and the buffers of keys and values that the model attends over."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from agents.data.tokens import Ids
from agents.rollouts.constraints.automaton import State
from agents.rollouts.engines.prefix_cache import KeyValues

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ROOM = 64  # decoding steps that fit into a buffer before it is copied to a larger one


@dataclass(slots=True, eq=False)
class ActiveSequence:
    """One request whose response is being decoded."""

    request_id: int
    prompt_ids: Ids
    draws: list[float]  # one random number from 0 to 1 for each token of the longest response
    state: State | None = None  # of a constrained response, where it has led
    policy_version: int = 0
    response_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def ids(self) -> Ids:
        """The prompt and the response so far."""
        return (*self.prompt_ids, *self.response_ids)


class KVBuffer:
    """Keys and values of several rows of tokens, used by the model as its cache.

    A column holds one token of each row. The next forward pass writes behind column `end` and attends from column `start` on.
    """

    def __init__(self, empty: KeyValues, rows: int, columns: int) -> None:
        self.states = KeyValues(*(self._zeros(part, rows, columns) for part in empty))
        self.rows = rows
        self.start = self.end = 0
        layers: list[Any] = [_Layer(self, *layer) for layer in zip(*(part.unbind() for part in self.states), strict=True)]
        self.cache = Cache(layers=layers)

    def read(self, row: int, start: int, end: int) -> KeyValues:
        """Return the keys and values of a row from column `start` to before column `end`."""
        return KeyValues(*(part[:, row, :, start:end] for part in self.states))

    def write(self, row: int, end: int, states: KeyValues) -> None:
        """Write keys and values into a row; the last token stands in the column before `end`."""
        for part, new in zip(self.states, states, strict=True):
            part[:, row, :, end - new.shape[2] : end] = new

    @staticmethod
    def _zeros(part: Tensor, rows: int, columns: int) -> Tensor:
        # Masked values are still multiplied by 0, and uninitialised memory may hold NaN.
        layers, heads, _, size = part.shape
        return part.new_zeros(layers, rows, heads, columns, size)


class _Layer(DynamicLayer):
    """The cache of one layer: a view of a `KVBuffer`."""

    def __init__(self, buffer: KVBuffer, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(keys, values)
        self._buffer, self._keys, self._values = buffer, keys, values

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append the new keys and values and return all that the model attends over."""
        rows, start, end = self._buffer.rows, self._buffer.start, self._buffer.end
        stop = end + key_states.shape[2]
        self._keys[:rows, :, end:stop] = key_states
        self._values[:rows, :, end:stop] = value_states
        return self._keys[:rows, :, start:stop], self._values[:rows, :, start:stop]

    def get_seq_length(self) -> int:
        return self._buffer.end - self._buffer.start


class AttentionWindows(NamedTuple):
    """The attention window of each layer type of a model, in tokens; None is full attention."""

    by_layer_type: dict[str, int | None]

    @property
    def is_limited(self) -> bool:
        """Whether some layer attends to fewer tokens than all earlier ones."""
        return any(self.by_layer_type.values())

    def masks(self, mask: Tensor, queries: Tensor, keys: Tensor | None) -> Tensor | dict[str, Tensor]:
        """Return a model's attention mask: one for all layers, or a dictionary with one for each layer type.

        `mask` (B, Q, K) is added to the attention scores. `queries` (B, Q) and `keys` (B, K) are positions; those of keys are needed
        for limited windows only.
        """
        masks = {}
        for layer_type, window in self.by_layer_type.items():
            if window is not None and keys is not None:
                outside = queries[:, :, None] - keys[:, None, :] >= window
                masks[layer_type] = mask.masked_fill(outside, torch.finfo(mask.dtype).min)[:, None]
            else:
                masks[layer_type] = mask[:, None]
        return masks if len(masks) > 1 else next(iter(masks.values()))


class DecodeBatch:
    """Sequences that are decoded together, one token of each per step.

    A row holds a prompt and the sequences that continue it. Each sequence attends to the prompt and to its own tokens. All rows end
    at the same column, where the next tokens are written, so rows can join and leave between any two steps.
    """

    def __init__(self, empty: KeyValues, windows: AttentionWindows) -> None:
        self._empty, self._windows = empty, windows
        self._lengths: list[int] = []  # of each row's prompt
        self._starts: list[int] = []  # the first column of each row
        self._slots: list[list[ActiveSequence | None]] = []  # the sequences of each row; all rows have equally many slots
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

    def join(self, newcomers: Sequence[tuple[KeyValues, Sequence[ActiveSequence]]]) -> None:
        """Add rows: the keys and values of all tokens but each sequence's last, and the sequences that continue them."""
        longest = max(states.keys.shape[2] for states, _ in newcomers)
        count, buffer = len(self._slots) + len(newcomers), self._buffer
        widest = max(len(sequences) for _, sequences in newcomers)
        if count > buffer.states.keys.shape[1] or longest > buffer.end or not self._slots:
            self._move(count, max(longest, buffer.end - buffer.start), max(widest, self._mask.shape[1]))
        for states, sequences in newcomers:
            row, length, end = len(self._slots), states.keys.shape[2], self._buffer.end
            self._buffer.write(row, end, states)
            self._mask[row] = self._hidden
            self._mask[row, :, end - length : end] = 0
            if self._windows.is_limited:
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
        last = [len(sequence.prompt_ids) + len(sequence.response_ids) - 1 if sequence else 0 for sequence in slots]
        positions = torch.tensor(last, device=device).view(rows, width)
        self._mask[:rows, :, end:stop].diagonal(dim1=1, dim2=2).zero_()
        if self._windows.is_limited:
            self._positions[:rows, end:stop] = positions
        hidden: Tensor = model.base_model(
            input_ids=input_ids.view(rows, width),
            position_ids=positions,
            attention_mask=self._windows.masks(self._mask[:rows, :, start:stop], positions, self._positions[:rows, start:stop]),
            past_key_values=buffer.cache,
            use_cache=True,
        ).last_hidden_state
        buffer.end = stop
        hidden = hidden.flatten(0, 1)
        taken = [index for index, sequence in enumerate(slots) if sequence]
        return hidden if len(taken) == len(slots) else hidden[torch.tensor(taken, device=device)]

    def leave(self, finished: Sequence[ActiveSequence]) -> None:
        """Remove sequences, and rows without any."""
        gone = set(map(id, finished))
        for row in range(len(self._slots) - 1, -1, -1):
            self._slots[row] = [None if id(sequence) in gone else sequence for sequence in self._slots[row]]
            if not any(self._slots[row]):
                self._drop(row)
        self._compact()

    @property
    def _hidden(self) -> float:
        return torch.finfo(self._mask.dtype).min

    def _drop(self, row: int) -> None:
        """Remove a row by moving the last row to its index."""
        last = len(self._slots) - 1
        if row < last:
            for part in self._buffer.states:
                part[:, row] = part[:, last]
            self._mask[row] = self._mask[last]
            self._positions[row] = self._positions[last]
            self._slots[row], self._starts[row], self._lengths[row] = self._slots[last], self._starts[last], self._lengths[last]
        del self._slots[last], self._starts[last], self._lengths[last]

    def _compact(self) -> None:
        """Give all rows as many slots as the fullest needs, and attend over no more columns than needed."""
        rows, width = len(self._slots), self._mask.shape[1]
        self._buffer.rows = rows
        self._buffer.start = min(self._starts, default=self._buffer.end)
        filled = [[slot for slot, sequence in enumerate(row) if sequence] for row in self._slots]
        widest = max(map(len, filled), default=width)
        if width == widest and all(len(row) == widest for row in self._slots):
            return
        self._slots = [
            [row[slot] for slot in kept] + [None] * (widest - len(kept)) for row, kept in zip(self._slots, filled, strict=True)
        ]
        # All slots of a row that has just joined have the same mask, so any of them will do for a new slot.
        sources = [[min(slot, width - 1) for slot in kept + kept[:1] * (widest - len(kept))] for kept in filled]
        index = torch.tensor(sources, device=self._mask.device)
        mask = self._mask.new_full((self._mask.shape[0], widest, self._mask.shape[2]), self._hidden)
        mask[:rows] = self._mask[torch.arange(rows, device=index.device)[:, None], index]
        self._mask = mask

    def _move(self, rows: int, live: int, width: int) -> None:
        """Copy all rows to a buffer for this many rows, with `live` columns and room for further steps."""
        old, shown = self._buffer, len(self._slots)
        self._buffer = new = KVBuffer(self._empty, rows, live + _ROOM * width)
        new.end = live
        mask = self._mask.new_full((rows, self._mask.shape[1], live + _ROOM * width), self._hidden)
        positions = self._positions.new_zeros(rows, live + _ROOM * width)
        source, target = slice(old.start, old.end), slice(live - (old.end - old.start), live)
        for part, before in zip(new.states, old.states, strict=True):
            part[:, :shown, :, target] = before[:, :shown, :, source]
        mask[:shown, :, target] = self._mask[:shown, :, source]
        positions[:shown, target] = self._positions[:shown, source]
        self._mask, self._positions = mask, positions
        self._starts = [start + live - old.end for start in self._starts]
