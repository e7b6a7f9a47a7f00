"""The observation and action spaces: Gymnasium `Text` spaces with a length limit and a character set, and dictionaries of texts and pictures.

The functions at the end support texts in the shared memory of Gymnasium's `AsyncVectorEnv`, whose functions for Text return empty strings.
"""

import ctypes
import multiprocessing
import re
from collections.abc import Sequence
from copy import copy, deepcopy
from functools import cache
from typing import Any, Protocol, overload

import numpy
from gymnasium.spaces import Box, Dict, Space, Text, Tuple
from gymnasium.vector.utils import batch_space as gymnasium_batch_space
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from numpy.typing import NDArray

from webarena_gym.actions import Dialect
from webarena_gym.actions.action import Parameter
from webarena_gym.observation.pictures import MAX_BOXES
from webarena_gym.texts import MAX_GOAL
from webarena_gym.texts import MAX_OBSERVATION as MAX_OBSERVATION
from webarena_gym.texts import MAX_REPLY as MAX_REPLY

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_RANGES = ((" ", "~"), ("\xa0", "\ud7ff"), ("\ue000", "\ufffd"), ("\U0001f000", "\U0001faff"))
CHARSET = frozenset(chr(code) for first, last in _RANGES for code in range(ord(first), ord(last) + 1)) | {"\n", "\t", "\r"}
"""The characters of observations and actions. Other characters of a page are replaced by U+FFFD."""

_OUTSIDE_CHARSET = re.compile(f"[^{''.join(f'{first}-{last}' for first, last in _RANGES)}\n\t\r]")
_WORDS = ("red", "shoes", "lamp", "12", "order", "My Account")


class TextSpace(Text):
    """Space of texts over CHARSET, up to a length. Copies share its large tables, but not its random number generator."""

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length, min_length=0, charset=CHARSET)

    def __deepcopy__(self, memo: dict[int, Any]) -> "TextSpace":
        duplicate = copy(self)
        duplicate._np_random = deepcopy(self._np_random, memo)  # noqa: SLF001 - same class
        return duplicate

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.min_length}, {self.max_length}, charset of {len(CHARSET)} characters)"


_Mask = tuple[int | None, NDArray[numpy.int8] | None] | None
_Probability = tuple[int | None, NDArray[numpy.float64] | None] | None


class ReplySpace(TextSpace):
    """Space of replies to an env. A sample is a well-formed action of its dialect, drawn uniformly from its forms."""

    dialect: Dialect

    def sample(self, mask: _Mask = None, probability: _Probability = None) -> str:
        """Return an action with random values of its parameters; with a mask or a probability, a sample of Gymnasium's Text."""
        if mask is not None:
            return str(super().sample(mask))
        if probability is not None:
            return str(super().sample(probability=probability))
        form = self.dialect.forms[self.np_random.integers(len(self.dialect.forms))]
        return self.dialect.spell(form.name, {parameter.name: self._value(parameter) for parameter in form.parameters})

    def _value(self, parameter: Parameter) -> str:
        """Return a random value of a parameter. An element that it refers to may not exist on the page."""
        if parameter.choices:
            return str(self.np_random.choice(parameter.choices))
        if parameter.type == "integer" or (parameter.type == "element" and self.dialect.naming == "id"):
            return str(self.np_random.integers(30))
        if parameter.type == "number":
            return str(self.np_random.choice((-480, 480)))
        if parameter.placeholder in ("url", "key"):
            return parameter.example
        return " ".join(self.np_random.choice(_WORDS, self.np_random.integers(1, 4)))


def text_space(max_length: int) -> TextSpace:
    """Return a space of texts over CHARSET. Spaces of equal length share their tables, but not their random number generators."""
    space: TextSpace = copy(_cached_space(TextSpace, max_length))
    return space


def reply_space(dialect: Dialect) -> ReplySpace:
    """Return the space of the actions of an env with a dialect."""
    space: ReplySpace = copy(_cached_space(ReplySpace, MAX_REPLY))
    space.dialect = dialect
    return space


