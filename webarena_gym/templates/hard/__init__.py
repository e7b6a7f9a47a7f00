"""The hard templates: over all sites, each with what makes it hard, in modules by what they are about."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.hard import (
    articles,
    baskets,
    buying,
    clients,
    goods,
    hostile,
    issues,
    lookups,
    orders,
    owners,
    places,
    reviews,
    teams,
    threads,
    trips,
    voices,
)

TEMPLATES = t.Templates("hard")
for _part in (
    orders,
    goods,
    reviews,
    buying,
    issues,
    threads,
    articles,
    places,
    teams,
    trips,
    hostile,
    voices,
    owners,
    baskets,
    clients,
    lookups,
):
    TEMPLATES.update(_part.TEMPLATES)
