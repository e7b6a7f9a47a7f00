"""Settings of the whole suite."""

import os

# Torch's own threads wait for each other by spinning: on a machine that does other work as well, small models are ten times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
