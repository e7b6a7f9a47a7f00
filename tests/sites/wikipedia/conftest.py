"""Databases of generated encyclopedias."""

from tests.generated import worlds

db = worlds("wikipedia", (0, 1, 7, 1000))
