"""How much the code host of a world has, at each scale."""

from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.country.scales import Scale

Range = tuple[int, int]
"""At least, and at most."""


@dataclass(frozen=True)
class Sizes:
    """The numbers that the code host's generator goes by."""

    users: int
    strangers: int
    groups: int
    first_project_word: int  # the words before it name groups
    first_token_word: int  # those behind it name access tokens
    others: int  # projects that are neither mine nor a group's
    forks: int  # that are not mine
    popular: int
    giants: int  # of the popular projects
    busy_issues: Range  # of popular projects and of mine
    busy_requests: Range
    giant_issues: Range
    giant_requests: Range
    giant_commits: Range
    giant_branches: Range
    most_notes: int  # of an issue
    is_composed: bool  # whether texts are composed of facts, and titles told apart in a project only


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        users=60, strangers=8, groups=9, first_project_word=16, first_token_word=120, others=40, forks=6, popular=24, giants=0,
        busy_issues=(8, 13), busy_requests=(1, 4), giant_issues=(0, 0), giant_requests=(0, 0), giant_commits=(0, 0),
        giant_branches=(0, 0), most_notes=4, is_composed=False,
    ),
    "large": Sizes(
        users=400, strangers=40, groups=36, first_project_word=64, first_token_word=1_000, others=215, forks=40, popular=84,
        giants=14, busy_issues=(18, 60), busy_requests=(4, 16), giant_issues=(180, 420), giant_requests=(40, 110),
        giant_commits=(180, 420), giant_branches=(6, 16), most_notes=7, is_composed=True,
    ),
}  # fmt: skip
