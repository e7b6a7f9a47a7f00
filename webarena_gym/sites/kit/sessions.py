"""The sessions that a site keeps of its visitors."""

import hashlib
import json
import sqlite3
from typing import Any

COOKIE = "sid"
"""The name of the cookie that holds the id of a session, on every site."""

ENDS = "ends"
"""The key in a session that ends: the rule of a form, and how often its visitor may still send it. Clocks stand still, so no session ends with time."""


def sign_in(db: sqlite3.Connection, **data: Any) -> str:
    """Store a new session with `data` in it and return its id, the value of the site's session cookie.

    Sessions are emptied and never deleted, so that their count gives each an id that no other has had.
    """
    (count,) = db.execute("SELECT count(*) FROM session").fetchone()
    (seed,) = db.execute("SELECT value FROM world WHERE key = 'seed'").fetchone()
    session_id = hashlib.sha256(f"{seed}/{count}".encode()).hexdigest()[:32]
    db.execute("INSERT INTO session VALUES (?, ?)", (session_id, json.dumps(data)))
    return session_id
