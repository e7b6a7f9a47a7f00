"""The admin's templates: questions about trade and people, places to open, and changes to make."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.shopping_admin import (
    goods,
    handling,
    marketing,
    opinions,
    orders,
    people,
    places,
    reports,
    sales,
    stock,
    upkeep,
)

TEMPLATES = t.Templates("shopping_admin")
for _part in (orders, sales, reports, goods, opinions, people, places, handling, stock, marketing, upkeep):
    TEMPLATES.update(_part.TEMPLATES)
