#!/usr/bin/env bash
# playwright 1.65.2 with a Chromium of the PATH (156 when this was written): ARIA snapshots of form fields, as agents read them.
#
# Guess: a snapshot has the value of each field and the name of each button, as it has those of an `input` and a `select`.
# Seen:  a `select` with groups has no options and no choice, the text of an editable textbox is missing, a bar and a slider of ARIA
#        have no value, and a name of more than 900 characters is left out. Of a numbered list the numbers are missing, as are
#        `aria-current`, `required` and `readonly`. The value of a password field is in the snapshot.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet playwright==1.65.2
"$folder/venv/bin/python" - <<'PYTHON'
import shutil

from playwright.sync_api import sync_playwright

OPTIONS = "<option>S</option><option selected>M</option>"
CASES = (
    (f"<select aria-label=Size>{OPTIONS}</select>", '- combobox "Size":\n  - option "S"\n  - option "M" [selected]'),
    (f"<select aria-label=Size><optgroup label=Adults>{OPTIONS}</optgroup></select>", '- combobox "Size"'),
    ("<textarea aria-label=Note>red</textarea>", '- textbox "Note": red'),
    ("<div contenteditable role=textbox aria-label=Note>red</div>", '- textbox "Note"'),
    ("<div contenteditable role=textbox aria-label=Note><p>red</p></div>", '- textbox "Note":\n  - paragraph: red'),
    ("<input type=range aria-label=Stars max=5 value=4>", '- slider "Stars": "4"'),
    ("<div role=slider aria-label=Stars aria-valuenow=4></div>", '- slider "Stars"'),
    ("<progress aria-label=Sold value=0.4></progress>", '- progressbar "Sold"'),
    ("<meter aria-label=Rating value=0.4></meter>", '- meter "Rating"'),
    (f"<button>{'x' * 900}</button>", f'- button "{"x" * 900}"'),
    (f"<button>{'x' * 901}</button>", "- button"),
    ("<ol start=3><li>mug<li>cup</ol>", "- list:\n  - listitem: mug\n  - listitem: cup"),
    ("<a href=/2 aria-current=page>2</a>", '- link "2":\n  - /url: /2'),
    ("<input aria-label=Name required readonly>", '- textbox "Name"'),
    ("<input type=password aria-label=Password value=secret>", '- textbox "Password": secret'),
)
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_page()
    for html, expected in CASES:
        page.set_content(html)
        seen = page.locator("body").aria_snapshot()
        print(f"{html[:90]}\n{seen[:120]}")
        assert seen == expected, f"the behaviour has changed; expected {expected}"
    browser.close()
PYTHON
