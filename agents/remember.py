"""Add a memory of steps to a pointer network: `python -m agents.remember --model RUN --out FOLDER`.

The network plays training tasks, or `--episodes` names files of `agents.evaluate --save`. The steps of successful episodes are stored, and
the network is trained to read them. The folder is used like any run: `python -m agents.train_rl --model FOLDER`.

With `--walk STEPS`, the sites are explored instead, and the effects of labels are stored for `agents.evaluate --reads meaning`.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

from agents.command_lines import parse_settings
from agents.data.demonstrations import draw_tasks
from agents.data.expert import envs_with_tasks
from agents.data.trajectories import read_trajectories
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, save_agent
from agents.training.settings import RememberSettings
from webarena_gym import console
from webarena_gym import suite as task_suite

_SUMMARY_FILE = "remembered.json"


def remember(args: RememberSettings) -> dict[str, float]:
    """Write the network with its memory, and return a summary: episodes, env steps, CPU minutes, and the size of the memory.

    If the folder contains a summary, it is returned, and nothing is written.

    Raises:
        ValueError: The model is not a pointer network.

    """
    if (args.out / _SUMMARY_FILE).is_file():
        summary: dict[str, float] = json.loads((args.out / _SUMMARY_FILE).read_text(encoding="utf-8"))
        return summary
    from agents.training.pointing_networks import fill  # noqa: PLC0415 - options are refused without torch

    start_s = time.process_time()
    if args.walk:
        return explore_sites(args)
    if args.episodes:
        episodes = [item for file in args.episodes for item in read_trajectories(file)]
        args.expect_training_worlds("episodes", (task_suite.world_of(item.task_id) for item in episodes))
    else:
        from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415

        changes = {name: getattr(args, name) for name in ("max_steps", "temperature", "seed")}
        options = EvaluationSettings(**{**policy_defaults(str(args.model)), **changes, "policy": str(args.model), "threads": 1})
        tasks = draw_tasks(
            args.worlds, args.per_template, templates=args.templates, application=options.application, suite=options.suite
        )
        episodes = evaluate_policy(options, tasks, quiet=True).trajectories
    summary = {
        "episodes": len(episodes),
        "env_steps": 0 if args.episodes else sum(len(item.steps) for item in episodes),
        **fill(args, episodes),
        "cpu_minutes": round((time.process_time() - start_s) / 60, 3),
    }
    (args.out / _SUMMARY_FILE).write_text(json.dumps(summary), encoding="utf-8")
    return summary


def explore_sites(args: RememberSettings) -> dict[str, float]:
    """Explore each site in each world, write the network with the effects of labels, and return the numbers of worlds and labels."""
    from agents.models.pointer.labels import add_effects, explore_site  # noqa: PLC0415 - as above
    from agents.models.pointer.network import load_pointer  # noqa: PLC0415

    network, vocabulary = load_pointer(args.model)
    if network.labels is None:
        raise ValueError(
            f"{args.model} has no training labels; expected a network that this version of agents.train_bc trained"
        )
    explorations = []
    for world in args.worlds:
        first_tasks = {
            task.sites[0]: task for task in reversed(draw_tasks([world], 1, templates=args.templates, variation=args.variation))
        }
        options: dict[str, Any] = {
            "variation": args.variation,
            "elements": "id",
            "window": 20_000,
            "history": "none",
            "max_steps": args.walk + 1,
        }
        explorations.append(
            {
                key: effects
                for env, task in envs_with_tasks([*first_tasks.values()], **options)
                for key, effects in explore_site(env, task, args.walk).items()
            }
        )
    add_effects(network.labels, explorations)
    save_agent(args.out, network, vocabulary, agent_record(args.model))
    summary: dict[str, float] = {"worlds": len(explorations), "labels_tried": sum(map(len, explorations))}
    (args.out / _SUMMARY_FILE).write_text(json.dumps(summary), encoding="utf-8")
    return summary


def main(arguments: Sequence[str]) -> None:
    """Add a memory with the options of the command line, and print the summary."""
    summary = remember(parse_settings(RememberSettings, arguments, program="agents.remember"))
    print(", ".join(f"{name} {value:g}" for name, value in summary.items()))


if __name__ == "__main__":
    console.run("python -m agents.remember", main)
