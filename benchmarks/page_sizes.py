"""The sizes of observations: `python -m benchmarks.page_sizes --json`.

The command replays the reference solutions of a split and measures every page as a whole, by site: in characters, and in tokens of the
vocabulary o200k_base. Several observations show the same pages in several ways. Without the package bpe-openai, tokens are left out. The
last line is one JSON object; `--save page_sizes` keeps it for the documents.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from statistics import fmean, median, quantiles
from typing import Any, get_args
from urllib.parse import urlsplit

from benchmarks.playing import ResultSettings, save_result
from webarena_gym import console
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import Style, observe
from webarena_gym.pages.page import Page
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import Variation
from webarena_gym.suite import SPLITS
from webarena_gym.tasks import Expert

VOCABULARY = "o200k_base"
WHOLE = 10**9  # characters of a window that shows every page whole
USUAL_WINDOW = 12_000  # the env's default
COLUMNS = (
    *(("pages", 6), ("chars_median", 20), ("chars_p95", 8), ("chars_max", 9)),
    *(("tokens_median", 16), ("tokens_mean", 7), ("tokens_p95", 7)),
)


def main() -> None:
    """Run the benchmark and print what it measured."""
    parser = console.Parser(prog="python -m benchmarks.page_sizes", description=__doc__)
    add = parser.add_argument
    add("--split", choices=tuple(SPLITS), default="test", help="the tasks (default: test)")
    add("--elements", choices=("id", "label"), default="id", help="how elements are addressed (default: id)")
    add("--observation", choices=get_args(Style), nargs="+", default=["html"], help="how pages are written (default: html)")
    add("--variation", choices=get_args(Variation), default="content", help="how the sites are built")
    add("--save", metavar="NAME", default="", help="keep the result under this name in benchmarks/results")
    add("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    encoding: Any = None
    if find_spec("bpe_openai") is None:
        print("no tokens are counted: install the package bpe-openai")
    else:
        from bpe_openai import get_encoding  # noqa: PLC0415 - optional

        encoding = get_encoding(VOCABULARY)
    observations = measure(options, encoding)
    for style, result in observations.items():
        print(
            f"{style:<16}{'pages':>6}{'characters: median':>20}{'p95':>8}{'largest':>9}{'tokens: median':>16}{'mean':>7}{'p95':>7}"
        )
        for site, row in result.items():
            counts = (f"{row.get(key, '-'):>{width}}" for key, width in COLUMNS)
            print(f"{site:<16}{''.join(counts)}")
    setting = {name: getattr(options, name) for name in ("split", "elements", "variation")}
    result = {"observations": observations, **setting, "vocabulary": VOCABULARY if encoding else None}
    save_result("page_sizes", result, ResultSettings(save=options.save, json=options.json))


def measure(options: argparse.Namespace, encoding: object) -> dict[Style, dict[str, dict[str, float]]]:
    """Return the figures of each site, and of all sites together, for each observation style."""
    env = WebArenaLite(split=options.split, elements=options.elements, variation=options.variation, window=WHOLE, max_steps=60)
    sizes: dict[tuple[Style, str], list[tuple[int, int]]] = defaultdict(list)
    sites = {host: site for site, host in HOSTS.items()}
    for page in met_pages(env):
        host = urlsplit(page.url).netloc
        for style in options.observation:
            text = observe(page, style=style, elements=options.elements, window=WHOLE).text
            size = len(text), len(encoding.encode(text)) if encoding else 0
            for site in (sites.get(host, host), "all"):
                sizes[style, site].append(size)
    names = [site for site in (*HOSTS, "all") if (options.observation[0], site) in sizes]
    return {style: {site: summary(sizes[style, site]) for site in names} for style in options.observation}


def met_pages(env: WebArenaLite) -> Iterator[Page]:
    """Yield the pages of the reference solutions, without immediate repetitions."""
    for task in env.tasks:
        env.reset(options={"task": task})
        expert, done, last = Expert(task, env.dialect), False, ""
        while not done:
            text = env.observation.text
            if text != last:
                yield env.page
            last = text
            _, _, terminated, truncated, _ = env.step(expert.reply(env.page, env.observation))
            done = terminated or truncated


def summary(sizes: list[tuple[int, int]]) -> dict[str, float]:
    """Return the figures of one site."""
    chars = [size for size, _ in sizes]
    tokens = [size for _, size in sizes]
    row = {
        "pages": len(sizes), "chars_median": round(median(chars)), "chars_p95": _p95(chars), "chars_max": max(chars),
        "over_usual_window": round(sum(size > USUAL_WINDOW for size in chars) / len(chars), 3),
    }  # fmt: skip
    if not any(tokens):
        return row
    rate = round(sum(chars) / sum(tokens), 2)
    return row | {
        "tokens_median": round(median(tokens)),
        "tokens_mean": round(fmean(tokens)),
        "tokens_p95": _p95(tokens),
        "chars_per_token": rate,
    }


def _p95(values: list[int]) -> int:
    return round(quantiles(values, n=20, method="inclusive")[-1]) if len(values) > 1 else values[0]


if __name__ == "__main__":
    console.run("python -m benchmarks.page_sizes", lambda _: main())
