"""Train an agent that sees: `python -m agents.train_eyes --out runs/eyes --tasks click-color identify-shape`. Needs the extra `chromium`."""

from collections.abc import Sequence

from agents.settings import parse_settings
from agents.training.settings import EyesSettings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line, and print how the clone and the reinforced agent do."""
    settings = parse_settings(EyesSettings, arguments, program="agents.train_eyes")
    from agents.eyes import train  # noqa: PLC0415 - options are refused without torch

    result = train(settings)
    for name in ("clone", "reinforced"):
        score = result[name]
        print(f"{name}: {score['success']:.1%} ({score['low']:.0%} to {score['high']:.0%}, n = {score['n']})")
    lift = result["lift"]
    print(f"lift: {lift['lift']:+.1%} ({lift['low']:+.1%} to {lift['high']:+.1%})")


if __name__ == "__main__":
    console.run("python -m agents.train_eyes", main)
