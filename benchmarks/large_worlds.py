"""Costs of a large world: `python -m benchmarks.large_worlds --json`.

The world is built without a cache on one core, in a temporary folder. Then envs are opened in it, which visit every site, write and
are reset. Memory is the proportional set size that each further env adds to the process. The last line is one JSON object.
"""

import gc
import os
import re
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from benchmarks.machine import cores, report, resources_of, use_cores
from webarena_gym import console
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.catalogue import DATABASES, HOSTS
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Task

ENVS = 8
RESETS = 200
WORLD = 1000
SEARCHES = (
    "search?q=garden", "search?search=cache", "search?query=cafes", "search?search=university",
    "catalogsearch/result/?q=lamp",
)  # fmt: skip
"""Search phrases; each has results on some site."""
TEXTS = {
    "shopping": "SELECT detail FROM review",
    "reddit": "SELECT body FROM submission UNION ALL SELECT body FROM comment",
    "gitlab": "SELECT description FROM issue UNION ALL SELECT description FROM merge_request UNION ALL SELECT body FROM note",
}
"""Queries of the texts written by people of a world, by database."""


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.large_worlds", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    use_cores(cores()[-1:])
    report("large_worlds", measure(), as_json=options.json)


def measure(world_seed: int = WORLD, envs: int = ENVS, resets: int = RESETS) -> dict[str, Any]:
    """Return the figures, with a separate cache."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"WEBARENA_GYM_CACHE": folder}):
        load_world.cache_clear()
        try:
            built = build(world_seed, Path(folder))
            with ProcessPoolExecutor(1, get_context("spawn")) as fresh:  # which has no free memory of earlier work
                return built | fresh.submit(use, world_seed, envs, resets).result()
        finally:
            load_world.cache_clear()


def build(world_seed: int, folder: Path) -> dict[str, Any]:
    """Return the time to build a world, its size on disk, and the number of different sentences in it."""
    start = time.process_time()
    databases = load_world(world_seed, "large").open()
    sizes = dict.fromkeys(DATABASES, 0)  # without the tables of search indexes
    for name in DATABASES:
        connection = databases[name].connection
        tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
        for (table,) in connection.execute(tables).fetchall():
            sizes[name] += connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    seconds = time.process_time() - start
    texts = {text for name, query in TEXTS.items() for (text,) in map(tuple, databases[name].connection.execute(query))}
    sentences = {sentence for text in texts for sentence in re.split(r"(?<=[.!?])\s+|\n+", text) if sentence}
    databases.close()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "large_build_s": round(seconds, 1),
        "large_disk_mb": round(size / 1e6, 1),
        "large_rows": sizes,
        "large_sentences": len(sentences),
    }


def use(world_seed: int, envs: int, resets: int) -> dict[str, Any]:
    """Return the time of a reset, and the memory that an env adds."""
    check = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
    task = Task("visit", tuple(DATABASES), "__SHOPPING__", "Look around.", check)
    made, held, times = [], [], []
    for _ in range(envs):
        env = WebArenaLite(tasks=[task], world_seed=world_seed, scale="large", dialect="webarena", max_steps=200)
        env.reset()
        load_world(world_seed, "large").responses.clear()  # each further env must render its pages
        for host in HOSTS.values():
            for path in ("", *SEARCHES):
                env.step(f"```goto [http://{host}/{path}]```")
                if urlsplit(env.page.url).netloc != host:
                    raise RuntimeError(f"expected the page http://{host}/{path}, got {env.page.url}")
        made.append(env)
        gc.collect()
        holding = resources_of(os.getpid())
        held.append(holding.mb if holding else None)
    for _ in range(resets):
        # is counted among the searches
        env.step('do(action="Goto", argument="http://shop.test/catalogsearch/result/?q=chair")')
        start = time.perf_counter()
        env.reset()
        times.append((time.perf_counter() - start) * 1000)
    for env in made:
        env.close()
    growth = [now - last for now, last in zip(held[2:], held[1:], strict=False) if now is not None and last is not None]
    return {
        "large_reset_ms": round(median(times), 3),
        "large_reset_ms_largest": round(max(times), 3),
        "large_resets": len(times),
        "large_mb_per_env": round(median(growth), 1) if growth else None,
    }


if __name__ == "__main__":
    console.run("python -m benchmarks.large_worlds", lambda _: main())
