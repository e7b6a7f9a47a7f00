"""Settings of the whole suite."""

import os

from hypothesis import HealthCheck, settings

# Torch's own threads wait for each other by spinning: on a machine that does other work as well, small models are ten times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test depends on how fast the machine is.
settings.register_profile("any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_machine")

collect_ignore = ["bookshop_urls.py"]  # needs the settings of the shop that imports it
