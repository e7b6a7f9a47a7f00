"""The encyclopedia's templates: questions about facts, lists and films, pages to open, and changes to make."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.wikipedia import changes, facts, films, lists, places

TEMPLATES = t.Templates("wikipedia")
for _part in (facts, lists, films, places, changes):
    TEMPLATES.update(_part.TEMPLATES)
