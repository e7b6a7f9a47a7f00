#!/usr/bin/env bash
# warcio 1.8.1: capture_http around requests that other threads send.
#
# Guess: a WARC file of all requests in the block, or an error.
# Seen:  only requests of the thread that entered the block are recorded. Those of a pool of threads, and of an asyncio
#        program that uses asyncio.to_thread, are missing without a warning; the file is empty.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet warcio==1.8.1 requests==2.34.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import asyncio
import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

from warcio.archiveiterator import ArchiveIterator
from warcio.capture_http import capture_http

import requests  # isort: skip - the documentation asks for this order


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/"


def fetch(number):
    return requests.get(f"{url}{number}", timeout=30).text


async def fetch_all():
    return await asyncio.gather(*[asyncio.to_thread(fetch, number) for number in range(3)])


def recorded(work):
    with capture_http() as writer:
        assert list(work()) == ["page"] * 3
    return sum(record.rec_type == "response" for record in ArchiveIterator(writer.get_stream()))


counts = {
    "the same thread": recorded(lambda: map(fetch, range(3))),
    "a pool of threads": recorded(lambda: ThreadPoolExecutor(3).map(fetch, range(3))),
    "asyncio.to_thread": recorded(lambda: asyncio.run(fetch_all())),
}
for name, count in counts.items():
    print(f"three requests from {name}: {count} responses recorded")
assert list(counts.values()) == [3, 0, 0], "the behaviour has changed; expected 3, 0 and 0"
server.shutdown()
PYTHON
