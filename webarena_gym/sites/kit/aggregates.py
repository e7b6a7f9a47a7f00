"""Whether the sites of a world show sums and counts that real ones leave to their visitors; those of large worlds do not."""

import sqlite3

from webarena_gym.sites.country.scales import NO_AGGREGATES


def are_shown(db: sqlite3.Connection) -> bool:
    """Say whether a site shows them."""
    return db.execute("SELECT 1 FROM world WHERE key = ? AND value = ?", NO_AGGREGATES).fetchone() is None
