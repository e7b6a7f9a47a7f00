"""Train PPO or masked PPO on the candidate actions of pages: `python -m agents.train_sb3 --help`. Needs the extra `baselines`."""

import sys
from collections.abc import Sequence

from agents.sb3.trainer import SB3Settings, train
from agents.settings import parse_settings


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says."""
    print(train(parse_settings(SB3Settings, arguments, program="agents.train_sb3")))


if __name__ == "__main__":
    main(sys.argv[1:])
