"""The `Site` of the start page, and the sites that it leads to."""

from typing import NamedTuple

from webarena_gym.sites.kit import Request, Site

site = Site("homepage", __file__)


class Door(NamedTuple):
    """A site that the start page leads to."""

    name: str
    host: str  # the first part of its host name
    path: str
    about: str
    account: str  # what one signs in with


DOORS = (
    Door("Shop", "shop", "/", "Buy things for the house and for leisure, and read what others think of them.", "email address"),
    Door("Shop admin", "shop-admin", "/admin", "Look after the shop: orders, products, customers and reports.", "the administrator's name"),
    Door("Forum", "forum", "/", "Post, comment and vote in forums about everything.", "username"),
    Door("Code", "code", "/", "Host projects, follow issues and review changes.", "username or email address"),
    Door("Map", "map", "/", "Find places and the ways between them, by car, by bicycle or on foot.", "email address"),
    Door("Encyclopedia", "wiki", "/", "Read about towns, landmarks, people, works and events.", "username or email address"),
)  # fmt: skip


def doors(request: Request) -> list[tuple[Door, str]]:
    """Return the sites with their addresses in this world."""
    return [(door, request.sibling(door.host) + door.path) for door in DOORS]
