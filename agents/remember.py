"""Give a pointing network a memory of steps: `python -m agents.remember --model RUN --out FOLDER`.

The network plays training tasks, or `--episodes` names files of `agents.evaluate --save`. The steps of successes are kept, and the
network learns to read them. The folder is then used like any run: `python -m agents.train_rl --model FOLDER`.

With `--walk STEPS` it is given what labels do on the sites instead, for `agents.evaluate --reads meaning`.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

from agents.data.demonstrations import draw_tasks
from agents.data.expert import envs_with_tasks
from agents.data.trajectories import read_trajectories
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, save_agent
from agents.settings import parse_settings
from agents.training.settings import RememberSettings
from webarena_gym import console
from webarena_gym import tasks as task_suite

_SPENT = "remembered.json"


def remember(args: RememberSettings) -> dict[str, float]:
    """Write the network with its memory, and return what that took: episodes, env steps, CPU minutes, and the size of the memory.

    What was written before is only read. Raises ValueError for a model that is no pointing network.
    """
    if (args.out / _SPENT).is_file():
        known: dict[str, float] = json.loads((args.out / _SPENT).read_text(encoding="utf-8"))
        return known
    from agents.training.pointing_networks import fill  # noqa: PLC0415 - options are refused without torch

    started_s = time.process_time()
    if args.walk:
        return walk_sites(args)
    if args.episodes:
        played = [item for file in args.episodes for item in read_trajectories(file)]
        args.expect_training_worlds("episodes", (task_suite.world_of(item.task_id) for item in played))
    else:
        from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415

        changes = {name: getattr(args, name) for name in ("max_steps", "temperature", "seed")}
        options = EvaluationSettings(**{**policy_defaults(str(args.model)), **changes, "policy": str(args.model), "threads": 1})
        tasks = draw_tasks(args.worlds, args.per_template, templates=args.templates, application=options.application)
        played = evaluate_policy(options, tasks, quiet=True).trajectories
    spent = {
        "episodes": len(played),
        "env_steps": 0 if args.episodes else sum(len(item.steps) for item in played),
        **fill(args, played),
        "cpu_minutes": round((time.process_time() - started_s) / 60, 3),
    }
    (args.out / _SPENT).write_text(json.dumps(spent), encoding="utf-8")
    return spent


def walk_sites(args: RememberSettings) -> dict[str, float]:
    """Write the network with what labels did in walks of each site in each world, and return the labels tried by all."""
    from agents.models.pointer.labels import add_effects, explore_site  # noqa: PLC0415 - as above
    from agents.models.pointer.network import load_pointer  # noqa: PLC0415

    network, vocabulary = load_pointer(args.model)
    if network.labels is None:
        raise ValueError(f"{args.model} has no labels of its training; expected a network of this version's train_bc")
    walks = []
    for world in args.worlds:
        begun = {
            task.sites[0]: task for task in reversed(draw_tasks([world], 1, templates=args.templates, variation=args.variation))
        }
        shown: dict[str, Any] = {
            "variation": args.variation,
            "elements": "id",
            "window": 20_000,
            "history": "none",
            "max_steps": args.walk + 1,
        }
        walks.append(
            {
                key: did
                for env, task in envs_with_tasks([*begun.values()], **shown)
                for key, did in explore_site(env, task, args.walk).items()
            }
        )
    add_effects(network.labels, walks)
    save_agent(args.out, network, vocabulary, agent_record(args.model))
    spent: dict[str, float] = {"worlds": len(walks), "labels_tried": sum(map(len, walks))}
    (args.out / _SPENT).write_text(json.dumps(spent), encoding="utf-8")
    return spent


def main(arguments: Sequence[str]) -> None:
    """Remember with the options of the command line."""
    spent = remember(parse_settings(RememberSettings, arguments, program="agents.remember"))
    print(", ".join(f"{name} {value:g}" for name, value in spent.items()))


if __name__ == "__main__":
    console.run("python -m agents.remember", main)
