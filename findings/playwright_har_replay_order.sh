#!/usr/bin/env bash
# playwright 1.65.2 with a Chromium of the PATH (156 when this was written): a session with a shopping cart, replayed from its HAR file.
#
# Guess: a replay of the same requests in the same order returns the same responses, in the same encoding.
# Seen:  each request has the first recorded response of those with most headers in common: with three mugs in the cart, the page still
#        has one, as it had after the first. A page in ISO-8859-1 is sent in UTF-8 under its old header: "£5" is "Â£5".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet playwright==1.65.2
cd "$folder"
venv/bin/python - <<'PYTHON'
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import Browser, sync_playwright

cart: list[str] = []


class Shop(BaseHTTPRequestHandler):
    def reply(self, text: str, status: int = 200, encoding: str = "utf-8", **headers: str) -> None:
        body = text.encode(encoding)
        self.send_response(status)
        for name, value in {"Content-Type": f"text/html; charset={encoding}", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/price":
            self.reply("<p>\N{POUND SIGN}5</p>", encoding="iso-8859-1")
        else:
            self.reply(f"<p>{len(cart)} items</p><form method=post action=/add><button>Add</button></form>")

    def do_POST(self) -> None:
        cart.append("mug")
        self.reply("", 303, Location="/cart")

    def log_message(self, *_: object) -> None:
        pass


def visit(browser: Browser, **options: str) -> list[str]:
    context = browser.new_context(**options)
    if not options:
        context.route_from_har("session.har", not_found="abort")
    page = context.new_page()
    seen = []
    page.goto(f"{address}/cart")
    seen.append(page.locator("p").inner_text())
    for _ in range(3):
        page.get_by_role("button").click()
        page.wait_for_load_state()
        seen.append(page.locator("p").inner_text())
    page.goto(f"{address}/price")
    seen.append(page.locator("p").inner_text())
    context.close()
    return seen


server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
address = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    print("Chromium", browser.version)
    recorded = visit(browser, record_har_path="session.har")
    replayed = visit(browser)
    browser.close()
print(f"recorded: {recorded}\nreplayed: {replayed}")
assert recorded == ["0 items", "1 items", "2 items", "3 items", "\N{POUND SIGN}5"]
expected = ["0 items", "1 items", "1 items", "1 items", "\u00c2\N{POUND SIGN}5"]
assert replayed == expected, f"the behaviour has changed; expected {expected}"
PYTHON
