"""Tables of keys and values that a Hugging Face model writes to and attends over, and the responses that are decoded in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from agents.data.tokens import Ids
from agents.rollouts.engines.prefixes import States

_ROOM = 64  # steps that a table has room for before it is copied to a larger one


@dataclass(slots=True, eq=False)
class Draft:
    """A response under way."""

    ticket: int
    prompt_ids: Ids
    draws: list[float]  # one random number for each token that may come
    policy_version: int = 0
    response_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def ids(self) -> Ids:
        """All tokens so far."""
        return (*self.prompt_ids, *self.response_ids)


class Columns:
    """Keys and values of rows of tokens. What the model computes next is written behind `end`; it sees `start` to there."""

    def __init__(self, like: States, rows: int, columns: int) -> None:
        self.states = States(*(self._zeros(part, rows, columns) for part in like))
        self.rows = rows
        self.start = self.end = 0
        layers: list[Any] = [_Layer(self, *layer) for layer in zip(*(part.unbind() for part in self.states), strict=True)]
        self.cache = Cache(layers=layers)

    def read(self, row: int, start: int, end: int) -> States:
        """Return the states of a row between two columns."""
        return States(*(part[:, row, :, start:end] for part in self.states))

    def write(self, row: int, end: int, states: States) -> None:
        """Put states into a row so that they stop before the column `end`."""
        for part, new in zip(self.states, states, strict=True):
            part[:, row, :, end - new.shape[2] : end] = new

    @staticmethod
    def _zeros(part: Tensor, rows: int, columns: int) -> Tensor:
        # Zeros, since what is masked is still multiplied: memory as it comes may hold values that are no numbers.
        layers, heads, _, size = part.shape
        return part.new_zeros(layers, rows, heads, columns, size)


class _Layer(DynamicLayer):
    """One layer of `Columns`, as models ask for it."""

    def __init__(self, columns: Columns, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(keys, values)
        self._columns, self._keys, self._values = columns, keys, values

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write the new states behind the others and return all of them."""
        rows, start, end = self._columns.rows, self._columns.start, self._columns.end
        stop = end + key_states.shape[2]
        self._keys[:rows, :, end:stop] = key_states
        self._values[:rows, :, end:stop] = value_states
        return self._keys[:rows, :, start:stop], self._values[:rows, :, start:stop]

    def get_seq_length(self) -> int:
        return self._columns.end - self._columns.start


class Sight(NamedTuple):
    """How far back each kind of layer of a model sees, in tokens; None: everything."""

    windows: dict[str, int | None]

    @property
    def is_limited(self) -> bool:
        """Whether some layer does not see everything."""
        return any(self.windows.values())

    def masks(self, mask: Tensor, queries: Tensor, keys: Tensor | None) -> Tensor | dict[str, Tensor]:
        """Return what a model takes as its attention mask: one for all layers, or one for each kind.

        `mask` (B, Q, K) is added to the scores, `queries` (B, Q) and `keys` (B, K) are positions; those of keys are not needed
        where all layers see everything.
        """
        masks = {}
        for kind, window in self.windows.items():
            if window is not None and keys is not None:
                unseen = queries[:, :, None] - keys[:, None, :] >= window
                masks[kind] = mask.masked_fill(unseen, torch.finfo(mask.dtype).min)[:, None]
            else:
                masks[kind] = mask[:, None]
        return masks if len(masks) > 1 else next(iter(masks.values()))


