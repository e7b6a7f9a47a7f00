"""A visitor of the map, with the rows of its database."""

import sqlite3
from functools import cache

from tests.visitors import Visitor
from webarena_gym.sites.map import queries
from webarena_gym.sites.world import build


@cache
def content() -> bytes:
    return build("map", 1)


class MapVisitor(Visitor):
    """Somebody at the map of world 1."""

    def __init__(self) -> None:
        super().__init__("map.test", "map", content())

    def sign_in(self, user_id: int = 1) -> "MapVisitor":
        return super().sign_in(user_id=user_id)

    def search(self, text: str) -> "MapVisitor":
        return self.type(Search_the_map=text).click("Search")

    def directions(self, start: str, goal: str, mode: str = "Car") -> "MapVisitor":
        self.open("/directions").type(From=start, To=goal)
        return self.choose("Travel by", mode).click("Get directions")

    @property
    def names(self) -> list[str]:
        """The names in a list of results, in order."""
        return [link.text for link in self.browser.page().root.cssselect(".found a, table a")]

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        return queries.fetch(self.db, query, *values)

    def place(self, condition: str, *values: object) -> sqlite3.Row:
        return self.rows(f"SELECT * FROM places WHERE {condition} LIMIT 1", *values)[0]
