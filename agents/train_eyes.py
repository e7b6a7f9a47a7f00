"""Train a vision agent: `python -m agents.train_eyes --out runs/eyes --tasks click-color identify-shape`. Needs the extra `chromium`."""

from collections.abc import Sequence

from agents.command_lines import parse_settings
from agents.training.settings import EyesSettings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line, and print the success rates after behaviour cloning and after GRPO."""
    settings = parse_settings(EyesSettings, arguments, program="agents.train_eyes")
    from agents.eyes import train  # noqa: PLC0415 - options are refused without torch

    result = train(settings)
    for name, label in (("clone", "behaviour cloning"), ("reinforced", "with GRPO")):
        score = result[name]
        print(f"{label}: {score['success']:.1%} ({score['low']:.0%} to {score['high']:.0%}, n = {score['n']})")
    difference = result["lift"]
    print(f"improvement: {difference['lift']:+.1%} ({difference['low']:+.1%} to {difference['high']:+.1%})")


if __name__ == "__main__":
    console.run("python -m agents.train_eyes", main)
