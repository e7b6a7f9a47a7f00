"""Token ids of prompts and responses."""

from typing import NamedTuple

Ids = tuple[int, ...]


class Sample(NamedTuple):
    """One step of an episode: what the policy read and what it wrote, in token ids."""

    prompt_ids: Ids
    response_ids: Ids
