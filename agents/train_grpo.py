"""Improve a model by multi-turn GRPO: `python -m agents.train_grpo --help`, the short way to `agents.train_rl --method grpo`."""

import sys

from agents.rollouts.players import collect_rarely
from agents.train_rl import main

if __name__ == "__main__":
    collect_rarely()
    main(["--method", "grpo", *sys.argv[1:]], program="agents.train_grpo")
