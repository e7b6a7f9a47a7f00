# PYTHON_ARGCOMPLETE_OK
"""`python -m webarena_gym` is the command `webarena-gym`."""

import sys


def main() -> int:
    """Run the command and return its exit status. Ctrl-C ends it without a traceback, also while its modules are imported."""
    try:
        from webarena_gym.tools.cli import main as run  # noqa: PLC0415 - inside the try, to catch Ctrl-C during the import

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
