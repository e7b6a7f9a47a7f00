"""Search at test time: `python -m agents.search --policy RUN --split validation --method tree --budget 60 --json`."""

import json
from collections.abc import Sequence

from agents.command_lines import option_value, parse_settings
from agents.evaluation.settings import SearchSettings, expect_server, policy_defaults, save
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Search with the options of the command line."""
    policy = option_value(arguments, "--policy")
    defaults = policy_defaults(policy, *(option_value(arguments, name) for name in ("--system", "--split"))) if policy else {}
    settings = parse_settings(SearchSettings, arguments, defaults, program="agents.search")
    expect_server(settings.policy)
    from agents.evaluation.search import run  # noqa: PLC0415 - options are refused without torch

    evaluation, record = run(settings)
    save(settings, evaluation.trajectories)
    print(evaluation.table())
    print(
        f"{'oracle: any episode':<20} {100 * record['oracle_any']['success']:5.1f} %   "
        f"({record['env_steps']} env steps, {record['episodes']} episodes)"
    )
    if settings.json:
        print(json.dumps(record))


if __name__ == "__main__":
    console.run("python -m agents.search", main)
