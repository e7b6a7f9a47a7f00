"""The speed of pages with scripts in virtual and in real time: `python -m benchmarks.virtual_time examples/jupyterlab --json`.

The folder contains a `webarena-app.toml`. A walk of random clicks and texts is recorded on the application in real time. Then both
variants repeat it in turns. Besides the steps per second, the benchmark counts the steps after which a page equals the recorded one, and
the different results of `--repeats` further walks in virtual time, which should be one, also beside `--load` busy processes.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from random import Random
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.machine import log_progress, report, rounded_median
from webarena_gym import console
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.processes import close_all
from webarena_gym.env import WebArenaLite
from webarena_gym.pages import dom
from webarena_gym.tools.application_check import exploration_task

_WHOLE = 10**9  # characters of a window that shows whole pages
_WORDS = ("tea", "one", "Ann")
_TYPED = 0.2  # share of steps that type, where there is a field
_LEAVING = ("log out", "sign out", "shut down", "download", "new window")


class Walk(NamedTuple):
    """The replies of a walk, the page text after each, and the times of the steps in milliseconds."""

    replies: list[str]
    texts: list[str]
    step_ms: list[float]


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.virtual_time", description=__doc__)
    add = parser.add_argument
    add("folders", nargs="+", help="folders with a webarena-app.toml")
    add("--steps", type=console.integer(1), default=40, help="steps of a walk (default: 40)")
    add("--rounds", type=console.integer(1), default=3, help="rounds in which the variants take turns (default: 3)")
    add(
        "--repeats",
        type=console.integer(0),
        default=0,
        help="further walks in virtual time, which are compared with each other (default: 0)",
    )
    add("--load", type=console.integer(0), default=0, help="busy processes beside the further walks (default: 0)")
    add("--seed", type=console.integer(0), default=0, help="seed of the walks (default: 0)")
    add("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    for folder in options.folders:
        application = read_application(folder)
        result[application.name] = measure(application, options)
        close_all()
    report("virtual_time", result, as_json=options.json)


def measure(application: Application, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one application."""
    with ExitStack() as stack:
        envs = {
            name: stack.enter_context(closing(make_env(replace(application, virtual_time=name == "virtual"))))
            for name in ("real", "virtual")
        }
        log_progress(f"{application.name}: recording")
        recorded = record(envs["real"], options.steps, Random(options.seed))
        walks: dict[str, list[Walk]] = {"real": [], "virtual": []}
        for number in range(options.rounds):
            for name, env in envs.items():
                log_progress(f"{application.name}: round {number + 1} of {options.rounds}, {name} time")
                walks[name].append(repeat(env, recorded.replies))
        result: dict[str, Any] = {"steps": len(recorded.replies), "rounds": options.rounds}
        for name, done in walks.items():
            rates = [1000 / mean(walk.step_ms) for walk in done]
            equal = [sum(map(str.__eq__, walk.texts, recorded.texts)) for walk in done]
            result |= {
                f"{name}_steps_per_s": rounded_median(rates),
                f"{name}_steps_per_s_of_rounds": [round(rate, 2) for rate in rates],
                f"{name}_step_ms": rounded_median(ms for walk in done for ms in walk.step_ms),
                f"{name}_pages_as_recorded": equal,
            }
        result["virtual_over_real"] = round(result["virtual_steps_per_s"] / result["real_steps_per_s"], 2)
        if options.repeats:
            log_progress(f"{application.name}: {options.repeats} repeats")
            with busy(options.load):
                results = [tuple(repeat(envs["virtual"], recorded.replies).texts) for _ in range(options.repeats)]
            most = max(map(results.count, results))
            result |= {"repeats": options.repeats, "load": options.load, "equal_repeats": most}
    return result


def make_env(application: Application) -> WebArenaLite:
    """Return an env that shows whole pages of an application in Chromium."""
    tasks = [exploration_task(application)]
    return WebArenaLite(
        application=application,
        tasks=tasks,
        browser="chromium",
        elements="label",
        dialect="browsergym",
        window=_WHOLE,
        max_steps=10**9,
    )


def record(env: WebArenaLite, steps: int, random: Random) -> Walk:
    """Take random steps from the first page."""
    env.reset(seed=0)
    walk = Walk([], [], [])
    for _ in range(3 * steps):
        if len(walk.replies) == steps:
            break
        if take(env, walk, _next_reply(env, random)):  # an impossible action takes as long as its time limit
            for items in walk:
                items.pop()
    return walk


def repeat(env: WebArenaLite, replies: Sequence[str]) -> Walk:
    """Take the steps of a walk."""
    env.reset(seed=0)
    walk = Walk([], [], [])
    for reply in replies:
        take(env, walk, reply)
    return walk


def take(env: WebArenaLite, walk: Walk, reply: str) -> str:
    """Take one step, add it to a walk, and return its error."""
    start = time.perf_counter()
    _, _, _, _, info = env.step(reply)
    walk.step_ms.append(1000 * (time.perf_counter() - start))
    walk.replies.append(reply)
    walk.texts.append(f"{info['action_error']}\n{info['page']}")
    return info["action_error"]


def _next_reply(env: WebArenaLite, random: Random) -> str:
    rendered = env._current_page(env._episode)  # noqa: SLF001 - no part of the env's interface
    nodes = rendered.observation.nodes
    enabled = {label: node.element for label, node in nodes.items() if not dom.is_disabled(node.element)}
    fields = [label for label, element in enabled.items() if dom.element_type(element) in ("text", "search", "textarea")]
    others = [
        label
        for label, element in enabled.items()
        if label not in fields
        and dom.element_type(element) != "file"
        and element.tag != "select"
        and not any(word in label.lower() for word in _LEAVING)
        and not element.get("href", "").startswith(("http://", "https://", "//"))
    ]
    if fields and (not others or random.random() < _TYPED):
        return f"fill({json.dumps(random.choice(fields))}, {json.dumps(random.choice(_WORDS))})"
    return f"click({json.dumps(random.choice(others))})" if others else "go_back()"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep processes computing within the context."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    console.run("python -m benchmarks.virtual_time", lambda _: main())
