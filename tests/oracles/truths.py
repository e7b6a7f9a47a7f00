"""The oracles of all sites by template."""

from collections.abc import Mapping

from tests.oracles import (
    gitlab,
    gitlab_code,
    map,
    reddit,
    reddit_debates,
    several,
    several_places,
    shopping,
    shopping_admin,
    shopping_orders,
    shopping_reviews,
    standard,
    standard_shop,
    wikipedia,
)
from tests.oracles.framework import Oracle

_MODULES = (
    gitlab, gitlab_code, map, reddit, reddit_debates, several, several_places, shopping, shopping_admin, shopping_orders,
    shopping_reviews, standard, standard_shop, wikipedia,
)  # fmt: skip

ORACLES: Mapping[str, Oracle] = {name: oracle for module in _MODULES for name, oracle in module.ORACLES.items()}