def picture_space(width: int, height: int) -> "Dict":
    """Return the space of observations with pictures of a window of that size in pixels.

    `screenshot` is uint8 of shape (height, width, 3). `boxes` is int32 of shape (MAX_BOXES, 5): number, left, top, right and bottom of an
    element, or -1 in unused rows.
    """
    maximum = numpy.iinfo(numpy.int32).max
    return Dict(
        {
            "goal": text_space(MAX_GOAL),
            "text": text_space(MAX_OBSERVATION),
            "screenshot": Box(0, 255, (height, width, 3), numpy.uint8),
            "boxes": Box(-1, maximum, (MAX_BOXES, 5), numpy.int32),
        }
    )


def batch_space(space: Space[Any], count: int) -> Space[Any]:
    """Return the batch space of `gymnasium.vector.utils.batch_space`, with the large tables of texts shared instead of copied."""
    if isinstance(space, Dict):
        return Dict({key: batch_space(part, count) for key, part in space.items()})
    if not isinstance(space, Text):
        return gymnasium_batch_space(space, count)
    seeds = deepcopy(space.np_random).integers(0, 10**8, count)
    batch = Tuple([copy(space) for _ in range(count)])
    batch.seed([int(seed) for seed in seeds])
    return batch


def empty_observation(space: Space[Any]) -> Any:
    """Return a placeholder for a missing observation: empty texts, and pictures of zeros."""
    if isinstance(space, Dict):
        return {key: empty_observation(part) for key, part in space.items()}
    return numpy.zeros(space.shape, space.dtype) if isinstance(space, Box) else ""


def within_charset(text: str) -> str:
    """Return the text with each character outside CHARSET replaced by U+FFFD."""
    return _OUTSIDE_CHARSET.sub(_UNKNOWN, text)


@cache
def _cached_space(space_type: type[TextSpace], max_length: int) -> Any:
    """Return a space to copy; creating its tables takes a tenth of a second."""
    return space_type(max_length)


# Gymnasium's `AsyncVectorEnv` calls `read_from_shared_memory` once, in its constructor, and expects a view that shows later observations,
# like the arrays of a Box. Gymnasium's function for Text returns strings, which would remain empty.


SharedMemory = ctypes.Array[ctypes.c_uint]


class _ArrayMaker(Protocol):
    """A context of multiprocessing, or the module itself."""

    def RawArray(self, typecode_or_type: str, size_or_initializer: int, /) -> SharedMemory: ...  # noqa: N802 - of multiprocessing


class SharedTexts(Sequence[str]):
    """The current text of each env, decoded from shared memory at each access. It compares, prints, pickles and copies like a tuple.

    Args:
        memory: for each of `count` envs 1 + `max_length` little-endian 32-bit integers: the length of the text, and its code points.
        max_length: maximum number of characters of a text.
        count: number of envs.

    """

    def __init__(self, memory: SharedMemory, max_length: int, count: int) -> None:
        self._rows = numpy.frombuffer(memoryview(memory), "<u4").reshape(count, 1 + max_length)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The type for `isinstance`, which `Space.contains` uses; a real tuple could not be updated."""
        return tuple

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        row = self._rows[index]
        return str(row[1 : 1 + int(row[0])].tobytes(), "utf-32-le", "surrogatepass")

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return tuple, (tuple(self),)


@create_shared_memory.register(TextSpace)
def _create_shared_texts(space: TextSpace, n: int = 1, ctx: _ArrayMaker = multiprocessing) -> SharedMemory:
    return ctx.RawArray("I", n * (1 + space.max_length))


@read_from_shared_memory.register(TextSpace)
def _read_shared_texts(space: TextSpace, shared_memory: SharedMemory, n: int = 1) -> SharedTexts:
    return SharedTexts(shared_memory, space.max_length, n)


@write_to_shared_memory.register(TextSpace)
def _write_shared_text(space: TextSpace, index: int, value: str, shared_memory: SharedMemory) -> None:
    """Write the text of an env. Raises ValueError if it is longer than the space allows, since it would overwrite the next env's."""
    if len(value) > space.max_length:
        raise ValueError(f"the observation has {len(value):,} characters; expected at most {space.max_length:,}")
    row = numpy.frombuffer(memoryview(shared_memory), "<u4").reshape(-1, 1 + space.max_length)[index]
    row[1 : 1 + len(value)] = numpy.frombuffer(value.encode("utf-32-le", "surrogatepass"), "<u4")
    row[0] = len(value)
