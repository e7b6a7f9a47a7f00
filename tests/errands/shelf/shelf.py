"""A shelf of things that is rendered by the server, which keeps it in memory: an application of the suite `errands`."""

import json
from urllib.parse import parse_qs

THINGS = ["tea"]


def application(environ, start_response):
    """Answer one request: the shelf, as a page or as JSON, any other file of this folder, or a new thing."""
    path = environ["PATH_INFO"]
    if environ["REQUEST_METHOD"] == "POST":
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        THINGS.append(parse_qs(body)["thing"][0])
        start_response("303 See Other", [("Location", "/")])
        return []
    if path == "/state":
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(THINGS).encode()]
    start_response("200 OK", [("Content-Type", "text/html")])
    if path != "/":
        with open(f"{__file__.rpartition('/')[0]}{path}", "rb") as file:
            return [b"<pre>" + file.read() + b"</pre>"]
    form = '<form method="post"><label>Thing <input name="thing"></label> <button>Put</button></form>'
    return [f"<title>Shelf</title><ul>{''.join(f'<li>{thing}</li>' for thing in THINGS)}</ul>{form}".encode()]
