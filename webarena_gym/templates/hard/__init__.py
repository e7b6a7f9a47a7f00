"""The hard templates: over all sites, each with what makes it hard, in modules by what they are about."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.hard import articles, buying, issues, orders, places, reviews, threads

TEMPLATES = t.Templates("hard")
for _part in (orders, reviews, buying, issues, threads, articles, places):
    TEMPLATES.update(_part.TEMPLATES)
