"""Placeholder."""

import sqlite3

from webarena_gym.sites.common.clock import moment
from webarena_gym.sites.kit import sign_in


def seed(db: sqlite3.Connection, seed: int) -> None:
    """Fill the tables."""
    db.executemany("INSERT INTO world VALUES (?, ?)", [("seed", str(seed)), ("now", str(moment(seed)))])
    sign_in(db, site="wikipedia", user_id=1)