class Table:
    """Responses that are decoded together, one token each a step.

    A row is a prompt and the drafts that continue it; each of them sees the prompt and itself. All rows stop at the same column,
    where the next tokens are written, so that rows can join and leave between any two steps.
    """

    def __init__(self, like: States, sight: Sight) -> None:
        self._like, self._sight = like, sight
        self._lengths: list[int] = []  # of each row's prompt
        self._starts: list[int] = []  # the first column of each row
        self._slots: list[list[Draft | None]] = []  # the drafts of each row; all rows are equally wide
        self._columns = Columns(like, 0, 0)
        self._mask = like.keys.new_zeros(0, 1, 0)  # (rows, width, columns), added to the scores
        self._positions = torch.zeros(0, 0, dtype=torch.int64, device=like.keys.device)  # (rows, columns) of keys

    @property
    def drafts(self) -> list[Draft]:
        """The drafts under way, in the order of their logits."""
        return [draft for row in self._slots for draft in row if draft is not None]

    @property
    def tokens(self) -> int:
        """The number of prompt tokens held."""
        return sum(self._lengths)

    def join(self, newcomers: Sequence[tuple[States, Sequence[Draft]]]) -> None:
        """Take in rows: the states of all tokens but each draft's last, and the drafts."""
        longest = max(states.keys.shape[2] for states, _ in newcomers)
        count, columns = len(self._slots) + len(newcomers), self._columns
        widest = max(len(drafts) for _, drafts in newcomers)
        if count > columns.states.keys.shape[1] or longest > columns.end or not self._slots:
            self._move(count, max(longest, columns.end - columns.start), max(widest, self._mask.shape[1]))
        for states, drafts in newcomers:
            row, length, end = len(self._slots), states.keys.shape[2], self._columns.end
            self._columns.write(row, end, states)
            self._mask[row] = self._hidden
            self._mask[row, :, end - length : end] = 0
            if self._sight.is_limited:
                self._positions[row, end - length : end] = torch.arange(length, device=self._positions.device)
            self._slots.append(list(drafts))
            self._lengths.append(length)
            self._starts.append(end - length)
        self._settle()

    def step(self, model: PreTrainedModel) -> Tensor:
        """Read the last token of each draft and return the model's hidden states behind it, shape (drafts, size)."""
        columns, width, device = self._columns, len(self._slots[0]), self._mask.device
        if columns.end + width > columns.states.keys.shape[3]:
            self._move(len(self._slots), columns.end - columns.start, width)
            columns = self._columns
        rows, start, end, stop = len(self._slots), columns.start, columns.end, columns.end + width
        slots = [draft for row in self._slots for draft in row]
        input_ids = torch.tensor([draft.response_ids[-1] if draft else 0 for draft in slots], device=device)
        places = [len(draft.prompt_ids) + len(draft.response_ids) - 1 if draft else 0 for draft in slots]
        positions = torch.tensor(places, device=device).view(rows, width)
        self._mask[:rows, :, end:stop].diagonal(dim1=1, dim2=2).zero_()
        if self._sight.is_limited:
            self._positions[:rows, end:stop] = positions
        hidden: Tensor = model.base_model(
            input_ids=input_ids.view(rows, width),
            position_ids=positions,
            attention_mask=self._sight.masks(self._mask[:rows, :, start:stop], positions, self._positions[:rows, start:stop]),
            past_key_values=columns.cache,
            use_cache=True,
        ).last_hidden_state
        columns.end = stop
        hidden = hidden.flatten(0, 1)
        taken = [index for index, draft in enumerate(slots) if draft]
        return hidden if len(taken) == len(slots) else hidden[torch.tensor(taken, device=device)]

    def leave(self, finished: Sequence[Draft]) -> None:
        """Let go of drafts."""
        gone = set(map(id, finished))
        for row in range(len(self._slots) - 1, -1, -1):
            self._slots[row] = [None if id(draft) in gone else draft for draft in self._slots[row]]
            if not any(self._slots[row]):
                self._drop(row)
        self._settle()

    @property
    def _hidden(self) -> float:
        return torch.finfo(self._mask.dtype).min

    def _drop(self, row: int) -> None:
        """Put the last row in the place of this one."""
        last = len(self._slots) - 1
        if row < last:
            for part in self._columns.states:
                part[:, row] = part[:, last]
            self._mask[row] = self._mask[last]
            self._positions[row] = self._positions[last]
            self._slots[row], self._starts[row], self._lengths[row] = self._slots[last], self._starts[last], self._lengths[last]
        del self._slots[last], self._starts[last], self._lengths[last]

    def _settle(self) -> None:
        """Make all rows as wide as the widest needs, and see no more columns than needed."""
        rows, width = len(self._slots), self._mask.shape[1]
        self._columns.rows = rows
        self._columns.start = min(self._starts, default=self._columns.end)
        places = [[place for place, draft in enumerate(row) if draft] for row in self._slots]
        widest = max(map(len, places), default=width)
        if width == widest and all(len(row) == widest for row in self._slots):
            return
        self._slots = [
            [row[place] for place in kept] + [None] * (widest - len(kept))
            for row, kept in zip(self._slots, places, strict=True)
        ]
        # All places of a row that has just joined see the same, so that any will do where the row was widened.
        sources = [[min(place, width - 1) for place in kept + kept[:1] * (widest - len(kept))] for kept in places]
        index = torch.tensor(sources, device=self._mask.device)
        mask = self._mask.new_full((self._mask.shape[0], widest, self._mask.shape[2]), self._hidden)
        mask[:rows] = self._mask[torch.arange(rows, device=index.device)[:, None], index]
        self._mask = mask

    def _move(self, rows: int, live: int, width: int) -> None:
        """Copy everything to memory for this many rows, and for `live` columns and room behind them."""
        old, shown = self._columns, len(self._slots)
        self._columns = new = Columns(self._like, rows, live + _ROOM * width)
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
