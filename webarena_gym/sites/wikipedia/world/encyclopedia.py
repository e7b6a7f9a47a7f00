"""The whole encyclopedia of a world."""

from datetime import date

from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.wikipedia.world import biographies, companies, creations, geography, happenings, landmarks, lists, lore
from webarena_gym.sites.wikipedia.world.article import Article


def draw(seed: int, today: date, scale: Scale = "standard") -> list[Article]:
    """Return all articles of a world, no two with the same title."""
    told = lore.draw(seed, today, scale)
    written = [
        article
        for part in (geography, landmarks, biographies, creations, companies, happenings)
        for article in part.articles(told)
    ]
    return written + lists.articles(told.country.name, written, told.sizes.namesakes)
