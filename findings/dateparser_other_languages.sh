#!/usr/bin/env bash
# dateparser 1.5.0: English texts, with the default settings.
#
# Guess: a text that is no date is None, and a numeric date is read month first in an English sentence.
# Seen:  "no" is now, "N/A" a day of this month, a price is a time of today or a year, as words of some 200 languages are tried.
#        `search_dates` takes "On 5/6/2024 at 10:00" for Vietnamese and returns the 5th of June; `parse("5/6/2024")` is the 6th of
#        May. `languages=["en"]` mends the words and the order, and leaves the prices.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dateparser==1.5.0
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import datetime

from dateparser import parse
from dateparser.search import search_dates

settings = {"RELATIVE_BASE": datetime(2026, 3, 15, 10, 30)}
expected = [
    ("yes", "None", "None"),
    ("no", "2026-03-15 10:30:00", "None"),
    ("N/A", "2026-03-12 00:00:00", "None"),
    ("$5.00", "2026-03-15 05:00:00", "2026-03-15 05:00:00"),
    ("3.75", "1975-03-15 00:00:00", "1975-03-15 00:00:00"),
    ("5/6/2024", "2024-05-06 00:00:00", "2024-05-06 00:00:00"),
]
for text, default, english in expected:
    seen = str(parse(text, settings=settings)), str(parse(text, languages=["en"], settings=settings))
    print(f"{text!r} -> {seen[0]}, in English {seen[1]}")
    assert seen == (default, english), f"the behaviour has changed; expected {default}, {english}"
sentence = "On 5/6/2024 at 10:00 and 11:00"
text, date, language = search_dates(sentence, settings=settings, add_detected_language=True)[0]
_, english_date = search_dates(sentence, languages=["en"], settings=settings)[0]
print(f"{sentence!r} -> {date} (language {language}), in English {english_date}")
assert (date, language) == (datetime(2024, 6, 5), "vi"), "the behaviour has changed"
assert english_date == datetime(2024, 5, 6), "the behaviour has changed"
PYTHON
