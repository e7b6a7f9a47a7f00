"""The URL comparisons of the public evaluators: whether the final URL of an episode matches the references of url_match."""

from collections.abc import Callable, Sequence
from urllib.parse import parse_qs, urlsplit

UrlRule = Callable[[Sequence[str], str], bool]
"""(references, address) -> whether the address is one of them."""

EXACT = "EXACT"
CONTAINED = "GOLD in PRED"


def is_exact(references: Sequence[str], url: str) -> bool:
    """Say whether the address is one of the references, but for one last "/" (vab, r1).

    >>> is_exact(["http://a.test/x/"], "http://a.test/x"), is_exact(["http://a.test/x"], "http://a.test/x?y=1")
    (True, False)
    """
    return _one_name(url) in [_one_name(reference) for reference in references]


def contains(references: Sequence[str], url: str) -> bool:
    """Say whether the address has one of the references in it, letter by letter (vab, r1).

    >>> contains(["http://a.test/x"], "http://a.test/xy?z=1"), contains(["http://a.test/x?b=2"], "http://a.test/x?a=1&b=2")
    (True, False)
    """
    return any(_one_name(reference) in _one_name(url) for reference in references)


def contains_path_and_query(references: Sequence[str], url: str) -> bool:
    """Say whether host and path have those of a reference in them, and the query one value of each key (webarena).

    >>> contains_path_and_query(["http://a.test/x?b=2"], "http://a.test/xy?a=1&b=2")
    True
    >>> contains_path_and_query(["http://a.test/x?b=2", "http://a.test/y?b=3"], "http://a.test/x?b=3")
    True
    """
    path, query = _parts(url)
    bases = [_parts(reference) for reference in references]
    wanted: dict[str, list[str]] = {}
    for _, values in bases:
        for key, options in values.items():
            wanted.setdefault(key, []).extend(options)
    return any(base in path for base, _ in bases) and all(
        any(option in query.get(key, []) for option in options) for key, options in wanted.items()
    )


def _parts(url: str) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(url.rstrip("/"))  # before the query, a "/" counts
    return parts.netloc + parts.path, parse_qs(parts.query)


def _one_name(url: str) -> str:
    return url.replace("localhost", "127.0.0.1").removesuffix("/")
