"""The sizes of observations: `python -m benchmarks.page_sizes --json`.

The command replays the reference solutions of a split and measures every page as a whole, by site: in characters, and in tokens of the
vocabulary o200k_base. Without the package bpe-openai, tokens are left out. The last line is one JSON object.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median, quantiles
from typing import get_args
from urllib.parse import urlsplit

from benchmarks.machine import COMMIT
from webarena_gym import console
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import SPLITS, Expert

VOCABULARY = "o200k_base"
WHOLE = 10**9  # characters of a window that shows every page whole
USUAL_WINDOW = 12_000  # the env's default
COLUMNS = (("pages", 6), ("chars_median", 20), ("chars_p95", 8), ("chars_max", 9), ("tokens_median", 16), ("tokens_p95", 7))


def main() -> None:
    """Run the benchmark and print what it measured."""
    parser = console.Parser(prog="python -m benchmarks.page_sizes", description=__doc__)
    parser.add_argument("--split", choices=tuple(SPLITS), default="test", help="the tasks (default: test)")
    parser.add_argument("--elements", choices=("id", "label"), default="id", help="how elements are addressed (default: id)")
    parser.add_argument("--observation", choices=("html", "axtree"), default="html", help="how pages are written")
    parser.add_argument("--variation", choices=get_args(Variation), default="content", help="how the sites are built")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    env = WebArenaLite(
        split=options.split,
        elements=options.elements,
        observation=options.observation,
        variation=options.variation,
        window=WHOLE,
        max_steps=60,
    )
    count_tokens = token_counter()
    sizes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    sites = {host: site for site, host in HOSTS.items()}
    for host, text in met_pages(env):
        for site in (sites.get(host, host), "all"):
            sizes[site].append((len(text), count_tokens(text) if count_tokens else 0))
    result = {site: summary(sizes[site]) for site in (*HOSTS, "all") if sizes[site]}
    if not count_tokens:
        print("no tokens are counted: install the package bpe-openai")
    print(f"{'site':<16}{'pages':>6}{'characters: median':>20}{'p95':>8}{'largest':>9}{'tokens: median':>16}{'p95':>7}")
    for site, row in result.items():
        counts = (f"{row.get(key, '-'):>{width}}" for key, width in COLUMNS)
        print(f"{site:<16}{''.join(counts)}")
    if options.json:
        setting = {"vocabulary": VOCABULARY if count_tokens else None, "commit": COMMIT}
        command = " ".join(["python -m benchmarks.page_sizes", *sys.argv[1:]])
        print(json.dumps({"sites": result, **vars(options), **setting, "command": command}))


def met_pages(env: WebArenaLite) -> Iterator[tuple[str, str]]:
    """Yield the host and the text of every page that the reference solutions meet, as often as they meet it anew."""
    for task in env.tasks:
        env.reset(options={"task": task})
        expert, done, last = Expert(task, env.dialect), False, ""
        while not done:
            text = env.observation.text
            if text != last:
                yield urlsplit(env.page.url).netloc, text
            last = text
            _, _, terminated, truncated, _ = env.step(expert.reply(env.page, env.observation))
            done = terminated or truncated


def token_counter() -> Callable[[str], int] | None:
    """Return a function that counts the tokens of a text; None without the package."""
    if find_spec("bpe_openai") is None:
        return None
    from bpe_openai import get_encoding  # noqa: PLC0415 - optional

    encoding = get_encoding(VOCABULARY)
    return lambda text: len(encoding.encode(text))


def summary(sizes: list[tuple[int, int]]) -> dict[str, float]:
    """Return the figures of one site."""
    chars = [size for size, _ in sizes]
    tokens = [size for _, size in sizes]
    row = {
        "pages": len(sizes),
        "chars_median": round(median(chars)),
        "chars_p95": _p95(chars),
        "chars_max": max(chars),
        "over_usual_window": round(sum(size > USUAL_WINDOW for size in chars) / len(chars), 3),
    }
    if not any(tokens):
        return row
    rate = round(sum(chars) / sum(tokens), 2)
    return row | {"tokens_median": round(median(tokens)), "tokens_p95": _p95(tokens), "chars_per_token": rate}


def _p95(values: list[int]) -> int:
    return round(quantiles(values, n=20)[-1]) if len(values) > 1 else values[0]


if __name__ == "__main__":
    console.run("python -m benchmarks.page_sizes", lambda _: main())
