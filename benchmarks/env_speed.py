"""The speed of the environment, compared with other environments: `python -m benchmarks.env_speed [--quick] --json`.

All contenders take the same actions on the same pages, the reference solutions of shop tasks, on one core and in turns: this package
in-process and in Chromium, a bare Chromium (the lower bound, "floor"), and BrowserGym with and without its waits, if `make peers` has
installed it. WebArena is not run: its fixed sleep gives an upper bound of its speed. Further measures are the whole test split, also in
a large world, the growth of a step's time with its page and its episode, the parts of a step, many envs in the vector env, and start-up.
The last line is one JSON object.
"""

import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import linear_regression, mean
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks import plots, scaling
from benchmarks.machine import cores, log_progress, report, rounded_median, use_cores
from benchmarks.peers.contender import PEERS_PYTHON, RoundTimes, contenders, megabytes_per_env, play_round
from benchmarks.peers.lines import Watch
from benchmarks.recording import Recording, record, walk_only
from webarena_gym import console, rendering
from webarena_gym.arena.app import run_server
from webarena_gym.browsers import document
from webarena_gym.browsers.chromium.driver import INSTALLED, find_executable
from webarena_gym.browsers.document import changed_tree, original_tree
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import observe
from webarena_gym.observation.history import History
from webarena_gym.pages.page import Network
from webarena_gym.sites.world import load_world
from webarena_gym.suite import load
from webarena_gym.tools.serve import WorldSites


class RenewableSites(WorldSites):
    """One world served at a port; `renew` restores its initial state."""

    def __init__(self, port: int, world_seed: int) -> None:
        self.port, self.renew = port, partial(super().__init__, port, world_seed)
        self.renew()


@contextmanager
def serving(world_seed: int) -> Iterator[RenewableSites]:
    """Serve a world on a free port until the block ends."""
    opened: list[RenewableSites] = []

    def open_at(port: int) -> RenewableSites:
        opened.append(RenewableSites(port, world_seed))
        return opened[0]

    with run_server(sites=open_at):
        yield opened[0]


WORLD = 1000  # of the test split
WHOLE = 10**9  # characters of a window that shows whole pages
WEBARENA_SLEEP_S = 2.0  # after each action: `sleep_after_execution` as WebArena's own run.py sets it
NAMES = ("inprocess", "chromium", "floor", "browsergym", "browsergym_nowait")


class Effort(NamedTuple):
    """The extent of the measurements."""

    rounds: int  # in which the contenders take turns
    episodes: int  # of each contender in a round
    suite_rounds: int  # of the test split
    suite_part: int  # every n-th task of the split; 1 is all of it
    large: bool  # True to play the split in a large world too, which is built first
    growth: int  # ratio of the largest page and episode to the smallest
    seconds: float  # of each point of the vector env
    pairs: int  # of lock-step and asynchronous, and of one core and two
    envs: tuple[int, ...]  # in the vector env
    starts: int  # of Python, to measure the import


FULL = Effort(
    rounds=3, episodes=4, suite_rounds=3, suite_part=1, large=True, growth=64, seconds=5.0, pairs=2, envs=(1, 4, 16, 64, 256),
    starts=7,
)  # fmt: skip
QUICK = Effort(
    rounds=1, episodes=2, suite_rounds=1, suite_part=4, large=False, growth=4, seconds=1.0, pairs=1, envs=(1, 16), starts=3
)  # fmt: skip


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.env_speed", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="a small run, to see that everything works: its figures are rough")
    add("--only", choices=NAMES, action="append", help="measure only this one beside the others (may be repeated)")
    add("--json", action="store_true", help="print one JSON object as the last line")
    add("--out", type=Path, help="also write the object to a file of this name in benchmarks/results")
    add("--plot", action="store_true", help=f"draw {plots.PICTURE}, for which matplotlib is needed")
    options = parser.parse_args()
    if options.plot and not plots.is_possible():
        parser.error("matplotlib draws the picture; install it with pip install 'webarena-gym[bench]'")
    effort, start = QUICK if options.quick else FULL, time.perf_counter()
    result = measure(effort, options.only or NAMES)
    result |= {"elapsed_s": round(time.perf_counter() - start, 1), "quick": options.quick}
    if options.plot:
        plots.draw(result, plots.PICTURE)
    report("env_speed", result, as_json=options.json, out=options.out)


