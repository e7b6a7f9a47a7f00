"""The encyclopedia's templates: questions about facts, lists and films, pages to open, and changes to make."""

from webarena_gym.tasks.template import Templates
from webarena_gym.templates.wikipedia import changes, facts, films, lists, places

TEMPLATES = Templates("wikipedia")
for _part in (facts, lists, films, places, changes):
    TEMPLATES.update(_part.TEMPLATES)
