"""Token ids of prompts and responses."""

from typing import NamedTuple

Ids = tuple[int, ...]


class Sample(NamedTuple):
    """The prompt and the response of one step, as token ids."""

    prompt_ids: Ids
    response_ids: Ids
