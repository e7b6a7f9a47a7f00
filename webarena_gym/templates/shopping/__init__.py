"""The shop's templates: questions about goods and orders, places to open, and changes to make."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.shopping import account, buying, goods, history, opinions, orders, places, shelves

TEMPLATES = t.Templates("shopping")
for _part in (goods, shelves, opinions, orders, history, places, buying, account):
    TEMPLATES.update(_part.TEMPLATES)
