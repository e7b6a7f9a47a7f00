"""Epochs: which samples are learned together, update by update, for any number of passes over them."""

import random
from collections.abc import Iterator, Sequence

from agents.demonstrations import Demonstration


def updates_of(lengths: Sequence[int], tokens: int, seed: int) -> Iterator[list[int]]:
    """Yield the indices of each update's samples, of which the lengths are given, epoch after epoch, without end.

    An update holds samples of like length, so that little is padded, and at most `tokens` tokens with the padding. The order
    depends on the seed alone.
    """
    epoch = 0
    while True:
        shuffled = random.Random(f"{seed}/{epoch}")
        order = shuffled.sample(range(len(lengths)), len(lengths))
        updates: list[list[int]] = []
        # Sorting the whole epoch would make every update one of the few kinds of page; a window keeps them mixed.
        for start in range(0, len(order), 512):
            window: list[list[int]] = [[]]
            for index in sorted(order[start : start + 512], key=lengths.__getitem__):
                if window[-1] and lengths[index] * (len(window[-1]) + 1) > tokens:
                    window.append([])
                window[-1].append(index)
            shuffled.shuffle(window)
            updates += window
        yield from updates
        epoch += 1


def find_episodes(demonstrations: Sequence[Demonstration]) -> list[list[int]]:
    """Return the indices of the steps of each episode: those of one task, one after the other, with ever longer conversations."""
    episodes: list[list[int]] = []
    last: tuple[str, int] | None = None
    for index, step in enumerate(demonstrations):
        if last is None or step.task_id != last[0] or len(step.messages) <= last[1]:
            episodes.append([])
        episodes[-1].append(index)
        last = step.task_id, len(step.messages)
    return episodes


def updates_of_episodes(
    episodes: Sequence[Sequence[int]], lengths: Sequence[int], tokens: int, seed: int
) -> Iterator[list[int]]:
    """Yield the indices of each update's samples as `updates_of` does, but whole episodes, whose steps share what came before.

    Without sharing, an update has at most `tokens` tokens, or one episode.
    """
    epoch = 0
    while True:
        update: list[int] = []
        room = tokens
        for episode in random.Random(f"{seed}/{epoch}").sample(episodes, len(episodes)):
            length = sum(lengths[index] for index in episode)
            if update and length > room:
                yield update
                update, room = [], tokens
            update, room = [*update, *episode], room - length
        yield update
        epoch += 1
