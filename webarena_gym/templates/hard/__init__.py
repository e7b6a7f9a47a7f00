"""The hard templates: over all sites, each with what makes it hard, in modules by what they are about."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.hard import (
    access,
    announcements,
    articles,
    boards,
    buying,
    chores,
    contests,
    directories,
    doubles,
    favorites,
    goods,
    hostile,
    issues,
    leaks,
    mappers,
    orders,
    owners,
    places,
    remarks,
    reviews,
    stages,
    teams,
    threads,
    tours,
    trips,
)

TEMPLATES = t.Templates("hard")
for _part in (orders, goods, reviews, buying, issues, threads, articles, places, teams, trips, hostile):
    TEMPLATES.update(_part.TEMPLATES)
for _part in (
    access,
    leaks,
    doubles,
    chores,
    stages,
    owners,
    boards,
    remarks,
    contests,
    announcements,
    mappers,
    directories,
    favorites,
    tours,
):
    TEMPLATES.update(_part.TEMPLATES)
