"""Templates of the shipped suite and their numbers of tasks, in the public benchmark's proportions.

WebArena-Lite has 165 test tasks, one for each template, and 647 training tasks whose templates overlap with the test's in 143
cases. This suite has as many by site, by kind of check (tests/test_suite.py) and in the overlap. The slots, and the worlds they
are drawn from, always differ between the two splits.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from webarena_gym.sites.country.texts import read_toml

EXCLUDED_TEMPLATES: Mapping[str, str] = {
    "reddit.mention_of_nothing": '"N/A; no, NAME" is taken for N/A, although it names somebody'
}
"""Standard templates that are in no split, each with what its audit found."""


class Part(NamedTuple):
    """The templates of one site, or of several sites together."""

    both: tuple[str, ...]
    test_only: tuple[str, ...]
    train_only: tuple[str, ...]
    train_tasks: int

    def names(self, split: str) -> tuple[str, ...]:
        """Return the templates of a split; validation has those of training."""
        return self.both + (self.test_only if split == "test" else self.train_only)

    def total(self, split: str) -> int:
        """Return how many tasks they give together."""
        return self.train_tasks if split == "train" else len(self.names(split))


def _read() -> Iterator[tuple[str, Part]]:
    for site, entry in read_toml(Path(__file__).with_suffix(".toml")).items():
        both, test_only, train_only = (
            tuple(f"{site}.{name}" for name in entry.get(key, "").split()) for key in ("both", "test_only", "train_only")
        )
        yield site, Part(both, test_only, train_only, entry["train_tasks"])


PARTS: Mapping[str, Part] = dict(_read())
"""The parts of the suite by site; "several" holds the tasks over two or three sites."""
