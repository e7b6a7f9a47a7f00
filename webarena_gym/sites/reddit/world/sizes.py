"""How much the forum of a world has, at each scale."""

from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.country.scales import Scale


@dataclass(frozen=True)
class Sizes:
    """The numbers that the forum's generator goes by."""

    people: int
    writers: int
    towns: int  # that have a forum of their own
    works: int  # invented names that a forum talks about
    submissions: int
    dealt: int  # submissions that are dealt to the forums in turn, before others are drawn
    comments: tuple[tuple[tuple[int, int], int], ...]  # how many at least and at most, and how often
    voters: int  # of the people, who may vote for a submission
    comment_voters: int  # and for a comment


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        people=242, writers=90, towns=4, works=3, submissions=700, dealt=400,
        comments=(((0, 0), 4), ((1, 2), 7), ((2, 5), 7), ((4, 8), 4), ((8, 14), 2), ((18, 32), 1)),
        voters=242, comment_voters=242,
    ),
    "large": Sizes(
        people=1_200, writers=600, towns=20, works=15, submissions=10_000, dealt=2_500,
        comments=(
            ((0, 0), 90), ((1, 2), 140), ((2, 5), 140), ((4, 8), 80), ((8, 14), 40), ((18, 32), 20), ((60, 140), 4), ((180, 420), 2),
        ),
        voters=160, comment_voters=45,
    ),
}  # fmt: skip

TWISTS = (
    "again", "a year later", "revisited", "an update", "part two", "the long version", "for beginners", "on a budget", "in winter",
    "in summer", "with pictures", "what I learned", "need advice", "the truth", "first impressions", "a second opinion", "solved",
    "please help", "my turn", "a warning", "after six months", "the short answer", "before and after", "for the curious",
)  # fmt: skip
"""What is added to a title that somebody else has used already."""
