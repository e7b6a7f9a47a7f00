#!/usr/bin/env bash
# freezegun 1.5.5: times with a time zone under freeze_time(..., tz_offset=-5).
#
# Guess: the offset changes local times only, and all ways to ask for the current moment agree.
# Seen:  `datetime.now(timezone.utc)` is shifted, too: its timestamp is five hours before that of `time.time()`, and
#        `datetime.utcnow()` is another hour than `datetime.now(timezone.utc)`. `time.localtime()` is not shifted, and a local time
#        that is parsed has a timestamp without the offset. time-machine 3.6.0 with a zone has one moment.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet freezegun==1.5.5 time-machine==3.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import os
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import time_machine
from freezegun import freeze_time

os.environ["TZ"] = "UTC"
time.tzset()
with freeze_time("2024-01-10 12:00:00", tz_offset=-5):
    hours = {
        "time.time()": time.time() / 3600 % 24,
        "datetime.utcnow()": datetime.utcnow().hour,
        "datetime.now(UTC)": datetime.now(UTC).hour,
        "datetime.now(UTC).timestamp()": datetime.now(UTC).timestamp() / 3600 % 24,
        "datetime.now()": datetime.now().hour,
        "datetime.now().timestamp()": datetime.now().timestamp() / 3600 % 24,
        "time.localtime()": time.localtime().tm_hour,
        'fromisoformat("2024-01-10T07:00").timestamp()': datetime.fromisoformat("2024-01-10T07:00").timestamp() / 3600 % 24,
    }
for name, hour in hours.items():
    print(f"{name}: hour {hour:g}")
assert list(hours.values()) == [12, 12, 7, 7, 7, 12, 12, 12], "the behaviour has changed; expected 12, 12, 7, 7, 7, 12, 12, 12"
with time_machine.travel(datetime(2024, 1, 10, 7, tzinfo=ZoneInfo("America/New_York")), tick=False):
    assert datetime.now().hour == 7
    assert datetime.now(UTC).hour == 12
    assert datetime.now(UTC).timestamp() == datetime.now().timestamp() == time.time()
PYTHON
