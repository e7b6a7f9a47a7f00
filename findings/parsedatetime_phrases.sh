#!/usr/bin/env bash
# parsedatetime 2.6: relative times in a phrase of several words.
#
# Guess: all times are relative to `sourceTime`, and what the parser cannot read has the flag 0.
# Seen:  "this morning", "an hour and a half ago" and "3 days after May 6" are relative to the clock of the computer, so that a replay
#        with the recorded time has other dates. "ago" changes the sign of its own number only: "2 hours and 30 minutes ago" is one
#        and a half hours later. Other words are skipped: "day after tomorrow" is tomorrow, "tomorrow at 5" has no 5, and "two days
#        before christmas" is two days before now. Of "order 1230" the number is a time of day. Each has a flag other than 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet parsedatetime==2.6
"$folder/venv/bin/python" - <<'PYTHON'
import datetime

import parsedatetime

recorded = datetime.datetime(2024, 5, 15, 10, 30)  # a Wednesday
today = datetime.date.today()
calendar = parsedatetime.Calendar()


def parse(text):
    time, flag = calendar.parse(text, recorded.timetuple())
    assert flag != 0, f"the behaviour has changed: {text!r} is not read"
    return datetime.datetime(*time[:6])


for text, expected in (
    ("2 hours ago", "2024-05-15 08:30:00"),
    ("2 hours and 30 minutes ago", "2024-05-15 12:00:00"),
    ("1 day and 2 hours ago", "2024-05-16 08:30:00"),
    ("day after tomorrow", "2024-05-16 09:00:00"),
    ("day before yesterday", "2024-05-14 09:00:00"),
    ("two days before christmas", "2024-05-13 10:30:00"),
    ("tomorrow at 5", "2024-05-16 09:00:00"),
    ("tomorrow at 5pm", "2024-05-16 17:00:00"),
    ("order 1230", "2024-05-15 12:30:00"),
    ("in 2023", "2024-05-15 20:23:00"),
):
    seen = parse(text)
    print(f"{text!r}: {seen}")
    assert str(seen) == expected, f"the behaviour has changed; expected {expected}"

assert parse("tomorrow morning").date() == datetime.date(2024, 5, 16)
for text in ("this morning", "this afternoon", "an hour and a half ago", "3 days after May 6", "2 weeks from May 6"):
    seen = parse(text)
    print(f"{text!r}: {seen}")
    assert seen.date() >= today - datetime.timedelta(days=366), "the behaviour has changed; expected a date of the computer's clock"
PYTHON
