"""What people may call themselves in URLs."""

import re
import sqlite3

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.base import RESERVED

_USERNAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,62}[a-z0-9_])?", re.ASCII | re.IGNORECASE)


def username_complaint(db: sqlite3.Connection, username: str, user_id: int | None = None) -> str:
    """Return why the person `user_id`, or a new one, cannot have a username, or nothing."""
    if not _USERNAME.fullmatch(username) or len(username) < 2:
        return "Username can hold 2 to 64 letters, digits, '_', '-' and '.', and cannot begin or end with '-' or '.'."
    holder = queries.user_named(db, username)
    if username.lower() in RESERVED or (holder and holder["user_id"] != user_id) or queries.group(db, username):
        return "Username has already been taken."
    return ""
