#!/usr/bin/env bash
# datasets 5.2.0: texts that are dates in a file of JSON lines.
#
# Guess: a JSON string is read as a text, and `to_json` writes it as it was read.
# Seen:  a column whose texts are all dates is a timestamp, also in the content of messages: "2026-01-05" is
#        datetime(2026, 1, 5, 0, 0), "2026-01-05T10:00:00+02:00" is eight o'clock without an offset, and `to_json` writes milliseconds. One
#        text that is no date, in any row of the file, keeps all of them texts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet datasets==5.2.0 pyarrow==26.0.1 pandas==3.1.1
cd "$folder"
HF_HUB_OFFLINE=1 HF_HOME="$folder/home" "$folder/venv/bin/python" - <<'PYTHON'
import json
from datetime import datetime
from pathlib import Path

import datasets

datasets.disable_progress_bars()
for number, (values, expected, written) in enumerate(
    (
        (["2026-01-05", "red"], ["2026-01-05", "red"], "2026-01-05"),
        (["2026-01-05", "2026-01-06"], [datetime(2026, 1, 5), datetime(2026, 1, 6)], 1767571200000),
        (["2026-01-05 10:00"], [datetime(2026, 1, 5, 10)], 1767607200000),
        (["2026-01-05T10:00:00+02:00"], [datetime(2026, 1, 5, 8)], 1767600000000),
        (["10:00", "11:00"], ["10:00", "11:00"], "10:00"),
    )
):
    file = Path(f"answers{number}.jsonl")
    file.write_text("".join(json.dumps({"message": {"role": "user", "content": value}}) + "\n" for value in values))
    rows = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir="cache")
    seen = [message["content"] for message in rows["message"]]
    rows.to_json("written.jsonl")
    first = json.loads(Path("written.jsonl").read_text().splitlines()[0])["message"]["content"]
    print(f"{values}: {seen}, written as {first!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
    assert first == written, f"the behaviour has changed; expected {written}"
PYTHON
