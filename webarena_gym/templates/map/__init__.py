"""The map's templates: facts about places, ways between them, what is nearest, pages to open, and changes to make."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.map import changes, facts, nearest, pages, travel

TEMPLATES = t.Templates("map")
for _part in (facts, travel, nearest, pages, changes):
    TEMPLATES.update(_part.TEMPLATES)
