"""The oracles of all sites by template."""

from collections.abc import Mapping

from tests.oracles import map as map_site
from tests.oracles import (
    gitlab,
    gitlab_code,
    reddit,
    reddit_debates,
    shopping,
    shopping_admin,
    shopping_orders,
    shopping_reviews,
    wikipedia,
)
from tests.oracles.framework import Oracle

ORACLES: Mapping[str, Oracle] = {
    **gitlab.ORACLES,
    **gitlab_code.ORACLES,
    **map_site.ORACLES,
    **reddit.ORACLES,
    **reddit_debates.ORACLES,
    **shopping.ORACLES,
    **shopping_reviews.ORACLES,
    **shopping_admin.ORACLES,
    **shopping_orders.ORACLES,
    **wikipedia.ORACLES,
}
