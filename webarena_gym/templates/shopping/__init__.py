"""The shop's templates: questions about goods and orders, places to open, and changes to make."""

from webarena_gym.tasks.template import Templates
from webarena_gym.templates.shopping import account, buying, goods, history, opinions, orders, places, shelves

TEMPLATES = Templates("shopping")
for _part in (goods, shelves, opinions, orders, history, places, buying, account):
    TEMPLATES.update(_part.TEMPLATES)