def measure(effort: Effort, names: Sequence[str]) -> dict[str, Any]:
    """Return all figures."""
    every_core = cores()
    use_cores(every_core[-1:])
    whole_pages = WebArenaLite(split="test", window=WHOLE, max_steps=60)
    shop = [task for task in whole_pages.tasks if task.sites == ("shopping",)]
    with serving(WORLD) as served:
        result = run_parallel(effort, names, [walk_only(recording) for recording in record(whole_pages, shop)], served)
    make_env = partial(WebArenaLite, split="test", max_steps=60)
    usual = make_env()
    recordings = record(usual, usual.tasks[:: effort.suite_part])
    log_progress("the test split")
    result |= suite(effort, make_env, recordings)
    if effort.large:
        log_progress("the test split's templates in a large world")
        in_large = partial(WebArenaLite, tasks=load("test", WORLD, scale="large"), max_steps=60)
        large = in_large()
        result |= suite(effort, in_large, record(large, large.tasks[:: effort.suite_part]), name="large")
    log_progress("growth")
    result |= growth(effort.growth)
    result |= {"step_parts_ms": step_parts(make_env, recordings)}
    if "chromium" in names:
        result |= seeing(recordings[:: max(1, len(recordings) // (5 * effort.episodes))])
    script = "import time; start = time.perf_counter(); import webarena_gym; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", script]
    durations = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(effort.starts)]  # noqa: S603
    result |= {"import_s": rounded_median(map(float, durations))}
    use_cores(every_core)
    return result | together(effort, every_core)


def run_parallel(effort: Effort, names: Sequence[str], walks: Sequence[Recording], served: RenewableSites) -> dict[str, Any]:
    """Return the figures of all contenders on the same pages; None for those that are not installed."""
    present = [contender for contender in contenders(find_executable()) if contender.name in names]
    tell_absent(names, [contender.name for contender in present])
    chosen = list(walks[:: len(walks) // effort.episodes][: effort.episodes])
    others = [walk for walk in walks if walk not in chosen]
    rounds: dict[str, list[RoundTimes]] = {contender.name: [] for contender in present}
    for number in range(effort.rounds):
        for contender in present:
            log_progress(f"round {number + 1} of {effort.rounds}: {contender.name}")
            rounds[contender.name].append(play_round(contender, chosen, others, served))
    sizes: dict[str, float | None] = {}
    for contender in present:
        if contender.name != "browsergym_nowait":  # equal to that with waits
            log_progress(f"memory: {contender.name}")
            size = megabytes_per_env(contender, walks, served)
            sizes[contender.name] = None if size is None else round(size, 2)
    result: dict[str, Any] = {"episodes": [walk.task_id for walk in chosen]}
    for name in NAMES:
        result |= {f"{name}_{key}": value for key, value in figures(rounds.get(name, [])).items()}
        result[f"{name}_mb_per_env"] = sizes.get(name)
    result["webarena_steps_per_s"] = round(1 / WEBARENA_SLEEP_S, 3)
    result["webarena_is"] = f"computed, at most: it sleeps {WEBARENA_SLEEP_S:g} s after each action, whatever else it does"
    return result | ratios(result)


def figures(rounds: Sequence[RoundTimes]) -> dict[str, Any]:
    """Return the medians over rounds, steps and resets, and their counts."""
    steps = [ms for measured in rounds for ms in measured.step_ms]
    resets = [ms for measured in rounds for ms in measured.reset_ms]
    rates = [1000 / mean(measured.step_ms) for measured in rounds if measured.step_ms]
    return {
        "steps_per_s": rounded_median(rates), "steps_per_s_of_rounds": [round(rate, 2) for rate in rates],
        "step_ms": rounded_median(steps), "steps": len(steps), "reset_ms": rounded_median(resets), "resets": len(resets),
        "first_observation_s": rounded_median([measured.first_s for measured in rounds]),
        "failures": [failure for measured in rounds for failure in measured.failures],
    }  # fmt: skip


def ratios(result: dict[str, Any]) -> dict[str, float | None]:
    """Return the speed of this package relative to the others, and the overhead of its Chromium over the floor."""

    def times(one: str, other: str) -> float | None:
        fast, slow = result[f"{one}_steps_per_s"], result[f"{other}_steps_per_s"]
        return round(fast / slow, 2) if fast and slow else None

    pairs = [("inprocess", "browsergym"), ("inprocess", "browsergym_nowait"), ("inprocess", "webarena")]
    pairs += [("chromium", "browsergym"), ("chromium", "browsergym_nowait"), ("floor", "chromium")]
    return {f"{one}_over_{other}": times(one, other) for one, other in pairs}


def suite(
    effort: Effort, make_env: Callable[[], WebArenaLite], recordings: Sequence[Recording], name: str = "suite"
) -> dict[str, Any]:
    """Return the figures of whole episodes on all sites, in-process, including observations and evaluation.

    Each is played twice in a row: first with a cache of other tasks' pages only, then again, like the next episode of
    a group is, for which equal pages are neither rendered nor serialised again.
    """
    steps: dict[str, list[float]] = {"first": [], "again": []}
    rates: dict[str, list[float]] = {"first": [], "again": []}
    resets: list[float] = []
    for _ in range(effort.suite_rounds):
        forget()
        env = make_env()
        before = len(steps["first"])
        for recording in recordings:
            for time_of, times in steps.items():
                watch = Watch()
                env.reset(options={"task": recording.task_id})
                resets += [watch.ms()] if time_of == "again" else []
                for step in recording.steps:
                    watch = Watch()
                    env.step(step.reply)
                    times.append(watch.ms())
        for time_of, times in steps.items():
            rates[time_of].append(1000 / mean(times[before:]))
    result: dict[str, Any] = {}
    for time_of, times in steps.items():
        result |= {
            f"{name}_{time_of}_steps_per_s": rounded_median(rates[time_of]),
            f"{name}_{time_of}_step_ms": rounded_median(times),
            f"{name}_{time_of}_step_ms_p95": round(sorted(times)[int(0.95 * len(times))], 3),
        }
    return result | {
        f"{name}_steps": len(steps["first"]),
        f"{name}_reset_ms": rounded_median(resets),
        f"{name}_resets": len(resets),
    }


def growth(times: int) -> dict[str, float]:
    """Return the exponents k of a step's CPU time, n^k: n rows of its page, and n steps of its episode, by their history."""

    def listing(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        rows = int(environ["QUERY_STRING"])
        form = "<form method=post><label>Quantity <input name=quantity></label><button>Buy</button></form>"
        start_response("200 OK", [("Content-Type", "text/html")])
        return [f"<title>{rows} rows</title>{''.join(f'<a href=/{row}>Item {row}</a>{form}' for row in range(rows))}".encode()]

    forget()
    browser, exponents = InProcessBrowser(Network({"list.test": listing})), dict[str, float]()
    browser.start(["http://list.test/?1"], {})
    points: list[tuple[float, float]] = []
    for rows in (200 * 2**power for power in range(times.bit_length())):
        start = time.process_time()
        browser.goto(f"http://list.test/?{rows}")
        observe(browser.page())
        points.append((rows, time.process_time() - start))
    exponents["page_exponent"] = slope(points)
    histories: tuple[History, ...] = ("none", "compressed", "full")
    for history in histories:
        env, points = WebArenaLite(split="test", max_steps=50 * times + 1, history=history), []
        env.reset(seed=0)
        for step in range(1, 50 * times + 1):
            start = time.process_time()
            env.step('do(action="Scroll Down")')
            points.append((step, time.process_time() - start))
        exponents[f"episode_exponent_{history}"] = slope(points[50:])
    return exponents


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line through the logarithms of points, by least squares."""
    return round(linear_regression(*([math.log(value) for value in axis] for axis in zip(*points, strict=True))).slope, 2)


def seeing(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return the figures of whole episodes with pictures, which only Chromium renders; {} without Chromium."""
    result: dict[str, Any] = {}
    for kind in ("jpeg", "png") if find_executable() else ():
        log_progress(f"pictures: {kind}")
        env = WebArenaLite(split="test", browser="chromium", observation="pixels", picture_format=kind, max_steps=60)
        env.reset()  # starts Chromium
        steps, resets = [], []
        for recording in recordings:
            watch = Watch()
            env.reset(options={"task": recording.task_id})
            resets.append(watch.ms())
            for step in recording.steps:
                watch = Watch()
                env.step(step.reply)
                steps.append(watch.ms())
        env.close()
        result |= {
            f"{kind}_steps_per_s": round(1000 / mean(steps), 1),
            f"{kind}_step_ms": rounded_median(steps),
            f"{kind}_reset_ms": rounded_median(resets),
        }
    return result


def forget() -> None:
    """Clear the caches of worlds and pages, as in a new process."""
    for known in (load_world, original_tree, changed_tree):
        known.cache_clear()


def together(effort: Effort, use: Sequence[int]) -> dict[str, Any]:
    """Return the figures of many envs in the vector env."""
    curve = []
    for envs in effort.envs:
        log_progress(f"{envs} envs on {len(use)} cores")
        run = {"envs": envs, "workers": min(envs, len(use)), "seconds": effort.seconds}
        ready_first, all_of_them = (scaling.rate(use, batch=batch, **run) for batch in (max(1, envs // 4), envs))
        point = {"envs": envs, "steps_per_s": ready_first.steps_per_s, "lockstep_steps_per_s": all_of_them.steps_per_s}
        curve.append(point | {"mb": ready_first.mb})
    waiting = {"envs": 16, "workers": 16, "seconds": effort.seconds, "wait_ms": 20, "site": "shopping", "warm_up": 20}
    tails, spread = [], []
    for number in range(effort.pairs):
        log_progress(f"pair {number + 1} of {effort.pairs}: asynchronous and lock-step, two cores and one")
        tails.append([scaling.rate(use, batch=batch, **waiting).steps_per_s for batch in (4, 16)])
        pair = (scaling.rate(use[-n:], envs=64, workers=n, batch=16, seconds=effort.seconds) for n in (2, 1))
        spread.append([rate.steps_per_s for rate in pair] if len(use) > 1 else [0.0, 1.0])
    return {
        "scaling": curve,
        "async_over_lockstep": rounded_median([ready_first / all_of_them for ready_first, all_of_them in tails]),
        "async_and_lockstep_steps_per_s": tails,
        "two_core_scaling": rounded_median([two / one for two, one in spread]) if len(use) > 1 else None,
        "two_and_one_core_steps_per_s": spread if len(use) > 1 else None,
    }


def tell_absent(names: Iterable[str], present: Sequence[str]) -> None:
    """Print the contenders that are not measured, and the reasons."""
    absent = [name for name in names if name not in present]
    if "floor" in absent or "chromium" in absent:
        log_progress(f"no Chromium was found (one of {', '.join(INSTALLED)}): {', '.join(absent)} left out")
    elif absent and not PEERS_PYTHON.exists():
        log_progress(f"left out: {', '.join(absent)}; `make peers` installs them")


PARTS: dict[str, tuple[tuple[Any, str], ...]] = {
    "request": ((Network, "request"),),  # routing, queries, templates
    "parse": ((document, "parse"),),
    "observe": ((rendering, "observe"),),  # number the elements and write the page
    "history": ((rendering, "compress"), (rendering, "as_text")),
    "evaluate": ((WebArenaLite, "_evaluate"),),
}
"""The functions of each part of a step. The rest is `act`: parsing replies, links and forms, cookies, the env itself."""


class Stopwatch:
    """Measures the time of parts. A part that runs inside another pauses the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._running: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        self._turn()
        self._running.append(part)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def around(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time added to a part."""

        def measure_time(*positional: object, **named: object) -> Any:
            with self.timing(part):
                return function(*positional, **named)

        return measure_time

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


def step_parts(make_env: Callable[[], WebArenaLite], recordings: Sequence[Recording]) -> dict[str, float]:
    """Return the mean milliseconds of each part of a step, over the steps of these recordings, each played for the first time."""
    forget()
    env = make_env()
    watch, steps = Stopwatch(), 0
    with ExitStack() as patches:
        for part, places in PARTS.items():
            for owner, name in places:
                patches.enter_context(patch.object(owner, name, watch.around(part, getattr(owner, name))))
        for recording in recordings:
            before = dict(watch.seconds)
            env.reset(options={"task": recording.task_id})
            watch.seconds = defaultdict(float, before)  # excludes the reset
            for step in recording.steps:
                with watch.timing("act"):
                    env.step(step.reply)
                steps += 1
    return {
        part: round(1000 * seconds / steps, 3) for part, seconds in sorted(watch.seconds.items(), key=lambda item: -item[1])
    }


if __name__ == "__main__":
    console.run("python -m benchmarks.env_speed", lambda _: main())
