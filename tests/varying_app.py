"""Notes whose rows have times and random values of many kinds, as a WSGI application."""

import os
import secrets
import sqlite3
import time
import uuid
from contextlib import closing
from datetime import UTC, date, datetime
from urllib.parse import parse_qs

FORM = """<form method="post"><input name="title" aria-label="Title"><input name="due" aria-label="Due"><button>Add</button></form>
<a href="/{0}">Code {0}</a> <a href="/view">View</a> <a href="/help?topic=dates&amp;token={0}#top">Help</a>
<a href="/?open=settings-{0}">Settings</a> <a href="/day?{1}">Today</a> <a href="#about">About</a>"""


def values():
    """Return values of a row: those that vary from one episode to the next, and those that do not."""
    now = datetime.now(UTC)
    return {
        "text": now.strftime("%Y-%m-%d %H:%M:%S"), "iso": now.isoformat(), "day": date.today().isoformat(), "minute": now.strftime("%Y-%m-%dT%H:%M"),
        "english": now.strftime("%d %b %Y %H:%M:%S"), "epoch": int(time.time()), "milliseconds": int(time.time() * 1000), "real": time.time(),
        "clock": now.strftime("%H:%M"), "twelve": now.strftime("%I:%M %p"), "mail": now.strftime("%d %b %Y"), "us": now.strftime("%m/%d/%Y"), "german": now.strftime("%d.%m.%Y"),
        "slashes": now.strftime("%Y/%m/%d"), "digits": now.strftime("%Y%m%d"), "month": now.strftime("%B %d, %Y"), "syslog": now.strftime("%b %e %H:%M"),
        "token": secrets.token_hex(8), "state": "draft", "priority": 3, "since": "2001-02-03",
    }  # fmt: skip


def make_state(folder):
    """Write the state of the application into a folder."""
    folder.mkdir()
    (folder / "log.txt").write_text("begun\n")
    with closing(sqlite3.connect(folder / "notes.db")) as db:
        db.executescript(
            f"CREATE TABLE note (id TEXT PRIMARY KEY, title, due, {', '.join(values())}); CREATE TABLE tag (id TEXT PRIMARY KEY, name);"
            "CREATE TABLE user (name TEXT PRIMARY KEY, last_seen); INSERT INTO user VALUES ('ann', ''); CREATE TABLE view (what);"
        )


def application(environ, start_response):
    """Answer one request."""
    state = os.environ["STATE"]
    with closing(sqlite3.connect(f"{state}/notes.db")) as db, db:
        if environ["PATH_INFO"] == "/view":
            db.execute("INSERT INTO view VALUES ('seen')")
        elif environ["REQUEST_METHOD"] == "POST":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
            form = {key: texts[0] for key, texts in parse_qs(body, keep_blank_values=True).items()}
            row = {"id": str(uuid.uuid4()), "title": form["title"], "due": form["due"], **values()}
            db.execute(f"INSERT INTO note ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            db.execute("UPDATE user SET last_seen = CURRENT_TIMESTAMP")
            for word in ("first", "second", "third"):
                db.execute("INSERT INTO tag VALUES (?, ?)", (str(uuid.uuid4()), f"{form['title']} {word}"))
            with open(f"{state}/log.txt", "a") as log:
                log.write(f"{datetime.now(UTC)} added a note\nadded {form['title']}\n")
    start_response("200 OK", [("Content-Type", "text/html")])
    titles = {"/help": "Dates and times", "/day": f"{date.today():%d %B %Y}"}
    opened = "<h1>Settings</h1>" if "open=settings" in environ["QUERY_STRING"] else ""
    form = FORM.format(secrets.token_hex(4), date.today().isoformat())
    return [f"{form}{opened}<h2>{titles.get(environ['PATH_INFO'], 'Notes')}</h2>".encode()]
