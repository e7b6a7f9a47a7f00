"""Evaluate a policy on tasks: success rates with 95 % confidence intervals, by site and by kind of check.

`python -m agents.evaluate --policy expert --split test --json` prints one JSON object on the last line.
"""

import json
import shlex
import sys
from collections.abc import Sequence

from agents.command_lines import collect_rarely, option_value, parse_settings
from agents.data.trajectories import Trajectory, append_trajectory
from agents.evaluation.settings import (
    EvaluationSettings,
    choose_tasks,
    default_hints,
    expect_server,
    policy_defaults,
    save,
    scored_options,
)
from webarena_gym import console


def main(arguments: Sequence[str]) -> int:
    """Evaluate with the options of the command line, and return the exit status: 0 if every episode was scored, else 1."""
    policy = option_value(arguments, "--policy")
    defaults = {"processes": 0}
    if policy:
        defaults |= policy_defaults(policy, *(option_value(arguments, name) for name in ("--system", "--split")))
    settings = parse_settings(
        EvaluationSettings, arguments, defaults, program="agents.evaluate", default_hints={} if policy else default_hints(),
        refused={"--model": "is the option of the training commands; expected --policy MODEL"},
    )  # fmt: skip
    tasks = choose_tasks(settings)
    expect_server(settings.policy)
    from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

    finished = 0

    def save_episode(trajectory: Trajectory) -> None:
        nonlocal finished
        if settings.save:
            append_trajectory(settings.save, trajectory, is_first=not finished)
        finished += 1

    try:
        evaluation = evaluate_policy(settings, tasks, on_episode=save_episode)
    except BaseException:
        if settings.save and finished:
            print(f"{finished} of {len(tasks)} episodes are in {settings.save}", file=sys.stderr)
        raise
    save(settings, evaluation.trajectories)  # in the order of the tasks
    print(evaluation.table())
    print(f"settings: {shlex.join(scored_options(settings))}")
    if settings.json:
        options = {name: getattr(settings, name) for name in ("policy", "split", "world_seed", "fresh_worlds", "variation")}
        print(json.dumps({**evaluation.record(), **options}))
    return 1 if evaluation.failed else 0


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.evaluate", main)
