"""The generator of the map's database: a country's roads and places, and what its mappers have noted, from one integer."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from webarena_gym.sites.country.clock import moment
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import EAST, NORTH, SOUTH, WEST, Country, country
from webarena_gym.sites.country.indexing import fill_words
from webarena_gym.sites.country.people import Person, population
from webarena_gym.sites.country.scales import Scale, settings
from webarena_gym.sites.country.seeding import insert
from webarena_gym.sites.kit.sessions import sign_in
from webarena_gym.sites.map.world import highways, notes, towns
from webarena_gym.sites.map.world.places import Draftsman, Place
from webarena_gym.sites.map.world.roads import Board
from webarena_gym.sites.map.world.sizes import SIZES, Sizes
from webarena_gym.sites.map.world.towns import Plan

PASSWORD = "Password.123"  # noqa: S105  # the one password of every made-up mapper


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer, and commit."""
    land, dice, now, board = country(seed, scale), Dice(f"map/{seed}"), moment(seed), Board()
    plans = [
        towns.lay_out(board, dice, index, town, [landmark for landmark in land.landmarks if landmark.town == town.name])
        for index, town in enumerate(land.towns, 1)
    ]
    highways.connect(board, dice, plans)
    places = Draftsman(seed, board, scale).draw(plans, land)
    _insert_country(db, land, plans)
    _insert_roads(db, board)
    _insert_places(db, places)
    _insert_people(db, dice, population(seed, scale), now, places, SIZES[scale])
    keys = {"seed": str(seed), "now": str(now), "country": land.name, "roads": _digest(board)}
    insert(db, "world", [*sorted(keys.items()), *settings(scale), *SIZES[scale].settings])
    sign_in(db, site="map", user_id=1)
    fill_words(db)
    db.commit()


def _digest(board: Board) -> str:
    """A name for these very roads, by which a process finds them again."""
    roads = [board.nodes, [[line.town_id, line.name, line.kind, line.pieces] for line in board.lines]]
    return hashlib.sha256(json.dumps(roads).encode()).hexdigest()[:16]


def _insert_country(db: sqlite3.Connection, land: Country, plans: list[Plan]) -> None:
    """Write states, which are the country's four quarters, and towns."""
    half_height, half_width = (NORTH - SOUTH) / 4, (EAST - WEST) / 4
    states = []
    for index, state in enumerate(land.states):
        latitude, longitude = SOUTH + half_height * (1 + 2 * (index // 2)), WEST + half_width * (1 + 2 * (index % 2))
        states.append((index + 1, state.name, state.abbreviation, state.capital, round(latitude, 5), round(longitude, 5)))
    insert(db, "state", states)
    count = len(states)
    touching = [(a, b) for a in range(count) for b in range(count) if a ^ b in (1, 2)]  # side by side, or one above the other
    insert(db, "state_border", [(a + 1, b + 1) for a, b in touching])
    state_ids = {state.name: index for index, state in enumerate(land.states, 1)}
    insert(
        db,
        "town",
        [
            (
                plan.town_id, state_ids[plan.town.state], plan.town.name, plan.kind, plan.town.population, plan.town.latitude,
                plan.town.longitude, plan.town.postcode, plan.centre,
            )
            for plan in plans
        ],
    )  # fmt: skip


def _insert_roads(db: sqlite3.Connection, board: Board) -> None:
    insert(db, "node", [(index, *point) for index, point in enumerate(board.nodes, 1)])
    insert(
        db,
        "street",
        [(line.street_id, line.town_id, line.name, line.kind, line.postcode, line.length) for line in board.lines],
    )
    insert(db, "edge", [piece for line in board.lines for piece in line.pieces])


def _insert_places(db: sqlite3.Connection, places: list[Place]) -> None:
    insert(
        db,
        "place",
        [
            (
                index, place.name, place.category, place.brand, place.street_id, place.number, *place.point, place.edge_id,
                place.metres, place.phone, place.website, *place.hours,
            )
            for index, place in enumerate(places, 1)
        ],
    )  # fmt: skip
    insert(db, "place_detail", [(i, *detail) for i, place in enumerate(places, 1) for detail in sorted(place.details.items())])


def _insert_people(
    db: sqlite3.Connection, dice: Dice, people: Sequence[Person], now: datetime, places: list[Place], sizes: Sizes
) -> None:
    """Write the mappers, what they have saved, and the notes that they left on the map; the first one is the user."""
    mappers = people[: sizes.mappers]
    joined = sorted(now - timedelta(days=dice.between(100, 900), seconds=dice.below(80_000)) for _ in mappers)
    insert(
        db,
        "user",
        [
            (index, person.name, f"{person.first}.{person.last}@example.com".lower(), PASSWORD, when)
            for index, (person, when) in enumerate(zip(mappers, joined, strict=True), 1)
        ],
    )
    saved = []
    for user_id in range(1, sizes.mappers + 1):
        count = dice.between(6, 9) if user_id == 1 else dice.below(4)
        for place_id in sorted(dice.some(range(1, len(places) + 1), count)):
            when = now - timedelta(days=dice.between(2, 90), seconds=dice.below(80_000))
            saved.append((user_id, place_id, dice.pick(notes.REMINDERS), when))
    insert(db, "saved_place", saved)
    drawn = notes.draw(dice, now, places, sizes)
    insert(db, "map_note", [(i, *note.row()) for i, note in enumerate(drawn, 1)])
    comments = [(i, *comment) for i, note in enumerate(drawn, 1) for comment in note.comments]
    insert(db, "note_comment", [(i, *comment) for i, comment in enumerate(comments, 1)])
