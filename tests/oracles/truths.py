"""The oracles of all sites by template."""

from collections.abc import Mapping

from tests.oracles import map as map_site
from tests.oracles import gitlab, gitlab_code, wikipedia
from tests.oracles.framework import Oracle

ORACLES: Mapping[str, Oracle] = {**gitlab.ORACLES, **gitlab_code.ORACLES, **map_site.ORACLES, **wikipedia.ORACLES}
