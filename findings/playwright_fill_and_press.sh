#!/usr/bin/env bash
# playwright 1.65.2 with a Chromium of the PATH (156 when this was written): text and dates that are typed into filled fields.
#
# Guess: `fill` with a date in another form is an error and leaves the field; `press_sequentially` continues the text.
# Seen:  fields of dates and times are emptied without an error, a range is set to its limit or its middle. `press_sequentially` and
#        `press` type at the beginning of a field that has not been clicked: "X" in "Ann" is "XAnn".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet playwright==1.65.2
"$folder/venv/bin/python" - <<'PYTHON'
import shutil

from playwright.sync_api import sync_playwright

fields = [
    ('type="date" value="2024-01-02"', "05/06/2024", ""),
    ('type="date" value="2024-01-02"', "2024-5-6", ""),
    ('type="date" value="2024-01-02"', "2024-05-06", "2024-05-06"),
    ('type="time" value="10:00"', "9:30", ""),
    ('type="month" value="2024-01"', "05/2024", ""),
    ('type="range" value="7"', "200", "100"),
    ('type="range" value="7"', "seven", "50"),
]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_page()
    for attributes, text, value in fields:
        page.set_content(f"<input {attributes}>")
        page.locator("input").fill(text)
        seen = page.locator("input").input_value()
        print(f"{attributes}, fill({text!r}): {seen!r}")
        assert seen == value, f"the behaviour has changed; expected {value!r}"
    for method in ("press_sequentially", "press"):
        page.set_content('<input value="Ann">')
        getattr(page.locator("input"), method)("X")
        seen = page.locator("input").input_value()
        print(f"value=Ann, {method}('X'): {seen!r}")
        assert seen == "XAnn", "the behaviour has changed"
    browser.close()
PYTHON
