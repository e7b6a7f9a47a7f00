"""Write the mean of several models' weights as one model: `python -m agents.average --help`."""

from collections.abc import Sequence

from agents.settings import parse_settings
from agents.training.settings import AverageSettings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Average as the command line says."""
    settings = parse_settings(AverageSettings, arguments, program="agents.average")
    from agents.training.average import average  # noqa: PLC0415 - options are refused without torch

    print(average(settings))


if __name__ == "__main__":
    console.run("python -m agents.average", main)
