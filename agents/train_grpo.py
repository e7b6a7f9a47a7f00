"""Improve a model by multi-turn GRPO. Short for `agents.train_rl --method grpo`. Run `python -m agents.train_grpo --help`."""

from agents.command_lines import collect_rarely
from agents.train_rl import main
from webarena_gym import console

if __name__ == "__main__":
    collect_rarely()
    console.run(
        "python -m agents.train_grpo", lambda arguments: main(["--method", "grpo", *arguments], program="agents.train_grpo")
    )
