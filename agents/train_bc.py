"""Train a model by behaviour cloning of the expert. Run `python -m agents.train_bc --help`.

`--model pointer` trains a pointer network instead of a language model, with other options
(`agents.training.pointer_cloning`).
"""

from collections.abc import Sequence
from pathlib import Path

from agents.data.demonstrations import recorded_agent
from agents.settings import collect_rarely, option_value, parse_settings
from agents.training.settings import POINTER, BCSettings, PointerBCSettings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line. A file of demonstrations sets the defaults of the env and prompt options."""
    if option_value(arguments, "--model") == POINTER:
        settings = parse_settings(PointerBCSettings, arguments, program="agents.train_bc")
        from agents.training.pointer_cloning import train_pointer  # noqa: PLC0415 - options are refused without torch

        print(train_pointer(settings))
        return
    file = option_value(arguments, "--demonstrations")
    bc_settings = parse_settings(BCSettings, arguments, recorded_agent(Path(file)) if file else None, program="agents.train_bc")
    from agents.training.cloning import train  # noqa: PLC0415 - options are refused without torch

    print(train(bc_settings))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_bc", main)
