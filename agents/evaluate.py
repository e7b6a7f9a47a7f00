"""Evaluate a policy on tasks: success rates with 95 % confidence intervals, by site and by kind of check.

`python -m agents.evaluate --policy expert --split test --json` prints one JSON object on the last line.
"""

import json
from collections.abc import Sequence

from agents.evaluation.settings import EvaluationSettings, choose_tasks, expect_server, policy_defaults, save
from agents.settings import collect_rarely, option_value, parse_settings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Evaluate with the options of the command line."""
    policy = option_value(arguments, "--policy")
    defaults = {"processes": 0, **(policy_defaults(policy, option_value(arguments, "--system")) if policy else {})}
    settings = parse_settings(EvaluationSettings, arguments, defaults, program="agents.evaluate")
    tasks = choose_tasks(settings)
    expect_server(settings.policy)
    from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

    evaluation = evaluate_policy(settings, tasks)
    save(settings, evaluation)
    print(evaluation.table())
    if settings.json:
        options = {name: getattr(settings, name) for name in ("policy", "split", "world_seed", "variation")}
        print(json.dumps({**evaluation.record(), **options}))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.evaluate", main)
