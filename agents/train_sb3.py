"""Train PPO or masked PPO on the candidate actions of pages: `python -m agents.train_sb3 --help`. Needs the extra `baselines`."""

from collections.abc import Sequence

from agents.command_lines import parse_settings
from agents.training.settings import SB3Settings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line."""
    settings = parse_settings(SB3Settings, arguments, program="agents.train_sb3")
    from agents.sb3 import train  # noqa: PLC0415 - options are refused without torch

    print(train(settings))


if __name__ == "__main__":
    console.run("python -m agents.train_sb3", main)
