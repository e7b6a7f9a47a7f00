"""A soak test of many envs: `python -m benchmarks.soak --minutes 60 --envs 64`, with `--kill` a test of killed workers.

Without `--kill`, random replies are played, and the memory (proportional set size), open files and processes are measured over time. With
it, reference solutions are played while workers are killed at random: every episode outside of a killed worker must earn its reward, and
every lost one must report it. With `--application`, random replies are played on an application. The last line is one JSON object; the exit
status is 1 if something is wrong.
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.machine import cores, family, report, resources_of
from benchmarks.recording import record
from webarena_gym import console
from webarena_gym.applications.application import read_application
from webarena_gym.env import WebArenaLite
from webarena_gym.tools.application_check import exploration_task
from webarena_gym.vector import WebArenaLiteVector

SETTINGS: dict[str, Any] = {"split": "test", "max_steps": 60}
MAY_GROW = 0.05  # fraction of the memory after the first minutes
FIRST_MINUTES = 5  # in which worlds are opened and caches are filled
HELPERS = 2  # multiprocessing's fork server and resource tracker, which end with this process
_ELEMENT = re.compile(r'<(\w+)[^>\n]*? id="(\d+)"')
_WORD = re.compile(r"[\w.,$-]+")


@dataclass
class Tally:
    """The result of a run."""

    steps: int = 0
    episodes: int = 0  # finished episodes, including lost ones
    lost: int = 0  # by a failure other than the agent's
    kills: int = 0
    wrong: list[str] = field(default_factory=list)


class Sample(NamedTuple):
    """The resources in use at one time."""

    minute: float
    mb: float
    files: int
    processes: int
    steps: int


def main() -> None:
    """Run the soak test and print its result."""
    parser = console.Parser(prog="python -m benchmarks.soak", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=console.decimal(0), default=60, help="how long random play goes on (default: 60)")
    add("--envs", type=console.integer(1), default=64, help="how many envs (default: 64)")
    add("--workers", type=console.integer(1), default=len(cores()), help="processes (default: one for each core)")
    add("--kill", action="store_true", help="kill workers at random while reference solutions are played")
    add("--episodes", type=console.integer(1), default=1000, help="with --kill: how many episodes (default: 1000)")
    add(
        "--application",
        metavar="FOLDER",
        help="play on this application, which has a webarena-app.toml (default: the test split)",
    )
    add("--browser", choices=("inprocess", "chromium"), default="inprocess", help="browser of the envs (default: inprocess)")
    add("--every", type=console.decimal(0), default=2.0, help="with --kill: seconds between kills, on average (default: 2)")
    add("--seed", type=console.integer(0), default=0, help="of what is random (default: 0)")
    add("--json", action="store_true", help="print one JSON object as the last line (as always)")
    add("--out", type=Path, help="also write the object to a file of this name in benchmarks/results")
    options = parser.parse_args()
    if options.kill and options.application:
        parser.error("--kill replays solutions of the test split, so it cannot be combined with --application")
    before = family(os.getpid())
    envs = WebArenaLiteVector(
        options.envs, batch_size=max(1, options.envs // 4), workers=options.workers, autoreset_mode="Disabled",
        browser=options.browser, **(_settings_of(options.application) if options.application else SETTINGS),
    )  # fmt: skip
    start = time.monotonic()
    try:
        if options.kill:
            result = kill_at_random(envs, options.episodes, options.every, Random(options.seed))
        else:
            result = play_at_random(envs, options.minutes, Random(options.seed))
    finally:
        envs.close()
    left_behind = set(family(os.getpid())) - set(before)
    if len(left_behind) > HELPERS:
        result["wrong"].append(f"{len(left_behind)} processes are left behind")
    result |= {"envs": options.envs, "workers": options.workers, "elapsed_s": round(time.monotonic() - start, 1)}
    report("soak", result, as_json=True, out=options.out)
    sys.exit(1 if result["wrong"] else 0)


def _settings_of(folder: str) -> dict[str, Any]:
    """Return the settings of envs that look around in an application as its signed-in user."""
    application = read_application(folder)
    return {"application": application, "tasks": [exploration_task(application)], "max_steps": SETTINGS["max_steps"]}


def play_at_random(envs: WebArenaLiteVector, minutes: float, random: Random) -> dict[str, Any]:
    """Play random replies for some minutes after the first reset. Return the resources over time, and their growth."""
    tally, samples = Tally(), []
    pause = max(1.0, minutes * 60 / 60)
    envs.async_reset(seed=random.randrange(2**31))
    batch, start = envs.recv(), time.monotonic()
    while (elapsed := time.monotonic() - start) < minutes * 60:
        if elapsed >= len(samples) * pause and (held := resources_of(os.getpid())):
            samples.append(Sample(round(elapsed / 60, 2), round(held.mb, 1), held.files, held.processes, tally.steps))
            print(samples[-1], flush=True)
        rows = list(_rows(batch, tally))
        over = [row["env"] for row in rows if row["over"]]
        on = [row for row in rows if not row["over"]]
        tally.wrong += [f"env {row['env']}: {row['failure']}" for row in rows if row["failure"]]
        if over:
            envs.async_reset(env_ids=over)
        if on:
            envs.send([random_reply(row["page"], random) for row in on], [row["env"] for row in on])
        batch = envs.recv()
    growth = _growth(samples, tally)
    return {"mode": "random play", **asdict(tally), **growth, "samples": samples}


def kill_at_random(envs: WebArenaLiteVector, episodes: int, every_s: float, random: Random) -> dict[str, Any]:
    """Play reference solutions while workers are killed. Return the lost episodes, and True if all others earned their reward."""
    model = WebArenaLite(**SETTINGS)
    recordings = record(model, model.tasks)
    model.close()
    tally, begun = Tally(), 0
    left: dict[int, list[str]] = {}
    struck: set[int] = set()  # envs whose worker was killed during their episode
    due = time.monotonic() + every_s
    ready: Sequence[int] = range(envs.num_envs)
    while tally.episodes < episodes:
        over = [env for env in ready if not left.get(env)]
        for env in over:
            recording = recordings[begun % len(recordings)]
            begun += 1
            left[env] = [step.reply for step in reversed(recording.steps)]
            struck.discard(env)
            envs.async_reset(options={"task": recording.task_id}, env_ids=[env])
        on = [env for env in ready if env not in over]
        if on:
            envs.send([left[env].pop() for env in on], on)
        if time.monotonic() >= due:
            due = time.monotonic() + every_s * random.uniform(0.5, 1.5)
            pids = envs.worker_pids
            victim = random.randrange(len(pids))
            struck |= set(range(victim, envs.num_envs, len(pids)))  # env i lives in worker i modulo their number
            os.kill(pids[victim], signal.SIGKILL)
            tally.kills += 1
        rows = list(_rows(envs.recv(), tally))
        for row in rows:
            _judge(row, row["env"] in struck, tally)
            if row["over"]:
                left[row["env"]] = []
        ready = [row["env"] for row in rows]
    return {"mode": "kill", **asdict(tally), "lost_for_each_kill": round(tally.lost / max(1, tally.kills), 2)}


def random_reply(page: str, random: Random) -> str:
    """Return a random valid action: a click, words of the page typed or searched for, or occasionally an answer."""
    elements, words = _ELEMENT.findall(page), _WORD.findall(page)
    if not elements or random.random() < 0.1:
        return f"exit(message={json.dumps(random.choice(words or ['']))})"
    tag, number = random.choice(elements)
    if tag in ("input", "textarea") and random.random() < 0.8:
        action, typed = random.choice(("Type", "Search")), " ".join(random.choices(words, k=random.randint(1, 4)))
        return f'do(action="{action}", argument={json.dumps(typed, ensure_ascii=False)}, element="{number}")'
    if tag == "select":
        return f'do(action="Select Dropdown Option", argument={json.dumps(random.choice(words))}, element="{number}")'
    return f'do(action="Click", element="{number}")'


def _rows(batch: object, tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield the received results by env, and count them."""
    _, rewards, terminations, truncations, infos = batch
    failures = infos.get("failure", [None] * len(rewards))
    for row, env in enumerate(infos["env_id"].tolist()):
        over = bool(terminations[row] or truncations[row])
        tally.steps += 1
        tally.episodes += over
        tally.lost += bool(failures[row])
        yield {
            "env": env, "over": over, "reward": float(rewards[row]), "failure": failures[row],
            "page": infos["page"][row] if "page" in infos else "", "task": infos["task_id"][row] if "task_id" in infos else "",
        }  # fmt: skip


