"""How much the encyclopedia of a world tells, at each scale."""

from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.country.scales import Scale


@dataclass(frozen=True)
class Sizes:
    """The numbers that the encyclopedia's generator goes by."""

    editors: int
    callings: Mapping[str, int]  # what people are, and how many of each there are
    companies: int
    events: int
    prize_rounds: int  # how often each kind of prize is there
    prize_words: int  # the first word of prizes; works have those before it
    makers: Mapping[str, tuple[str, int, int]]  # who makes a kind of work, and how many at least and at most
    counts_winners: bool  # whether the article on a university says how many of its alumni have won a prize
    namesakes: int  # people of one last name, from which on it has a page of its own


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        editors=30,
        callings={
            "scientist": 36, "writer": 20, "film director": 12, "actor": 20, "politician": 20, "athlete": 20, "musician": 12,
        },
        companies=24,
        events=22,
        prize_rounds=1,
        prize_words=118,
        makers={"novel": ("writer", 1, 2), "album": ("musician", 1, 3), "film": ("film director", 3, 6)},
        counts_winners=True,
        namesakes=4,
    ),
    "large": Sizes(
        editors=220,
        callings={
            "scientist": 200, "writer": 110, "film director": 55, "actor": 120, "politician": 75, "athlete": 120, "musician": 75,
        },
        companies=130,
        events=56,
        prize_rounds=3,
        prize_words=1_000,
        makers={"novel": ("writer", 1, 4), "album": ("musician", 1, 5), "film": ("film director", 3, 8)},
        counts_winners=False,
        namesakes=5,
    ),
}  # fmt: skip
