# PYTHON_ARGCOMPLETE_OK
"""`python -m webarena_gym` is the command `webarena-gym`."""

import sys


def main() -> int:
    """Run the command; Ctrl-C ends it quietly also while its modules are imported."""
    try:
        from webarena_gym.tools.cli import main as run  # noqa: PLC0415 - within reach of the except

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
