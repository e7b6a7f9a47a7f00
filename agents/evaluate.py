"""Evaluate a policy on tasks: success rates with 95 % confidence intervals, by site and by kind of check.

`python -m agents.evaluate --policy expert --split test --json` prints one JSON object on the last line.
"""

import json
import shlex
import sys
from collections.abc import Sequence

from agents.command_lines import collect_rarely, option_value, parse_settings
from agents.data.trajectories import Trajectory
from agents.evaluation.settings import EvaluationSettings, choose_tasks, expect_server, policy_defaults, save, scored_options
from webarena_gym import console


def main(arguments: Sequence[str]) -> int:
    """Evaluate with the options of the command line, and return the exit status: 0 if every episode was scored, else 1."""
    policy = option_value(arguments, "--policy")
    defaults = {"processes": 0}
    if policy:
        defaults |= policy_defaults(policy, *(option_value(arguments, name) for name in ("--system", "--split")))
    settings = parse_settings(EvaluationSettings, arguments, defaults, program="agents.evaluate")
    tasks = choose_tasks(settings)
    expect_server(settings.policy)
    from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

    def save_unfinished(trajectories: Sequence[Trajectory]) -> None:
        save(settings, trajectories)
        if settings.save:
            print(f"{len(trajectories)} of {len(tasks)} episodes are in {settings.save}", file=sys.stderr)

    evaluation = evaluate_policy(settings, tasks, on_error=save_unfinished)
    save(settings, evaluation.trajectories)
    print(evaluation.table())
    print(f"settings: {shlex.join(scored_options(settings))}")
    if settings.json:
        options = {name: getattr(settings, name) for name in ("policy", "split", "world_seed", "fresh_worlds", "variation")}
        print(json.dumps({**evaluation.record(), **options}))
    return 1 if evaluation.failed else 0


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.evaluate", main)
