"""Behaviour cloning: a model learns to reply as the expert does. Run `python -m agents.train_bc --help`.

`--model pointer` trains a pointing network instead of a language model, with options of its own
(`agents.training.pointer_cloning`).
"""

from collections.abc import Sequence
from pathlib import Path

from agents.data.demonstrations import recorded_agent
from agents.settings import collect_rarely, option_value, parse_settings
from agents.training.settings import POINTER, BCSettings, PointerBCSettings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line; what a file of demonstrations says of its env and prompt are the defaults."""
    if option_value(arguments, "--model") == POINTER:
        settings = parse_settings(PointerBCSettings, arguments, program="agents.train_bc")
        from agents.training.pointer_cloning import train_pointer  # noqa: PLC0415 - options are refused without torch

        print(train_pointer(settings))
        return
    file = option_value(arguments, "--demonstrations")
    cloning = parse_settings(BCSettings, arguments, recorded_agent(Path(file)) if file else None, program="agents.train_bc")
    from agents.training.cloning import train  # noqa: PLC0415 - options are refused without torch

    print(train(cloning))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_bc", main)
