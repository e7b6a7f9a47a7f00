#!/usr/bin/env bash
# browser-use 0.13.14 with a Chromium of the PATH (156 when this was written): the page text that a model gets.
#
# Guess: the text has all visible words of the page, and the chosen option of a list.
# Seen:  texts of one character are left out: a cell "5", a rating "4", a size "M". Of a list, the first four options are named, and
#        the chosen one is not marked. The values of text fields and ticked boxes are there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet browser-use==0.13.14
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import http.server
import os
import shutil
import threading

os.environ.update(ANONYMIZED_TELEMETRY="false", BROWSER_USE_LOGGING_LEVEL="error")
from browser_use import BrowserProfile, BrowserSession  # noqa: E402

options = "".join(f"<option{' selected' * (size == 'XL')}>{size}</option>" for size in ("XS", "S", "M", "L", "XL", "XXL"))
page = f"""<title>Shop</title><p>Rating: <b>4</b></p><p>Price: <b>12</b></p><table><tr><td>Stock</td><td>5</td></tr></table>
<label>Name <input value="Ann"></label><label>Size <select name="size">{options}</select></label>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *arguments):
        pass


async def page_text(url):
    profile = BrowserProfile(
        executable_path=shutil.which("chromium"), headless=True, chromium_sandbox=False, enable_default_extensions=False
    )
    session = BrowserSession(browser_profile=profile)
    await session.start()
    try:
        await session.navigate_to(url)
        state = await session.get_browser_state_summary(include_screenshot=False)
        return state.dom_state.llm_representation()
    finally:
        await session.kill()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
text = asyncio.run(page_text(f"http://127.0.0.1:{server.server_port}/"))
print(text)
lines = [line.strip() for line in text.splitlines()]
assert {"Rating:", "Price:", "12", "Stock"} <= set(lines) and "value=Ann" in text
assert "4" not in lines and "5" not in lines, "the behaviour has changed: texts of one character are there"
assert "options=XS|S|M|L" in text and "XL" not in text, "the behaviour has changed: the chosen option is there"
PYTHON
