"""A ticket desk on PostgreSQL, without packages: `python3 desk.py PORT DATABASE`, with psql on the path."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from html import escape
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import make_server

PAGE = """<!doctype html><html lang=en><title>Desk</title><h1>Tickets</h1><table>{rows}</table>
<form method=post><label>Title <input name=title></label> <button name=does value=file>File</button></form></html>"""
ROW = """<tr><td>{title}</td><td>{state}</td><td>{owner}</td><td>
<form method=post><input type=hidden name=id value={id}><button name=does value=close>Close {title}</button></form></td></tr>"""
STATEMENTS = {
    "file": "INSERT INTO ticket (title) VALUES (:'title');",
    "close": "UPDATE ticket SET done = true WHERE id = :id;",
}


def psql(sql: str, **values: str) -> str:
    """Run SQL in which `:name` and `:'name'` are values, and return the rows, with tabs between their columns."""
    options = [word for name, value in values.items() for word in ("-v", f"{name}={value}")]
    command = ["psql", "-d", sys.argv[2], "-qAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", *options]
    return subprocess.run(command, input=sql, check=True, capture_output=True, text=True).stdout


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Change the tickets if a form was sent, and show them."""
    if environ["REQUEST_METHOD"] == "POST":
        form = parse_qs(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode())
        statement = STATEMENTS[form["does"][0]]
        psql(statement, title=form.get("title", [""])[0], id=str(int(form.get("id", ["0"])[0])))
        start_response("303 See Other", [("Location", "/")])
        return [b""]
    lines = psql(
        "SELECT id, translate(title, E'\\t\\n', '  '), done, coalesce(owner, '') FROM ticket ORDER BY id;"
    ).splitlines()
    rows = [line.split("\t") for line in lines]
    table = "".join(
        ROW.format(id=number, title=escape(title), state="done" if done == "t" else "open", owner=escape(owner))
        for number, title, done, owner in rows
    )
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [PAGE.format(rows=table).encode()]


if __name__ == "__main__":
    make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
