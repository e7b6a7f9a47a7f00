"""The generator of the start page's database."""

import sqlite3

from webarena_gym.sites.country.dice import Scale, moment
from webarena_gym.sites.country.names import population
from webarena_gym.sites.country.seeding import insert, sign_in


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer; the scratchpad is blank."""
    me = population(seed, scale)[0]
    insert(db, "world", [("seed", str(seed)), ("now", str(moment(seed)))])
    insert(db, "owner", [(me.name, f"{me.first}.{me.last}@example.com".lower())])
    sign_in(db, site="homepage")
