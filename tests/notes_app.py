"""Notes behind a log-in, as a WSGI and as an ASGI application, and as a command: `python notes_app.py DATABASE PORT`."""

import json
import os
import secrets
import sqlite3
import sys
import time
from datetime import UTC, datetime
from html import escape
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, quote
from wsgiref.simple_server import make_server

DATABASE = os.environ.get("NOTES_DB", "")
VISITS = []
BREAKING = "" if os.environ.get("NOTES_SOUND") else ' <a href="/crash">Crash</a> <a href="/broken">Broken</a>'
if os.environ.get("NOTES_BREAKS"):
    print("the settings are read")  # noqa: T201
    raise KeyError("SECRET_KEY")
KEPT = sqlite3.connect(DATABASE) if os.environ.get("NOTES_KEEPS") else None  # as some do when they are imported
if KEPT:
    KEPT.execute("SELECT count(*) FROM note")


def make_state(folder):
    """Write the state of the application into a folder."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "notes.db") as db:
        db.executescript(
            "PRAGMA journal_mode = wal; CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, body TEXT);"
            "CREATE TABLE session (token TEXT PRIMARY KEY); INSERT INTO note (title, body) VALUES ('Tea', 'green'), ('Rope', '12 m');"
        )
    db.close()
    (folder / "files").mkdir()
    (folder / "files" / "old.txt").write_text("old")


def application(environ, start_response):
    """Answer one request."""
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    form = {}
    if method == "POST":
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        form = {key: values[0] for key, values in parse_qs(body).items()}
    db = sqlite3.connect(DATABASE)
    try:
        token = SimpleCookie(environ.get("HTTP_COOKIE", "")).get("token")
        is_known = token and db.execute("SELECT 1 FROM session WHERE token = ?", (token.value,)).fetchone()
        status, headers, content = answer(path, form, db, is_known, environ.get("QUERY_STRING", ""))
        db.commit()
    finally:
        db.close()
    start_response(status, [("Content-Type", "text/html; charset=utf-8"), *headers])
    return [content.encode()]


def answer(path, form, db, is_known, query):
    """Return the status, the headers and the content of an answer."""
    if path == "/crash":
        os.abort()
    if path == "/broken":
        raise RuntimeError("this page is broken")
    if path == "/login":
        if form.get("password") == "secret":
            token = secrets.token_hex(8)
            db.execute("INSERT INTO session VALUES (?)", (token,))
            return "303 See Other", [("Location", "/"), ("Set-Cookie", f"token={token}; Path=/")], ""
        fields = '<input name="user"><input name="password" type="password">'
        return "200 OK", [], f'<form method="post">{fields}<button>Sign in</button></form>'
    if path == "/open":
        return "200 OK", [], "for all"
    if path == "/about":  # the place and the times of its files, and the time
        begun = time.monotonic()
        time.sleep(0.05)
        assert time.monotonic() - begun >= 0.05, "durations run where the clock stands"
        files = Path(DATABASE).with_name("files")
        times = [str(datetime.fromtimestamp((files / name).stat().st_mtime, UTC)) for name in ("", "old.txt")]
        link = f'<a href="/about?at={quote(DATABASE, safe="")}">{times}</a>'
        return "200 OK", [], f"{DATABASE} {link} {datetime.now(UTC)} {escape(query)}"
    if not is_known:
        return "303 See Other", [("Location", "/login")], ""
    if path == "/nowhere":
        return "404 Not Found", [], "There is no such page."
    if path == "/notes.json":
        notes = [{"id": number, "title": title} for number, title in db.execute("SELECT id, title FROM note ORDER BY id")]
        return "200 OK", [("Content-Type", "application/json")], json.dumps({"notes": notes})
    if path == "/script":
        script = "<script>document.body.append('written by a script')</script>"
        return "200 OK", [], f"<!doctype html><body><div></div>{script}</body>"
    if path == "/export":
        files = Path(DATABASE).with_name("files")
        (files / "export.txt").write_text("all notes")
        (files / "export.zip").write_bytes(b"PK\x03\x04\xff")
        (files / ".last-export").write_text("export.txt")
    if form.get("title"):
        db.execute("INSERT INTO note (title, body) VALUES (?, ?)", (form["title"], form.get("body", "")))
    if form.get("delete"):
        db.execute("DELETE FROM note WHERE id = ?", (form["delete"],))
    VISITS.append(path)
    rows = "".join(
        f'<li>{escape(title)}: {escape(body)} <form method="post"><button name="delete" value="{number}">Delete {escape(title)}</button></form></li>'
        for number, title, body in db.execute("SELECT id, title, body FROM note ORDER BY id")
    )
    page = f'<!doctype html><title>Notes</title><h1>Notes</h1><p>Visit {len(VISITS)}</p><ul>{rows}</ul><a href="/export">Export</a> <a href="http://elsewhere.test/">Elsewhere</a> <a href="/script">Script</a>{BREAKING}'
    fields = '<label>Title <input name="title"></label><label>Body <input name="body"></label>'
    return "200 OK", [], f'{page}<form method="post">{fields}<button>Add</button></form>'


async def asgi(scope, receive, send):
    """Answer the same over ASGI."""
    if scope["type"] != "http":
        return
    body = (await receive()).get("body", b"")
    import io  # noqa: PLC0415

    environ = {"PATH_INFO": scope["path"], "REQUEST_METHOD": scope["method"], "QUERY_STRING": scope["query_string"].decode()}
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    environ["HTTP_COOKIE"] = dict(scope["headers"]).get(b"cookie", b"").decode()
    head = []
    content = application(environ, lambda status, headers: head.extend((status, headers)))
    headers = [(name.lower().encode(), value.encode()) for name, value in head[1]]
    await send({"type": "http.response.start", "status": int(head[0][:3]), "headers": headers})
    await send({"type": "http.response.body", "body": b"".join(content)})


if __name__ == "__main__":
    DATABASE = sys.argv[1]
    make_server("127.0.0.1", int(sys.argv[2]), application).serve_forever()
