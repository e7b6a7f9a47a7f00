"""Splitting: long demonstrations as overlapping pieces, each of which keeps the early context.

The supervised half of KLong (arXiv 2602.17547), whose trajectories are longer than a model's context: each piece has the first steps of
the trajectory, and then a window of later ones, which shares some steps with the window before. There all pieces are of tokens; here
they are of steps, as a step is what one prompt replies to. Pieces decide what a step's context is: of a language model its conversation,
of a pointing network what it remembers of the episode. Both play with their whole memory, as neither has a context that overflows.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class SplitSettings:
    """How demonstrations are split."""

    piece_steps: int = 0
    """split demonstrations of more steps into overlapping pieces of so many (KLong), which keep the first steps as context; 0: into none"""
    shared_steps: int = 2
    """steps that a piece shares with the one before"""
    early_steps: int = 1
    """first steps of the demonstration that are the context of all pieces; the first one tells a language model the goal"""

    def __post_init__(self) -> None:
        if self.piece_steps and not 0 <= self.shared_steps < self.piece_steps:
            raise ValueError(
                f"shared_steps={self.shared_steps}; expected at least 0 and less than piece_steps={self.piece_steps}"
            )
        if self.piece_steps < 0 or self.early_steps < 1:
            raise ValueError(f"piece_steps={self.piece_steps}, early_steps={self.early_steps}; expected at least 0 and 1")


class Piece(NamedTuple):
    """The numbers of the steps of a piece: those that are context only, and those that are learned."""

    context: range
    learned: range

    @property
    def steps(self) -> tuple[int, ...]:
        """All of them, in order."""
        return (*self.context, *self.learned)


def pieces(count: int, settings: SplitSettings) -> list[Piece]:
    """Return the pieces of a demonstration of so many steps; each step is learned in one of them at least.

    >>> [piece.steps for piece in pieces(8, SplitSettings(piece_steps=4, shared_steps=1))]
    [(0, 1, 2, 3), (0, 3, 4, 5, 6), (0, 6, 7)]
    """
    size = settings.piece_steps or count
    if count <= size:
        return [Piece(range(0), range(count))]
    starts = range(0, count - settings.shared_steps, size - settings.shared_steps)
    return [Piece(range(min(settings.early_steps, start)), range(start, min(start + size, count))) for start in starts]
