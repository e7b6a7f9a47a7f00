"""A board of cards whose state is kept by the page, which pushes it to the server: an application of the suite `errands`."""

import json
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

STATES = []


class Handler(SimpleHTTPRequestHandler):
    """Serve the folder, and the last state that the page has pushed."""

    def do_GET(self):
        if self.path != "/api/state":
            return super().do_GET()
        return self.respond(json.dumps(STATES[-1]) if STATES else "", 200 if STATES else 404)

    def do_PUT(self):
        STATES.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.respond("{}", 200)

    def respond(self, content, status):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(content.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