def _judge(row: dict[str, Any], was_struck: bool, tally: Tally) -> None:
    """Record a fault of an episode."""
    if row["failure"]:
        if not was_struck:
            tally.wrong.append(f"env {row['env']} was lost, though its worker was not killed: {row['failure']}")
        if not (row["over"] and isnan(row["reward"])):
            tally.wrong.append(f"env {row['env']} was lost, but its reward is {row['reward']}")
    elif row["over"] and row["reward"] != 1:
        tally.wrong.append(f"env {row['env']}: the reference solution of {row['task']} earned {row['reward']}")


def _growth(samples: Sequence[Sample], tally: Tally) -> dict[str, Any]:
    """Return the growth of resources since the first minutes, and note growth above the limit. A short run proves nothing."""
    later = [sample for sample in samples if sample.minute >= FIRST_MINUTES]
    if len(later) < 4:
        return {}
    half = len(later) // 2
    first, second = (fmean(sample.mb for sample in part) for part in (later[:half], later[half:]))
    if second > first * (1 + MAY_GROW):
        tally.wrong.append(f"memory grew from {first:.0f} to {second:.0f} MB")
    more = {what: getattr(later[-1], what) - getattr(later[0], what) for what in ("files", "processes")}
    tally.wrong += [f"{count} more {what} than past the first minutes" for what, count in more.items() if count > 0]
    return {
        "mb_first_half": round(first, 1),
        "mb_second_half": round(second, 1),
        "more_files": more["files"],
        "more_processes": more["processes"],
    }


if __name__ == "__main__":
    console.run("python -m benchmarks.soak", lambda _: main())
