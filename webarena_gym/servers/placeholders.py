"""The placeholders of task files, such as __SHOPPING__, and what stands for them."""

from collections.abc import Mapping, Sequence
from typing import Any


def resolve(text: str, urls: Mapping[str, str]) -> str:
    """Put base URLs in the place of placeholders such as __SHOPPING__."""
    for placeholder, url in urls.items():
        text = text.replace(placeholder, url)
    return text


def resolve_all(value: Any, urls: Mapping[str, str]) -> Any:
    """Return a JSON value with the placeholders of all its texts replaced, as the official set-up does with whole files."""
    if isinstance(value, str):
        return resolve(value, urls)
    if isinstance(value, Mapping):
        return {key: resolve_all(item, urls) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolve_all(item, urls) for item in value]
    return value
