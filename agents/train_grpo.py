"""Improve a model by multi-turn GRPO: `python -m agents.train_grpo --help`, the short way to `agents.train_rl --method grpo`."""

from agents.settings import collect_rarely
from agents.train_rl import main
from webarena_gym import console

if __name__ == "__main__":
    collect_rarely()
    console.run(
        "python -m agents.train_grpo", lambda arguments: main(["--method", "grpo", *arguments], program="agents.train_grpo")
    )
