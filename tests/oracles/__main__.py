"""Command: compare the oracles with tasks drawn in several worlds, and print each disagreement.

With --accept-wordings, record the present wordings of goals as read: first read what has changed, and correct the oracle.
"""

import argparse
import json
import sys

from tests.oracles.framework import MOST_STEPS, WORDINGS, disagreements, wordings
from tests.oracles.truths import ORACLES
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import WebArenaGymError
from webarena_gym.suite import draw, templates


def main(arguments: list[str] | None = None) -> int:
    """Print a line a template, and its disagreements. Return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracles", description=__doc__)
    parser.add_argument("--template", nargs="+", metavar="NAME", default=list(ORACLES), help="only these templates")
    parser.add_argument("--worlds", nargs="+", type=int, metavar="SEED", default=[1002, 3101, 3102], help="world seeds")
    parser.add_argument("--draws", type=int, metavar="N", default=20, help="tasks a template and world")
    parser.add_argument("--accept-wordings", action="store_true", help="record the present wordings of these templates as read")
    options = parser.parse_args(arguments)
    if options.accept_wordings:
        present = {name: list(dict.fromkeys(templates()[name].phrasings)) for name in options.template}
        read = {name: texts for name, texts in (wordings() | present).items() if name in ORACLES}
        WORDINGS.write_text(json.dumps(read, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    wrong = 0
    for name in options.template:
        compared = 0
        for seed in options.worlds:
            try:
                tasks = draw([name], world_seed=seed, count=options.draws)
            except WebArenaGymError as error:
                print(f"{name}: world {seed}: {error}")
                wrong += 1
                continue
            with WebArenaLite(tasks=tasks, max_steps=MOST_STEPS) as env:
                for task in tasks:
                    points = disagreements(env, task, ORACLES[name])
                    compared, wrong = compared + 1, wrong + bool(points)
                    for point in points:
                        print(f"{task.task_id}: {point}")
        print(f"{name}: {compared} tasks compared", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
