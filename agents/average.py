"""Write the mean of several models' weights as one model: `python -m agents.average --help`."""

from collections.abc import Sequence

from agents.settings import parse_settings
from agents.training.average import AverageSettings, average
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Average as the command line says."""
    print(average(parse_settings(AverageSettings, arguments, program="agents.average")))


if __name__ == "__main__":
    console.run("python -m agents.average", main)
