"""The forums of a world and the voice of each: what its titles and texts are made of."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, country
from webarena_gym.sites.country.people import Person, population
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import WORDS, invented
from webarena_gym.sites.reddit.world.sizes import SIZES

LONGEST_TITLE = 60  # characters; labels of buttons hold the whole title


@dataclass(frozen=True)
class Forum:
    """One forum. `works` are the invented names that its people talk about; `town` is empty where it is about no town."""

    forum_id: int
    name: str
    title: str
    description: str
    sidebar: str
    tags: tuple[str, ...]
    created_at: datetime
    popularity: int
    image_percent: int
    things: tuple[str, ...]
    titles: tuple[str, ...]
    lines: tuple[str, ...]
    works: tuple[str, ...]
    town: str


@cache
def pool() -> dict[str, Any]:
    """Return the pools of sentences."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "forums.json").read_text(encoding="utf-8"))
    return content


def draw(seed: int, now: datetime, scale: Scale = "standard") -> list[Forum]:
    """Return the forums, the oldest first."""
    dice = Dice(f"forum/forums/{seed}")
    land, sizes = country(seed, scale), SIZES[scale]
    towns = [
        pool()["town"] | {"name": town.name, "title": f"{town.name}, {town.state}", "town": town.name, "kind": "town"}
        for town in land.towns[: sizes.towns]
    ]
    kinds = dice.some([*pool()["forums"], *towns], len(pool()["forums"]) + sizes.towns)
    ages = sorted((dice.between(1100, 2000) for _ in kinds), reverse=True)
    return [_forum(dice, seed, scale, index, kind, now - timedelta(days=ages[index])) for index, kind in enumerate(kinds)]


def _forum(dice: Dice, seed: int, scale: Scale, index: int, kind: dict[str, Any], created_at: datetime) -> Forum:
    town = kind.get("town", "")
    names, works = pool()["names"].get(kind["kind"], ["{w}"]), SIZES[scale].works
    rules = dice.some(pool()["rules"], dice.between(3, 5))
    return Forum(
        forum_id=index + 1,
        name=kind["name"],
        title=kind["title"],
        description=kind["description"].format(town=town),
        sidebar="Rules\n" + "\n".join(f"{place}. {rule}" for place, rule in enumerate(rules, 1)),
        tags=tuple(kind["tags"]),
        created_at=created_at + timedelta(seconds=dice.below(86400)),
        popularity=dice.between(5, 60),
        image_percent=kind.get("images", 0),
        things=tuple(kind["things"]),
        titles=tuple(kind["titles"]),
        lines=tuple(kind["lines"]),
        works=tuple(dice.pick(names).format(w=invented(seed, index * works + place, "title", scale)) for place in range(works)),
        town=town,
    )


class Voice:
    """Fills the blanks of sentences with things of the world and of a forum."""

    def __init__(self, seed: int, dice: Dice, scale: Scale = "standard") -> None:
        self.dice, sizes = dice, SIZES[scale]
        self._country: Country = country(seed, scale)
        self._people: tuple[Person, ...] = population(seed, scale)
        # The words that no forum has taken are the books that everybody mentions.
        taken = sizes.works * (len(pool()["forums"]) + sizes.towns)
        self._books = [
            pool()["names"]["book"][index % 6].format(w=invented(seed, index, "title", scale))
            for index in range(taken, WORDS[scale])
        ]

    def fill(self, sentence: str, forum: Forum, thing: str = "") -> str:
        """Return the sentence with its blanks filled; a forum about a town speaks of that town. `thing` may be given."""
        dice = self.dice
        town = self._country.town(forum.town) if forum.town else dice.pick(self._country.towns)
        landmarks = [mark for mark in self._country.landmarks if mark.town == forum.town] or self._country.landmarks
        work = dice.pick(forum.works)
        return sentence.format(
            town=town.name,
            street=dice.pick(town.streets),
            landmark=dice.pick(landmarks).name,
            team=dice.pick(self._country.teams).name,
            thing=thing or dice.pick(forum.things),
            work=work,
            device=work,
            book=dice.pick(self._books),
            person=dice.pick(self._people).first,
        )

    def say(self, kind: str, forum: Forum) -> str:
        """Return a sentence of a kind that all forums share."""
        return capitalised(self.fill(self.dice.pick(pool()[kind]), forum))


def capitalised(text: str) -> str:
    """Return the text with its first letter in upper case.

    >>> capitalised("an eagle near Oslo")
    'An eagle near Oslo'
    """
    return text[:1].upper() + text[1:]
