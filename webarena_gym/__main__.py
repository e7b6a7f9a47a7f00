"""`python -m webarena_gym` is the command `webarena-gym`."""

import sys

from webarena_gym.tools.cli import main

sys.exit(main())
