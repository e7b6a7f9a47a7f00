"""The map's templates: facts about places, ways between them, what is nearest, pages to open, and changes to make."""

from webarena_gym.tasks.map import changes, facts, nearest, pages, travel
from webarena_gym.tasks.template import Templates

TEMPLATES = Templates("map")
for _part in (facts, travel, nearest, pages, changes):
    TEMPLATES.update(_part.TEMPLATES)
