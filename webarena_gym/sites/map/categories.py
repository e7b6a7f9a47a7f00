"""The kinds of places on the map, what they are called, and how people ask for them."""

from typing import NamedTuple


class Category(NamedTuple):
    """A kind of place: its name, many of it, and other words for it."""

    name: str
    plural: str
    synonyms: tuple[str, ...] = ()


CATEGORIES = (
    Category("cafe", "cafes", ("coffee shop", "coffee shops", "coffee")),
    Category("restaurant", "restaurants"),
    Category("hotel", "hotels"),
    Category("supermarket", "supermarkets", ("grocery store", "grocery stores", "grocery")),
    Category("pharmacy", "pharmacies", ("drugstore", "drugstores", "drug store", "chemist")),
    Category("bakery", "bakeries"),
    Category("bookshop", "bookshops", ("bookstore", "bookstores", "book shop")),
    Category("post office", "post offices", ("postal office", "mail")),
    Category("police station", "police stations", ("police",)),
    Category("school", "schools"),
    Category("bank", "banks", ("atm",)),
    Category("petrol station", "petrol stations", ("gas station", "gas stations", "gas", "petrol", "fuel")),
    Category("park", "parks"),
    Category("cinema", "cinemas", ("movie theater", "movie theaters")),
    Category("bus station", "bus stations"),
    Category("gym", "gyms", ("fitness center", "fitness studio")),
    Category("dentist", "dentists"),
    Category("tax office", "tax offices", ("revenue office",)),
    Category("town hall", "town halls", ("city hall",)),
    Category("car rental", "car rentals", ("rental car",)),
    Category("library", "libraries"),
    Category("museum", "museums"),
    Category("university", "universities", ("college", "colleges")),
    Category("national park", "national parks"),
    Category("stadium", "stadiums", ("arena", "arenas", "stadia")),
    Category("airport", "airports", ("international airport", "international airports")),
    Category("concert hall", "concert halls", ("music hall", "music halls")),
    Category("hospital", "hospitals"),
    Category("monument", "monuments", ("memorial", "memorials")),
    Category("bridge", "bridges"),
    Category("zoo", "zoos"),
    Category("theater", "theaters", ("theatre", "theatres", "playhouse")),
)
_KNOWN = {word: each.name for each in CATEGORIES for word in (each.name, each.plural, *each.synonyms)}
PLURALS = {each.name: each.plural for each in CATEGORIES}


def category_of(words: str) -> str | None:
    """Return the kind of place that the words ask for, if they are a kind's name.

    >>> category_of(" Coffee  shops"), category_of("the moon")
    ('cafe', None)
    """
    return _KNOWN.get(" ".join(words.lower().split()).removeprefix("the ").removeprefix("a "))
