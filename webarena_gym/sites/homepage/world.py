"""The generator of the start page's database: the name of the current user."""

import sqlite3

from webarena_gym.sites.country.dice import Scale, moment
from webarena_gym.sites.country.names import population
from webarena_gym.sites.country.seeding import insert, sign_in


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the empty tables of schema.sql with the world of a seed and scale; the scratchpad stays empty."""
    me = population(seed, scale)[0]
    insert(db, "world", [("seed", str(seed)), ("now", str(moment(seed)))])
    insert(db, "owner", [(me.name, f"{me.first}.{me.last}@example.com".lower())])
    sign_in(db, site="homepage")
