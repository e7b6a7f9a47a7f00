"""Every task of MiniWoB++ with this package's observations and actions: `python -m benchmarks.miniwob --json`.

Each task is played with a few random valid actions, twice with the same seed: both episodes must give equal observations. The command prints
for each task the number of elements on its first page that an action can name, and the outcome. The last line is one JSON object. Random
actions mostly earn partial rewards.
"""

import json
import sys
import time
from random import Random
from statistics import median
from typing import Any

from benchmarks.machine import origin
from webarena_gym import console
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.miniwob import MiniWobText, task_names
from webarena_gym.observation import Observation
from webarena_gym.pages.reading import options


def main() -> None:
    """Run the benchmark, print the results, and exit with status 1 if a task failed."""
    parser = console.Parser(prog="python -m benchmarks.miniwob", description=__doc__)
    parser.add_argument("tasks", nargs="*", help="names of tasks (default: all)")
    parser.add_argument("--steps", type=console.integer(0), default=4, help="random actions in each (default: 4)")
    parser.add_argument("--seed", type=console.integer(0), default=1, help="of the episodes and the actions (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    env = MiniWobText(max_steps=arguments.steps)
    rows = {name: play_twice(env, name, arguments.seed) for name in arguments.tasks or task_names()}
    env.close()
    failed = [name for name, row in rows.items() if row["error"]]
    summary = {
        "tasks": len(rows),
        "failed": failed,
        "differing": [name for name, row in rows.items() if not row["same"]],
        "nothing_to_use": [name for name, row in rows.items() if not row["controls"]],
        "steps": sum(row["steps"] for row in rows.values()),
        "rewarded": sum(row["reward"] == 1.0 for row in rows.values()),
        "rewarded_in_part": [name for name, row in rows.items() if 0 < row["raw_reward"] < 1],
        "reset_s_median": round(median(row["reset_s"] for row in rows.values()), 3),
        "step_s_median": round(median(row["step_s"] for row in rows.values()), 3),
    }
    for key, value in summary.items():
        print(f"{key}: {', '.join(value) or 'none' if isinstance(value, list) else value}")
    if arguments.json:
        print(json.dumps(origin("miniwob") | summary))
    sys.exit(bool(failed))


def play_twice(env: MiniWobText, name: str, seed: int) -> dict[str, Any]:
    """Return the results of two equal episodes of a task; `error` describes an exception."""
    try:
        first, second = (episode(env, f"{name}/{seed}") for _ in range(2))
        row = first | {"same": first["texts"] == second["texts"], "error": first["error"] or second["error"]}
        del row["texts"]
    except Exception as error:  # noqa: BLE001 - any error is reported, and the other tasks are played
        row = {"error": f"{type(error).__name__}: {error}", "same": False, "controls": 0, "steps": 0, "raw_reward": 0.0}
        row |= {"reward": 0.0, "reset_s": 0.0, "step_s": 0.0}
    print(
        name,
        *(f"{key}={value:.2f}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items()),
        flush=True,
    )
    return row


def episode(env: MiniWobText, task: str) -> dict[str, Any]:
    """Play one episode with random actions, seeded by the task's name."""
    rng = Random(task)
    started = time.perf_counter()
    text, info = env.reset(options={"task": task})
    texts, reset_s, controls = [text], time.perf_counter() - started, len(env.observation.nodes)
    started, reward, done = time.perf_counter(), 0.0, False
    while not done:
        text, reward, terminated, truncated, info = env.step(random_reply(env.observation, rng))
        texts.append(text)
        done = terminated or truncated
    return {
        "controls": controls, "steps": len(texts) - 1, "reward": reward, "raw_reward": info.get("raw_reward", 0.0),
        "error": info.get("failure", ""), "reset_s": reset_s, "step_s": (time.perf_counter() - started) / (len(texts) - 1),
        "texts": texts,
    }  # fmt: skip


def random_reply(observation: Observation, rng: Random) -> str:
    """Return a random valid action: typing into fields, selecting options, clicking other elements."""
    dialect = DIALECTS["webrl"]
    if not observation.nodes:
        return dialect.format(Action(Kind.WAIT))
    address = rng.choice(list(observation.nodes))
    element = observation.nodes[address].element
    if element.tag == "textarea" or (element.tag == "input" and element.get("type", "text") in ("text", "password", "search")):
        return dialect.format(Action(Kind.TYPE, element=address, argument=rng.choice(("7", "word", "two words"))))
    if element.tag == "select" and options(element):
        return dialect.format(Action(Kind.SELECT, element=address, argument=rng.choice(options(element))[0]))
    return dialect.format(Action(Kind.CLICK, element=address))


if __name__ == "__main__":
    console.run("python -m benchmarks.miniwob", lambda _: main())
